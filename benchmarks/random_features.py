"""Random features beside landmarks: the time to the same error on many rows.

Ridge regression on features of landmarks is fitted first; then, on as few random features as reach
its error on other rows. Both sides draw, make the features of all rows block by block, and solve.
"""

import numpy as np

from benchmarks.measuring import Measurement, at_most, compared, each
from benchmarks.problems import N_INPUTS, N_OUTPUTS, smooth_problem
from workflow_lib.solvers.feature_ridge import FeatureRidge
from workflow_lib.solvers.landmarks import LandmarkFeatures, choose_landmarks
from workflow_lib.solvers.random_features import RandomFeatures, orthogonal_directions

TITLE = "Random features"

ROWS, QUICK_ROWS, N_TEST = 20_000, 2000, 2000
LANDMARKS = (100, 500, 1000, 2000)
QUICK_LANDMARKS = (50,)
GROWTH = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
"""Numbers of random features that are tried, in multiples of the landmarks."""

GAMMA, ALPHA = 1.0 / (2.0 * N_INPUTS), 1e-7
TOLERANCE = 1.002
"""Factor of the error up to which errors count as equal."""

OWN, PEER = "random features", "landmarks"

FIGURES = {"Random features and landmarks of equal error": (OWN, PEER)}
"""Methods and peers that are drawn together."""


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: fits by the number of landmarks."""
    rows = QUICK_ROWS if quick else ROWS
    return each("fits", n=[rows], n_landmarks=QUICK_LANDMARKS if quick else LANDMARKS)


def of_landmarks(X: np.ndarray, n_landmarks: int) -> LandmarkFeatures:
    """Return the features of centres of k-means."""
    generator = np.random.default_rng(0)
    landmarks = choose_landmarks(X, n_landmarks, "rbf", GAMMA, "k_means", generator)
    return LandmarkFeatures(landmarks, "rbf", GAMMA)


def random(n_features: int) -> RandomFeatures:
    """Return orthogonal random features."""
    directions = orthogonal_directions(n_features // 2, N_INPUTS, np.random.default_rng(0))
    return RandomFeatures(directions, GAMMA)


def fitted(features, X: np.ndarray, Y: np.ndarray) -> tuple:
    """Return the features, and weights and intercepts of ridge regression on them."""
    ridge = FeatureRidge(features, X, np.full(len(X), -1))
    return features, *ridge.refit(Y, ALPHA)


def error(fit: tuple, X: np.ndarray, Y: np.ndarray) -> float:
    """Return the mean squared error of a fit on other rows."""
    features, weights, intercepts = fit
    return float(((features.values(X) @ weights + intercepts - Y) ** 2).mean())


def fits(n: int, n_landmarks: int) -> list[dict[str, str]]:
    """Time a fit on landmarks, and one on random features of the same error."""
    problem = smooth_problem(n + N_TEST)
    X, Y = problem.inputs[:n], problem.outputs[:n]
    test = problem.inputs[n:], problem.outputs[n:]
    goal = error(fitted(of_landmarks(X, n_landmarks), X, Y), *test)
    reached = [
        (count, found)
        for count in (2 * round(n_landmarks * factor / 2) for factor in GROWTH)
        if (found := error(fitted(random(count), X, Y), *test)) <= TOLERANCE * goal
    ]
    count, found = reached[0] if reached else (2 * round(n_landmarks * GROWTH[-1] / 2), np.nan)
    return compared(
        n,
        N_OUTPUTS,
        {
            OWN: lambda: fitted(random(count), X, Y),
            PEER: lambda: fitted(of_landmarks(X, n_landmarks), X, Y),
        },
        at_most(1),
        note=f"{count} random features, squared error {found:.4f}; {n_landmarks} landmarks, "
        f"{goal:.4f}",
    )
