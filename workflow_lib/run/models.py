"""The contents of each configuration file: one class per file kind, one field per key.

The description of a key is the text under it; the reference of all keys is generated from these
classes (see :mod:`workflow_lib.run.reference`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, Strict, model_validator

from workflow_lib.core.errors import correction
from workflow_lib.core.gram_limit import default_max_gram_rows
from workflow_lib.core.plugins import TABLE_KEYS, arguments_of
from workflow_lib.core.settings import Settings
from workflow_lib.core.values import (
    ADDRESS,
    MEMBERS,
    RELATIVE_PATH,
    SHA256,
    Count,
    Flag,
    Fraction,
    Name,
    NotNegative,
    Repeats,
    Share,
    Sizes,
    SomeNames,
    SomeSizes,
    TestSize,
    Text,
    TextInFigures,
    TrainingSizes,
    TypedFlag,
    different_file_names,
    named_once,
    strictly_increasing,
    without_repeats,
)
from workflow_lib.inputs.score_spaces.found import input_model_kinds
from workflow_lib.models.kinds.found import model_kinds
from workflow_lib.report.figures.base import figure_modules
from workflow_lib.report.table_kinds.base import table_kinds
from workflow_lib.tasks.found import all_measures, alternatives, tasks

OF_THE_DATA = ("emission", "n_symbols", "random_state")
"""Arguments of models of inputs that follow from the data, or from the seed of the run."""

Methods = Literal["default"] | SomeNames
Components = Literal["selected"] | SomeSizes
LaggedValues = Literal["none", "separate", "added"]
MAX_TOPIC_LENGTH = 36
"""Characters of the topic of a study: a column of the list of studies."""

Kernel = Literal["rbf", "linear", "tanimoto", "precomputed"]


METRICS = {name: each for name, each in all_measures().items() if each.selects_by}


TABLES = table_kinds()
"""What the modules of tables declare, by kind."""

FIGURES = figure_modules()
"""The modules of figures, by kind."""


def _what_is_shown(kinds: Mapping[str, Any]) -> str:
    shown = ", ".join(f"`{name}` ({kind.shows})" for name, kind in kinds.items())
    return f"What it shows: {shown}."


class _Shown(Settings):
    """Keys of a table or figure of any kind."""

    name: Name = ""
    """Its name, once per experiment; part of its file name. Without a name it has that of its kind,
    with hyphens."""

    @model_validator(mode="before")
    @classmethod
    def _named_by_kind(cls, keys: Any) -> Any:
        if isinstance(keys, Mapping) and isinstance(keys.get("kind"), str):
            return {"name": keys["kind"].replace("_", "-"), **keys}
        return keys


class _AnyTable(_Shown):
    """Keys of a table of any kind."""

    kind: Annotated[Literal[*TABLES], Field(description=_what_is_shown(TABLES))]

    caption: Text
    """The sentence above the table."""

    paper_table: Name | None = None
    """The published table that it reproduces: the source and the number there, as the files in
    `config/paper_tables` are named, such as `djerrab-9` (Table 9 of Djerrab et al. 2018) or
    `blaschko-4` (Tables 4.1 to 4.3 of Blaschko 2014). Its published numbers, where that folder has
    them, are shown next to ours, or below ours where sizes, splits or outputs differ; null (the
    default) for a table that is not in a paper."""

    decimals: Annotated[int, Strict(), Field(ge=0, le=10)] | None = None
    """Decimals of our errors, or of accuracies in per cent, in the report and in LaTeX; the CSV has
    all digits. null (the default): 3 for errors, 1 for per cent. Published numbers keep their
    printed digits, and tables that show no errors have no such setting."""


KEYS_OF_TABLES = {name: TABLE_KEYS.load(name) for name in TABLE_KEYS.modules}
"""The modules of the keys of single kinds of tables, by kind."""

OWNERS_OF_KEYS = {
    key: kind for kind, module in KEYS_OF_TABLES.items() for key in module.Keys.model_fields
}
"""The kind of tables that has a key, by the keys that no other kind has."""


class TableSettings(*(each.Keys for each in KEYS_OF_TABLES.values()), _AnyTable):
    """A table of an experiment."""


def _figures_of_named_methods() -> str:
    shown, named = (
        " or ".join(f"`{kind}`" for kind, module in FIGURES.items() if setting in module.settings)
        for setting in ("shown_methods", "named_methods")
    )
    return (
        f"Methods that a figure of kind {shown} shows; by default all of the experiment, which are "
        f"too many for a figure of many coordinates. Of kind {named}: methods shown instead of the "
        "best one."
    )


class FigureSettings(_Shown):
    """A figure of an experiment."""

    kind: Annotated[Literal[*FIGURES], Field(description=_what_is_shown(FIGURES))]

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
    """Values that methods with weak rows are run with, in addition to the selected ones."""

    weak_weight: Annotated[tuple[NotNegative, ...], AfterValidator(strictly_increasing)] = ()
    """Values of lambda_2 of equation (14), as in Table 15; 0 leaves the weak rows out."""

    weak_noise: Annotated[tuple[Share, ...], AfterValidator(strictly_increasing)] = ()
    """Shares of weak rows with a wrong label, from 0 to 1."""


class ExperimentDefaults(Settings):
    """Settings for every experiment that leaves them out."""

    training_sizes: SomeSizes = (20, 50, 100, 200)
    """Numbers of labelled training rows, strictly increasing. The default spans the small samples
    that the methods are made for; sizes that a dataset is too small for are left out."""

    weak_sizes: Sizes = ()
    """Numbers of weakly labelled rows, strictly increasing. Empty (the default): no row is set
    aside for weak labels and the weakly supervised methods do not run."""

    unpaired_sizes: Sizes = ()
    """Numbers of rows of which the output alone is used, strictly increasing. Methods that learn
    from them take the largest, and the others too, as a study. In a table of your own they are rows
    without inputs. Empty (the default): no row is set aside for them, and these methods do not
    run."""

    test_size: TestSize = 0.4
    """Rows kept for testing: a fraction of the dataset or a number of rows. The default leaves
    most rows for training and weak labels, and still gives a stable error with a few hundred
    rows."""

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
    """Author, shown under the title; empty (the default) for none."""

    host: TypedFlag = False
    """Whether the report and `run.json` name the machine of the run. They may be passed on, so by
    default they do not."""


class StudyDescription(Settings):
    """What `snakemake studies` shows of a run beside its tables and its data, which follow from its
    experiments. It changes no result."""

    topic: Annotated[str, Field(min_length=1, max_length=MAX_TOPIC_LENGTH)] = ""
    """What the run studies, in a few words."""

    paper: Name | None = None
    """The publication that it follows: what the names of its tables in `config/paper_tables` begin
    with, such as `djerrab`; null (the default) for none."""

    minutes: Count | None = None
    """CPU minutes of all jobs together, measured; of long runs on one or two splits of each
    experiment. null (the default) where they are not known."""

    memory: Count | None = None
    """Gigabytes that four jobs request together at most, about twice what they use; a dry run says
    them. null (the default) where they are not known."""


class RunSettings(Settings):
    """The run: `config/config.yaml`, changed by a study, `--configfile` and `--config`."""

    study: Annotated[Name | None, Field(exclude=True)] = None
    """A run of `config/studies`, by the name of its file: its keys come before those of
    `config/config.yaml` and after those of `--configfile` and `--config`. `snakemake studies` lists
    them. null (the default) for none."""

    about: Annotated[StudyDescription, Field(exclude=True)] = StudyDescription()
    """What `snakemake studies` shows of the run."""

    seed: Annotated[int, Strict(), Field(ge=0)] = 1
    """Main seed, from 0. Every random draw of the run derives its own seed from it, so that adding
    a dataset, a split or a method changes no other draw."""

    n_splits: Repeats = 5
    """Independent splits into training, weak and test rows. Five show the spread and run within
    minutes; the paper uses ten. An experiment whose file sets its own `n_splits` keeps it, whatever
    `--config n_splits=` says; for other splits write an experiment that is `like` it."""

    splits_per_job: Repeats = 1
    """Splits that one job handles one after the other. A job of several starts Python once for all
    of them, which pays where fits take seconds; with one, splits run in parallel. After an
    edit of it, or of `n_splits`, finished splits are not repeated, but for experiments with
    `outer_folds`: their training sizes depend on all repetitions."""

    n_folds: Annotated[int, Strict(), Field(ge=2, le=1000)] = 5
    """Folds of the cross-validation that selects the hyper-parameters on the training rows, from 2.
    The default is the paper's."""

    max_gram_rows: Count | None = None
    """Largest number of training rows for which the Gram matrix of all pairs of rows is computed.
    With more, kernel ridge regression (and OFER) works on features of landmarks instead, and other
    kernel methods are refused. null (the default): as many rows as let three Gram matrices fit into
    a quarter of the machine's memory, and at most 10000."""

    selection_precision: Literal["float64", "float32"] = "float64"
    """Precision in which grids of kernel ridge regression are computed where all folds share one
    Gram matrix; the winner is always fitted in float64. `float32` is 1.3 to 1.9 times faster from
    500 rows on where no tiny penalty is in the grid, and not faster where there are several; it
    chose the same grid point in all cases tried. The default avoids any such doubt."""

    n_landmarks: Count = 1000
    """Number of landmarks (centres of k-means) that represent all rows above `max_gram_rows`. The
    cost grows with its square; with a thousand, 200000 rows take minutes."""

    experiments: SomeNames
    """What to run: names of experiments (of files in `config/experiments`, their variants, or those
    of papers), or names of datasets, which then run with `defaults`. `papers` stands for the
    experiments that `config/papers/NAME/config.yaml` of every paper adds to the default run."""

    stand_ins: dict[Name, SomeNames] = {}
    """What runs instead of an experiment while a file of its dataset is not on this machine: the
    name of an experiment -> names as in `experiments`. Sources are searched in `resources/` and in
    mirrors, files that you supply where the dataset expects them. By default nothing is
    replaced."""

    defaults: ExperimentDefaults = ExperimentDefaults()
    """Values of the keys that an experiment leaves out."""

    report: ReportSettings = ReportSettings()
    """Title and author of the HTML report, and what it tells of the machine."""

    spreadsheet_safe: TypedFlag = True
    """Whether texts of CSV results that a spreadsheet would run as formulas are written after an
    apostrophe: those that begin with `=`, `+`, `-`, `@` or a tab and are no numbers, as names of
    your rows and columns may. `false` writes them as they are."""

    name: Name | None = None
    """Name of a table of your own: the run is then this experiment alone, regardless of
    `experiments`, and its report is `results/NAME/report.html`. null (the default) for every other
    run."""

    rows: Text | None = None
    """Path of a table with new rows, for `snakemake predict` with `name`; null (the default) for
    none."""

    keep: Text | None = None
    """Columns of `rows` that stand beside their predictions: names or patterns such as `plot*`,
    separated by commas; `*` for all. null (the default): the column of `row_name` alone."""

    format: Literal["csv", "xlsx"] = "csv"
    """Format of the predictions of `snakemake predict`: CSV, or a workbook of a spreadsheet, which
    needs the optional package openpyxl."""

    interval_level: Annotated[float, Strict(), Field(gt=0, lt=1)] = 0.9
    """Nominal coverage of the prediction intervals, for tables of your own."""

    joint: TypedFlag = False
    """Whether `snakemake predict` adds to the interval of each output the sides of a box that holds
    all outputs of a row, with the coverage `interval_level`."""

    @property
    def gram_limit(self) -> int:
        """The most training rows of a Gram matrix: `max_gram_rows`, or those of the machine."""
        return self.max_gram_rows or default_max_gram_rows()


class SourceSettings(Settings):
    """A file of a dataset: where it comes from and how to recognise it."""

    path: Annotated[str, Field(pattern=RELATIVE_PATH)]
    """Path of the file below the mirror folder; its last part is its name in `resources/`."""

    address: Annotated[str, Field(pattern=ADDRESS)]
    """Public address it is downloaded from (http or https), pinned to one version."""

    sha256: Annotated[str, Field(pattern=SHA256)]
    """SHA-256 of the file, or of its `members`: 64 hexadecimal digits. A file with another SHA-256
    is refused."""

    size: Annotated[int, Strict(), Field(ge=1)]
    """Size of the file, or of its `members` in all, in bytes."""

    members: Annotated[str, Field(pattern=MEMBERS)] | None = None
    """For a tar archive of which only some files matter: the pattern of their names, with `*`, `?`
    and `[...]` and without leading folders. `sha256` and `size` are then theirs, so that any
    archive of the same files is accepted (see `workflow_lib/core/archive_members.py`); null
    (the default) for those of the file itself."""


class InputSettings(Settings):
    """How the inputs of a dataset are prepared and compared."""

    scale: Literal[
        "none", "standard", "tf-idf", "multinomial", "dirichlet-multinomial", "markov", "products"
    ] = "standard"
    """`standard`: each input gets mean 0 and variance 1 on the training rows of its fold, so that
    no input has more weight because of its unit; `none`: not scaled; `tf-idf`: for texts, counts
    of terms weighted by how rare a term is in the training rows of the fold, of unit length;
    `multinomial` and `dirichlet-multinomial`: for texts, the Fisher scores of their counts under
    these laws (see `workflow_lib/inputs/term_scores.py`); `markov`: for trees, the Fisher scores
    of a Markov model of the labels of their nodes (in the same module); `products`: the inputs are
    the inner products between all rows of unit length, for example of image features too long to
    be stored."""

    kernel: Kernel = "rbf"
    """Kernel on the inputs: `rbf`, `linear`, `tanimoto` (0/1 fingerprints) or `precomputed` (the
    inputs are a Gram matrix). `rbf` assumes least about a table of numbers."""

    lagged_values: LaggedValues = "none"
    """Use of lagged values, which the reader gives for the time before the outputs, such as past
    volatility: `none` (the default; also when there are none), `separate` (only for the method that
    predicts from them alone) or `added` (they are also joined to the inputs)."""


class OutputSettings(Settings):
    """The scale of the outputs in the generative models, in forests and in estimators of other
    packages; errors are always in the original units."""

    scale: Literal["none", "center", "standard"] = "standard"
    """`standard` (the default, right for columns of different units): each output gets mean 0 and
    variance 1 on the training rows of its fold; `center`: mean 0, for series; `none`: not scaled,
    for outputs in the same unit."""


class DatasetSettings(Settings):
    """A dataset: `config/datasets/NAME.yaml`."""

    title: TextInFigures
    """Short name for tables and figures."""

    description: Text
    """What the inputs and the outputs are, in a few sentences."""

    task: Annotated[
        Literal[tuple(tasks())],
        Field(
            description="What an output is: "
            f"{alternatives(task.description for task in tasks().values())}."
        ),
    ] = "regression"

    class_tree: Text | None = None
    """File of a tree of classes, relative to the folder of the run: a table with the columns
    `parent` and `child`, whose leaves are the classes; or `class_vectors`, the average linkage of
    the class vectors. Errors of classes are then also measured by the path length from the true
    class to the predicted one. null (the default): none."""

    class_costs: Text | None = None
    """File of the costs of wrong classes, relative to the folder of the run: a table with a line
    for each true class, named by its first column, and a column for each predicted class. Errors
    of classes are then also measured by the mean cost. null (the default): none."""

    positive_class: Text | None = None
    """For classes: the class that is looked for, such as a family of proteins, by its name. The
    measures of a ranking ([Errors](#errors)) are then of this class against all others. null (the
    default): of two classes the second in alphabetical order; of more, each in turn."""

    stand_in_for: TextInFigures | None = None
    """The data of the paper that it replaces; null (the default) when it is not a stand-in. Every
    result from a stand-in says so."""

    reader: Text
    """Name of the module of `workflow_lib/data/readers` that reads inputs and outputs from the
    files."""

    options: dict[str, Any] = {}
    """Options of the reader; each reader has its own, listed below. Empty by default."""

    drawn_as: Name | None = None
    """Dataset whose random draws (of the data and of the splits) it shares, so that the two can be
    compared row by row; null (the default): its own draws."""

    inputs: InputSettings = InputSettings()
    """How the inputs are prepared and compared."""

    outputs: OutputSettings = OutputSettings()
    """The scale of the outputs in the generative models."""

    sources: Annotated[tuple[SourceSettings, ...], AfterValidator(different_file_names)] = ()
    """Files to fetch. Empty (the default) for synthetic data and for data included in a
    dependency."""

    supply: Text | None = None
    """How to get the files that you supply: which ones, where from, and where to put them. It is
    shown while they are missing. null (the default) for a dataset without such files."""

    licence: Text
    """Terms under which the data may be used."""

    citation: Text
    """Whom to cite for the data."""

    @property
    def is_user_table(self) -> bool:
        """Whether it is read from the user's file; its results include an answer and a model."""
        return not self.sources and bool(self.options.get("file"))


class ModelSettings(Settings):
    """A generative model of the outputs: `config/models/NAME.yaml`."""

    kind: Literal[*model_kinds()]
    """One Gaussian, a mixture of Gaussians fitted by expectation-maximisation, or a linear-Gaussian
    state-space model of series."""

    covariance_type: Literal["spherical", "tied_spherical", "diag", "full"] = "spherical"
    """Shape of the covariances. `spherical` (one variance per component) is the paper's;
    `tied_spherical` shares one variance between the components. The noise of a state-space model is
    `spherical` or `full`."""

    variance_floor: Fraction = 0.05
    """Smallest variance of a component, as a fraction of the mean variance of the outputs. The
    default keeps a component of one or two rows from collapsing, which would spoil the embedding
    of small samples."""

    n_init: Repeats = 5
    """Random starts of expectation-maximisation; the most likely result is kept. Five make a bad
    local maximum rare at little cost."""


class InputModelSettings(Settings):
    """A generative model of inputs that are sequences or bags: `config/input_models/NAME.yaml`.

    It is fitted once for each training size and fold, to the training rows of the fold, and serves
    all methods whose `score_space` names it."""

    summary: Text
    """What it is, in one sentence."""

    kind: Literal[*(input_model_kinds() or [""])]
    """`hidden_markov`: hidden Markov models of sequences of letters or of vectors; `topic_model`:
    latent Dirichlet allocation of bags of words."""

    per_class: Flag = False
    """Whether there is a model of each class, fitted to its rows; off by default: one of all rows,
    which needs no class."""

    settings: dict[str, Any] = {}
    """Arguments of the model that do not change. Those that follow from the data, such as the
    number of letters, and the seed are given to it."""

    grid: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = {}
    """Values of arguments that compete, each with everything that a method itself selects."""

    def faults(self) -> list[tuple[str, str, str, str]]:
        """Return the faults in the names of arguments: key, found, expected and remedy."""
        arguments = arguments_of(input_model_kinds()[self.kind].model)
        known = [name for name in arguments if name not in OF_THE_DATA]
        faults = [
            (
                f"{key}.{name}",
                f"a model of the kind {self.kind} has no argument '{name}' to set",
                f"one of: {', '.join(sorted(known))}",
                correction(name, known, "remove it"),
            )
            for key, arguments in (("settings", self.settings), ("grid", self.grid))
            for name in arguments
            if name not in known
        ]
        faults += [
            (
                f"settings.{name}",
                "the argument stands in settings and in grid",
                "each argument in one of the two",
                "remove it from one of them",
            )
            for name in sorted(self.settings.keys() & self.grid.keys())
        ]
        return faults


class ExperimentSettings(Settings):
    """An experiment: `config/experiments/NAME.yaml`. A key that is left out takes its value from
    `defaults` of the run, or as its description says."""

    title: Text
    """Title in the report."""

    dataset: Name
    """The dataset, a file of `config/datasets`."""

    methods: Methods | None = None
    """`default` or a list of method names; null: as in `defaults`."""

    training_sizes: TrainingSizes | None = None
    """Numbers of labelled training rows, strictly increasing; null: as in `defaults`. The last may
    be `all`: all rows that are not test rows, in a `k_fold` split as many as are left in every
    split, the same number in all of them. It is not for `grouped` and `per_class` splits."""

    weak_sizes: Sizes | None = None
    """Numbers of weakly labelled rows, strictly increasing; null: as in `defaults`."""

    unpaired_sizes: Sizes | None = None
    """Numbers of rows of which the output alone is used, strictly increasing; null: as in
    `defaults`."""

    test_size: TestSize | None = None
    """Rows kept for testing, a fraction or a number; null: as in `defaults`."""

    split: Literal[
        "random", "grouped", "chronological", "given", "per_class", "stratified", "k_fold"
    ] = "random"
    """How test rows are chosen: `random` (the default); `grouped` (whole groups of rows that belong
    together are test rows, such as molecules of one scaffold; of classes each has about its share
    of the test rows and of the training rows, unless `whole_groups` is `training`); `chronological`
    (the latest rows are test rows, and only rows that ended before them are training rows; splits
    then differ in the training rows drawn); `given` (the reader assigns training, test and weak
    rows); `per_class` (for classes: `training_sizes` are examples per class, and the share of test
    rows is the same in every class); `stratified` (for classes: each has its share of the test rows
    and of the `training_sizes`, which count rows, and at least one training row where there are
    enough); `k_fold` (the test rows of `outer_folds` consecutive splits partition the rows: each
    row is a test row once; every class has its share of each fold, and rows of a group, where the
    reader gives groups, share a fold; `test_size` is not used). The reader must give groups, times,
    roles or classes for it."""

    outer_folds: Annotated[int, Strict(), Field(ge=2, le=1000)] | None = None
    """Number of folds of a `k_fold` split, needed for it and for no other. Split number s tests
    fold s modulo `outer_folds`, and the next `outer_folds` splits repeat this with another random
    partition: `outer_folds: 10` with `n_splits: 100` is 10 times 10-fold cross-validation. The
    number of rows (or groups) of the dataset is leave-one-out (or leave-one-group-out)."""

    whole_groups: Literal["test", "folds", "training"] = "test"
    """What does not divide the groups of a `grouped` split: the test rows (`test`, the default),
    also the folds of the selection (`folds`), or also the training sets, which are then filled with
    one group after the other (`training`), so that weak rows are those of other groups. In a
    `k_fold` split the folds of the selection never divide a group."""

    wrong_labels: Share = 0.0
    """Share of the training rows whose outputs (classes) are swapped among each other, from 0 (the
    default) to 1, for a study of wrong labels. Swaps stay among the rows that each of
    `training_sizes` adds, so that the share holds at every size, as far as few rows allow (2 rows
    at least are swapped). Splits and folds have the same rows for every share. Test rows, weak rows
    and outputs without inputs keep their outputs."""

    weak_labels: Literal["one-hot", "soft"] = "one-hot"
    """What is known of a weak row: its component (`one-hot`, the default) or the probability of
    each component (`soft`)."""

    studies: StudySettings | None = None
    """Settings that are varied, one value at a time, at the largest training and weak sizes; null:
    as in `defaults`."""

    metric: Annotated[
        Literal[tuple(METRICS)],
        Field(
            description="The error that selection minimises and that learning curves and findings "
            f"use: {' '.join(each.as_metric for each in METRICS.values() if each.as_metric)}"
        ),
    ] = "arrmse"

    components: Components = "selected"
    """`selected` (the default: cross-validation chooses from the method's grid) or a list of
    numbers of components, each of which is run; methods without a mixture then run once."""

    n_splits: Repeats | None = None
    """Independent splits; null: as in the run. For a `k_fold` split a multiple of `outer_folds`;
    null: `outer_folds`, whatever the run says."""

    splits_per_job: Repeats | None = None
    """Splits that one job handles; null: as in the run."""

    kernel: Kernel | None = None
    """Kernel on the inputs; null: as in the dataset."""

    lagged_values: LaggedValues | None = None
    """Use of lagged values; null: as in the dataset."""

    tables: SomeTables | None = None
    """Tables to make; null: as in `defaults`."""

    figures: SomeFigures | None = None
    """Figures to draw; null: as in `defaults`."""
