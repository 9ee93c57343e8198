"""Weak labels: Schur complements of one eigendecomposition against a Cholesky of every system.

The grid has 7 penalties and 5 weights of a weak row, in 5 folds of the labelled rows. Ours
decomposes the Gram matrix of the weak rows once, which all folds share, and solves a system of the
labelled rows for every pair (`WeakGrams`). The peer implements eq. (14) directly: a Cholesky
factorisation of the system of all rows for every pair and fold. Both are given the Gram matrices.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from benchmarks.measuring import Measurement, at_least, compared, each, largest_difference
from benchmarks.problems import N_FOLDS, N_INPUTS, smooth_problem
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.ridge import labelled_ridge, weak_ridge
from workflow_lib.solvers.weak import WeakGrams

TITLE = "Weak labels"

LABELLED = (100, 200, 500)
WEAK = (300, 1000)
QUICK_LABELLED = (100, 200)
QUICK_WEAK = (300,)

ALPHAS = tuple(np.logspace(-5.0, -1.0, 7).tolist())
WEIGHTS = (0.03, 0.1, 0.3, 1.0, 3.0)
PAIRS = list(itertools.product(ALPHAS, WEIGHTS))

GAIN = 1.7
EQUAL = 1e-8


class WeakProblem(NamedTuple):
    """Labelled and weak rows of one problem.

    Attributes
    ----------
    grams : list of (array (l, l), array (h, l))
        As `WeakGrams` takes them, with l the training rows of a fold and all weak rows.
    targets : array (n, 60)
        Of the labelled rows.
    weak_targets : array (w, 60)
    folds : int array (n,)
    """

    grams: list[tuple[np.ndarray, np.ndarray]]
    targets: np.ndarray
    weak_targets: np.ndarray
    folds: np.ndarray


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: every number of labelled and of weak rows."""
    weak, labelled = (QUICK_WEAK, QUICK_LABELLED) if quick else (WEAK, LABELLED)
    return each("weak_grid", n_weak=weak, n=labelled)


def weak_problem(n: int, n_weak: int) -> WeakProblem:
    """Return `n` labelled and `n_weak` weak rows, with the kernel of width 1."""
    inputs, outputs, _, _ = smooth_problem(n + n_weak)
    folds = smooth_problem(n).folds
    K = gram_matrix(inputs, None, "rbf", 1.0 / (2.0 * N_INPUTS))
    weak = np.arange(n, n + n_weak)
    grams = []
    for fold in range(N_FOLDS):
        rows, heldout = (
            np.append(np.flatnonzero(folds != fold), weak),
            np.flatnonzero(folds == fold),
        )
        grams.append((K[np.ix_(rows, rows)], K[np.ix_(heldout, rows)]))
    return WeakProblem(grams, outputs[:n], outputs[n:], folds)


def schur_complements(problem: WeakProblem) -> list[np.ndarray]:
    """Return our held-out predictions (pairs, rows, 60) of every fold."""
    solver = WeakGrams(problem.grams, len(problem.weak_targets), problem.folds, shared=True)
    return solver.predict([problem.targets] * N_FOLDS, [problem.weak_targets] * N_FOLDS, PAIRS)


def whole_systems(problem: WeakProblem) -> list[np.ndarray]:
    """Return the same predictions by a Cholesky factorisation for every pair and fold."""
    predictions = []
    for fold, (K, K_heldout) in enumerate(problem.grams):
        known = problem.targets[problem.folds != fold]
        right = np.vstack([known, problem.weak_targets])
        right = np.column_stack([right, np.ones(len(right))])
        n_labelled = len(known)
        found = np.empty((len(PAIRS), len(K_heldout), known.shape[1]))
        for index, (alpha, weight) in enumerate(PAIRS):
            ridge = np.full(len(K), labelled_ridge(n_labelled, alpha))
            ridge[n_labelled:] = weak_ridge(alpha, weight / (2.0 * n_labelled))
            factor = cho_factor(K + np.diag(ridge), overwrite_a=True, check_finite=False)
            solved = cho_solve(factor, right, check_finite=False)
            intercept = solved[:, :-1].sum(axis=0) / solved[:, -1].sum()
            dual = solved[:, :-1] - np.outer(solved[:, -1], intercept)
            found[index] = K_heldout @ dual + intercept
        predictions.append(found)
    return predictions


def weak_grid(n: int, n_weak: int) -> list[dict[str, str]]:
    """Time the grid for `n` labelled rows."""
    problem, warming = weak_problem(n, n_weak), weak_problem(20, 20)
    schur_complements(warming), whole_systems(warming)
    return compared(
        n,
        problem.targets.shape[1],
        {
            f"weak grid by Schur complements, {n_weak} weak rows": lambda: schur_complements(
                problem
            ),
            f"Cholesky of every system, {n_weak} weak rows": lambda: whole_systems(problem),
        },
        at_least(GAIN, EQUAL),
        agreement=largest_difference,
        note=f"n is labelled rows; {len(ALPHAS)} penalties x {len(WEIGHTS)} weights",
    )
