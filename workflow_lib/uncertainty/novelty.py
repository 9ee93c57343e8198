"""How unlike the training rows a row is: its distance to the nearest of them.

Distances are between inputs as the model uses them:

- rows of numbers: Euclidean, after filling and scaling;
- the kernel ``tanimoto``: 1 - similarity;
- sequences of letters: the number of positions, counted from the beginning, with another letter;
- texts, and rows known by their inner products: Euclidean, from the products z'x and the squared
  lengths, sqrt(x'x + z'z - 2 z'x);
- a Gram matrix: the distance of the kernel, sqrt(k(x, x) + k(z, z) - 2 k(x, z)). For a new row
  k(x, x) is not known; the median over the training rows is used instead, for all rows. This is
  exact where k(x, x) is the same for all rows, as for the kernels ``rbf`` and ``tanimoto``.

The unit is a typical distance among the training rows (`NoveltyScale`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workflow_lib.fitting.prepared_inputs import PreparedInputs, PreparedTexts
from workflow_lib.solvers.gram import gram_matrix

MAX_LEFT_OUT = 5000
"""Training rows in the random sample whose distances to all others are measured."""

LIMIT_QUANTILE = 0.99
"""Share of the training rows whose novelty is at most the limit."""

MIN_ROWS_FOR_QUANTILE = 100
"""With fewer distances the limit is the largest of them: they do not determine the quantile."""

# Numbers of a block of distances (32 MB).
BLOCK_NUMBERS = 2**22

# Squared distances below this part of the squared lengths are rounding errors, of equal rows.
MIN_SQUARED_DISTANCE = 1e-12


@dataclass(frozen=True)
class NoveltyScale:
    """The unit of novelty and the limit beyond which a row is unlike the training rows."""

    unit: float
    """The median distance of a training row to the nearest other row. Where this is 0, because at
    least half of the rows equal another row, the median of the positive distances; 1 if there are
    none."""

    limit: float
    """In that unit: the quantile `LIMIT_QUANTILE` of the novelty of the training rows, or the
    largest value of fewer than `MIN_ROWS_FOR_QUANTILE`."""

    @classmethod
    def fit(cls, distances: np.ndarray) -> NoveltyScale:
        """Return the scale of the distances (n,) of training rows, each to the nearest other row.

        Raises ValueError if there is no distance.
        """
        if not len(distances):
            raise ValueError("novelty needs the distance of at least one training row.")
        unit = float(np.median(distances))
        if unit == 0.0:
            positive = distances[distances > 0]
            unit = float(np.median(positive)) if len(positive) else 1.0
        share = LIMIT_QUANTILE if len(distances) >= MIN_ROWS_FOR_QUANTILE else 1.0
        return cls(unit, float(np.quantile(distances, share, method="higher")) / unit)

    def novelty(self, distances: np.ndarray) -> np.ndarray:
        """Return the novelty (m,) of rows with these distances to the nearest training row."""
        return distances / self.unit


def distances_of_training_rows(inputs: PreparedInputs, kernel: str, seed: int) -> np.ndarray:
    """Return the distances (min(n, MAX_LEFT_OUT),) of training rows to the nearest other row.

    Rows are prepared as for the refit, from all training rows. Weak rows are ignored. `kernel` is
    that of the "features" artifact, and `seed` that of the sample of `MAX_LEFT_OUT` rows, where
    there are more.

    Raises ValueError if there are fewer than two training rows.
    """
    n_rows = len(inputs.folds)
    if n_rows < 2:
        raise ValueError(f"novelty needs at least two training rows; found {n_rows}.")
    own = np.arange(n_rows)
    if n_rows > MAX_LEFT_OUT:
        own = np.sort(np.random.default_rng(seed).choice(n_rows, MAX_LEFT_OUT, replace=False))
    if isinstance(inputs, PreparedTexts) or inputs.is_gram:
        products, lengths = _training_products(inputs)
        # Those of training rows as if they were new.
        unknown = np.full(len(own), np.median(lengths))
        own_lengths = lengths[own] if isinstance(inputs, PreparedTexts) else unknown
        return nearest_by_products(products[own], own_lengths, lengths, own)
    rows = inputs.rows_as_prepared_by(None)[:]
    if inputs.are_letters:
        return nearest_by_letters(rows[own], rows, own)
    return nearest_by_rows(rows[own], rows, kernel, own)


def distances_of_test_rows(inputs: PreparedInputs, kernel: str) -> np.ndarray:
    """Return the distances (n_test,) of the test rows to their nearest training rows."""
    if isinstance(inputs, PreparedTexts) or inputs.is_gram:
        _, lengths = _training_products(inputs)
        products = inputs.test_gram("linear", None)
        if isinstance(inputs, PreparedTexts):
            own_lengths = inputs.test_squared_lengths()
        else:
            products = inputs.test_gram("precomputed", None)
            own_lengths = np.full(len(products), np.median(lengths))
        return nearest_by_products(products, own_lengths, lengths)
    rows, known = inputs.test_rows(), inputs.rows_as_prepared_by(None)[:]
    if inputs.are_letters:
        return nearest_by_letters(rows, known)
    return nearest_by_rows(rows, known, kernel)


def nearest_by_rows(
    X: np.ndarray, Z: np.ndarray, kernel: str, left_out: np.ndarray | None = None
) -> np.ndarray:
    """Return the distance of every row of `X` (n, q) to the nearest row of `Z` (m, q).

    Returns an array (n,): exactly 0 for equal rows.

    Prepared rows of numbers have the Euclidean distance, with the kernel ``tanimoto`` 1 -
    similarity. `left_out` (n,) is for each row of `X` the number of the row of `Z` that is ignored,
    because it is the same row.
    """
    distances = np.empty(len(X))
    centre = Z.mean(axis=0)
    centred, squared_lengths = Z - centre, ((Z - centre) ** 2).sum(axis=1)
    step = max(BLOCK_NUMBERS // max(len(Z), 1), 1)
    for begin in range(0, len(X), step):
        block = slice(begin, begin + step)
        if kernel == "tanimoto":
            measured = 1.0 - gram_matrix(X[block], Z, kernel)
        else:
            measured = squared_lengths - 2.0 * ((X[block] - centre) @ centred.T)
        rows = np.arange(len(measured))
        if left_out is not None:
            measured[rows, left_out[block]] = np.inf
        nearest = measured.argmin(axis=1)
        if kernel == "tanimoto":
            distances[block] = measured[rows, nearest]
        else:
            # Products find the nearest row, but the difference of large squares loses the digits
            # of its distance.
            distances[block] = np.sqrt(((X[block] - Z[nearest]) ** 2).sum(axis=1))
    return distances


def nearest_by_letters(
    X: np.ndarray, Z: np.ndarray, left_out: np.ndarray | None = None
) -> np.ndarray:
    """Return the number (n,) of positions in which a sequence differs from the nearest of `Z`.

    A position after the end of one of the two differs. The arguments are as of `nearest_by_rows`.
    """
    distances = np.empty(len(X))
    for number, row in enumerate(X):
        differ = (Z != row).sum(axis=1).astype(np.float64)
        if left_out is not None:
            differ[left_out[number]] = np.inf
        distances[number] = differ.min()
    return distances


def nearest_by_products(
    products: np.ndarray,
    squared_lengths: np.ndarray,
    column_squared_lengths: np.ndarray,
    left_out: np.ndarray | None = None,
) -> np.ndarray:
    """Return the distance of n rows to the nearest of the m rows in the columns of `products`.

    Returns an array (n,): sqrt(x'x + z'z - 2 x'z); 0 where that is a rounding error, below a
    millionth of the lengths.

    The products x_i'z_j (n, m) may be values of a kernel; `squared_lengths` (n,) are x_i'x_i and
    `column_squared_lengths` (m,) z_j'z_j. `left_out` is as in `nearest_by_rows`.
    """
    sums = squared_lengths[:, None] + column_squared_lengths
    squared = sums - 2.0 * products
    squared[squared <= MIN_SQUARED_DISTANCE * sums] = 0.0
    if left_out is not None:
        squared[np.arange(len(squared)), left_out] = np.inf
    return np.sqrt(squared.min(axis=1))


def _training_products(inputs: PreparedInputs) -> tuple[np.ndarray, np.ndarray]:
    """Return products, or kernel values, of the training rows (n, n), and their diagonal."""
    kernel = "linear" if isinstance(inputs, PreparedTexts) else "precomputed"
    products = inputs.training_gram(kernel, None)
    return products, np.diag(products).copy()
