"""Matrix factorisation of a stream of rows, which updates a sample of the features at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted, validate_data

from workflow_lib.core.stored_rows import are_stored
from workflow_lib.papers.varoquaux.sparse_codes import sparse_codes

BLOCK_NUMBERS = 2**21
"""Numbers of a stored table in memory at a time (16 MB)."""

RENEWED_AFTER = 64
"""Steps after which V V' is computed anew, against the sum of rounding errors."""

ATOMS_AT_A_TIME = 8
"""Atoms after which the others learn of their change, by one product of matrices."""

UNUSED = 1e-6
"""Share of the mean squared code; an atom below it is replaced by a row."""

CODE_TOL = 1e-6
"""Of the codes that `transform` returns."""

MAX_WEIGHT = 1e100
"""Weight of a batch at which all sums are divided by it."""


class SubsampledFactorisation(TransformerMixin, BaseEstimator):
    """Stochastic subsampled matrix factorisation (SOMF; Mensch, Mairal, Thirion, Varoquaux 2018).

    Learns a dictionary V (k, p) with

        min_V  E_x [ min_u  1/2 |x - V'u|^2 + alpha |u|_1 ]   with |v_j| <= 1,

    optionally with u >= 0 or V >= 0: with both and alpha = 0 a non-negative factorisation. A step
    takes the next b rows and

    1. computes their codes u_i for the dictionary as it is (`sparse_codes`);
    2. adds them to A = sum_i w_i u_i u_i' (k, k) and B = sum_i w_i u_i x_i' (k, p), which define
       the surrogate g(V) = 1/2 tr(V'A V) - tr(V'B) of the objective;
    3. minimises g over each atom in turn, only on a sample P of the p / r features:

           v_j <- projection of v_j + (B_j - A_j V) / A_jj  on P

       onto the ball that the rest of the atom, outside P, leaves.

    With r = 1 this is online dictionary learning (Mairal, Bach, Ponce and Sapiro 2010). Step 3
    costs k^2 p / r instead of k^2 p; steps 1 and 2 cost k for each number of a row that is not
    zero, so that step 3 dominates for sparse rows of many features, many atoms and small batches.
    Samples are the parts of a random order of the features, one after the other, so that each
    feature is updated once in r steps.

    Codes are of all features: those of a sample alone (Mensch et al. 2016), which a step then need
    not read, did not reach the objective of online dictionary learning in the benchmark
    `benchmarks.matrix_factorisation`.

    Parameters
    ----------
    n_components : int, default=10
        Atoms k.
    alpha : float, default=1.0
        Penalty of the codes.
    positive_code, positive_dict : bool, default=False
        Whether codes, or atoms, are not negative.
    reduction : int, default=1
        r, the number of samples into which the features are divided.
    init : {"rows", "singular"}, default="rows"
        The first atoms: random rows of the first block, or its leading singular vectors, which
        suit rows that have few features in common, such as texts.
    decay : float, default=0.8
        Exponent e: a batch of b rows has the share (b / n)^e of the sums, where n rows were seen.
        With 1 every row counts equally, also the codes of the first, poor dictionaries.
    batch_size : int, default=256
        Rows b of a step.
    max_iter : int, default=1
        Times that `fit` passes over the rows.
    tol : float, default=1e-2
        Of the codes while learning (`sparse_codes`); `transform` uses 1e-6.
    random_state : int, default=0
        Of the order of rows and features. Draws depend on it and on the number of the step alone.

    Attributes
    ----------
    components_ : array (k, p)
        The dictionary V.
    n_steps_, n_rows_ : int
        Steps, and rows, so far.
    n_iter_ : int
        Passes of `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[1.0, 0.0, 0.0], [0.0, 3.0, 4.0]], 5, axis=0)
    >>> model = SubsampledFactorisation(2, alpha=0.0, positive_code=True, positive_dict=True)
    >>> model.fit_transform(X).shape
    (10, 2)
    """

    safe_to_load = True

    def __init__(
        self,
        n_components: int = 10,
        alpha: float = 1.0,
        positive_code: bool = False,
        positive_dict: bool = False,
        reduction: int = 1,
        init: str = "rows",
        decay: float = 0.8,
        batch_size: int = 256,
        max_iter: int = 1,
        tol: float = 1e-2,
        random_state: int = 0,
    ) -> None:
        self.n_components, self.alpha = n_components, alpha
        self.positive_code, self.positive_dict = positive_code, positive_dict
        self.reduction, self.init, self.decay = reduction, init, decay
        self.batch_size, self.max_iter, self.tol = batch_size, max_iter, tol
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.positive_dict and self.positive_code
        return tags

    def fit(self, X, y=None) -> SubsampledFactorisation:
        """Learn from rows `X` (n, p), forgetting what was learned before; `y` is ignored.

        Rows are an array, a sparse matrix, or columns of `workflow_lib.open_columns` and other
        rows of a file, of which a block is in memory at a time. Blocks come in their order, the
        rows of each in a random one.
        """
        vars(self).pop("n_steps_", None)
        for _ in range(self.max_iter):
            for block in _blocks(X):
                self.partial_fit(block)
        self.n_iter_ = self.max_iter
        return self

    def partial_fit(self, X, y=None) -> SubsampledFactorisation:
        """Go on with further rows `X` (n, p); `y` is ignored.

        The state is in attributes, so that a model that was stored after a call goes on as if
        nothing had happened. The first call needs at least k rows.

        Raises ValueError for fewer, or for settings that are out of range.
        """
        first = not hasattr(self, "n_steps_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=first)
        if first:
            self._begin(X)
        order = self._drawn(0, self.n_steps_).permutation(X.shape[0])
        for begin in range(0, len(order), self.batch_size):
            self._step(X[order[begin : begin + self.batch_size]])
        return self

    def transform(self, X) -> np.ndarray:
        """Return the codes (n, k) of rows `X` (n, p), from all features."""
        check_is_fitted(self, "n_steps_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self._codes(self._gram, np.asarray(X @ self._atoms).T, CODE_TOL).T

    @property
    def components_(self) -> np.ndarray:
        """The dictionary (k, p)."""
        return self._atoms.T

    @property
    def _n_features_out(self) -> int:
        return self._atoms.shape[1]

    def objective(self, X) -> float:
        """Return the mean over rows `X` (n, p) of what their codes minimise."""
        codes = self.transform(X)
        squares = X.multiply(X).sum() if sparse.issparse(X) else np.square(X).sum()
        fit = squares - 2.0 * np.vdot(codes, X @ self._atoms)
        fit += np.vdot(codes @ self._gram, codes)
        return float(0.5 * fit + self.alpha * np.abs(codes).sum()) / X.shape[0]

    def _begin(self, X) -> None:
        n_rows, n_features = X.shape
        if not 1 <= self.reduction <= n_features:
            raise ValueError(
                f"reduction={self.reduction}; expected 1 to the {n_features} features."
            )
        k = self.n_components
        if k > n_rows:
            raise ValueError(f"n_components={k} atoms need as many rows at first; found {n_rows}.")
        self.n_steps_, self.n_rows_ = 0, 0
        random = self._drawn(1, 0)
        atoms = self._as_atoms(X[random.permutation(n_rows)[:k]], random).T
        if self.init == "singular":
            directions = randomized_svd(X, min(k, n_features), random_state=self.random_state)[2]
            atoms[:, : len(directions)] = directions.T
        if self.positive_dict:
            atoms = np.abs(atoms)
        self._atoms = atoms / np.linalg.norm(atoms, axis=0)
        self._gram = self._atoms.T @ self._atoms
        self._weight = 0.0
        self._A, self._B = np.zeros((k, k)), np.zeros((n_features, k))

    def _as_atoms(self, rows, random: np.random.Generator) -> np.ndarray:
        """Return rows (m, p) that are not zero, as new atoms; noise in place of others."""
        atoms = rows.toarray() if sparse.issparse(rows) else rows
        if self.positive_dict:
            atoms = np.maximum(atoms, 0.0)
        empty = ~atoms.any(axis=1)
        atoms[empty] = np.abs(random.normal(size=(empty.sum(), rows.shape[1])))
        return atoms

    def _step(self, X) -> None:
        """Learn from a batch (b, p)."""
        n_features = len(self._atoms)
        part, position = divmod(self.n_steps_, self.reduction)
        if not position or not hasattr(self, "_order"):
            self._order = self._drawn(2, part).permutation(n_features)
        sampled = slice(None)
        if self.reduction > 1:
            sampled = np.sort(self._order[position :: self.reduction])
        self.n_rows_ += X.shape[0]
        share = (X.shape[0] / self.n_rows_) ** self.decay
        # The weight of this batch relative to all before it, per row.
        added = (self._weight * share / (1.0 - share) if share < 1.0 else 1.0) / X.shape[0]
        added = added if self._weight else 1.0 / X.shape[0]

        codes = self._codes(self._gram, np.asarray(X @ self._atoms).T, self.tol)
        columns, values = _columns(X) if sparse.issparse(X) else (slice(None), X)
        self._B[columns] += added * (values.T @ codes.T)
        self._A += added * (codes @ codes.T)
        self._weight += added * X.shape[0]
        self._update(sampled, X)
        self.n_steps_ += 1
        if self._weight > MAX_WEIGHT:
            for sums in (self._A, self._B):
                sums /= self._weight
            self._weight = 1.0

    def _update(self, sampled: np.ndarray | slice, X) -> None:
        """Minimise the surrogate over the sampled features of each atom in turn."""
        atoms = np.ascontiguousarray(self._atoms[sampled].T)
        before = atoms.copy()
        # B - A V, kept up to date for the atoms that are still to come.
        residuals = np.ascontiguousarray((self._B[sampled] - self._atoms[sampled] @ self._A).T)
        rests = self._gram.diagonal() - np.einsum("jp,jp->j", atoms, atoms)
        used = self._A.diagonal() > UNUSED * self._A.diagonal().mean()
        for begin in range(0, len(atoms), ATOMS_AT_A_TIME):
            end = min(begin + ATOMS_AT_A_TIME, len(atoms))
            for atom in begin + np.flatnonzero(used[begin:end]):
                moved = atoms[begin:atom] - before[begin:atom]
                new = residuals[atom] - self._A[atom, begin:atom] @ moved
                new /= self._A[atom, atom]
                new += atoms[atom]
                if self.positive_dict:
                    np.maximum(new, 0.0, out=new)
                length, left = np.sqrt(new @ new), np.sqrt(max(1.0 - max(rests[atom], 0.0), 0.0))
                if length > left:
                    new *= left / length
                atoms[atom] = new
            moved = atoms[begin:end] - before[begin:end]
            residuals[end:] -= self._A[end:, begin:end] @ moved
        self._atoms[sampled] = atoms.T
        if self.reduction == 1:
            self._gram = atoms @ atoms.T
        elif self.n_steps_ % RENEWED_AFTER == RENEWED_AFTER - 1:
            self._gram = self._atoms.T @ self._atoms
        else:
            self._gram += atoms @ atoms.T - before @ before.T
        empty = ~used | (self._gram.diagonal() < UNUSED)
        if empty.any():
            self._replace(np.flatnonzero(empty), X)

    def _replace(self, atoms: np.ndarray, X) -> None:
        """Replace atoms without use by random rows of the batch."""
        random = self._drawn(3, self.n_steps_)
        rows = X[random.integers(X.shape[0], size=len(atoms))]
        for atom, new in zip(atoms, self._as_atoms(rows, random), strict=True):
            self._atoms[:, atom] = new / np.linalg.norm(new)
            # What was learned belongs to the atom before.
            self._A[atom], self._A[:, atom], self._B[:, atom] = 0.0, 0.0, 0.0
        self._gram = self._atoms.T @ self._atoms

    def _codes(self, gram: np.ndarray, products: np.ndarray, tol: float) -> np.ndarray:
        return sparse_codes(gram, products, self.alpha, self.positive_code, tol)

    def _drawn(self, purpose: int, number: int) -> np.random.Generator:
        return np.random.default_rng([self.random_state, purpose, number])


def _blocks(X) -> Iterator:
    """Yield rows in blocks: all at once, unless they are in a file."""
    if not are_stored(X):
        yield X
        return
    size = max(1, BLOCK_NUMBERS // X.shape[1])
    for begin in range(0, X.shape[0], size):
        yield X[begin : begin + size]


def _columns(X: sparse.csr_matrix) -> tuple[np.ndarray, sparse.csr_matrix]:
    """Return the columns with a number other than zero, and the matrix of these alone."""
    columns, indices = np.unique(X.indices, return_inverse=True)
    shape = X.shape[0], len(columns)
    return columns, sparse.csr_matrix((X.data, indices, X.indptr), shape=shape)
