"""Features whose inner products approximate a kernel, from a few landmarks of the inputs.

With landmarks L (m, q), the Nystrom approximation of the Gram matrix of rows X (Williams & Seeger
2001; Drineas & Mahoney 2005) is

    K ~ k(X, L) k(L, L)^+ k(L, X) = Z Z',    Z = k(X, L) U diag(s)^(-1/2),    k(L, L) = U diag(s) U'

so that ridge regression on the m features or fewer of Z replaces kernel ridge regression on a Gram
matrix of all pairs of rows. It is exact where the landmarks span the rows; otherwise it is kernel
ridge regression restricted to functions sum_j a_j k(., landmark_j) (Rudi, Camoriano & Rosasco
2015).
"""

import numpy as np
from scipy.linalg import cho_factor, cholesky, eigh, solve_triangular
from scipy.linalg.lapack import dpocon, dpotrf

from workflow_lib.solvers.gram import gram_matrix

METHODS = ("uniform", "k_means", "leverage", "pivoted")

# Under this fraction of the largest eigenvalue of k(L, L), rounding would be most of a feature.
MIN_RELATIVE_EIGENVALUE = 1e-10

# Up to this condition number (in the 1-norm) sums of kernel values serve as well as those of
# features, see `workflow_lib.solvers.feature_sums`.
MAX_CONDITION = 1e7

# Rows that all methods but the uniform one use, in multiples of the number of landmarks: the cost
# is then that of the landmarks squared, whatever the number of rows.
CANDIDATES_PER_LANDMARK = 20

# Rows that are proposed at a time, in multiples of the number of landmarks.
PROPOSALS_PER_LANDMARK = 0.1

# Lloyd's iterations: landmarks need not be the best clusters, only well spread.
LLOYD_ITERATIONS = 10

# Numbers in one block of distances or kernel values (32 MB).
BLOCK_NUMBERS = 2**22


def choose_landmarks(
    X: np.ndarray,
    n_landmarks: int,
    kernel: str,
    gamma: float | None,
    method: str,
    generator: np.random.Generator,
) -> np.ndarray:
    """Return landmarks (m, q) for the rows of `X` (n, q).

    Raises ValueError if `method` is unknown, `n_landmarks` is not positive, or the kernel is
    precomputed, which leaves no inputs to choose.

    Parameters
    ----------
    X : array (n, q)
        Inputs; anything that gives arrays for sorted row numbers, such as a memory map.
    n_landmarks : int
        m, at least 1. All rows are the landmarks where there are no more than m.
    kernel, gamma
        As in `workflow_lib.solvers.gram.gram_matrix`; ``leverage`` and ``pivoted`` use them.
    method : {"uniform", "k_means", "leverage", "pivoted"}
        ``uniform``: rows drawn without replacement. ``k_means``: the centres of Lloyd's algorithm
        started from such rows (Zhang, Tsang & Kwok 2008), which are not rows themselves.
        ``leverage``: rows drawn without replacement in proportion to their approximate ridge
        leverage scores (Rudi et al. 2015; Musco & Musco 2017). ``pivoted``: rows of
        `pivoted_rows`; fewer where these already span the others. The last three use 20 m rows at
        most, drawn uniformly. Prefer ``k_means``: it comes closest to the exact solution with the
        fewest landmarks, while leverage scores, made for the worst row, are often no better than
        ``uniform``. At equal time the errors of the four differ by one percent at most
        (`benchmarks.landmark_methods`).
    generator : numpy.random.Generator
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}; found {method!r}.")
    if n_landmarks < 1:
        raise ValueError(f"n_landmarks must be at least 1; found {n_landmarks}.")
    _check_kernel(kernel)
    if n_landmarks >= len(X):
        return np.array(X[:], dtype=np.float64)
    if method == "uniform":
        return _sample(X, n_landmarks, generator)
    candidates = _sample(X, CANDIDATES_PER_LANDMARK * n_landmarks, generator)
    if method == "k_means":
        return _k_means(candidates, n_landmarks, generator)
    if method == "pivoted":
        return candidates[np.sort(pivoted_rows(candidates, n_landmarks, kernel, gamma, generator))]
    scores = leverage_scores(candidates, _sample(candidates, n_landmarks, generator), kernel, gamma)
    chosen = generator.choice(
        len(candidates), n_landmarks, replace=False, p=scores / scores.sum(), shuffle=False
    )
    return candidates[np.sort(chosen)]


def leverage_scores(
    X: np.ndarray, sketch: np.ndarray, kernel: str, gamma: float | None
) -> np.ndarray:
    """Return approximate ridge leverage scores (n,) of the rows of `X` (n, q), all positive.

    The score of a row is [K (K + lambda I)^-1]_ii. With s rows S drawn uniformly it is about

        (k(x, x) - k(x, S) (k(S, S) + lambda s/n I)^-1 k(S, x)) / lambda

    (Musco & Musco 2017, eq. (6)). The ridge lambda s/n is the sum of the smaller half of the
    eigenvalues of k(S, S) over their number, the cited choice for a rank of s / 2. The factor
    1 / lambda is left out.

    Parameters
    ----------
    X : array (n, q)
    sketch : array (s, q)
        S.
    kernel, gamma
        As in `workflow_lib.solvers.gram.gram_matrix`.
    """
    K = gram_matrix(sketch, None, kernel, gamma)
    eigenvalues = np.maximum(eigh(K, eigvals_only=True), 0.0)
    smaller_half = eigenvalues[: (len(K) + 1) // 2]
    floor = MIN_RELATIVE_EIGENVALUE * eigenvalues[-1]
    ridge = max(smaller_half.mean(), floor)
    factor, lower = cho_factor(K + ridge * np.eye(len(K)), lower=True)
    scores = np.empty(len(X))
    for rows in _row_blocks(len(X), len(K)):
        across = gram_matrix(X[rows], sketch, kernel, gamma)
        explained = solve_triangular(factor, across.T, lower=lower, check_finite=False)
        scores[rows] = _squared_norms(X[rows], kernel) - (explained**2).sum(axis=0)
    # Rounding can leave nothing of a row that the sketch explains.
    return np.maximum(scores, floor)


def pivoted_rows(
    X: np.ndarray, n_rows: int, kernel: str, gamma: float | None, generator: np.random.Generator
) -> np.ndarray:
    """Return the numbers of rows of `X` (n, q), by a randomly pivoted Cholesky factorisation.

    Each row is drawn in proportion to the diagonal of the Gram matrix less its Nystrom
    approximation by the rows before (Chen, Epperly, Tropp & Webber 2023). Blocks of proposals, of
    which those are refused that the block itself has made less likely, have the same law
    (Epperly, Tropp & Webber 2024). There are fewer than `n_rows` where nothing is left.
    """
    first = _squared_norms(X, kernel)
    residual, chosen = first.copy(), []
    factor = np.empty((n_rows, len(X)))
    # Of a row that is left with less, rounding would be most.
    least = MIN_RELATIVE_EIGENVALUE * first.max()
    while len(chosen) < n_rows and residual.any():
        known = factor[: len(chosen)]
        size = max(1, int(PROPOSALS_PER_LANDMARK * n_rows))
        proposed = generator.choice(len(X), size, p=residual / residual.sum())
        left = gram_matrix(X[proposed], None, kernel, gamma)
        left -= known[:, proposed].T @ known[:, proposed]
        accepted = []
        for index, row in enumerate(proposed):
            if left[index, index] > max(least / 2, generator.random() * residual[row]):
                accepted.append(row)
                left -= np.outer(left[index], left[index] / left[index, index])
        accepted = accepted[: n_rows - len(chosen)]
        if not accepted:
            continue
        across = gram_matrix(X[accepted], X, kernel, gamma) - known[:, accepted].T @ known
        lower = cholesky(across[:, accepted], lower=True)
        solved = solve_triangular(lower, across, lower=True, check_finite=False)
        factor[len(chosen) : len(chosen) + len(accepted)] = solved
        residual -= (solved**2).sum(axis=0)
        residual[accepted] = 0.0
        residual[residual < least] = 0.0
        chosen += accepted
    return np.array(chosen)


class Features:
    """What regressions on features use of them; here, of features that are nothing but features.

    Attributes
    ----------
    n_features : int
    factor : array (m, m) or None
        Lower triangular F, where sums over rows are better taken of other values v (n, m), of which
        F^-1 v are the features.
    """

    n_features: int
    factor: np.ndarray | None = None

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return the features (n, r) of the rows of `X` (n, q)."""
        raise NotImplementedError

    def values(self, X: np.ndarray) -> np.ndarray:
        """Return values (n, m) of the rows of `X` (n, q) whose linear functions the features are,
        and which take less time."""
        return self.transform(X)

    def dual(self, weights: np.ndarray) -> np.ndarray:
        """Return A (m, d) with transform(X) @ weights = values(X) @ A for `weights` (r, d)."""
        return weights


class LandmarkFeatures(Features):
    """Features Z with Z Z' = k(X, L) k(L, L)^+ k(L, X) of landmarks L, whose values are k(X, L).

    Where k(L, L) = F F' is well conditioned, they are Z = k(X, L) F^-T, otherwise
    Z = k(X, L) U diag(s)^(-1/2) with k(L, L) = U diag(s) U'.

    Raises ValueError if the kernel is unknown, precomputed, or zero on all landmarks.

    Parameters
    ----------
    landmarks : array (m, q)
        As from `choose_landmarks`.
    kernel : {"rbf", "linear", "tanimoto"}
    gamma : float or None, default=None
        As in `workflow_lib.solvers.gram.gram_matrix`.

    Attributes
    ----------
    factor : array (m, m) or None
        F; None where the condition number of k(L, L) is estimated to be more than 1e7 in the
        1-norm, which is ten times or more that of the eigenvalues.
    projection : array (m, r)
        U diag(s)^(-1/2), without F.
    n_features : int
        m with F. Otherwise r, the number of eigenvalues above 1e-10 of the largest: those below are
        mostly rounding, which the square root would blow up. What is left out of Z Z' is as small.
    """

    def __init__(self, landmarks: np.ndarray, kernel: str, gamma: float | None = None) -> None:
        _check_kernel(kernel)
        self.landmarks = np.asarray(landmarks, dtype=np.float64)
        self.kernel = kernel
        self.gamma = gamma
        K = gram_matrix(self.landmarks, None, kernel, gamma)
        self.factor, self.n_features = _well_conditioned_factor(K), len(K)
        if self.factor is None:
            self.projection = _projection(K)
            self.n_features = self.projection.shape[1]

    def transform(self, X: np.ndarray) -> np.ndarray:
        values = self.values(X)
        if self.factor is None:
            return values @ self.projection
        return solve_triangular(self.factor, values.T, lower=True, check_finite=False).T

    def values(self, X: np.ndarray) -> np.ndarray:
        return gram_matrix(X, self.landmarks, self.kernel, self.gamma)

    def dual(self, weights: np.ndarray) -> np.ndarray:
        if self.factor is None:
            return self.projection @ weights
        return solve_triangular(self.factor, weights, lower=True, trans=1, check_finite=False)


def _well_conditioned_factor(K: np.ndarray) -> np.ndarray | None:
    """Return the lower Cholesky factor of a matrix, or None for an ill conditioned one."""
    factor, fault = dpotrf(K, lower=True)
    if fault:
        return None
    reciprocal, _ = dpocon(factor, np.abs(K).sum(axis=0).max(), uplo="L")
    return factor if reciprocal * MAX_CONDITION >= 1.0 else None


def _projection(K: np.ndarray) -> np.ndarray:
    """Return U diag(s)^(-1/2) (m, r) of the eigenvalues that are kept."""
    eigenvalues, eigenvectors = eigh(K, driver="evd")
    if not eigenvalues[-1] > 0:
        raise ValueError("The kernel is zero on all landmarks; choose other landmarks.")
    kept = eigenvalues > MIN_RELATIVE_EIGENVALUE * eigenvalues[-1]
    return eigenvectors[:, kept] / np.sqrt(eigenvalues[kept])


class LinearFeatures(Features):
    """The features Z = X, exact for the linear kernel and cheaper where columns are few.

    Parameters
    ----------
    n_features : int
        Columns q of the inputs.
    """

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features

    def transform(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(X, dtype=np.float64)


def _check_kernel(kernel) -> None:
    if kernel == "precomputed":
        raise ValueError("Landmarks need the inputs themselves; a precomputed kernel has none.")


def _sample(X, n_rows, generator) -> np.ndarray:
    """Return at most `n_rows` rows drawn without replacement, in their order."""
    if n_rows >= len(X):
        return np.array(X[:], dtype=np.float64)
    chosen = np.sort(generator.choice(len(X), n_rows, replace=False, shuffle=False))
    return np.asarray(X[chosen], dtype=np.float64)


def _row_blocks(n_rows, n_columns):
    """Yield slices of the rows whose blocks with that many columns are small."""
    step = max(1, BLOCK_NUMBERS // n_columns)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _squared_norms(X, kernel) -> np.ndarray:
    """Return k(x, x) (n,) of every row."""
    return np.einsum("nq,nq->n", X, X) if kernel == "linear" else np.ones(len(X))


def _k_means(X, n_clusters, generator) -> np.ndarray:
    """Return the centres of Lloyd's algorithm; a cluster that loses its rows keeps its centre."""
    # Only large problems need it, and it takes time to import.
    from scipy.cluster.vq import vq

    # Centring first keeps the differences of large squares from losing digits.
    origin, lowest, highest = X.mean(axis=0), X.min(axis=0), X.max(axis=0)
    X = X - origin
    centres = _sample(X, n_clusters, generator)
    labels = None
    for _ in range(LLOYD_ITERATIONS):
        previous = labels
        blocks = _row_blocks(len(X), n_clusters)
        labels = np.concatenate([vq(X[rows], centres, check_finite=False)[0] for rows in blocks])
        if previous is not None and (labels == previous).all():
            break
        order = np.argsort(labels, kind="stable")
        occupied, starts, counts = np.unique(labels[order], return_index=True, return_counts=True)
        centres[occupied] = np.add.reduceat(X[order], starts, axis=0) / counts[:, None]
    # No mean is below all rows but by rounding, and then a kernel of non-negative rows refuses it.
    return np.clip(centres + origin, lowest, highest)
