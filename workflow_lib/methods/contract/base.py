"""The contract of a method: the members of its module, and what is read before it is loaded.

A method is a module of `workflow_lib.methods`, or of the folder ``methods`` of a paper, with six
members:

``REGRESSORS``
    the values of ``regressor`` in a method's YAML file that it serves;
``TASKS``
    the values of ``task`` of the datasets that it works on;
``NEEDS``
    what its jobs need, as fields of `workflow_lib.core.job_needs.Stage`;
``READS``
    the artifacts that it reads, some of `ARTIFACTS`;
``Method``
    a dataclass whose fields are its settings, with the base class below;
``Fitted``
    the fitted method, a `workflow_lib.fitting.fitted.Fitted`.

The first four are literals. They and the names of the fields are read from the source, because
every command needs them, and loading what the methods fit with takes seconds.

The module of the same name in ``keys`` has ``Parameters``, the class of the keys of the YAML file:
a `workflow_lib.methods.contract.method_file.MethodFile`, with the requirements that concern this
method alone. Every command loads it, so that it imports nothing that takes long: not the method,
nor NumPy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from workflow_lib.core.errors import UserError
from workflow_lib.core.plugins import INPUT_STEPS, METHOD_KEYS, METHODS
from workflow_lib.fitting.fitted import ArraysOfFit, Fitted, Selection

if TYPE_CHECKING:
    from workflow_lib.fitting.fit_data import FitData, SplitData
    from workflow_lib.fitting.fit_spec import FitSpec

ARTIFACTS = (
    *("dataset", "split", "features", "models", "embeddings", "weak_labels", "alignments"),
    *("regressions", "predictions", "member_timings", "input_scores"),
)


class Method(ABC):
    """A method on one split, which selects and fits for each training size."""

    not_finite: ClassVar[tuple[str, ...]] = ()
    """Names of entries that may be infinite, besides those of all methods."""

    def specs(self, split: SplitData) -> list[FitSpec]:
        """Return the fits to be made: by default one for each training size."""
        from workflow_lib.fitting.fit_spec import fit_specs

        return fit_specs(split.sizes)

    @abstractmethod
    def select(self, data: FitData) -> Selection:
        """Return the best grid point, and its prediction of each training row without its fold.

        Raises UserError if the method cannot be fitted to these rows.
        """

    @abstractmethod
    def fit(self, data: FitData, selection: Selection) -> Fitted:
        """Return the method fitted to all training rows.

        `selection` is what `select` returned, or one of its parts.
        """

    def restored(self, data: FitData, entries: Mapping[str, Any]) -> Fitted:
        """Return the fitted method of an item of the "regression" artifact, or of its member.

        By default it is fitted again with the chosen values, which must then be all that `fit`
        needs.
        """
        return self.fit(data, Selection(None, dict(entries)))


class MethodModule(NamedTuple):
    """The declarations of the module of a method."""

    name: str
    regressors: tuple[str, ...]
    tasks: tuple[str, ...]
    needs: dict[str, float]
    artifacts: tuple[str, ...]
    """Those of `ARTIFACTS` that it reads."""

    settings: tuple[str, ...]
    """The fields of ``Method``."""

    learns_from_inputs: bool = False
    """Whether it learns from the inputs alone of weak rows: `LEARNS_FROM_INPUTS`, if any."""


MEMBERS = ("REGRESSORS", "TASKS", "NEEDS", "READS", "Method", "Fitted")
"""The members of every module of a method."""

PAGE = "docs/add-a-method.md"


@cache
def method_modules() -> dict[str, MethodModule]:
    """Return what the module of every regressor declares, without importing any.

    Raises UserError if a method lacks one of `MEMBERS`, or a module with its keys.
    """
    paths, keys = METHODS.paths, METHOD_KEYS.paths
    for name, path in paths.items():
        if name not in keys:
            raise UserError(
                location=str(path),
                found="a method without keys",
                expected=f"its keys in keys/{name}.py, in the folder of the method",
                remedy=f"add it as {PAGE} shows, or move the file elsewhere",
            )
    names = {"artifacts": "READS", "settings": "Method"}
    modules = {}
    for module in METHODS.declarations(MethodModule, MEMBERS, PAGE, names).values():
        modules |= dict.fromkeys(module.regressors, module)
    return modules


LEARNER, LEARNED_FEATURES = "feature_learner", "learned_features"
"""The key of a method with a learner of features, and the step that only such methods load."""

SCORES, STORED_SCORES = "score_space", "stored_scores"
"""The key of a method on scores of generative models, and the step for these methods alone."""


def method_of(module: str, settings: Mapping[str, Any]) -> Method:
    """Return the method of a module, on learned features or on scores where its settings say so.

    Parameters
    ----------
    module : str
    settings : mapping
        Fields of its ``Method``; and `LEARNER` with the arguments of ``OnLearnedFeatures`` besides
        the method, or `SCORES` with those of ``OnStoredScores``.
    """
    own = {name: value for name, value in settings.items() if name not in (LEARNER, SCORES)}
    method = METHODS.load(module).Method(**own)
    if LEARNER in settings:
        return INPUT_STEPS.load(LEARNED_FEATURES).OnLearnedFeatures(method, **settings[LEARNER])
    if SCORES in settings:
        return INPUT_STEPS.load(STORED_SCORES).OnStoredScores(method, **settings[SCORES])
    return method


def saved_fit(module: str, arrays: Mapping[str, Any]) -> Fitted:
    """Return the fitted method of a module that its `to_arrays` described."""
    if isinstance(arrays, ArraysOfFit):
        return arrays.fit
    fitted = METHODS.load(module).Fitted
    if LEARNER in arrays:
        return INPUT_STEPS.load(LEARNED_FEATURES).Fitted.from_arrays(arrays, fitted)
    if SCORES in arrays:
        return INPUT_STEPS.load(STORED_SCORES).Fitted.from_arrays(arrays, fitted)
    return fitted.from_arrays(arrays)
