"""How cutting planes of the structured support vector machine find the most violated constraint.

The scores of all rows and classes are products of matrices; SVMstruct sums over the coefficients of
all planes.
"""

import numpy as np
from scipy.sparse import csr_array

from benchmarks.measuring import Measurement, compared, each, largest_difference

N_CLASSES, N_INPUTS = 50, 100
PLANES = (1, 10, 100)


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured, at each number of planes."""
    return each("constraint", n=[500], n_planes=PLANES[:1] if quick else PLANES)


def constraint(n: int, n_planes: int) -> list[dict[str, str]]:
    """Time the scores of all rows and classes, by products and by sums over the planes."""
    random, rows = np.random.default_rng(0), np.arange(n)
    X, labels = random.normal(size=(n, N_INPUTS)), rows % N_CLASSES
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
        agreement=largest_difference,
        note="n is rows, p is classes",
    )
