"""The structured support vector machine: passes, memory, its tree, and scikit-learn's machine.

The rows of a drawn problem have normal classes in groups of five; a similarity between the classes
is learned from them.
"""

from __future__ import annotations

import tracemalloc

import numpy as np

from benchmarks.measuring import Measurement, at_least, at_most, interleaved, row

TITLE = "The structured support vector machine"

N_CLASSES, N_INPUTS = 50, 100
NUMBERS = (250, 500, 1000)
COSTS = (0.1, 1.0, 10.0)
FLAT, TREE, MEMORY, FORMED, EQUAL = 1.2, 0.05, 1.0, 10.0, 1e-3
NOTE = "n is rows, p is classes"


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured, at each number of rows."""
    numbers = NUMBERS[:1] if quick else NUMBERS
    found = [
        Measurement(function, {"n": n})
        for function in ("passes", "memory", "tree", "peer")
        for n in numbers
    ]
    return [*found, Measurement("joint_kernel", {"n": 50})]


class Problem:
    """A centred Gram matrix of n rows, their classes, and learned similarities of the classes."""

    def __init__(self, n: int, n_classes: int = N_CLASSES) -> None:
        from workflow_lib.papers.blaschko.structured_machine import centre

        random = np.random.default_rng(0)
        self.labels = np.arange(n) % n_classes
        groups = random.normal(size=(-(-n_classes // 5), N_INPUTS))
        centres = groups[np.arange(n_classes) // 5] + 0.5 * random.normal(
            size=(n_classes, N_INPUTS)
        )
        self.X = (centres[self.labels] + 1.5 * random.normal(size=(n, N_INPUTS))) / N_INPUTS**0.5
        self.X -= self.X.mean(axis=0)
        self.gram = self.X @ self.X.T
        centre(self.gram)
        self.losses = 1.0 - np.eye(n_classes)
        self.similarity = self.learned()

    def learned(self) -> np.ndarray:
        """Return the similarities by average linkage of the class means."""
        from workflow_lib.papers.blaschko.class_dependence import (
            class_products,
            comparable,
            learned_tree,
        )

        products = class_products(self.gram, self.labels, len(self.losses))
        return comparable(learned_tree(products, np.bincount(self.labels)).covariance())

    def fit(self, cost: float = 1.0, similarity: np.ndarray | None = None, **options):
        """Return the machine."""
        from workflow_lib.papers.blaschko.structured_machine import fit_structured_machine

        similarity = self.similarity if similarity is None else similarity
        return fit_structured_machine(
            self.gram, self.labels, self.losses, similarity, cost, **options
        )


def passes(n: int) -> list[dict[str, str]]:
    """Time 32 passes over the rows, and 16 of them."""
    problem = Problem(n)
    timings = interleaved(
        {
            "many": lambda: problem.fit(tolerance=0.0, most_passes=32),
            "few": lambda: problem.fit(tolerance=0.0, most_passes=16),
        }
    )
    return [
        row(
            n,
            N_CLASSES,
            "32 passes over the rows",
            timings["many"],
            "twice 16 of them",
            timings["few"].scaled(2.0),
            at_most(FLAT),
            note=NOTE,
        )
    ]


def memory(n: int) -> list[dict[str, str]]:
    """Count the numbers that a fit holds at once, its Gram matrix included."""
    problem = Problem(n)
    tracemalloc.start()
    problem.fit(tolerance=0.0, most_passes=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    numbers = peak / 8.0 + problem.gram.size
    return [
        row(
            n,
            N_CLASSES,
            "numbers in memory, with the Gram matrix",
            peer="3 (n n + n p)",
            ratio=numbers / (3.0 * n * (n + N_CLASSES)),
            goal=at_most(MEMORY),
            note=NOTE,
        )
    ]


def tree(n: int) -> list[dict[str, str]]:
    """Time the learned tree of a fold, and the machines of its costs."""
    problem = Problem(n)
    timings = interleaved(
        {
            "tree": problem.learned,
            "machines": lambda: [problem.fit(cost) for cost in COSTS],
        }
    )
    return [
        row(
            n,
            N_CLASSES,
            "tree of the classes, learned",
            timings["tree"],
            f"machines of {len(COSTS)} costs",
            timings["machines"],
            at_most(TREE),
            note=NOTE,
        )
    ]


def peer(n: int) -> list[dict[str, str]]:
    """Time the machine without similarities, and scikit-learn's of feature vectors."""
    from sklearn.svm import LinearSVC

    problem = Problem(n)
    same = np.eye(N_CLASSES)

    def theirs():
        machine = LinearSVC(
            multi_class="crammer_singer", fit_intercept=False, tol=1e-4, max_iter=100_000
        )
        return machine.fit(problem.X, problem.labels).coef_

    timings = interleaved({"ours": lambda: problem.fit(similarity=same), "peer": theirs})
    weights = timings["peer"].result
    scores = problem.X @ weights.T
    own = scores[np.arange(n), problem.labels][:, None]
    slacks = (problem.losses[problem.labels] + scores - own).max(axis=1)
    objective = 0.5 * (weights**2).sum() + slacks.sum()
    ours = timings["ours"].result
    return [
        row(
            n,
            N_CLASSES,
            "machine of a Gram matrix, gap 0.001",
            timings["ours"],
            f"LinearSVC(multi_class='crammer_singer') of {N_INPUTS} inputs, compiled",
            timings["peer"],
            agreement=abs(ours.objective / objective - 1.0),
            note=f"{NOTE}; they agree in the objective, relative to it; {ours.passes} passes",
        )
    ]


def joint_kernel(n: int) -> list[dict[str, str]]:
    """Time the scores of all rows and classes, and those through the joint kernel of all pairs."""
    problem = Problem(n, 20)
    dual = problem.fit(most_passes=1).dual
    formed = np.kron(problem.gram, problem.similarity)
    timings = interleaved(
        {
            "ours": lambda: problem.gram @ dual @ problem.similarity,
            "peer": lambda: (formed @ dual.ravel()).reshape(dual.shape),
        }
    )
    found, expected = (timings[name].result for name in ("ours", "peer"))
    return [
        row(
            n,
            20,
            "scores without the joint kernel",
            timings["ours"],
            "with the joint kernel of all pairs, formed before",
            timings["peer"],
            at_least(FORMED, EQUAL),
            agreement=float(np.abs(found - expected).max()),
            note=NOTE,
        )
    ]
