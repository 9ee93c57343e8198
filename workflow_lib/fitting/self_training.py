"""Self-training of one-hot kernel ridge regression inside the classes that a weak label leaves.

Of a weak row the component of its class vector is known, so only classes of that component can be
its class (learning from partial labels: Cour, Sapp & Taskar, JMLR 2011). The regression of the
labelled rows predicts the most likely of them; with these pseudo-classes the weak rows train the
next regression, and so on for a few rounds (self-training: Yarowsky, ACL 1995). Without weak labels
the rounds can confirm their own mistakes; fewer are possible inside a component.
"""

from __future__ import annotations

import numpy as np

from workflow_lib.models.simplex import project_on_simplex
from workflow_lib.solvers.ridge import fit_blocks

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

    Raises
    ------
    ValueError
        If `kind` is unknown.
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
