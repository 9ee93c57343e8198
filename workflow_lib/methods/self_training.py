"""Self-training: one-hot kernel ridge regression that weak rows join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workflow_lib.fitting.class_selection import (
    ScoreChoice,
    one_hot,
    scaled_squared_error,
    select_class_scores,
)
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec, fit_specs
from workflow_lib.fitting.fitted_ridge import FittedRidge as Fitted
from workflow_lib.fitting.input_kernels import KernelGrid
from workflow_lib.fitting.self_training import allowed_classes, self_train
from workflow_lib.fitting.split_models import class_mixture
from workflow_lib.items.group_names import SELECTED
from workflow_lib.methods.contract import base

REGRESSORS = ("self_training",)
TASKS = ("classes",)
NEEDS = {"minutes": 3, "grams": 14, "cubic_minutes": 0.4}
READS = ("dataset", "split", "features", "models", "weak_labels")


@dataclass
class Method(base.Method):
    """Select and fit self-training.

    The kernel, its width and the penalty are those of one-hot kernel ridge regression without weak
    rows: with the least `squared_error` of the out-of-fold scores of the labelled rows, the first
    of those that are equal. The number of components is not selected: more of them determine the
    class better, so the largest count is used. Rounds, weight and factor are fixed
    (`workflow_lib.fitting.self_training`). The score is the `scaled_squared_error` of the scores
    of each training row from self-training without its fold.

    With one example per class a held-out class has no example left, and nothing can be selected:
    `one_example` is used instead, and the item has no score. Of several kernels the first that
    is not linear serves then.

    The class vectors of all classes are known, labelled or not, and all rows of a class have the
    same one; so the mixture of all training rows serves every fold.

    Attributes
    ----------
    pseudo_classes : {"hard", "soft"}
        Of weak rows; see `workflow_lib.fitting.self_training.pseudo_classes`.
    kernel, kernels, widths, alphas
        As of `workflow_lib.fitting.input_kernels.KernelGrid.of_method`. The grid of `kernels`
        is extended where a chosen value lies on its edge.
    components : str or sequence of int
        SELECTED, or the fixed counts that are run one by one.
    component_counts : sequence of int
        Counts of which the largest is used where `components` is SELECTED.
    center : bool
        Fit an unpenalised intercept.
    one_example : mapping
        ``width``, ``alpha`` and ``n_components`` (where `components` is SELECTED) with one
        example per class. Where one is missing: the first width and penalty, the largest count.
    """

    pseudo_classes: str
    kernel: str
    widths: Sequence[float]
    alphas: Sequence[float]
    components: str | Sequence[int]
    component_counts: Sequence[int]
    center: bool
    one_example: Mapping[str, float]
    kernels: Sequence[str] | None = None

    def specs(self, split: SplitData) -> list[FitSpec]:
        """Return the fits of each weak size, and of each fixed number of components."""
        counts: dict = {SELECTED: (max(self.component_counts, default=None),)}
        if self.components != SELECTED:
            counts = {count: (count,) for count in self.components}
        return fit_specs(split.sizes, split.weak_sizes, counts)

    def select(self, data: FitData) -> base.Selection:
        choice, seconds = self._choice_of_size(data)
        (count,) = data.spec.counts
        if data.has_one_example and data.spec.components == SELECTED:
            count = self.one_example.get("n_components", count)
        mixture, vectors = class_mixture(data.split, data.size, count)
        allowed = allowed_classes(
            data.split.memberships(data.size, count, data.spec.weak_size),
            mixture.responsibilities(vectors),
        )
        heldout = self._heldout_scores(data, choice, allowed)
        score = scaled_squared_error(heldout, data.labels)
        entries = {
            "score": None if data.has_one_example else score,
            "kernel": choice.kernel.name,
            "width": choice.kernel.width,
            "alpha_rest": choice.alpha_rest,
            "edges": choice.edges or None,
            **choice.curves,
            "n_components": count,
        }
        # All fits of a size share these seconds, and each would need them alone.
        more = {"selection_seconds": seconds}
        return base.Selection(heldout, entries, more_seconds=more, fitting=(choice, allowed))

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        choice, allowed = selection.fitting
        K = data.inputs.training_gram(*choice.kernel, len(allowed))
        indicators = one_hot(data.labels, data.n_classes)
        solution = self._trained(K, indicators, allowed, choice.alpha_rest)
        return Fitted(*solution, choice.kernel, len(allowed))

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        return Fitted.from_entries(entries, data.size, self.kernel)

    def _choice_of_size(self, data: FitData) -> tuple[ScoreChoice, float]:
        """Return what the labelled rows of the training size select, and the seconds spared."""
        grid = KernelGrid.of_method(
            self.kernel, self.kernels, self.widths, self.alphas, data.inputs
        )
        if data.has_one_example:
            grid = grid.single(self.one_example)
        arguments = data.inputs, data.labels, data.n_classes, grid, self.center
        return data.split.once("class scores", data.size, lambda: select_class_scores(*arguments))

    def _heldout_scores(self, data: FitData, choice, allowed: np.ndarray) -> np.ndarray:
        """Return the class scores (n, K) of each training row from a fit without its fold."""
        indicators = one_hot(data.labels, data.n_classes)
        scores = np.empty_like(indicators)
        grams = data.inputs.fold_grams(*choice.kernel, len(allowed))
        for fold, (K, K_heldout) in enumerate(grams):
            known = indicators[data.folds != fold]
            dual, intercept = self._trained(K, known, allowed, choice.alpha_rest)
            scores[data.folds == fold] = K_heldout @ dual + intercept
        return scores

    def _trained(self, K, indicators, allowed, alpha):
        return self_train(
            K, indicators, allowed, alpha, kind=self.pseudo_classes, center=self.center
        )
