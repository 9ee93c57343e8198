"""Selection over a grid in cross-validation: ours, its limit, and scikit-learn's GridSearchCV.

The grid has 10 penalties, 5 widths of the rbf kernel and, for OFER with a Gaussian mixture, the
component counts 1 to 10; the mixture is refitted in each of the 5 folds. Everything goes through
`select_each`, as it does in the workflow. Times are in units of one eigendecomposition of the
Gram matrix for every width, which our selection needs in any case.

scikit-learn's KernelRidge has no intercept, so ours has none either where they are compared. Its
``alpha`` is 2 l lambda_0, with l the training rows of a fold, of which there are equally many.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

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

TITLE = "Selection"

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
# From this size on a peer, which takes minutes, is timed once.
MIN_TIMED_ONCE = 2000

KERNEL_RIDGE_GAINS = {200: 10, 500: 4, 1000: 3, 2000: 2.5}
# Costs in units of one eigendecomposition for every width.
LARGE = 500
LARGE_COST, SMALL_COST = 3, 4
MIXTURE_GAIN = 15
MEMORY_SIZE = 2000
GRAMS_IN_MEMORY = 3


UNIT = "one eigendecomposition"
UNITS = f"{len(WIDTHS)} x {UNIT}"
GRID = "m-KRR grid, 5 folds"
UNCENTRED_GRID = "m-KRR grid, 5 folds, no intercept"
PEER_GRID = "GridSearchCV(KernelRidge)"
MIXTURE_GRID = "OFER-GMM selection, one penalty"
BLOCK_GRID = "OFER-GMM selection, a penalty per block"
PEER_MIXTURE_GRID = "GridSearchCV(OutputFisherRegressor)"

FIGURES = {
    "Kernel ridge regression": (UNIT, UNITS, GRID, UNCENTRED_GRID, PEER_GRID, "one Gram matrix"),
    "OFER with a Gaussian mixture": (
        MIXTURE_GRID,
        BLOCK_GRID,
        PEER_MIXTURE_GRID,
        "one Gram matrix",
    ),
}
"""Methods and peers that are drawn together."""


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: every part at every size in a process of its own."""
    sizes = QUICK_SIZES if quick else SIZES
    times = each("kernel_ridge", n=sizes) + each("mixtures", n=sizes)
    return times + each("memory", n=sizes, method=SEARCHES)


# --- our side ------------------------------------------------------------------------------------


class GramsByWidth:
    """Builds the solver of a kernel, so that only one Gram matrix is in memory."""

    def __init__(
        self,
        problem: Problem,
        folds: np.ndarray | None = None,
        center: bool = True,
        widths: Sequence[float] = WIDTHS,
        **options,
    ) -> None:
        self._inputs = problem.inputs
        self._folds = problem.folds if folds is None else folds
        self._center, self._options = center, options
        self.kernels = [InputKernel("rbf", width) for width in widths]

    def __call__(self, kernel: InputKernel) -> SharedGram:
        gram = gram_matrix(self._inputs, None, "rbf", gamma_of(kernel.width))
        return SharedGram(gram, self._folds, self._center, overwrite=True, **self._options)


def gamma_of(width: float) -> float:
    """Return gamma of the kernel exp(-gamma ||x - x'||^2)."""
    return width / (2.0 * N_INPUTS)


def kernel_ridge_targets(problem: Problem, folds: np.ndarray) -> dict[None, list[FoldTargets]]:
    """Return the outputs as the targets of every fold."""
    return {None: [FoldTargets(None, None, problem.outputs)] * (int(folds.max()) + 1)}


def kernel_ridge_selection(
    problem: Problem, folds: np.ndarray | None = None, center: bool = True, **options
) -> Choice:
    """Return the best grid point of kernel ridge regression; `options` are those of SharedGram."""
    folds = problem.folds if folds is None else folds
    grams = GramsByWidth(problem, folds, center, **options)
    targets = kernel_ridge_targets(problem, folds)
    return _selected(problem, folds, grams, targets, ALPHAS, "shared")[None]


def mixture_selection(problem: Problem, penalty: str) -> dict[int, Choice]:
    """Return the best grid point of OFER for every component count, 1 to 10."""
    targets = mixture_targets(problem, mixture_models(problem))
    return _selected(problem, problem.folds, GramsByWidth(problem), targets, ALPHAS, penalty)


def mixture(n_components: int = 4) -> GaussianMixtureModel:
    """Return the mixture that both sides fit."""
    return GaussianMixtureModel(
        n_components, "tied_spherical", variance_floor=0.05, n_init=5, random_state=0
    )


def mixture_models(problem: Problem) -> dict[int, list[GaussianMixtureModel]]:
    """Return the mixtures of every component count, fitted without each fold."""
    return {
        count: [
            mixture(count).fit(problem.outputs[problem.folds != fold]) for fold in range(N_FOLDS)
        ]
        for count in COMPONENT_COUNTS
    }


def mixture_targets(
    problem: Problem, models: Mapping[int, Sequence[GaussianMixtureModel]]
) -> dict[int, list[FoldTargets]]:
    """Return the embedded outputs of every component count and fold."""
    known = [problem.folds != fold for fold in range(N_FOLDS)]
    outputs = [scattered(problem.outputs[rows], rows) for rows in known]
    return {
        count: [
            _embedded(problem, model, outputs[fold], known[fold])
            for fold, model in enumerate(by_fold)
        ]
        for count, by_fold in models.items()
    }


def _embedded(problem: Problem, model: GaussianMixtureModel, outputs, known) -> FoldTargets:
    embedding = ForwardEmbedding(model, "reduced")
    scaling = fit_output_scaling(problem.outputs[known], "none")
    embedded = embedding.transform(scaling.apply(problem.outputs[known]))
    return embedded_targets(embedding, embedded, outputs, known, scaling=scaling)


def _selected(problem, folds, grams, targets, alphas, penalty) -> dict[int | None, Choice]:
    by_kernel = dict.fromkeys(grams.kernels, alphas)
    return select_each(
        problem.outputs, folds, grams, None, targets, by_kernel, (), penalty, (False,), METRIC
    )


def scores_by_point(
    problem: Problem,
    targets: Mapping[int | None, Sequence[FoldTargets]],
    center: bool,
    widths: Iterable[float] = WIDTHS,
    alphas: Iterable[float] = ALPHAS,
) -> dict[tuple[int | None, float, float], float]:
    """Return our score of every (component count, width, penalty), by grids of a single point."""
    scores = {}
    for width in widths:
        grams = GramsByWidth(problem, center=center, widths=[width])
        for alpha in alphas:
            found = _selected(problem, problem.folds, grams, targets, [alpha], "shared")
            scores |= {(count, width, alpha): choice.score for count, choice in found.items()}
    return scores


# --- the peer's side -----------------------------------------------------------------------------


def peer_search(
    problem: Problem,
    estimator,
    counts: Sequence[int | None],
    alpha_of: Callable[[float], float],
    widths: Sequence[float] = WIDTHS,
    alphas: Sequence[float] = ALPHAS,
) -> dict[tuple[int | None, float, float], float]:
    """Return GridSearchCV's score of every (component count, width, penalty).

    Its scorer sums squared errors over a fold's rows and columns, so that its mean over folds
    corresponds to the relative error of ours.
    """
    from sklearn.model_selection import GridSearchCV, PredefinedSplit

    by_alpha = {alpha_of(alpha): alpha for alpha in alphas}
    by_gamma = {gamma_of(width): width for width in widths}
    grid = {"alpha": list(by_alpha), "gamma": list(by_gamma)}
    if counts != [None]:
        grid["model__n_components"] = list(counts)
    search = GridSearchCV(
        estimator,
        grid,
        scoring=_negative_error_sum,
        cv=PredefinedSplit(problem.folds),
        refit=False,
        error_score="raise",
    )
    search.fit(problem.inputs, problem.outputs)
    total = reference_errors(problem.outputs, problem.folds).sum()
    return {
        (
            point.get("model__n_components"),
            by_gamma[point["gamma"]],
            by_alpha[point["alpha"]],
        ): float(np.sqrt(-N_FOLDS * score / total))
        for point, score in zip(
            search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
        )
    }


def _negative_error_sum(estimator, inputs, outputs) -> float:
    return -float(((outputs - estimator.predict(inputs)) ** 2).sum())


def peer_kernel_ridge(problem: Problem, **grid) -> dict[tuple[None, float, float], float]:
    """Return the scores of scikit-learn's KernelRidge."""
    from sklearn.kernel_ridge import KernelRidge

    rows_of_a_fold = len(problem.folds) - len(problem.folds) // N_FOLDS
    return peer_search(
        problem,
        KernelRidge(kernel="rbf"),
        [None],
        lambda alpha: 2.0 * rows_of_a_fold * alpha,
        **grid,
    )


def peer_mixture(problem: Problem, **grid) -> dict[tuple[int, float, float], float]:
    """Return the scores of `OutputFisherRegressor`, which is fitted at every grid point."""
    from workflow_lib.estimators.output_fisher import OutputFisherRegressor

    estimator = OutputFisherRegressor(mixture(), kernel="rbf", preimage="closed_form")
    return peer_search(problem, estimator, COMPONENT_COUNTS, lambda alpha: alpha, **grid)


def largest_difference(ours: Mapping, theirs: Mapping) -> float:
    """Return the largest difference of two sides' scores; both must have scored the same points.

    Raises
    ------
    ValueError
        If the points differ.
    """
    if set(ours) != set(theirs):
        raise ValueError(f"The sides scored different points: {set(ours) ^ set(theirs)}.")
    return max(abs(ours[point] - theirs[point]) for point in ours)


# --- measurements --------------------------------------------------------------------------------


def kernel_ridge(n: int) -> list[dict[str, str]]:
    """Time the grid of kernel ridge regression and the units of its cost."""
    problem, warming = smooth_problem(n), smooth_problem(WARMING_SIZE)
    for call in _kernel_ridge_calls(warming).values():
        call()
    once = ("peer",) if n >= MIN_TIMED_ONCE else ()
    timings = interleaved(_kernel_ridge_calls(problem), once)
    decomposition, chol = timings["eigendecomposition"], timings["cholesky"]
    units = Timing(decomposition.scaled(len(WIDTHS)).seconds)
    targets = kernel_ridge_targets(problem, problem.folds)
    difference = largest_difference(
        scores_by_point(problem, targets, center=False), timings["peer"].result
    )
    cost = at_most(LARGE_COST if n >= LARGE else SMALL_COST)
    return [
        row(n, N_OUTPUTS, UNIT, decomposition, "one Cholesky factorisation", chol),
        row(n, N_OUTPUTS, GRID, timings["grid"], UNITS, units, cost, note="Gram matrices included"),
        row(
            n,
            N_OUTPUTS,
            UNCENTRED_GRID,
            timings["uncentred"],
            PEER_GRID,
            timings["peer"],
            at_least(KERNEL_RIDGE_GAINS[n], EQUAL) if n in KERNEL_RIDGE_GAINS else None,
            gain=True,
            agreement=difference,
        ),
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
    problem, warming = smooth_problem(n), smooth_problem(WARMING_SIZE)
    sample = {} if n <= MAX_WHOLE_PEER else {"widths": WIDTHS[2:3], "alphas": ALPHAS[5:6]}
    for call in _mixture_calls(warming, {"widths": WIDTHS[:1], "alphas": ALPHAS[-1:]}).values():
        call()
    once = ("peer",) if not sample or n >= MIN_TIMED_ONCE else ()
    timings = interleaved(_mixture_calls(problem, sample), once)
    theirs = timings["peer"].result
    points = len(COMPONENT_COUNTS) * len(WIDTHS) * len(ALPHAS)
    peer = timings["peer"].scaled(points / len(theirs))
    note = f"peer timed on {len(theirs)} of {points} grid points" if sample else ""
    targets = mixture_targets(problem, mixture_models(problem))
    difference = largest_difference(
        scores_by_point(problem, targets, center=True, **sample), theirs
    )
    rows = []
    for name, method in (("shared", MIXTURE_GRID), ("per_block", BLOCK_GRID)):
        smaller = "" if name == "shared" else "the peer's grid is a tenth: it has one penalty"
        rows.append(
            row(
                n,
                N_OUTPUTS,
                method,
                timings[name],
                PEER_MIXTURE_GRID,
                peer,
                at_least(MIXTURE_GAIN, EQUAL if name == "shared" else None),
                agreement=difference if name == "shared" else None,
                note="; ".join(part for part in (note, smaller) if part),
            )
        )
    return rows


def _mixture_calls(problem: Problem, sample: Mapping) -> dict[str, Callable]:
    return {
        "shared": lambda: mixture_selection(problem, "shared"),
        "per_block": lambda: mixture_selection(problem, "per_block"),
        "peer": lambda: peer_mixture(problem, **sample),
    }


def memory(n: int, method: str) -> list[dict[str, str]]:
    """Measure the peak memory of one search, above the data, in Gram matrices."""
    problem = smooth_problem(n)
    search, goal = SEARCHES[method], None
    # Loads the libraries and the work space of BLAS, which do not depend on the size.
    search(smooth_problem(WARMING_SIZE))
    _, megabytes = with_peak_memory(lambda: search(problem))
    if megabytes is None:
        return []
    targets, gram = problem.outputs.nbytes / 2**20, 8 * n**2 / 2**20
    if method == GRID and n == MEMORY_SIZE:
        goal = at_most(GRAMS_IN_MEMORY)
    return [
        row(
            n,
            N_OUTPUTS,
            method,
            peer="one Gram matrix",
            ratio=(megabytes - targets) / gram,
            goal=goal,
            memory_mb=megabytes,
            peer_memory_mb=gram,
            note="peak memory above the data, less one copy of the outputs",
        )
    ]


SEARCHES: dict[str, Callable[[Problem], object]] = {
    GRID: kernel_ridge_selection,
    MIXTURE_GRID: lambda problem: mixture_selection(problem, "shared"),
    # Each fit frees its memory, so that one grid point shows the peak of all.
    PEER_GRID: lambda problem: peer_kernel_ridge(problem, widths=WIDTHS[2:3], alphas=ALPHAS[5:6]),
}
"""Searches whose memory is measured, by name."""
