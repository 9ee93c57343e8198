"""The structured support vector machine, and scikit-learn's machine of Crammer and Singer.

The rows of a drawn problem have normal classes in groups of five.
"""

import numpy as np

from benchmarks.measuring import Measurement, compared, each

TITLE = "The structured support vector machine"

N_CLASSES, N_INPUTS = 50, 100
NUMBERS = (250, 500, 1000)


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured, at each number of rows."""
    return each("peer", n=NUMBERS[:1] if quick else NUMBERS)


def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return centred inputs of n rows, and their classes."""
    random, labels = np.random.default_rng(0), np.arange(n) % N_CLASSES
    groups = random.normal(size=(-(-N_CLASSES // 5), N_INPUTS))
    centres = groups[np.arange(N_CLASSES) // 5] + 0.5 * random.normal(size=(N_CLASSES, N_INPUTS))
    X = (centres[labels] + 1.5 * random.normal(size=(n, N_INPUTS))) / N_INPUTS**0.5
    return X - X.mean(axis=0), labels


def peer(n: int) -> list[dict[str, str]]:
    """Time the machine without similarities, and scikit-learn's of feature vectors."""
    from sklearn.svm import LinearSVC

    from workflow_lib.papers.blaschko.structured_machine import centre, fit_structured_machine

    X, labels = drawn(n)
    gram, losses, same = X @ X.T, 1.0 - np.eye(N_CLASSES), np.eye(N_CLASSES)
    centre(gram)

    def theirs():
        machine = LinearSVC(
            multi_class="crammer_singer", fit_intercept=False, tol=1e-4, max_iter=100_000
        )
        return machine.fit(X, labels).coef_

    def difference(ours, weights: np.ndarray) -> float:
        scores = X @ weights.T
        slacks = (losses[labels] + scores - scores[np.arange(n), labels][:, None]).max(axis=1)
        return abs(ours.objective / (0.5 * (weights**2).sum() + slacks.sum()) - 1.0)

    return compared(
        n,
        N_CLASSES,
        {
            "machine of a Gram matrix, gap 0.001": lambda: fit_structured_machine(
                gram, labels, losses, same, 1.0
            ),
            f"LinearSVC(multi_class='crammer_singer') of {N_INPUTS} inputs, compiled": theirs,
        },
        agreement=difference,
        note=lambda ours, weights: (
            "n is rows, p is classes; they agree in the objective, "
            f"relative to it; {ours.passes} passes"
        ),
    )
