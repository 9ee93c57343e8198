"""The structured support vector machine, and scikit-learn's machine of Crammer and Singer.

The rows of a drawn problem have normal classes in groups of five. The scores from which cutting
planes find the most violated constraint are products of matrices; SVMstruct sums over all planes.
"""

import numpy as np

from benchmarks.measuring import Measurement, compared, each

TITLE = "The structured support vector machine"

N_CLASSES, N_INPUTS = 50, 100
NUMBERS = (250, 500, 1000)
PLANES = (1, 10, 100)


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured, at each number of rows."""
    planes = [Measurement("constraint", {"n": 500, "n_planes": number}) for number in PLANES]
    return [*each("peer", n=NUMBERS[:1] if quick else NUMBERS), *(planes[:1] if quick else planes)]


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


def constraint(n: int, n_planes: int) -> list[dict[str, str]]:
    """Time the scores of all rows and classes, by products and by sums over the planes."""
    from scipy.sparse import csr_array

    X, labels = drawn(n)
    random, rows = np.random.default_rng(1), np.arange(n)
    gram, similarity = X @ X.T, np.eye(N_CLASSES) + 0.2
    weights, planes = random.dirichlet(np.ones(n_planes)), []
    for _ in range(n_planes):
        plane = np.zeros((n, N_CLASSES))
        plane[rows, labels] += 1.0
        plane[rows, random.integers(N_CLASSES, size=n)] -= 1.0
        planes.append(csr_array(plane))
    dual = sum(weight * plane for weight, plane in zip(weights, planes)).toarray()

    def summed() -> np.ndarray:
        scores = np.zeros((n, N_CLASSES))
        for weight, plane in zip(weights, planes):
            scores += weight * (gram @ plane)
        return scores @ similarity

    return compared(
        n,
        N_CLASSES,
        {
            "scores by products of matrices": lambda: gram @ dual @ similarity,
            f"scores by sums over {n_planes} planes, sparse, compiled": summed,
        },
        agreement=lambda ours, theirs: float(np.abs(ours - theirs).max()),
        note="n is rows, p is classes",
    )
