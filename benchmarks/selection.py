"""Selection over a grid in cross-validation: ours, its limit, and scikit-learn's GridSearchCV.

The grid has 10 penalties, 5 widths of the rbf kernel and, for OFER with a Gaussian mixture, the
component counts 1 to 10; the mixture is refitted in each of the 5 folds. Everything goes through
`select_each`, as it does in the workflow. Times are in units of one eigendecomposition of the
Gram matrix for every width, which our selection needs in any case.

scikit-learn's KernelRidge has no intercept, so ours has none either where they are compared. Its
``alpha`` is 2 l lambda_0, with l the training rows of a fold, of which there are equally many.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from scipy.linalg import cholesky, eigh

from benchmarks.measuring import (
    Measurement,
    Timing,
    at_least,
    at_most,
    each,
    interleaved,
    row,
    with_peak_memory,
)
from benchmarks.problems import N_FOLDS, N_INPUTS, N_OUTPUTS, Problem, smooth_problem
from workflow_lib.fitting.fold_targets import FoldTargets, embedded_targets, scattered
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.selection import Choice, select_each
from workflow_lib.measures.metrics import reference_errors
from workflow_lib.models.forward import ForwardEmbedding
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.output_scaling import fit_output_scaling
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.heldout import SharedGram

SIZES = (200, 500, 1000, 2000)
QUICK_SIZES = (200, 500)
WARMING_SIZE = 40

ALPHAS = tuple(np.logspace(-6.0, 0.0, 10).tolist())
WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""In units of 1 / (2 q), with q the columns of the inputs."""
COMPONENT_COUNTS = tuple(range(1, 11))

# Pooled over coordinates: one number per fold can only be a sum over rows and columns.
METRIC = "rrmse"
EQUAL = 1e-10

# The largest size at which the peer's whole search over mixtures is timed, once; above, it is timed
# on one penalty and one width, and multiplied.
MAX_WHOLE_PEER = 200
SAMPLE = {"widths": WIDTHS[2:3], "alphas": ALPHAS[5:6]}
# From this size on a peer, which takes minutes, is timed once.
MIN_TIMED_ONCE = 2000

KERNEL_RIDGE_GAINS = {200: 10, 500: 4, 1000: 3, 2000: 2.5}
# Costs in units of one eigendecomposition for every width.
LARGE = 500
LARGE_COST, SMALL_COST = 3, 4
GAIN = 15
MEMORY_SIZE = 2000
GRAMS_IN_MEMORY = 3

UNIT = "one eigendecomposition"
UNITS = f"{len(WIDTHS)} x {UNIT}"
GRID = "m-KRR grid, 5 folds"
UNCENTRED_GRID = f"{GRID}, no intercept"
PEER_GRID = "GridSearchCV(KernelRidge)"
MIXTURE_GRID = "OFER-GMM selection, one penalty"
BLOCK_GRID = "OFER-GMM selection, a penalty per block"
PEER_MIXTURE_GRID = "GridSearchCV(OutputFisherRegressor)"


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: every part at every size in a process of its own."""
    sizes = QUICK_SIZES if quick else SIZES
    times = each("kernel_ridge", n=sizes) + each("mixtures", n=sizes)
    return times + each("memory", n=sizes, method=SEARCHES)


# --- our side ------------------------------------------------------------------------------------


def selected(
    problem: Problem,
    targets: Mapping[int | None, Sequence[FoldTargets]],
    center: bool = True,
    widths: Sequence[float] = WIDTHS,
    alphas: Sequence[float] = ALPHAS,
    penalty: str = "shared",
) -> dict[int | None, Choice]:
    """Return the best grid point for each of the targets."""

    def gram_of(kernel: InputKernel) -> SharedGram:
        # Built anew, so that only one Gram matrix is in memory.
        gram = gram_matrix(problem.inputs, None, "rbf", gamma_of(kernel.width))
        return SharedGram(gram, problem.folds, center, overwrite=True)

    grid = {InputKernel("rbf", width): alphas for width in widths}
    known = problem.outputs, problem.folds
    return select_each(*known, gram_of, None, targets, grid, (), penalty, (False,), METRIC)


def gamma_of(width: float) -> float:
    """Return gamma of the kernel exp(-gamma ||x - x'||^2)."""
    return width / (2.0 * N_INPUTS)


def kernel_ridge_targets(problem: Problem) -> dict[None, list[FoldTargets]]:
    """Return the outputs as the targets of every fold."""
    return {None: [FoldTargets(None, None, problem.outputs)] * N_FOLDS}


def kernel_ridge_selection(problem: Problem, center: bool = True) -> Choice:
    """Return the best grid point of kernel ridge regression."""
    return selected(problem, kernel_ridge_targets(problem), center)[None]


def mixture(n_components: int = 4) -> GaussianMixtureModel:
    """Return the mixture that both sides fit."""
    return GaussianMixtureModel(
        n_components, "tied_spherical", variance_floor=0.05, n_init=5, random_state=0
    )


def mixture_targets(problem: Problem) -> dict[int, list[FoldTargets]]:
    """Return the outputs embedded by the mixtures of every component count, without each fold."""

    def of_fold(count: int, fold: int) -> FoldTargets:
        known = problem.folds != fold
        outputs = problem.outputs[known]
        embedding = ForwardEmbedding(mixture(count).fit(outputs), "reduced")
        scaling = fit_output_scaling(outputs, "none")
        embedded = embedding.transform(scaling.apply(outputs))
        every = scattered(outputs, known)
        return embedded_targets(embedding, embedded, every, known, scaling=scaling)

    return {c: [of_fold(c, fold) for fold in range(N_FOLDS)] for c in COMPONENT_COUNTS}


def mixture_selection(problem: Problem, penalty: str) -> dict[int, Choice]:
    """Return the best grid point of OFER for every component count, 1 to 10."""
    return selected(problem, mixture_targets(problem), penalty=penalty)


Scores = dict[tuple[int | None, float, float], float]
"""The score of every (component count, width, penalty)."""


def scores_by_point(
    problem: Problem,
    targets: Mapping[int | None, Sequence[FoldTargets]],
    center: bool,
    widths: Sequence[float] = WIDTHS,
    alphas: Sequence[float] = ALPHAS,
) -> Scores:
    """Return our scores, by grids of a single point."""
    return {
        (count, width, alpha): choice.score
        for width in widths
        for alpha in alphas
        for count, choice in selected(problem, targets, center, [width], [alpha]).items()
    }


# --- the peer's side -----------------------------------------------------------------------------


def peer_search(
    problem: Problem,
    estimator,
    counts: Sequence[int | None],
    alpha_factor: float,
    widths: Sequence[float] = WIDTHS,
    alphas: Sequence[float] = ALPHAS,
) -> Scores:
    """Return GridSearchCV's scores.

    Its scorer sums squared errors over a fold's rows and columns, so that its mean over folds
    corresponds to the relative error of ours.
    """
    from sklearn.model_selection import GridSearchCV, PredefinedSplit

    # The order of the points is that of the names.
    grid = {"alpha": [alpha_factor * alpha for alpha in alphas]}
    grid["gamma"] = [gamma_of(width) for width in widths]
    if counts != [None]:
        grid["model__n_components"] = list(counts)
    points = [(c, width, alpha) for alpha in alphas for width in widths for c in counts]
    folds = PredefinedSplit(problem.folds)
    search = GridSearchCV(
        estimator, grid, scoring=_negative_error_sum, cv=folds, refit=False, error_score="raise"
    )
    found = search.fit(problem.inputs, problem.outputs).cv_results_["mean_test_score"]
    total = reference_errors(problem.outputs, problem.folds).sum()
    scores = np.sqrt(-N_FOLDS * found / total).tolist()
    return dict(zip(points, scores, strict=True))


def _negative_error_sum(estimator, inputs, outputs) -> float:
    return -float(((outputs - estimator.predict(inputs)) ** 2).sum())


def peer_kernel_ridge(problem: Problem, **grid) -> Scores:
    """Return the scores of scikit-learn's KernelRidge."""
    from sklearn.kernel_ridge import KernelRidge

    rows_of_a_fold = len(problem.folds) - len(problem.folds) // N_FOLDS
    return peer_search(problem, KernelRidge(kernel="rbf"), [None], 2.0 * rows_of_a_fold, **grid)


def peer_mixture(problem: Problem, **grid) -> Scores:
    """Return the scores of `OutputFisherRegressor`, which is fitted at every grid point."""
    from workflow_lib.estimators.output_fisher import OutputFisherRegressor

    estimator = OutputFisherRegressor(mixture(), kernel="rbf", preimage="closed_form")
    return peer_search(problem, estimator, COMPONENT_COUNTS, 1.0, **grid)


def largest_difference(ours: Scores, theirs: Scores) -> float:
    """Return the largest difference of two sides' scores of the same points."""
    return max(abs(score - theirs[point]) for point, score in ours.items())


# --- measurements --------------------------------------------------------------------------------


def kernel_ridge(n: int) -> list[dict[str, str]]:
    """Time the grid of kernel ridge regression and the units of its cost."""
    for call in _kernel_ridge_calls(smooth_problem(WARMING_SIZE)).values():
        call()
    problem = smooth_problem(n)
    found = interleaved(_kernel_ridge_calls(problem), ("peer",) if n >= MIN_TIMED_ONCE else ())
    unit = found["eigendecomposition"]
    units = Timing(unit.scaled(len(WIDTHS)).seconds)
    cost, gain = LARGE_COST if n >= LARGE else SMALL_COST, at_least(KERNEL_RIDGE_GAINS[n], EQUAL)
    scores = scores_by_point(problem, kernel_ridge_targets(problem), center=False)
    same = largest_difference(scores, found["peer"].result)
    row_of = partial(row, n, N_OUTPUTS)
    return [
        row_of(UNIT, unit, "one Cholesky factorisation", found["cholesky"]),
        row_of(GRID, found["grid"], UNITS, units, at_most(cost), note="Gram matrices included"),
        row_of(UNCENTRED_GRID, found["uncentred"], PEER_GRID, found["peer"], gain, agreement=same),
    ]


def _kernel_ridge_calls(problem: Problem) -> dict[str, Callable]:
    K = gram_matrix(problem.inputs, None, "rbf", gamma_of(1.0))
    ridged = K + 1e-3 * np.eye(len(K))
    return {
        "eigendecomposition": lambda: eigh(K, driver="evd")[0],
        "cholesky": lambda: cholesky(ridged, lower=True)[0, 0],
        "grid": lambda: kernel_ridge_selection(problem),
        "uncentred": lambda: kernel_ridge_selection(problem, center=False),
        "peer": lambda: peer_kernel_ridge(problem),
    }


def mixtures(n: int) -> list[dict[str, str]]:
    """Time the whole selection of OFER with a mixture."""
    for call in _mixture_calls(smooth_problem(WARMING_SIZE), SAMPLE).values():
        call()
    problem, sample = smooth_problem(n), {} if n <= MAX_WHOLE_PEER else SAMPLE
    once = ("peer",) if not sample or n >= MIN_TIMED_ONCE else ()
    found = interleaved(_mixture_calls(problem, sample), once)
    theirs = found["peer"].result
    points = len(COMPONENT_COUNTS) * len(WIDTHS) * len(ALPHAS)
    note = f"peer timed on {len(theirs)} of {points} grid points" if sample else ""
    ours = scores_by_point(problem, mixture_targets(problem), center=True, **sample)
    same = largest_difference(ours, theirs)
    peer = found["peer"].scaled(points / len(theirs))
    row_of = partial(row, n, N_OUTPUTS, peer=PEER_MIXTURE_GRID, peer_timing=peer, note=note)
    # The grid of the peer is a tenth of that of a penalty per block: it has one penalty.
    return [
        row_of(MIXTURE_GRID, found[MIXTURE_GRID], goal=at_least(GAIN, EQUAL), agreement=same),
        row_of(BLOCK_GRID, found[BLOCK_GRID], goal=at_least(GAIN)),
    ]


def _mixture_calls(problem: Problem, sample: Mapping) -> dict[str, Callable]:
    return {
        MIXTURE_GRID: lambda: mixture_selection(problem, "shared"),
        BLOCK_GRID: lambda: mixture_selection(problem, "per_block"),
        "peer": lambda: peer_mixture(problem, **sample),
    }


def memory(n: int, method: str) -> list[dict[str, str]]:
    """Measure the peak memory of one search, above the data, in Gram matrices."""
    problem = smooth_problem(n)
    # Loads the libraries and the work space of BLAS, which do not depend on the size.
    SEARCHES[method](smooth_problem(WARMING_SIZE))
    _, megabytes = with_peak_memory(lambda: SEARCHES[method](problem))
    if megabytes is None:
        return []
    gram = 8 * n**2 / 2**20
    return [
        row(
            n,
            N_OUTPUTS,
            method,
            peer="one Gram matrix",
            ratio=(megabytes - problem.outputs.nbytes / 2**20) / gram,
            goal=at_most(GRAMS_IN_MEMORY) if method == GRID and n == MEMORY_SIZE else None,
            memory_mb=megabytes,
            peer_memory_mb=gram,
            note="peak memory above the data, less one copy of the outputs",
        )
    ]


SEARCHES: dict[str, Callable[[Problem], object]] = {
    GRID: kernel_ridge_selection,
    MIXTURE_GRID: lambda problem: mixture_selection(problem, "shared"),
    # Each fit frees its memory, so that one grid point shows the peak of all.
    PEER_GRID: lambda problem: peer_kernel_ridge(problem, **SAMPLE),
}
"""Searches whose memory is measured, by name."""
