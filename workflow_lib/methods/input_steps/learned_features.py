"""Features learned from the inputs, as a step before any method.

The transformer of a fit is learned from the prepared inputs of the training rows of its fold, and
from those of weak rows, never from outputs, held-out rows or test rows. Its columns are centred and
divided by one number, the root of their mean variance, so that their relative lengths are kept and
the widths of kernels mean the same as for standardised inputs. The method then takes these columns
as its inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from workflow_lib.core.named_class import imported_class, new_estimator, written_point
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec
from workflow_lib.fitting.prepared_inputs import MAX_NUMBERS_KEPT, PreparedRows
from workflow_lib.inputs.preparation import InputPreparation
from workflow_lib.items.group_names import size_group
from workflow_lib.methods.contract import base
from workflow_lib.methods.contract.base import LEARNER
from workflow_lib.methods.contract.transformed_inputs import (
    FittedOnChangedInputs,
    OnChangedInputs,
    RowsOfFeatures,
)
from workflow_lib.solvers.stored.estimator import estimator_bytes, estimator_from_bytes

CHOSEN = "feature_learner__"
"""Before the name of a chosen argument in the artifact."""

ROUNDING = 1e-12
"""Size below which a standardised value that may not be negative counts as zero."""


class OnLearnedFeatures(OnChangedInputs):
    """A method whose inputs are learned features.

    Parameters
    ----------
    method : Method
    transformer, settings, grid, unlabelled
        As of `workflow_lib.methods.contract.method_file.FeatureLearner`.
    seed : int
    method_file : str
        The YAML file, as errors name it.
    """

    prefix, step = CHOSEN, LEARNER

    def __init__(
        self,
        method: base.Method,
        transformer: str,
        settings: Mapping[str, Any],
        grid: Mapping[str, Sequence],
        unlabelled: bool,
        seed: int,
        method_file: str,
    ) -> None:
        super().__init__(method, grid, method_file)
        self._transformer, self._settings = transformer, settings
        self._unlabelled, self.seed = unlabelled, seed
        self._splits: dict[tuple, _SplitOnFeatures] = {}

    def specs(self, split: SplitData) -> list[FitSpec]:
        """Return the fits of the method; without weak rows of its own one for each weak size."""
        specs = super().specs(split)
        if not self._unlabelled or any(spec.weak_size for spec in specs):
            return specs
        sizes = sorted({0, *split.weak_sizes})
        return [replace(spec, weak_size=size) for spec in specs for size in sizes]

    def named(self) -> str:
        """Return the class of the transformer."""
        return self._transformer

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        learned = self.changed(data, selection.entries)
        return _on_features(self._method.fit(learned, selection), learned)

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        learned = self.changed(data, entries)
        return _on_features(self._method.restored(learned, entries), learned)

    def data(self, data: FitData, point: Mapping[str, Any]) -> FitData:
        """Return the data of a fit with learned features as inputs."""
        n_unlabelled = data.spec.weak_size if self._unlabelled else 0
        key = written_point(point), n_unlabelled
        if key not in self._splits:
            transformer = new_estimator(
                imported_class(self._transformer), self._settings, point, self.seed
            )
            transformer.set_params(**_facts_of_data(transformer, data.split))
            self._splits[key] = _SplitOnFeatures(data.split, transformer, n_unlabelled)
        uses_weak = any(spec.weak_size for spec in self._method.specs(data.split))
        spec = data.spec if uses_weak else replace(data.spec, weak_size=0)
        return FitData(self._splits[key], spec, data.members)


def _facts_of_data(transformer: Any, split: SplitData) -> dict[str, Any]:
    """Return what the dataset says of its inputs, of parameters that are left None. The numbers
    that describe items, and the ``places`` (q, 2) of columns, as row and column; also for the
    transformers that this one combines."""
    dataset, known = split.dataset, transformer.get_params()
    facts: dict[str, Any] = dict(dataset.get("items", {}))
    if "places" in dataset:
        facts["places"] = np.column_stack([dataset["places"][name] for name in ("row", "column")])
    named = {path: path.rpartition("__")[2] for path in known}
    return {
        path: facts[name] if name == "places" else int(facts[name])
        for path, name in named.items()
        if name in facts and known[path] is None
    }


def _on_features(fitted: base.Fitted, data: FitData) -> Fitted:
    known = data.inputs.refit_rows(data.spec.weak_size)[0]
    return Fitted(fitted, data.inputs.features(), known)


class Fitted(FittedOnChangedInputs):
    """A fitted method that predicts from learned features.

    Parameters
    ----------
    fitted : Fitted
        Of the method, on features.
    features : Features
    known : array (n + w, k)
        Features of the training rows and of the weak rows that the method learned from.
    """

    def __init__(self, fitted: base.Fitted, features: Features, known: np.ndarray) -> None:
        super().__init__(fitted)
        self._features, self._known = features, known

    def on(self, rows):
        return RowsOfFeatures(rows, self._features.of(rows.test_rows()), self._known)

    def to_arrays(self):
        stored = self._features.tree() | {"known": self._known}
        return self.fitted.to_arrays() | {LEARNER: stored}

    @classmethod
    def from_arrays(cls, arrays: Mapping, of_method: type[base.Fitted]) -> Fitted:
        """As of the base class; `of_method` is the class of the fitted method on the features."""
        stored = arrays[LEARNER]
        return cls(of_method.from_arrays(arrays), Features.from_tree(stored), stored["known"])


class Features(NamedTuple):
    """A learned map from prepared inputs (n, q) to features (n, k)."""

    transformer: Any

    kept: np.ndarray
    """Int array (p,): columns that the transformer takes: those that vary over the rows that it
    learned from, or all where it has the attribute ``needs_all_columns``."""

    shift: np.ndarray
    """Array (p,): is added to these columns: their means in units of standard deviations for a
    transformer that takes no negative values, else zero."""

    mean: np.ndarray
    """Array (k,)."""

    unit: float
    """The root of the mean variance of the columns."""

    def of(self, prepared: np.ndarray) -> np.ndarray:
        """Return the features (n, k) of prepared inputs (n, q)."""
        if not len(prepared):
            return np.empty((0, len(self.mean)))
        taken = prepared[:, self.kept] + self.shift
        return (_transformed(self.transformer, taken) - self.mean) / self.unit

    def tree(self) -> dict:
        """Return the features as a group of an artifact."""
        return self._asdict() | {"transformer": estimator_bytes(self.transformer)}

    @classmethod
    def from_tree(cls, tree: Mapping) -> Features:
        """Return the features that `tree` stores."""
        transformer = estimator_from_bytes(tree["transformer"])
        arrays = (tree[name] for name in ("kept", "shift", "mean"))
        return cls(transformer, *arrays, float(tree["unit"]))


def learned_features(
    transformer: Any, X: np.ndarray, preparation: InputPreparation, n_labelled: int
) -> Features:
    """Return the features that a transformer learns from raw inputs.

    Raises ValueError if its features are not finite.

    Parameters
    ----------
    transformer : transformer
        With the interface of scikit-learn; a clone of it is fitted.
    X : array (n, q)
        Labelled rows, followed by unlabelled ones; NaN where missing.
    preparation : InputPreparation
        Learned from the labelled rows.
    n_labelled : int
        Rows whose features have the mean zero and the mean variance one.
    """
    from sklearn.base import clone

    prepared = preparation.apply(X)
    # Where the first column is constant, scikit-learn's FastICA divides by zero.
    varies = np.ptp(prepared, axis=0) > 0
    if getattr(transformer, "needs_all_columns", False) or not varies.any():
        varies[:] = True
    kept = np.flatnonzero(varies)
    shift = np.zeros(len(varies))
    if takes_no_negative_values(transformer):
        scaled = preparation.scale > 0
        shift = preparation.offset[scaled] / preparation.scale[scaled]
        if preparation.weights is not None:
            shift = shift * preparation.weights[scaled]
    prepared, shift = prepared[:, kept], shift[kept]
    known = _without_rounding(prepared + shift)
    fitted = clone(transformer).fit(known)
    found = _transformed(fitted, prepared[:n_labelled] + shift)
    if not np.isfinite(found).all():
        raise ValueError("its features are not finite")
    unit = np.sqrt(found.var(axis=0).mean())
    return Features(fitted, kept, shift, found.mean(axis=0), float(unit) if unit > 0 else 1.0)


def takes_no_negative_values(transformer: Any) -> bool:
    """Return whether a transformer says that its inputs must not be negative."""
    from sklearn.utils import get_tags

    return bool(get_tags(transformer).input_tags.positive_only)


def _without_rounding(X: np.ndarray) -> np.ndarray:
    return np.where(np.abs(X) < ROUNDING, 0.0, X)


def _transformed(transformer: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(transformer.transform(_without_rounding(X)), dtype=np.float64)


class _SplitOnFeatures(SplitData):
    """The data of a split, with learned features as inputs."""

    def __init__(self, split: SplitData, transformer: Any, n_unlabelled: int) -> None:
        # What the split keeps for its fits belongs to other inputs.
        vars(self).update(vars(split))
        self._made, self._inputs, self.weak_decompositions = {}, {}, {}
        self._transformer, self._n_unlabelled = transformer, n_unlabelled

    def inputs(self, size: int) -> LearnedInputs:
        """As `SplitData.inputs`."""
        if size not in self._inputs:
            folds = self.partition["folds"][size_group(size)]
            arguments = self._transformer, self._n_unlabelled
            self._inputs = {size: LearnedInputs(self.features, folds, size, *arguments)}
        return self._inputs[size]


class LearnedInputs(PreparedRows):
    """Features that each fold learns from its inputs.

    Parameters
    ----------
    features, folds, training_size
        As of `workflow_lib.fitting.prepared_inputs.prepared_inputs`.
    transformer : transformer
    n_unlabelled : int
        Weak rows whose inputs are learned from.
    """

    def __init__(
        self,
        features: Mapping,
        folds: np.ndarray,
        training_size: int,
        transformer: Any,
        n_unlabelled: int,
    ) -> None:
        super().__init__(features, folds, training_size)
        self.learns = True
        self._transformer, self._n_unlabelled = transformer, n_unlabelled
        self._by_fold: dict[int | None, _PreparedFeatures] = {}
        self._known: dict[tuple, tuple[np.ndarray, np.ndarray]] = {}

    def learn_all(self) -> None:
        """As `PreparedInputs.learn_all`."""
        for fold in (None, *range(self.folds.max() + 1)):
            self._preparation(fold)

    def features(self) -> Features:
        """Return the features learned from all training rows."""
        return self._preparation(None).features

    def _preparation(self, fold):
        if fold not in self._by_fold:
            preparation = super()._preparation(fold)
            fitted = np.flatnonzero(self.folds != fold)
            rows = self._rows("train", fitted, fold)
            weak = self._rows("weak", slice(self._n_unlabelled), fold)
            known = np.vstack([rows, weak])
            found = learned_features(self._transformer, known, preparation, len(rows))
            self._by_fold[fold] = _PreparedFeatures(preparation, found)
        return self._by_fold[fold]

    def _prepared(self, fold, kept, weak_size, others):
        """As `PreparedRows._prepared`; what is made is kept for the next kernel. As far as memory
        is meant to hold it."""
        key = fold, weak_size
        if key in self._known:
            return self._known[key]
        made = super()._prepared(fold, kept, weak_size, others)
        n_kept = sum(part.size for parts in self._known.values() for part in parts)
        if n_kept + sum(part.size for part in made) <= MAX_NUMBERS_KEPT:
            self._known[key] = made
        return made


class _PreparedFeatures(NamedTuple):
    """Learned features instead of prepared inputs."""

    preparation: InputPreparation
    features: Features

    @property
    def n_columns(self) -> int:
        """As of `InputPreparation`."""
        return len(self.features.mean)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """As `InputPreparation.apply`."""
        return self.features.of(self.preparation.apply(X))
