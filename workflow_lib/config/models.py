"""What each configuration file may hold: one class per file kind, one field per key.

The description of a key is the text under it; ``config/README.md`` and ``config/schema.json`` are
generated from these classes (see :mod:`workflow_lib.config.reference`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, Strict

from workflow_lib.config.base import Settings
from workflow_lib.config.method_file import MethodFile
from workflow_lib.config.values import (
    ADDRESS,
    MEMBERS,
    RELATIVE_PATH,
    SHA256,
    Count,
    Flag,
    Fraction,
    Name,
    NotNegative,
    Positive,
    PositiveOrInfinite,
    Repeats,
    Share,
    Sizes,
    SomeNames,
    SomeSizes,
    TestSize,
    Text,
    TextInFigures,
    different_file_names,
    named_once,
    strictly_increasing,
    without_repeats,
)
from workflow_lib.methods.registry import method_modules
from workflow_lib.report.figures.registry import figure_modules

Methods = Literal["default"] | SomeNames
Components = Literal["selected"] | SomeSizes
Past = Literal["none", "separate", "added"]
Kernel = Literal["rbf", "linear", "tanimoto", "precomputed"]


ErrorName = Literal["arrmse", "rrmse", "root_sum_rrmse", "norm_rrmse"]


class TableSettings(Settings):
    """One table of an experiment."""

    name: Name
    """Name of the table, once per experiment; part of its file name."""

    kind: Literal[
        "error",
        "time",
        "weak",
        "coordinates",
        "weak_weight",
        "weak_noise",
        "component_names",
        "typical_rows",
    ]
    """What it shows: `error` (errors of each method and training size), `time` (seconds of training
    and prediction), `weak` (aRRMSE against the number of weakly labelled rows), `coordinates` (the
    error of each output coordinate at the largest training size), `weak_weight` or `weak_noise`
    (the study of the weight of weak rows, as Table 15, or of the share of wrong labels), for
    classes `component_names` (the classes that each component of the mixture holds), or for tables
    of your own `typical_rows` (the mean and the most typical rows of each component)."""

    errors: Annotated[
        tuple[ErrorName, ...], Field(min_length=1), AfterValidator(without_repeats)
    ] = (
        "arrmse",
        "rrmse",
    )
    """Errors that a table of kind `error` shows, one block each: `arrmse` (the mean over output
    coordinates of the relative error), `rrmse` (pooled over coordinates), `root_sum_rrmse` (the
    root of the sum over coordinates of squared relative errors) or `norm_rrmse` (relative to the
    norm of the outputs instead of the training mean)."""

    caption: Text
    """The sentence above the table."""

    paper_table: Annotated[int, Strict(), Field(ge=1, le=20)] | None = None
    """Number of the table of Djerrab et al. (2018) that it reproduces. Its published numbers, where
    `config/paper_tables` has them, stand beside ours, or below them where sizes or outputs are not
    those of ours; null (the default) for a table of our own."""

    decimals: Annotated[int, Strict(), Field(ge=0, le=10)] | None = None
    """Digits after the point of our errors, or of accuracies in per cent, in the report and in
    LaTeX; the CSV has all digits. null (the default): 3 for errors, 1 for per cent. Published
    numbers keep the digits they were printed with; tables of times, of `component_names` and of
    `typical_rows` have no such setting."""


FIGURES = figure_modules()
"""What the modules of figures declare, by kind."""


def _what_figures_show() -> str:
    shown = ", ".join(f"`{kind}` ({module.shows})" for kind, module in FIGURES.items())
    return f"What it shows: {shown}."


def _figures_of_named_methods() -> str:
    kinds = [f"`{kind}`" for kind, module in FIGURES.items() if "shown_methods" in module.settings]
    return (
        f"Methods that a figure of kind {' or '.join(kinds)} shows; by default all of the "
        "experiment, which a figure of many coordinates does not bear."
    )


class FigureSettings(Settings):
    """One figure of an experiment."""

    name: Name
    """Name of the figure, once per experiment; part of its file name."""

    kind: Annotated[Literal[*FIGURES], Field(description=_what_figures_show())]

    caption: Text
    """The sentence under the figure."""

    methods: Annotated[
        tuple[Name, ...],
        AfterValidator(without_repeats),
        Field(description=_figures_of_named_methods()),
    ] = ()


SomeTables = Annotated[tuple[TableSettings, ...], AfterValidator(named_once)]
SomeFigures = Annotated[tuple[FigureSettings, ...], AfterValidator(named_once)]

ERROR_TABLE = TableSettings(
    name="error",
    kind="error",
    caption="Average relative root mean squared error on the test rows, mean and standard "
    "deviation over the splits.",
)
LEARNING_CURVE = FigureSettings(
    name="learning-curve",
    kind="learning_curve",
    caption="Test error against the number of labelled training rows.",
)


class StudySettings(Settings):
    """Values that methods with weak rows are run with, beside those that are selected."""

    weak_weight: Annotated[tuple[NotNegative, ...], AfterValidator(strictly_increasing)] = ()
    """Values of lambda_2 of equation (14), as in Table 15; 0 leaves the weak rows out."""

    weak_noise: Annotated[tuple[Share, ...], AfterValidator(strictly_increasing)] = ()
    """Shares of weak rows with a wrong label, from 0 to 1."""


class ExperimentDefaults(Settings):
    """Settings for every experiment that leaves them out."""

    training_sizes: SomeSizes = (20, 50, 100, 200)
    """Numbers of labelled training rows, strictly increasing. The default spans the small samples
    that the methods are made for; sizes that a dataset cannot fill are left out."""

    weak_sizes: Sizes = ()
    """Numbers of weakly labelled rows, strictly increasing. Empty (the default): no row is set
    aside for weak labels and the weakly supervised methods do not run."""

    test_size: TestSize = 0.4
    """Rows kept for testing: a fraction of the dataset or a number of rows. The default leaves
    most rows for training and weak labels while a few hundred rows still give a steady error."""

    methods: Methods = "default"
    """`default` (every method with `in_default: true` that can work on the experiment) or a list of
    method names."""

    studies: StudySettings = StudySettings()
    """Settings that are varied, one value at a time, at the largest training and weak sizes. None
    by default."""

    tables: SomeTables = (ERROR_TABLE,)
    """Tables to make. The default is one table of test errors."""

    figures: SomeFigures = (LEARNING_CURVE,)
    """Figures to draw. The default is one learning curve."""


class ReportSettings(Settings):
    """The head of the HTML report."""

    title: Text = "Output Fisher Embedding Regression"
    """Title of the report."""

    author: str = ""
    """Who stands under the title; empty (the default) for nobody."""


class RunSettings(Settings):
    """The run: `config/config.yaml`, changed by `--configfile` and `--config`."""

    seed: Annotated[int, Strict(), Field(ge=0)] = 1
    """Main seed, from 0. Every random draw of the run derives its own seed from it, so that adding
    a dataset, a split or a method changes no other draw."""

    n_splits: Repeats = 5
    """Independent splits into training, weak and test rows. Five show the spread within minutes;
    the paper uses ten."""

    n_folds: Annotated[int, Strict(), Field(ge=2, le=1000)] = 5
    """Folds of the cross-validation that selects the hyper-parameters on the training rows, from 2.
    The default is the paper's."""

    max_gram_rows: Count | None = None
    """Most training rows for which the Gram matrix of all pairs of rows is made. With more, kernel
    ridge regression (and OFER) works on features of landmarks instead, and other kernel methods are
    refused. null (the default): as many as three Gram matrices fit into a quarter of the machine's
    memory, and 10000 at most."""

    selection_precision: Literal["float64", "float32"] = "float64"
    """Precision in which grids of kernel ridge regression are computed where all folds share one
    Gram matrix; the winner is always fitted in float64. `float32` takes 1.3 to 1.9 times less from
    500 rows on where no tiny penalty is in the grid, and nothing where there are several; it chose
    the same grid point in every case that was tried. The default leaves nothing to try."""

    n_landmarks: Count = 1000
    """Landmarks that stand for all rows then, the centres of k-means. The cost grows with their
    square; a thousand keep 200000 rows within minutes."""

    experiments: SomeNames
    """What to run: names of files in `config/experiments`, or names of datasets, which then run
    with `defaults`."""

    stand_ins: dict[Name, SomeNames] = {}
    """What runs in the place of an experiment while a file of its dataset is not on this machine:
    the name of an experiment -> names as in `experiments`. Sources count where they are in
    `resources/` or in a mirror, files that you bring where the dataset says that they belong. By
    default nothing is replaced."""

    defaults: ExperimentDefaults = ExperimentDefaults()
    """What an experiment uses where it says nothing itself."""

    report: ReportSettings = ReportSettings()
    """Title and author of the HTML report."""

    name: Name | None = None
    """Name of a table of your own: the run is then this experiment alone, whatever `experiments`
    says, and its report is `results/NAME/report.html`. null (the default) for every other run."""

    rows: Text | None = None
    """Path of a table with new rows, for `snakemake predict` with `name`; null (the default) for
    none."""

    interval_level: Annotated[float, Strict(), Field(gt=0, lt=1)] = 0.9
    """Share of new outputs that the intervals around the predictions are to hold, for tables of
    your own."""


class SourceSettings(Settings):
    """One file of a dataset: where it comes from and how to recognise it."""

    path: Annotated[str, Field(pattern=RELATIVE_PATH)]
    """Path of the file below the mirror folder; its last part is its name in `resources/`."""

    address: Annotated[str, Field(pattern=ADDRESS)]
    """Public address it is downloaded from (http or https), pinned to one version."""

    sha256: Annotated[str, Field(pattern=SHA256)]
    """SHA-256 of the file, or of its `members`: 64 hexadecimal digits. A file with another one is
    refused."""

    size: Annotated[int, Strict(), Field(ge=1)]
    """Size of the file, or of its `members` in all, in bytes."""

    members: Annotated[str, Field(pattern=MEMBERS)] | None = None
    """For a tar archive of which only some files matter: the pattern of their names, with `*`, `?`
    and `[...]` and without leading folders. `sha256` and `size` are then theirs, so that any
    archive of the same files is accepted (see `workflow_lib/datasets/archive_members.py`); null
    (the default) for those of the file itself."""


class InputSettings(Settings):
    """How the inputs of a dataset are prepared and compared."""

    scale: Literal["none", "standard", "tf-idf", "products"] = "standard"
    """`standard`: each input gets mean 0 and variance 1 on the training rows of its fold, so that
    no input counts for more because of its unit; `none`: as they are; `tf-idf`: for texts, counts
    of terms weighted by how rare a term is in the training rows of the fold, of unit length;
    `products`: the inputs are the inner products between all rows, of unit length, as of image
    features too long to be kept."""

    kernel: Kernel = "rbf"
    """Kernel on the inputs: `rbf`, `linear`, `tanimoto` (0/1 fingerprints) or `precomputed` (the
    inputs are a Gram matrix). `rbf` assumes least about a table of numbers."""

    past: Past = "none"
    """What becomes of the values that the reader knows from before the outputs, such as past
    volatility: `none` (the default; also when there are none), `separate` (only for the method that
    predicts from them alone) or `added` (they are also joined to the inputs)."""


class OutputSettings(Settings):
    """In which units the generative models see the outputs; errors are always in their own."""

    scale: Literal["none", "center", "standard"] = "standard"
    """`standard` (the default, right for columns of different units): each output gets mean 0 and
    variance 1 on the training rows of its fold; `center`: mean 0, for series; `none`: as they are,
    for outputs of one unit."""


class DatasetSettings(Settings):
    """A dataset: `config/datasets/NAME.yaml`."""

    title: TextInFigures
    """Short name for tables and figures."""

    description: Text
    """What the inputs and the outputs are, in a few sentences."""

    task: Literal["regression", "series", "classes"] = "regression"
    """What an output is: a row of numbers (`regression`, the commonest), a short time series or a
    class with a meaning."""

    stand_in_for: TextInFigures | None = None
    """The data of the paper in whose place it stands; null (the default) when it is no stand-in.
    Every result made with a stand-in says so."""

    reader: Text
    """What turns the files into inputs and outputs: the name of a module of
    `workflow_lib/datasets/readers`."""

    options: dict[str, Any] = {}
    """Options of the reader; each reader has its own, listed below. Empty by default."""

    drawn_as: Name | None = None
    """Dataset whose random draws (of the data and of the splits) it shares, so that the two can be
    compared row by row; null (the default): it has draws of its own."""

    inputs: InputSettings = InputSettings()
    """How the inputs are prepared and compared."""

    outputs: OutputSettings = OutputSettings()
    """In which units the generative models see the outputs."""

    sources: Annotated[tuple[SourceSettings, ...], AfterValidator(different_file_names)] = ()
    """Files to fetch. Empty (the default) for synthetic data and for data that a dependency
    ships."""

    licence: Text
    """Terms under which the data may be used."""

    citation: Text
    """Whom to cite for the data."""


class ModelSettings(Settings):
    """A generative model of the outputs: `config/models/NAME.yaml`."""

    kind: Literal["gaussian", "gaussian_mixture", "state_space"]
    """One Gaussian, a mixture of Gaussians fitted by expectation-maximisation, or a linear-Gaussian
    state-space model of series."""

    covariance_type: Literal["spherical", "tied_spherical", "diag", "full"] = "spherical"
    """Shape of the covariances. `spherical` (one variance per component) is the paper's;
    `tied_spherical` shares one variance between the components. The noise of a state-space model is
    `spherical` or `full`."""

    variance_floor: Fraction = 0.05
    """Smallest variance of a component, as a fraction of the mean variance of the outputs. The
    default keeps a component of one or two rows from collapsing, which wrecks the embedding of
    small samples."""

    n_init: Repeats = 5
    """Random starts of expectation-maximisation; the most likely result is kept. Five make a bad
    local maximum rare at little cost."""


class GridSettings(Settings):
    """Candidate hyper-parameters, compared by cross-validation. Empty where they do not apply."""

    penalty: Annotated[tuple[PositiveOrInfinite, ...], AfterValidator(without_repeats)] = ()
    """Penalties lambda_0 of equation (13), above 0. `.inf` is allowed: a block with an infinite
    penalty is predicted by its training mean. For kernel ridge regression."""

    width: Annotated[tuple[Positive, ...], AfterValidator(without_repeats)] = ()
    """Factors gamma of the rbf kernel exp(-gamma |x - x'|^2), in units of 1 / (2 q) where q is the
    number of inputs, so that 1 suits standardised inputs; of the Laplacian kernel
    exp(-gamma sum |x_j - x'_j|), in units of 1 / q. Not used with kernels without a width."""

    n_components: Sizes = ()
    """Numbers of mixture components, strictly increasing. For mixtures; an experiment that fixes
    `components` uses its own instead."""

    state_dim: Sizes = ()
    """Dimensions of the hidden state, strictly increasing. For state-space models."""

    weak_weight: Annotated[tuple[Positive, ...], AfterValidator(without_repeats)] = ()
    """Weights w of a weakly labelled row relative to a fully labelled one: lambda_2 of equation
    (14) is w / (2 l) with l labelled rows. For weakly supervised methods."""

    projection: Annotated[
        tuple[Literal["raw", "simplex"], ...], AfterValidator(without_repeats)
    ] = ()
    """Whether predicted memberships are used as they are (`raw`) or projected on the simplex
    (`simplex`); both compete. For the preimage `projected`, which is `simplex` when this is
    empty."""

    rank: Sizes = ()
    """Numbers of principal components of the outputs that are predicted, strictly increasing. For
    reduced-rank regression."""

    laplacian_weight: Annotated[tuple[Positive, ...], AfterValidator(without_repeats)] = ()
    """Weights of the graph Laplacian in the kernel. For Laplacian-regularised regression."""

    neighbours: Sizes = ()
    """Neighbours of a row in the graph, strictly increasing. For Laplacian-regularised
    regression."""

    output_width: Annotated[tuple[Positive, ...], AfterValidator(without_repeats)] = ()
    """Widths of the output kernel, in units of the root of the median squared distance of the
    training outputs. For output kernel regression, but for the linear output kernel."""

    max_features: Annotated[tuple[Fraction, ...], AfterValidator(without_repeats)] = ()
    """Fractions of the inputs tried at each cut of a tree, in (0, 1]. For forests."""

    cost: Annotated[tuple[Positive, ...], AfterValidator(without_repeats)] = ()
    """Costs C of a margin violation. For support vector machines."""

    l2_penalty: Annotated[tuple[Positive, ...], AfterValidator(without_repeats)] = ()
    """Penalties on the squared weights. For perceptrons."""

    block_weight: Annotated[tuple[NotNegative, ...], AfterValidator(without_repeats)] = ()
    """Weights of the membership block where a class is searched in the embedding, relative to the
    other block; 0 leaves it out. For `class_ridge` with a mixture."""

    n_trees: Annotated[int, Strict(), Field(ge=1, le=100_000)] | None = None
    """Trees of a forest, one number: more trees are never worse, only slower. For
    forests."""


class OneExampleSettings(Settings):
    """Values used where nothing can be selected, with one labelled example per class: a held-out
    class would have no example left. What is null is the first of its list in `grid`."""

    penalty: PositiveOrInfinite | None = None
    """In the place of `grid.penalty`; of every block where each has its own."""

    width: Positive | None = None
    """In the place of `grid.width`."""

    n_components: Count | None = None
    """In the place of `grid.n_components`."""

    weak_weight: Positive | None = None
    """In the place of `grid.weak_weight`."""

    projection: Literal["raw", "simplex"] | None = None
    """In the place of `grid.projection`."""

    output_width: Positive | None = None
    """In the place of `grid.output_width`."""

    block_weight: NotNegative | None = None
    """In the place of `grid.block_weight`."""

    cost: Positive | None = None
    """In the place of `grid.cost`."""

    l2_penalty: Positive | None = None
    """In the place of `grid.l2_penalty`."""

    max_features: Fraction | None = None
    """In the place of `grid.max_features`."""


Regressor = Literal[*method_modules()]
Decoder = Literal[
    "euclidean",
    "cosine",
    "one_hot",
    "output_kernel",
    "candidates",
    "class_block",
    "class_block_component_first",
]


class MethodSettings(MethodFile):
    """A method: `config/methods/NAME.yaml`. What can work together is checked before anything
    runs (see `workflow_lib/config/capabilities.py`)."""

    regressor: Regressor = "kernel_ridge"
    """What predicts the embedding, or the outputs, from the inputs: `kernel_ridge` (the default,
    the paper's), `principal_component_ridge` (kernel ridge regression with a penalty per principal
    component of the outputs), `reduced_rank_ridge` (of the leading components only),
    `laplacian_ridge` (with unlabelled inputs), `output_kernel_regression` (IOKR), `random_forest`,
    `extra_trees`, `least_squares` (from the values of the past alone), `training_mean` (no inputs
    at all), `stack` (a convex combination of other methods) or `estimator` (any estimator of
    scikit-learn, with keys of its own). For classes also: `class_ridge`
    (kernel ridge regression on the indicators of the classes, decoded as `decoder` says),
    `self_training` (the same with pseudo-classes for weak rows), `support_vector_machine` (one
    against rest), `perceptron` (one hidden layer) or `random_forest_classifier`."""

    kernel: Annotated[
        tuple[Literal["linear", "rbf", "laplacian"], ...], AfterValidator(without_repeats)
    ] = ()
    """Kernels on the inputs that compete, chosen by the folds like every hyper-parameter: `linear`,
    `rbf`, `laplacian`; those with a width take each of `grid.width`. The values of `grid.penalty`
    are then relative to the size of each kernel (the number of inputs for `linear`, the width for
    widths below 1), and where a chosen value lies on an edge of its grid, the grid is extended
    there once, by two values half a decade apart. For texts and inner products there is no
    `laplacian`; the kernel `tanimoto` of an experiment stands for those with a width, and a Gram
    matrix for all. With one labelled example per class, where nothing can be chosen, it is the
    first that is not linear. Empty (the default): the kernel of the experiment, and penalties as
    they are."""

    decoder: Decoder | None = None
    """How a class is found. From a predicted class vector: the class with the nearest one
    (`euclidean`, also when this is null) or with the smallest angle around the mean class vector
    (`cosine`). From the scores of `class_ridge`: `one_hot` (the highest score), `output_kernel`
    (exact search over the classes with an rbf kernel on the class vectors), `candidates` (the class
    with the nearest Fisher embedding), `class_block` (the nearest in the embedding of class
    indicators and memberships, where weak rows join the memberships) or
    `class_block_component_first` (only classes of the likeliest component compete)."""

    pseudo_classes: Literal["hard", "soft"] | None = None
    """For `self_training`: a weak row is taken for the best class of its component (`hard`) or
    spread over them (`soft`); null (the default) for other regressors."""

    output_kernel: Literal["rbf", "linear", "dtw", "gak"] | None = None
    """Kernel on the outputs of output kernel regression: `rbf`, `linear`, or for series `dtw`
    (dynamic time warping) or `gak` (global alignment); null (the default) for other regressors."""

    penalty: Literal["shared", "per_block"] = "shared"
    """One penalty for the whole embedding (the default, as in the paper) or one per block."""

    center: Flag = True
    """Whether kernel ridge regression has an unpenalised intercept. On by default: without it a
    large penalty pulls every prediction to zero instead of the mean."""

    weak: Flag = False
    """Whether weakly labelled rows (component memberships only) join the training."""

    weak_outputs: Literal["component_mean", "neighbours", "true"] | None = None
    """Outputs in the place of those of weak rows, for methods that regress outputs: the mean of the
    component (`component_mean`), the mean of the nearest training rows of the component
    (`neighbours`) or the hidden outputs themselves (`true`, a ceiling and no method for use); null
    (the default): weak rows have targets in the block pi only."""

    combine: Literal["best", "average"] = "best"
    """What becomes of several numbers of components: the best is selected (`best`, the default, as
    in the paper) or the predictions of all are averaged (`average`), which spares small samples the
    noise of that choice. Numbers above 0.6 times the training rows are then left out."""

    members: Annotated[tuple[Name, ...], AfterValidator(without_repeats)] = ()
    """Methods that a stack combines, as far as they are methods of the experiment. Empty for other
    methods."""

    member_sizes: dict[Name, Count] = {}
    """Smallest number of training rows from which a member takes part; by default any."""

    grid: GridSettings = GridSettings()
    """Candidate hyper-parameters."""

    one_example: OneExampleSettings = OneExampleSettings()
    """What is used in their place with one labelled example per class."""


class ExperimentSettings(Settings):
    """An experiment: `config/experiments/NAME.yaml`. A key left out takes its value from
    `defaults` of the run, or from where its description says."""

    title: Text
    """Title in the report."""

    dataset: Name
    """The dataset, a file of `config/datasets`."""

    methods: Methods | None = None
    """`default` or a list of method names; null: as in `defaults`."""

    training_sizes: SomeSizes | None = None
    """Numbers of labelled training rows, strictly increasing; null: as in `defaults`."""

    weak_sizes: Sizes | None = None
    """Numbers of weakly labelled rows, strictly increasing; null: as in `defaults`."""

    test_size: TestSize | None = None
    """Rows kept for testing, a fraction or a number; null: as in `defaults`."""

    split: Literal["random", "grouped", "chronological", "given", "per_class", "stratified"] = (
        "random"
    )
    """How test rows are chosen: `random` (the default); `grouped` (whole groups of rows that belong
    together test, such as molecules of one scaffold); `chronological` (the latest rows test, and
    only rows that ended before them train; splits then differ in the training rows drawn); `given`
    (the reader says which rows train, test and are weak); `per_class` (for classes:
    `training_sizes` are examples per class, and every class tests in the same share); `stratified`
    (for classes: each has its share of the test rows and of the `training_sizes`, which count rows,
    and one training row at least where there are so many). The reader must give groups, times,
    roles or classes for it."""

    weak_labels: Literal["one-hot", "soft"] = "one-hot"
    """What is known of a weak row: its component (`one-hot`, the default) or how likely each is
    (`soft`)."""

    studies: StudySettings | None = None
    """Settings that are varied, one value at a time, at the largest training and weak sizes; null:
    as in `defaults`."""

    metric: Literal["arrmse", "rrmse", "accuracy"] = "arrmse"
    """The error that selection minimises, that the learning curves show and on which the findings
    rest: `arrmse` (the default, as in the paper: the relative error of each output coordinate,
    averaged) or `rrmse` (pooled over coordinates, for outputs of which some hardly vary); tables
    show both. For classes `accuracy`; selection then minimises squared errors."""

    components: Components = "selected"
    """`selected` (the default: cross-validation chooses from the method's grid) or a list of
    numbers of components, each of which is run; methods without a mixture then run once."""

    n_splits: Repeats | None = None
    """Independent splits; null: as in the run."""

    kernel: Kernel | None = None
    """Kernel on the inputs; null: the dataset's."""

    past: Past | None = None
    """What becomes of values of the past; null: the dataset's."""

    tables: SomeTables | None = None
    """Tables to make; null: as in `defaults`."""

    figures: SomeFigures | None = None
    """Figures to draw; null: as in `defaults`."""
