"""Matrix factorisation of a stream of rows, to an objective that scikit-learn reaches.

Each side is judged by the same function: the mean over rows that neither learned from of what their
codes minimise, computed to the same tolerance. Ours goes on, a tenth of the rows at a time, until
it is as low as scikit-learn's after some passes over the rows. Times are CPU seconds of learning.
"""

import time
import warnings
from collections.abc import Callable

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import MiniBatchDictionaryLearning, MiniBatchNMF

from benchmarks.measuring import Measurement, Timing, at_least, each, row
from workflow_lib.papers.varoquaux.sparse_codes import sparse_codes
from workflow_lib.papers.varoquaux.subsampled_factorisation import SubsampledFactorisation

ATOMS = 30
BATCH = 512
N_JUDGED = 2000
MAX_PASSES = 4
GAIN = 5
ALPHA = 0.1
SAMPLES = 8
MANY_ROWS = 10_000
"""Of fewer rows there is no goal: the calls of NumPy cost more than the sums."""

UNSTOPPED = {"tol": 0, "max_no_improvement": None, "random_state": 0}
NOTE = "n is rows, p is features; CPU seconds until the objective on other rows is as low"


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: sparse and dense rows, passes of the peer, and subsampling."""
    n = 5_000 if quick else 50_000
    passes = [1] if quick else [1, 10]
    return [
        *each("non_negative", n=[n], p=[n // 5], passes=passes),
        *each("dictionary", n=[n // 5], p=[n // 50], passes=[1]),
        *each("subsampled", n=[n // 10], p=[n // 5]),
    ]


def sparse_texts(n: int, p: int) -> sparse.csr_matrix:
    """Return normalised counts (n, p) of about 12 words each from ATOMS topics, by Zipf's law."""
    random = np.random.default_rng(0)
    frequent = 1.0 / np.arange(1, p + 1)
    topics = random.gamma(0.05, size=(ATOMS, p)) * frequent
    topics = np.cumsum(topics / topics.sum(axis=1, keepdims=True), axis=1)
    lengths = 1 + random.poisson(11, size=n)
    main, second = random.integers(ATOMS, size=(2, n))
    words = []
    for length, pair in zip(lengths, np.column_stack([main, second]), strict=True):
        chosen = pair[(random.random(length) < 0.3).astype(int)]
        drawn = [np.searchsorted(topics[topic], random.random()) for topic in chosen]
        words.append(np.minimum(drawn, p - 1))
    rows = np.repeat(np.arange(n), lengths)
    counts = sparse.csr_matrix((np.ones(len(rows)), (rows, np.concatenate(words))), (n, p))
    return sparse.csr_matrix(counts.multiply(1.0 / sparse.linalg.norm(counts, axis=1)[:, None]))


def smooth_rows(n: int, p: int) -> np.ndarray:
    """Return rows (n, p) of length 1: sparse sums of ATOMS smooth bumps, with noise."""
    random = np.random.default_rng(0)
    places = np.linspace(0.0, 1.0, p)
    centres, widths = random.random(ATOMS), 0.02 + 0.05 * random.random(ATOMS)
    atoms = np.exp(-0.5 * ((places - centres[:, None]) / widths[:, None]) ** 2)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    codes = random.normal(size=(n, ATOMS)) * (random.random((n, ATOMS)) < 0.2)
    X = codes @ atoms + 0.5 / np.sqrt(p) * random.normal(size=(n, p))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def objective(X, dictionary: np.ndarray, model: SubsampledFactorisation) -> float:
    """Return the mean of 1/2 |x - V'u|^2 + alpha |u|_1 at the best codes u, for |v| <= 1."""
    lengths = np.linalg.norm(dictionary, axis=1, keepdims=True)
    known, alpha = lengths[:, 0] > 0, model.alpha
    # Without a penalty only the directions of atoms matter.
    V = dictionary[known] / (np.maximum(lengths, 1.0) if alpha else lengths)[known]
    gram, products = V @ V.T, np.asarray(X @ V.T).T
    codes = sparse_codes(gram, products, alpha, model.positive_code, tol=1e-5)
    squares = X.multiply(X).sum() if sparse.issparse(X) else np.square(X).sum()
    fit = 0.5 * (squares - 2.0 * np.vdot(codes, products) + np.vdot(codes, gram @ codes))
    return float(fit + alpha * np.abs(codes).sum()) / X.shape[0]


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the CPU seconds of a call, without warnings that it has not converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        call()
        return time.process_time() - begin


def until(model, X, judged, goal: float) -> tuple[float, float]:
    """Return the CPU seconds until a model is as good as `goal`, and its objective then."""
    seconds, value = 0.0, np.inf
    for part in np.array_split(np.arange(X.shape[0]), 10) * MAX_PASSES:
        block = X[part]
        seconds += cpu_seconds(lambda block=block: model.partial_fit(block))
        value = objective(judged, model.components_, model)
        if value <= goal:
            return seconds, value
    return np.inf, value


def beside(name, X, model, peer_name, peer) -> list[dict[str, str]]:
    """Return the row of a model and the peer, both estimators that are not fitted."""
    learned, judged = X[:-N_JUDGED], X[-N_JUDGED:]
    ours, theirs = [], []
    for _ in range(3):
        seconds = cpu_seconds(lambda: peer.fit(learned))
        theirs.append((seconds, objective(judged, peer.components_, model)))
        ours.append(until(clone(model), learned, judged, theirs[-1][1]))
    timings = [Timing(tuple(seconds for seconds, _ in side)) for side in (ours, theirs)]
    goal = at_least(GAIN) if learned.shape[0] >= MANY_ROWS else None
    note = f"{NOTE}: {ours[-1][1]:.4f} against {theirs[-1][1]:.4f}"
    return [row(*X.shape, name, timings[0], peer_name, timings[1], goal, gain=True, note=note)]


def non_negative(n: int, p: int, passes: int) -> list[dict[str, str]]:
    """Time the non-negative factorisation of sparse rows, and scikit-learn's."""
    settings = {"alpha": 0.0, "positive_code": True, "positive_dict": True, "batch_size": BATCH}
    return beside(
        "online non-negative factorisation, sparse rows",
        sparse_texts(n + N_JUDGED, p),
        SubsampledFactorisation(ATOMS, **settings),
        f"MiniBatchNMF, passes: {passes}",
        MiniBatchNMF(ATOMS, max_iter=passes, **UNSTOPPED),
    )


def dictionary(n: int, p: int, passes: int) -> list[dict[str, str]]:
    """Time the sparse dictionary of dense rows, and scikit-learn's."""
    settings = {"alpha": ALPHA, "batch_size": BATCH}
    return beside(
        "online dictionary learning, dense rows",
        smooth_rows(n + N_JUDGED, p),
        SubsampledFactorisation(ATOMS, **settings),
        f"MiniBatchDictionaryLearning, passes: {passes}",
        MiniBatchDictionaryLearning(
            ATOMS, max_iter=passes, fit_algorithm="cd", **settings, **UNSTOPPED
        ),
    )


def subsampled(n: int, p: int) -> list[dict[str, str]]:
    """Time an update of a sample of the features, and of all of them."""
    settings = {"alpha": ALPHA, "batch_size": ATOMS}
    return beside(
        f"1 / {SAMPLES} of the features in a step",
        smooth_rows(n + N_JUDGED, p),
        SubsampledFactorisation(ATOMS, reduction=SAMPLES, **settings),
        "all features in a step",
        SubsampledFactorisation(ATOMS, **settings),
    )
