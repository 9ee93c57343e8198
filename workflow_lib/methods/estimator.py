"""Any scikit-learn estimator as a method: its class, its settings and its grid are in a YAML file.

With a generative model its targets are the Fisher embeddings of the outputs: OFER over any
regressor. Weak rows then join the block `pi`, in the way of eq. (14), where the regressor takes
weights of rows. The grid is searched by plain refits, over the folds and by the score of every
method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.core.named_class import (
    Point,
    combinations,
    imported_class,
    new_estimator,
    written_point,
)
from workflow_lib.fitting.class_selection import error_rate, scaled_squared_error
from workflow_lib.fitting.embedding_decoding import Decoder
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec, counts_by_setting, counts_of_size, fit_specs
from workflow_lib.fitting.validation_curves import ENTRY, NO_KERNEL, GridErrors
from workflow_lib.items.group_names import SELECTED
from workflow_lib.measures.metrics import MIN_GAIN, heldout_error
from workflow_lib.methods.contract import base
from workflow_lib.models.fisher import FisherEmbedding
from workflow_lib.models.storage import model_from_tree, scaling_from_tree
from workflow_lib.solvers.any_estimator import (
    class_scores,
    fit_embeddings,
    fit_outputs,
    n_used_inputs,
    predict_outputs,
)
from workflow_lib.solvers.estimator_arguments import (
    OF_ESTIMATOR,
    OF_MODEL,
    WEAK_WEIGHT,
    is_classifier,
    own_arguments,
)
from workflow_lib.solvers.stored.estimator import estimator_bytes, estimator_from_bytes

REGRESSORS = ("estimator",)
TASKS = ("regression", "series", "classes")
NEEDS = {"minutes": 10, "cubic_minutes": 1.0, "more_mb": 500}
READS = ("dataset", "split", "features", "models", "embeddings", "weak_labels")


@dataclass
class Method(base.Method):
    """Select and fit an estimator, for every number of components where there is a model.

    A grid point that fails in a fold, or predicts what is not finite, does not compete, and the log
    says so. With one labelled example per class nothing can be selected: the first grid point is
    used. The artifact holds what was chosen as ``estimator__NAME`` for each argument. A classifier
    predicts scores of the classes; a regressor outputs or, with the artifact of embeddings,
    embeddings.

    Attributes
    ----------
    estimator, settings, grid
        As of `Parameters`.
    metric : {"arrmse", "rrmse"}
        Error that is minimised; of a classifier it is `scaled_squared_error` of the scores.
    seed : int
    method_file : str
        The YAML file, as errors name it.
    projections : sequence of bool, default=(False,)
        Whether predicted memberships are projected on the simplex before they are scored; the last
        counts.
    components, component_counts, combine
        As of `workflow_lib.methods.kernel_ridge.Method`.
    covariance_block : str or None, default=None
        Of the full form of the embedding.
    weak : bool, default=False
        Whether weak rows join the block `pi` (`fit_embeddings`), with the "weak_labels" artifact.
    weak_weights : sequence of float, default=()
        Weights of a weak row relative to a labelled one, which compete.
    output_scale : {"none", "center", "standard"}, default="none"
        The units of the outputs that a regressor is fitted to (`fit_outputs`); embeddings have
        those of their model, and class vectors their own.
    """

    estimator: str
    settings: Mapping[str, Any]
    grid: Mapping[str, Sequence]
    metric: str
    seed: int
    method_file: str
    projections: Sequence[bool] = (False,)
    components: str | Sequence[int] = SELECTED
    component_counts: Sequence[int] = (1,)
    combine: str = "best"
    covariance_block: str | None = None
    weak: bool = False
    weak_weights: Sequence[float] = ()
    output_scale: str = "none"

    def specs(self, split: SplitData) -> list[FitSpec]:
        """Return the fits of each size, and of each fixed number of components."""
        has_model = split.models is not None
        counts = counts_by_setting(self.components, self.component_counts, has_model)
        return fit_specs(split.sizes, split.weak_sizes if self.weak else [0], counts)

    def select(self, data: FitData) -> base.Selection:
        """Return the grid point with the least error, for the best number of components or each.

        Raises UserError if every grid point fails.
        """
        search = self._search(data)
        candidates = self._candidates(data)
        is_fixed = data.split.is_one_example_of_each(data.size)
        if search.is_of_classes:
            is_fixed = is_fixed or data.has_one_example
        if is_fixed:
            candidates = candidates[:1]
        counts = counts_of_size(data.spec.counts, data.size)
        choices = [search.best(candidates, count) for count in counts]
        if self.combine == "best" or len(choices) == 1:
            least = choices[0]
            for choice in choices[1:]:
                if choice.score < least.score * (1.0 - MIN_GAIN):
                    least = choice
            entries = least.entries() | {"score": None if is_fixed else least.score}
            entries |= search.curves.entry(NO_KERNEL, entries)
            return base.Selection(least.heldout, entries, fitting=(search, least.candidate))
        parts = tuple(
            base.Selection(choice.heldout, choice.entries(), fitting=(search, choice.candidate))
            for choice in choices
        )
        average = np.mean([choice.heldout for choice in choices], axis=0)
        curves = search.curves.tree((NO_KERNEL, choice.settings()) for choice in choices)
        entries = {"score": search.targets.error(average), ENTRY: curves or None}
        return base.Selection(average, entries, parts)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        search, candidate = selection.fitting or (self._search(data), None)
        chosen = selection.entries
        if candidate is None:
            candidate = next(
                each for each in self._candidates(data) if each.entries().items() <= chosen.items()
            )
        fitted = search.refit(candidate, chosen.get("n_components"))
        return Fitted(fitted, data.directions, data.n_classes if search.is_of_classes else None)

    def _candidates(self, data: FitData) -> list[_Candidate]:
        reserved = (OF_MODEL if data.split.models is not None else ()) + (
            (WEAK_WEIGHT,) if self.weak else ()
        )
        weights = self.weak_weights if data.spec.weak_size else (None,)
        return [
            _Candidate(point, weight)
            for point in combinations(own_arguments(self.grid, reserved))
            for weight in weights
        ]

    def _search(self, data: FitData) -> _Search:
        found = imported_class(self.estimator)
        if is_classifier(found):
            targets: _Outputs | _Labels = _Labels(data)
        else:
            scale = "none" if data.has_classes else self.output_scale
            targets = _Outputs(
                data, self.metric, self.projections[-1], self.covariance_block, scale
            )
        return _Search(data, targets, found, self.settings, self.seed, self.method_file)


class Fitted(base.Fitted):
    """A fitted estimator.

    Parameters
    ----------
    estimator : fitted estimator, dict or int
        The regressors of `fit_embeddings`, where weak rows joined; the only class of the training
        rows, which replaces a classifier.
    directions : function
        Returns `FitData.directions`.
    n_classes : int or None
        K, where the estimator is a classifier.
    """

    def __init__(self, estimator: Any, directions: Callable, n_classes: int | None) -> None:
        self._estimator, self._directions, self._n_classes = estimator, directions, n_classes

    def predict(self, rows):
        return predicted_by(self._estimator, rows.vectors(self._directions), self._n_classes)

    def to_arrays(self):
        arrays = {"estimator": estimator_bytes(self._estimator)} | self._directions()
        return arrays if self._n_classes is None else arrays | {"n_classes": self._n_classes}

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        n_classes = arrays.get("n_classes")
        return cls(estimator_from_bytes(arrays["estimator"]), lambda: arrays, n_classes)


def predicted_by(estimator: Any, X: np.ndarray, n_classes: int | None) -> np.ndarray:
    """Return the outputs (m, d) that an estimator predicts, or scores (m, K) of classes.

    Of a classifier that knows one class, a number, it is the indicator of this class.
    """
    if n_classes is None:
        return predict_outputs(estimator, X)
    if isinstance(estimator, int):
        return np.tile(np.eye(n_classes)[estimator], (len(X), 1))
    return class_scores(estimator, X, n_classes)


@dataclass(frozen=True)
class _Candidate:
    """A grid point of the estimator, and the weight of a weak row where some join."""

    point: Point
    weak_weight: float | None

    def entries(self) -> dict[str, Any]:
        """Return both by the names of the artifact."""
        entries = {
            f"{OF_ESTIMATOR}{name}": value
            if isinstance(value, int | float) and not isinstance(value, bool)
            else str(value)
            for name, value in self.point.items()
        }
        return entries if self.weak_weight is None else entries | {WEAK_WEIGHT: self.weak_weight}


@dataclass(frozen=True)
class _Choice:
    """A candidate, its error, and what it predicts for each training row without its fold."""

    candidate: _Candidate
    n_components: int | None
    score: float
    heldout: np.ndarray

    def settings(self) -> dict[str, Any]:
        """Return what was chosen, by the names of the artifact."""
        chosen = self.candidate.entries()
        if self.n_components is not None:
            chosen["n_components"] = self.n_components
        return chosen

    def entries(self) -> dict[str, Any]:
        """Return the same with the error."""
        return self.settings() | {"score": self.score}


class _Search:
    """The candidates of an estimator on the rows of one fit."""

    def __init__(
        self,
        data: FitData,
        targets: _Outputs | _Labels,
        found: type,
        settings: Mapping[str, Any],
        seed: int,
        method_file: str,
    ) -> None:
        self._data, self.targets = data, targets
        self._found, self._settings, self._seed = found, settings, seed
        self._method_file = method_file
        self.curves = GridErrors()
        self.is_of_classes = targets.n_classes is not None

    @cached_property
    def _fold_rows(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return list(self._data.inputs.fold_rows(**self._joining))

    @property
    def _joining(self) -> dict[str, int]:
        """The weak rows that follow the training rows; no argument without, as of texts."""
        weak_size = self._data.spec.weak_size
        return {"weak_size": weak_size} if weak_size else {}

    def best(self, candidates: Sequence[_Candidate], count: int | None) -> _Choice:
        """Return the candidate with the least error, the first of those that are equal."""
        best, failures = None, []
        for candidate in candidates:
            try:
                heldout, n_used = self._heldout(candidate, count)
            except _Failure as failure:
                failures.append(str(failure))
                print(f"left out: {failure}")
                continue
            error = self.targets.error(heldout)
            score = error if np.isfinite(error) else np.inf
            tried = _Choice(candidate, count, score, heldout)
            axes = {name: [value] for name, value in tried.settings().items()}
            rate = self.targets.error_rate(heldout)
            self.curves.add(NO_KERNEL, axes, score, used_inputs=n_used, error_rates=rate)
            if best is None or score < best.score * (1.0 - MIN_GAIN):
                best = tried
        if best is None:
            raise self._refusal(failures[0])
        return best

    def _heldout(self, candidate: _Candidate, count: int | None) -> tuple[np.ndarray, float | None]:
        """Return what is predicted of each training row by an estimator without its fold. And the
        mean number of inputs that a linear one uses, None of others."""
        heldout, used = self.targets.empty(), []
        folds = self._data.folds
        for fold, (X_train, X_heldout) in enumerate(self._fold_rows):
            predicted, n_used = self._tried(candidate, fold, count, X_train, X_heldout)
            heldout[folds == fold] = self.targets.decoded(predicted, count, fold)
            used.append(n_used)
        return heldout, None if None in used else float(np.mean(used))

    def _tried(self, candidate, fold, count, X_train, X_heldout) -> tuple[np.ndarray, int | None]:
        called = self._called(candidate.point)
        try:
            fitted = self._fitted(candidate, X_train, count, fold)
            predicted = predicted_by(fitted, X_heldout, self.targets.n_classes)
        except Exception as error:
            raise _Failure(f"{called} failed in fold {fold + 1}: {error}") from error
        if not np.isfinite(predicted).all():
            raise _Failure(f"{called} predicts what is not finite in fold {fold + 1}")
        return predicted, n_used_inputs(fitted)

    def refit(self, candidate: _Candidate, count: int | None):
        """Return the estimator of a candidate, fitted to all training rows."""
        joining = self._joining
        X = self._data.inputs.refit_rows(**joining)[0] if joining else self._data.vectors[0]
        try:
            return self._fitted(candidate, X, count, None)
        except Exception as error:
            called = self._called(candidate.point)
            raise self._refusal(f"{called} failed on all training rows: {error}") from error

    def _fitted(self, candidate, X, count, fold):
        estimator = new_estimator(self._found, self._settings, candidate.point, self._seed)
        return self.targets.fit(estimator, X, count, fold, candidate.weak_weight)

    def _called(self, point: Point) -> str:
        called = f"{self._found.__name__}({written_point(point)})"
        return f"{called} with {self._data.size} training rows"

    def _refusal(self, failure: str) -> UserError:
        return UserError(
            location=f"{self._method_file}, keys estimator, settings and grid",
            found=failure,
            expected="at least one grid point that can be fitted in every fold",
            remedy="change settings or grid, or leave the method out of the experiment",
        )


class _Failure(Exception):
    """A grid point that cannot be fitted, or predicts nothing that is finite."""


class _Outputs:
    """Outputs as the targets of regressors, or their embeddings."""

    n_classes = None

    def __init__(
        self,
        data: FitData,
        metric: str,
        projected: bool,
        covariance_block: str | None,
        output_scale: str,
    ) -> None:
        self._data, self._metric, self._output_scale = data, metric, output_scale
        self._preimage = "projected" if projected else "closed_form"
        self._covariance_block = covariance_block or "constrained"
        self._without_weak: tuple[tuple, dict] = ((), {})

    def empty(self) -> np.ndarray:
        """Return an array for what is predicted of the training rows."""
        return np.empty_like(self._data.outputs)

    def fit(self, estimator, X, count, fold, weak_weight):
        """Return an estimator fitted to the targets of a fold (None: of all rows). Where weak rows
        have a weight, they follow the labelled ones in `X`."""
        split, size = self._data.split, self._data.size
        if count is None:
            known = slice(None) if fold is None else self._data.folds != fold
            targets = self._data.targets(fold)[known]
            return fit_outputs(estimator, X, targets, output_scale=self._output_scale)
        embedded = split.embedded(size, count, fold)
        if weak_weight is None:
            return fit_outputs(estimator, X, embedded)
        model = model_from_tree(split.stored_model(size, count, fold))
        weak_size = self._data.spec.weak_size
        memberships = split.memberships(size, count, weak_size, fold=fold)
        labelled, weak = X[:-weak_size], X[-weak_size:]
        targets = memberships / model.weights_
        rest = self._rest_of_folds(estimator, count)
        fitted = fit_embeddings(
            estimator, labelled, embedded, weak, targets, weak_weight, rest.get(fold)
        )
        rest[fold] = fitted["rest"]
        return fitted

    def _rest_of_folds(self, estimator, count) -> dict:
        """Return the regressors without weak rows of the last settings, by fold."""
        settings = (repr(estimator.get_params()), count)
        if self._without_weak[0] != settings:
            self._without_weak = (settings, {})
        return self._without_weak[1]

    def decoded(self, predicted, count, fold) -> np.ndarray:
        """Return the outputs (h, d) of predictions under the model of a fold."""
        if count is None:
            return predicted
        split = self._data.split
        stored = split.stored_model(self._data.size, count, fold)
        form = split.embeddings["form"]
        embedding = FisherEmbedding(model_from_tree(stored), form, self._covariance_block)
        member = {"test_targets": predicted}
        return Decoder(embedding, scaling_from_tree(stored)).outputs(member, self._preimage, None)

    def error(self, heldout: np.ndarray) -> float:
        """Return the relative error of predictions of the training rows."""
        return heldout_error(self._data.outputs, heldout, self._data.folds, self._metric)

    def error_rate(self, heldout: np.ndarray) -> None:
        """Return None: outputs that are numbers have no wrong classes."""


class _Labels:
    """Classes as the targets of classifiers."""

    def __init__(self, data: FitData) -> None:
        self._labels, self._folds, self.n_classes = data.labels, data.folds, data.n_classes

    def empty(self) -> np.ndarray:
        """Return an array for the scores of the training rows."""
        return np.empty((len(self._labels), self.n_classes))

    def fit(self, estimator, X, count, fold, weak_weight):
        """Return a classifier fitted to the training rows of a fold (None: to all)."""
        labels = self._labels if fold is None else self._labels[self._folds != fold]
        return estimator.fit(X, labels) if len(np.unique(labels)) > 1 else int(labels[0])

    def decoded(self, predicted, count, fold) -> np.ndarray:
        """Return the scores as they are."""
        return predicted

    def error(self, heldout: np.ndarray) -> float:
        """Return the `scaled_squared_error` of the scores."""
        return scaled_squared_error(heldout, self._labels)

    def error_rate(self, heldout: np.ndarray) -> float:
        """Return the share of rows whose highest score is not that of their class."""
        return error_rate(heldout, self._labels)
