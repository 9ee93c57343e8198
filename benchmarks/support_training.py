"""Training of joint kernel support: stochastic subgradients, and the quadratic programs.

A drawn problem has normal inputs around the centres of ten classes, whose vectors are the outputs.
All machines have the same pairs of features; the one-class machine has the share of outliers of the
binary one, so that their weights are the same. The features from landmarks are made before.
"""

import numpy as np

from benchmarks.measuring import Measurement, at_least, compared, each, interleaved, row

N_CLASSES, N_INPUTS, N_LANDMARKS = 10, 20, 100
NUMBERS, MANY = (500, 2000, 4000), (32_000, 128_000)
PART = 0.3
"""The penalty, as a share of that from which on all pairs have one weight."""

TOLERANCE = 0.01
GAIN = 5.0


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: beside both quadratic programs, and alone with many rows."""
    beside = each("peer", n=NUMBERS[:1] if quick else NUMBERS, mirrored=(True, False))
    return beside + each("alone", n=() if quick else MANY)


def drawn(n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return features of inputs and of outputs of n pairs, and the penalty."""
    from workflow_lib.papers.blaschko.mirrored_support import largest_penalty
    from workflow_lib.solvers.landmarks import LandmarkFeatures, choose_landmarks

    random, labels, gamma = np.random.default_rng(0), np.arange(n) % N_CLASSES, 0.5 / N_INPUTS
    X = random.normal(size=(N_CLASSES, N_INPUTS))[labels] + random.normal(size=(n, N_INPUTS))
    vectors = random.integers(0, 2, (N_CLASSES, 7)).astype(float)
    landmarks = choose_landmarks(X, N_LANDMARKS, "rbf", gamma, "k_means", random)
    Z = LandmarkFeatures(landmarks, "rbf", gamma).transform(X)
    E = LandmarkFeatures(np.unique(vectors, axis=0), "rbf", 0.3).transform(vectors)[labels]
    return Z, E, PART * largest_penalty(Z, E)


def stochastic(Z: np.ndarray, E: np.ndarray, penalty: float):
    """Return the machine of stochastic training."""
    from workflow_lib.papers.blaschko.mirrored_support import fit_stochastic_support

    return fit_stochastic_support(Z, E, penalty, np.random.default_rng(0), TOLERANCE)


def peer(n: int, mirrored: bool) -> list[dict[str, str]]:
    """Time stochastic training and a quadratic program, of which the Gram matrix is a part."""
    from workflow_lib.papers.blaschko.joint_support import fit_joint_support
    from workflow_lib.papers.blaschko.mirrored_support import fit_mirrored_support

    Z, E, penalty = drawn(n)
    J = (Z @ Z.T) * (E @ E.T)
    alpha, nu = fit_mirrored_support(J, penalty)
    margins = J @ alpha * (nu / penalty)
    least = 0.5 * nu * float(alpha @ margins) + float(np.maximum(1.0 - margins, 0.0).mean())

    def program() -> np.ndarray:
        if mirrored:
            return fit_mirrored_support((Z @ Z.T) * (E @ E.T), penalty)[0]
        return fit_joint_support(Z @ Z.T, E @ E.T, nu)

    name = "binary machine of 2 n mirrored copies" if mirrored else "one-class machine of n pairs"
    return compared(
        n,
        N_CLASSES,
        {f"stochastic, gap {TOLERANCE:g}": lambda: stochastic(Z, E, penalty), name: program},
        at_least(GAIN, TOLERANCE) if n == max(NUMBERS) else None,
        gain=True,
        agreement=lambda ours, _: ours.objective / least - 1.0,
        note=lambda ours, _: (
            "n is rows, p is classes; they agree in the objective, relative to it; "
            f"{ours.n_passes} passes"
        ),
    )


def alone(n: int) -> list[dict[str, str]]:
    """Time stochastic training of many rows."""
    Z, E, penalty = drawn(n)
    timing = interleaved({"stochastic": lambda: stochastic(Z, E, penalty)})["stochastic"]
    fitted = timing.result
    note = f"n is rows, p is classes; gap {fitted.gap / fitted.objective:.2g} of the objective"
    return [row(n, N_CLASSES, f"stochastic, gap {TOLERANCE:g}", timing, note=note)]
