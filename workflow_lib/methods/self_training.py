"""Self-training of one-hot kernel ridge regression inside the classes that a weak label leaves.

Of a weak row the component of its class vector is known, so only classes of that component can be
its class (learning from partial labels: Cour, Sapp & Taskar, JMLR 2011). The regression of the
labelled rows predicts the most likely of them; with these pseudo-classes the weak rows train the
next regression, and so on for a few rounds (self-training: Yarowsky, ACL 1995). Without weak labels
the rounds can confirm their own mistakes; fewer are possible inside a component.
"""

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
from workflow_lib.fitting.split_models import class_mixture
from workflow_lib.items.group_names import SELECTED
from workflow_lib.methods.contract import base
from workflow_lib.models.simplex import project_on_simplex
from workflow_lib.solvers.ridge import fit_blocks

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
    (`ROUNDS`, `WEIGHT` and `FACTOR`). The score is the `scaled_squared_error` of the scores
    of each training row from self-training without its fold.

    With one example per class a held-out class has no example left, and nothing can be selected:
    `one_example` is used instead, and the item has no score. Of several kernels the first that
    is not linear serves then.

    The class vectors of all classes are known, labelled or not, and all rows of a class have the
    same one; so the mixture of all training rows serves every fold.

    Attributes
    ----------
    pseudo_classes : {"hard", "soft"}
        Of weak rows, as of the function `pseudo_classes`.
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


ROUNDS = 5
"""Rounds of pseudo-classes; later ones change little."""

WEIGHT = 0.5
"""Weight of a weak row relative to a labelled one: its pseudo-class may be wrong."""

FACTOR = 3.0
"""Factor of the scores before the projection. It makes up for the shrinkage of the predicted
indicators towards each other; too large a factor makes soft pseudo-classes hard."""

KINDS = ("hard", "soft")

MIN_SHARE = 0.1
"""Share of the greatest agreement under which a class cannot be that of a weak row."""


def allowed_classes(memberships: np.ndarray, class_memberships: np.ndarray) -> np.ndarray:
    """Return which classes a weak label leaves: an indicator (w, K), at least one class a row.

    A class agrees with a weak label by the probability sum_c q_c Q_kc that both are of the same
    component. Left are the classes with at least `MIN_SHARE` of the greatest agreement of the
    row, and those whose most probable component is the most probable one of the label: an annotator
    without errors gave the label for one of these.

    Parameters
    ----------
    memberships : array (w, C)
        Memberships q of the weak rows: of one component alone, or of several.
    class_memberships : array (K, C)
        Memberships Q of the class vectors.
    """
    agreement = memberships @ class_memberships.T
    is_near = agreement >= MIN_SHARE * agreement.max(axis=1, keepdims=True)
    is_same = memberships.argmax(axis=1)[:, None] == class_memberships.argmax(axis=1)
    return (is_near | is_same).astype(np.float64)


def pseudo_classes(
    scores: np.ndarray, allowed: np.ndarray, kind: str, factor: float = FACTOR
) -> np.ndarray:
    """Return the pseudo-classes of weak rows, as class indicators (w, K).

    Raises ValueError if `kind` is unknown.

    Parameters
    ----------
    scores : array (w, K)
        Predicted class indicators.
    allowed : array (w, K)
        Zero where a class cannot be that of the row; at least one class a row is not.
    kind : {"hard", "soft"}
        ``hard``: the allowed class of the highest score. ``soft``: the Euclidean projection of
        `factor` times the scores on the probability simplex over the allowed classes.
    factor : float, default=3.0
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; expected one of {KINDS}.")
    competing = allowed > 0.0
    if kind == "hard":
        best = np.where(competing, scores, -np.inf).argmax(axis=1)
        return np.eye(scores.shape[1])[best]
    highest = np.where(competing, scores, -np.inf).max(axis=1, keepdims=True)
    # The projection is zero wherever a coordinate is more than 1 below the highest.
    return project_on_simplex(np.where(competing, factor * scores, factor * highest - 2.0))


def self_train(
    K: np.ndarray,
    labels_one_hot: np.ndarray,
    allowed: np.ndarray,
    alpha: float,
    rounds: int = ROUNDS,
    weight: float = WEIGHT,
    kind: str = "soft",
    factor: float = FACTOR,
    center: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Return dual coefficients (n + w, K) and intercepts (K,) after self-training.

    Round 0 is kernel ridge regression of the class indicators of the n labelled rows, with the
    ridge 2 n lambda_0 of eq. (13) of the OFER paper. Every further round regresses the indicators
    of the labelled rows and the `pseudo_classes` of the weak rows under the scores of the round
    before, weak rows with the ridge lambda_0 / lambda_2 of eq. (14), lambda_2 = weight / (2 n).

    Parameters
    ----------
    K : array (n + w, n + w)
        Gram matrix of the labelled rows, followed by the weak rows.
    labels_one_hot : array (n, K)
        Class indicators of the labelled rows.
    allowed : array (w, K)
        Zero where a class cannot be that of the weak row; at least one class a row is not.
    alpha : float
        lambda_0; infinity predicts the mean of the indicators.
    rounds : int, default=5
        0 leaves the weak rows out.
    weight : float, default=0.5
        Weight of a weak row relative to a labelled one; 0 leaves them out.
    kind, factor
        As of `pseudo_classes`.
    center : bool, default=True
        Fit an unpenalised intercept.
    """
    n_labelled = len(labels_one_hot)
    problem = (K, labels_one_hot, {"": slice(None)}, {"": alpha}, center)
    dual, intercept = fit_blocks(*problem)
    if len(allowed) == 0 or weight == 0.0:
        return dual, intercept
    previous = None
    for _ in range(rounds):
        pseudo = pseudo_classes(K[n_labelled:] @ dual + intercept, allowed, kind, factor)
        if previous is not None and np.array_equal(pseudo, previous):
            break
        previous = pseudo
        dual, intercept = fit_blocks(*problem, {"": pseudo}, weight)
    return dual, intercept
