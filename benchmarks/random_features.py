"""Many rows: selection on landmarks beside its limit, and random features beside landmarks.

Selection and refit on 1000 landmarks are measured in units of what they need in any case: the
kernel values of all rows and one sum of their squares, for each width.

Ridge regression on features of landmarks is fitted first; then, on as few random features as reach
its error on other rows. Both sides draw, make the features of all rows block by block, and solve.
"""

from collections.abc import Sequence

import numpy as np

from benchmarks.measuring import Measurement, at_most, compared, each, with_peak_memory
from benchmarks.problems import N_INPUTS, N_OUTPUTS, smooth_problem
from workflow_lib.fitting.fold_targets import FoldTargets
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.landmark_ridge_fit import select_each_streamed
from workflow_lib.solvers.feature_ridge import BLOCK_NUMBERS, FeatureRidge
from workflow_lib.solvers.feature_sums import FeatureSums
from workflow_lib.solvers.landmarks import LandmarkFeatures, choose_landmarks
from workflow_lib.solvers.random_features import RandomFeatures, orthogonal_directions

ROWS, QUICK_ROWS, N_TEST = 20_000, 2000, 2000
LANDMARKS = (100, 500, 1000, 2000)
QUICK_LANDMARKS = (50,)
GROWTH = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)
"""Numbers of random features that are tried, in multiples of the landmarks."""

GAMMA, ALPHA = 1.0 / (2.0 * N_INPUTS), 1e-7
TOLERANCE = 1.002
"""Factor of the error up to which errors count as equal."""

SELECTED_ROWS, QUICK_SELECTED_ROWS = (5000, 20_000, 50_000), (2000,)
SELECTED_LANDMARKS, SELECTED_INPUTS, SELECTED_OUTPUTS, N_FOLDS = 1000, 100, 5, 5
WIDTHS = (1.0, 0.5, 2.0)
ALPHAS = tuple(10.0**power for power in range(-9, 0))

SELECTION, LIMIT = "selection and refit on 1000 landmarks", "kernel values and a sum of squares"
OWN, PEER = "random features", "landmarks"


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: selections by rows and widths, fits by the number of landmarks."""
    selected = QUICK_SELECTED_ROWS if quick else SELECTED_ROWS
    rows = QUICK_ROWS if quick else ROWS
    return each("selections", n=selected, n_widths=(1, len(WIDTHS))) + each(
        "fits", n=[rows], n_landmarks=QUICK_LANDMARKS if quick else LANDMARKS
    )


def selected(
    X: np.ndarray, Y: np.ndarray, landmarks: np.ndarray, widths: Sequence[float], seed: int = 0
) -> tuple[LandmarkFeatures, np.ndarray, np.ndarray]:
    """Return features, weights of their values and intercepts: the best of a grid, in 5 folds."""
    folds = np.random.default_rng(seed).permutation(np.arange(len(X)) % N_FOLDS)
    kernels = [InputKernel("rbf", width) for width in widths]

    def solver(kernel):
        return FeatureRidge(features_of(landmarks, kernel.width), X, folds)

    choices, solvers = select_each_streamed(
        Y,
        folds,
        solver,
        {None: [FoldTargets(None, None, Y)] * N_FOLDS},
        dict.fromkeys(kernels, ALPHAS),
        "shared",
        [False],
    )
    choice = choices[None]
    return solvers[choice.kernel].features, *solvers[choice.kernel].refit(Y, choice.alpha_rest)


def features_of(landmarks: np.ndarray, width: float) -> LandmarkFeatures:
    """Return the features of the kernel exp(-|x - x'|^2 / (2 q width^2)) of q inputs."""
    return LandmarkFeatures(landmarks, "rbf", 1.0 / (2.0 * landmarks.shape[1] * width**2))


def sums_of_squares(X: np.ndarray, landmarks: np.ndarray, widths: Sequence[float]) -> None:
    """Take the sums of squares of the kernel values of all rows."""
    m = len(landmarks)
    for width in widths:
        features = features_of(landmarks, width)
        sums = FeatureSums.of_no_rows(np.zeros(m), np.zeros(0))
        for start in range(0, len(X), BLOCK_NUMBERS // m):
            values = features.values(X[start : start + BLOCK_NUMBERS // m])
            sums.add(values, np.empty((len(values), 0)))


def selections(n: int, n_widths: int) -> list[dict[str, str]]:
    """Time a selection with its refit, and what it needs in any case."""
    generator, widths = np.random.default_rng(0), WIDTHS[:n_widths]
    X = generator.normal(size=(n, SELECTED_INPUTS))
    latent = X @ generator.normal(size=(SELECTED_INPUTS, SELECTED_OUTPUTS)) / np.sqrt(len(X[0]))
    Y = np.sin(2.0 * latent) + 0.3 * latent + 0.3 * generator.normal(size=latent.shape)
    gamma = 1.0 / (2.0 * SELECTED_INPUTS)
    landmarks = choose_landmarks(X, SELECTED_LANDMARKS, "rbf", gamma, "k_means", generator)
    _, memory_mb = with_peak_memory(lambda: selected(X, Y, landmarks, widths))
    return compared(
        n,
        SELECTED_OUTPUTS,
        {
            SELECTION: lambda: selected(X, Y, landmarks, widths),
            LIMIT: lambda: sums_of_squares(X, landmarks, widths),
        },
        memory_mb=memory_mb,
        note=f"{n_widths} widths, 9 penalties, 5 folds, 100 inputs; landmarks are chosen before",
    )


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
