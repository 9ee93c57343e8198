"""The keys that the file of every method may have, whatever its regressor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from workflow_lib.core.grids import MachineExample, MachineGrid
from workflow_lib.core.named_class import DOTTED, NamedClass, combinations
from workflow_lib.core.optional_packages import is_installed, not_installed
from workflow_lib.core.plugins import INPUT_STEPS, METHOD_KEYS
from workflow_lib.core.requirement import Requirement
from workflow_lib.core.settings import Settings
from workflow_lib.core.values import COLOR, Flag, Name, Text, TextInFigures, without_repeats
from workflow_lib.items.kinds.base import item_kinds
from workflow_lib.methods.contract.base import LEARNED_FEATURES, STORED_SCORES, method_modules

ABSENT: dict[str, Any] = {
    "grid": None,
    "model": None,
    "form": None,
    "covariance_block": None,
    "preimage": None,
    "start": None,
    "kernel": (),
    "decoder": None,
    "estimator": None,
    "output_kernel": None,
    "penalty": "shared",
    "center": True,
    "weak": False,
    "weak_outputs": None,
    "combine": "best",
    "members": (),
    "member_sizes": {},
    "one_example": None,
}
"""Values of keys that only methods of other regressors have."""


_EMPTY: tuple = (None, {}, [], ())

SHARED_GRID_KEYS = ("width", "n_components", "state_dim", "weak_weight")
"""Keys of `grid` that requirements of all methods use, even if a grid has none of them."""

MAX_NAMED = 5
"""Largest number of regressors with a key that an error names; a key that more of them have says
little about the intended regressor."""

DEFAULT_REGRESSOR = "kernel_ridge"
"""The regressor of a file that names none, as in the paper."""

MARKERS = ("o", "s", "D", "^", "v", "<", ">", "P", "X", "*", "p", "h", "d", "8", "H")
"""The markers of Matplotlib that can be told apart when they are small."""

COLORS = (
    *("#332288", "#117733", "#44AA99", "#88CCEE", "#DDCC77", "#CC6677", "#AA4499", "#882255"),
    *("#661100", "#6699CC", "#999933", "#4477AA", "#228833", "#AA3377", "#BBBBBB", "#000000"),
)
"""Colours that people with the common kinds of colour blindness can tell apart (Paul Tol)."""

STATED_ITEMS = [name for name, kind in item_kinds().items() if kind.is_stated]
"""The kinds of items that methods state."""


def parameters_of(regressor: str) -> type[MethodFile]:
    """Return the class of the keys of a regressor's YAML files."""
    return METHOD_KEYS.load(method_modules()[regressor].name).Parameters


class FeatureLearner(Settings):
    """A transformer of the prepared inputs, learned in each fold from inputs alone."""

    transformer: Annotated[str, Field(pattern=DOTTED)]
    """The class, with its module, such as `sklearn.decomposition.PCA`. One that takes no negative
    values gets inputs that are divided by their standard deviations, but not centred."""

    settings: dict[str, Any] = {}
    """Arguments of the class that do not change, as those of the regressor `estimator`."""

    grid: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = {}
    """Values of arguments that compete, each with everything that the method itself selects."""

    unlabelled: Flag = True
    """Whether the inputs of weak rows are learned from too, where the experiment has `weak_sizes`:
    the method then has a fit for each of them."""

    def named_class(self) -> NamedClass:
        """Return the class with its arguments."""
        return NamedClass(
            "feature_learner.transformer",
            self.transformer,
            ("fit", "transform", "get_params", "set_params"),
            "a transformer",
            self.settings,
            combinations(self.grid),
            before="feature_learner.",
        )


class ScoreSpaceSettings(Settings):
    """A map from sequences or bags to vectors, by generative models of them.

    See `workflow_lib.papers.perina.score_space.ScoreSpace`."""

    models: Name
    """The generative model of the inputs, a file of `config/input_models`."""

    kind: Literal["free_energy", "fisher", "top", "expected_counts", "log_likelihood"] = (
        "free_energy"
    )
    """The terms of the free energy, the derivatives of the log-likelihood in the parameters
    (`fisher`), the log odds of the classes with their derivatives (`top`), the expected sufficient
    statistics, or the log-likelihoods alone."""

    level: Literal["position", "state", "symbol", "term"] = "state"
    """How far free energies and counts are summed: not at all (`position`, for sequences of one
    length), over the steps (`state`), the same with emissions by letter (`symbol`), or to one
    number for each block (`term`)."""

    posterior: Literal["exact", "mean_field"] = "exact"
    """The posterior of the hidden states: exact, or independent steps."""

    parametrization: Literal["softmax", "free"] = "softmax"
    """Of Fisher scores: in the logits of probabilities, or in the probabilities as if they need not
    sum to one."""

    divide_by_length: Flag | None = None
    """Whether vectors are divided by the length of the input; null (the default): free energies and
    counts that are summed over steps are, nothing else is."""

    standardise: Flag = True
    """Whether each column gets mean 0 and variance 1 over the training rows of its fold, as for all
    maps that are compared."""


class MethodFile(Settings):
    """A method: `config/methods/NAME.yaml`. What can work together is checked before anything
    runs (see `workflow_lib/run/capabilities.py`)."""

    label: TextInFigures
    """Name in tables and figures."""

    summary: Text
    """What the method does, in one sentence."""

    plain_name: Text | None = None
    """Name that says what the method is to those who do not know the `label`, such as `random
    forest`: the answer on a table has it behind the label. null (the default) for none."""

    color: Annotated[str, Field(pattern=COLOR)] | None = None
    """Colour in figures, written '#RRGGBB'; null (the default): one that no other method of the run
    has."""

    marker: Literal[MARKERS] | None = None
    """Marker in figures, in Matplotlib's notation; null (the default): as of `color`."""

    in_default: Flag = False
    """Whether it belongs to `methods: default`. Off by default, so that a new file does not change
    existing runs."""

    feature_learner: FeatureLearner | None = None
    """A transformer that each fold learns from inputs alone, whose columns are the inputs of the
    method; null (the default) for the inputs themselves."""

    score_space: ScoreSpaceSettings | None = None
    """Sequences and bags become vectors by what generative models see in them, which are then the
    inputs of the method; null (the default) for the inputs themselves."""

    items: Literal[*STATED_ITEMS] | None = None
    """What the rows of the dataset must hold, because the class in `feature_learner` or `estimator`
    is of it: sequences of `letters` or of `vectors`, `counts` of words, `bags` of rows, `graphs` or
    other items. null (the default): numbers, which codes of letters and of graphs are not."""

    requirements: ClassVar[tuple[Requirement, ...]] = ()
    """What a method of this regressor must satisfy on all data."""

    needs_of_data: ClassVar[tuple[Requirement, ...]] = ()
    """What it must satisfy on a dataset in an experiment."""

    packages: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """The optional packages that values need, by the key and the value."""

    @model_validator(mode="before")
    @classmethod
    def _without_empty_keys(cls, data: Any) -> Any:
        """Leave out empty values of keys that methods of other regressors have."""
        if not isinstance(data, dict):
            return data
        absent = set(ABSENT) - set(cls.model_fields)
        return {
            key: value for key, value in data.items() if key not in absent or value not in _EMPTY
        }

    @classmethod
    def others_with(cls, location: tuple) -> list[str]:
        """Return the regressors whose methods have a key, none if more than MAX_NAMED have it."""
        found = [name for name in method_modules() if _has_key(parameters_of(name), location)]
        return found if len(found) <= MAX_NAMED else []

    def __getattr__(self, name: str) -> Any:
        """Return the value of a key that the regressor does not have."""
        return ABSENT[name] if name in ABSENT else super().__getattr__(name)

    def grid_values(self, key: str) -> tuple:
        """Return the values of a key of `grid`; none where the method has no such key."""
        values = getattr(self.grid, key, None) or ()
        return values if isinstance(values, tuple) else (values,)

    def plain_grid(self) -> dict[str, Any]:
        """Return the values in `grid`, by key."""
        if self.grid is None:
            return {}
        return {key: value for key, value in self.grid.model_dump().items() if value}

    def one_example_values(self) -> dict[str, Any]:
        """Return a value of each key of `grid`, for use where nothing can be selected."""
        chosen = self.one_example.model_dump(exclude_none=True) if self.one_example else {}
        return {
            key: chosen.get(key, values[0] if isinstance(values, tuple) else values)
            for key, values in self.plain_grid().items()
        }

    def facts(self) -> dict[str, Any]:
        """Return the facts of the method alone for the requirements.

        These are its keys, and ``has_KEY``: whether a key of `grid` holds values. `kernel` is not
        among them: the fact of this name is the kernel of the experiment.
        """
        keys = (*ABSENT, *type(self).model_fields)
        grid_keys = (*SHARED_GRID_KEYS, *getattr(type(self.grid), "model_fields", ()))
        example = getattr(self.one_example, "n_components", None)
        return (
            {key: getattr(self, key) for key in keys if key != "kernel"}
            | {f"has_{key}": bool(self.grid_values(key)) for key in grid_keys}
            | {
                "learns_features": self.feature_learner is not None,
                "has_score_space": self.score_space is not None,
                "score_kind": self.score_space.kind if self.score_space else None,
                "standardises_scores": bool(self.score_space and self.score_space.standardise),
                "reads_features": "features" in method_modules()[self.regressor].artifacts,
                "takes_weak_weight": hasattr(self.grid, "weak_weight"),
                "takes_width": hasattr(self.grid, "width"),
                "has_kernels": bool(self.kernel),
                "is_linear": self.kernel == ("linear",),
                "has_kernels_with_width": bool({"rbf", "laplacian"} & set(self.kernel)),
                "one_example_is_in_grid": example in (None, *self.grid_values("n_components")),
            }
        )

    def library_modules(self) -> list[str]:
        """Return the modules of this library that the method loads by name, without the package."""
        if self.score_space is not None:
            return [INPUT_STEPS.modules[STORED_SCORES]]
        if self.feature_learner is None:
            return []
        of_class = self.feature_learner.named_class().library_modules()
        return [INPUT_STEPS.modules[LEARNED_FEATURES], *of_class]

    def named_classes(self) -> list[str]:
        """Return the classes that the method file names, each with its module."""
        return [self.feature_learner.transformer] if self.feature_learner else []

    def faults(self) -> list[tuple[str, str, str, str]]:
        """Return the faults in the values of keys: key, found, expected and remedy."""
        faults = self.feature_learner.named_class().faults() if self.feature_learner else []
        for key, packages in self.packages.items():
            package = packages.get(getattr(self, key))
            if package and not is_installed(package):
                error = not_installed(package, "")
                faults.append((key, error.found, error.expected, error.remedy))
        return faults

    def reasons_against(self, task: str) -> list[str]:
        """Return why the method cannot predict the outputs of a task; none where it can."""
        return []

    def predicts_scores(self, task: str) -> bool:
        """Return whether it predicts scores of the classes for a task."""
        return method_modules()[self.regressor].tasks == ("classes",)


class ModelMethod(MethodFile):
    """A method that may have a generative model of the outputs."""

    model: Name | None = None
    """Generative model of the outputs, a file of `config/models`; null (the default) to predict
    the outputs themselves."""


class MachineMethod(MethodFile):
    """A method of support vector machines."""

    kernel: Annotated[tuple[Literal["linear", "rbf"], ...], AfterValidator(without_repeats)] = ()
    """Candidate kernels on the inputs, selected by cross-validation with the costs; `rbf` takes
    each of `grid.width`. The values of `grid.cost` are then divided by the size of each kernel (the
    number of inputs for `linear`, the width for widths below 1), so that one grid suits few and
    many inputs. With one labelled example per class, where nothing can be selected, it is
    the first that is not linear. Empty (the default): the kernel of the experiment, and costs that
    are not rescaled."""

    grid: MachineGrid
    """Candidate hyper-parameters."""

    one_example: MachineExample = MachineExample()
    """Values used instead of the grid with one labelled example per class."""


class EmbeddingMethod(ModelMethod):
    """A method whose targets may be Fisher embeddings of the outputs."""

    form: Literal["reduced", "full"] | None = None
    """Form of the Fisher embedding: `reduced` (blocks pi and mu, equations 7 and 10) or `full`
    (also the covariance block, equation 1); null (the default) without a model."""

    covariance_block: Literal["constrained", "matrix"] | None = None
    """Covariance block of the full form: `matrix` (every entry, as printed in equation 1) or
    `constrained` (only the parameters of the covariance type); null (the default) otherwise."""

    preimage: Literal["closed_form", "projected", "gradient"] | None = None
    """How an output is found from a predicted embedding: `closed_form` (equations 7 and 10),
    `projected` (the same after projecting the predicted memberships onto the simplex, but not for
    series, which may lie outside the convex hull of the training series) or
    `gradient` (numerical search, for the full form); null (the default) for methods that predict
    the outputs themselves."""

    start: Literal["closed_form", "mean"] | None = None
    """Where the search of the `gradient` pre-image starts: at the closed form or at the mean of the
    training outputs; null (the default) for the other pre-images."""


def _has_key(parameters: type, location: tuple) -> bool:
    """Return whether a class of settings has the key at a location, such as ("grid", "rank")."""
    for key in location:
        fields = getattr(parameters, "model_fields", {})
        if key not in fields:
            return False
        parameters = fields[key].annotation
    return True


def with_line_styles(methods: Mapping[str, MethodFile]) -> dict[str, MethodFile]:
    """Return methods, each with a colour and a marker.

    A key that the file of a method leaves out becomes the first value that no other method has;
    once all are in use, the one that fewest have.

    Parameters
    ----------
    methods : mapping from names to methods
        All methods of a run.
    """
    styled = {name: methods[name] for name in sorted(methods)}
    for key, values in (("color", COLORS), ("marker", MARKERS)):
        used = [str(getattr(method, key)).upper() for method in styled.values()]
        for name, method in styled.items():
            if getattr(method, key) is None:
                chosen = min(values, key=lambda value: used.count(value.upper()))
                used.append(chosen.upper())
                styled[name] = method = method.model_copy(update={key: chosen})
    return styled
