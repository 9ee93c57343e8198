"""Batches of time series: reading what a user gives, missing numbers and different lengths.

Inside, a batch is one padded array. A number is missing where it was NaN, and beyond the end of a
series that is shorter than the longest one; both hold zero and are not observed.
"""

from typing import NamedTuple

import numpy as np

from workflow_lib.core.array_arguments import as_numbers


class SeriesBatch(NamedTuple):
    """N series of up to T steps with p numbers a step."""

    values: np.ndarray  # (N, T, p) float64; zero where not observed
    observed: np.ndarray  # (N, T, p) bool
    lengths: np.ndarray  # (N,) steps of each series
    given_as_list: bool  # whether the series came as a list, and results should go back as one

    @property
    def is_complete(self) -> bool:
        """Whether no number of any series is missing; lengths may differ."""
        return int(self.observed.sum()) == int(self.lengths.sum()) * self.values.shape[2]

    def unpad(self, padded: np.ndarray):
        """Return an array (N, T, ...) as the user's kind: itself, or a list of (T_i, ...)."""
        if not self.given_as_list:
            return padded
        return [row[:length] for row, length in zip(padded, self.lengths)]


def read_series(Z, observation_dim: int | None = None) -> SeriesBatch:
    """Return the series that a user gave.

    Raises ValueError if lengths differ within an array, the shape is not that of series, a number
    is infinite, or the numbers per step differ from `observation_dim`.

    Parameters
    ----------
    Z : array (n, T, p), array (n, T p), or list of arrays (T_i, p) or (T_i p,)
        The series. NaN or a masked number is missing. Series of different lengths come as a list.
    observation_dim : int or None, default=None
        Numbers per step p of series that come without an axis of their own for it; None means 1.
        A given number must agree with that axis where there is one.
    """
    if isinstance(Z, list | tuple):
        return _read_list(Z, observation_dim)
    try:
        values = as_numbers(Z, "Z")
    except ValueError as error:
        raise ValueError(
            f"{error} Series of different lengths cannot form one array. Pass a list of arrays "
            "(T_i, p), or fill the ends of the shorter ones with NaN."
        ) from error
    if values.ndim == 2:
        values = _split_steps(values, observation_dim)
    if values.ndim != 3:
        raise ValueError(
            f"Series must have the shape (n, T, p) or (n, T); found {np.shape(Z)}. "
            "Pass a single series z of shape (T, p) as z[None]."
        )
    if min(values.shape) < 1:
        raise ValueError(f"There must be series, steps and numbers; found the shape {np.shape(Z)}.")
    _check_observation_dim(values.shape[2], observation_dim)
    lengths = np.full(len(values), values.shape[1])
    return _batch(values, lengths, given_as_list=False)


def _read_list(Z, observation_dim) -> SeriesBatch:
    if len(Z) == 0:
        raise ValueError("There must be at least one series; found an empty list.")
    rows = []
    for index, row in enumerate(Z):
        try:
            row = as_numbers(row, f"Series {index}")
        except ValueError as error:
            raise ValueError(
                f"Series {index} is not an array (T_i, p) of numbers. Give every step the same "
                "number of columns and mark missing numbers with NaN."
            ) from error
        if row.ndim == 1:
            row = _split_steps(row[None], observation_dim)[0]
        if row.ndim != 2 or min(row.shape) < 1:
            raise ValueError(
                f"Every series of a list must have the shape (T_i, p) or (T_i,); series {index} "
                f"has {row.shape}."
            )
        _check_observation_dim(row.shape[1], observation_dim or rows and rows[0].shape[1])
        rows.append(row)
    lengths = np.array([len(row) for row in rows])
    values = np.full((len(rows), lengths.max(), rows[0].shape[1]), np.nan)
    for padded, row in zip(values, rows):
        padded[: len(row)] = row
    return _batch(values, lengths, given_as_list=True)


def _split_steps(matrix: np.ndarray, observation_dim) -> np.ndarray:
    """Return rows (n, T p) as series (n, T, p)."""
    per_step = observation_dim or 1
    if matrix.shape[1] % per_step:
        raise ValueError(
            f"Rows of {matrix.shape[1]} numbers cannot be cut into steps of {per_step} "
            "(observation_dim). Pass series as an array (n, T, p)."
        )
    return matrix.reshape(len(matrix), -1, per_step)


def _check_observation_dim(found: int, expected) -> None:
    if expected and found != expected:
        raise ValueError(
            f"Series have {found} numbers per step; expected {expected}. Give all series the same "
            "numbers per step; mark missing ones with NaN."
        )


def _batch(values, lengths, given_as_list) -> SeriesBatch:
    infinite = np.isinf(values).any(axis=(1, 2))
    if infinite.any():
        row = int(np.flatnonzero(infinite)[0])
        raise ValueError(
            f"Series must be finite; series {row} holds infinity. Replace it with a number, or "
            "with NaN where the number is missing."
        )
    observed = ~np.isnan(values)
    return SeriesBatch(np.where(observed, values, 0.0), observed, lengths, given_as_list)


def check_can_be_fitted(series: SeriesBatch) -> None:
    """Raise ValueError unless a state-space model can be fitted to these series."""
    if series.lengths.min() < 2:
        row = int(series.lengths.argmin())
        raise ValueError(
            f"Series need at least two steps, because one step says nothing about the transition; "
            f"series {row} has one. Leave such series out, use GaussianModel for single steps, or "
            "set observation_dim where the rows of a matrix hold several numbers per step."
        )
    empty = ~series.observed.any(axis=(1, 2))
    if empty.any():
        row = int(np.flatnonzero(empty)[0])
        raise ValueError(f"All numbers of series {row} are missing. Leave that series out.")
    unseen = ~series.observed.any(axis=(0, 2))
    if unseen.any():
        step = int(np.flatnonzero(unseen)[0])
        raise ValueError(
            f"Every series is missing at step {step} (counted from 0). Leave that step out, or "
            "shorten the series."
        )
    unseen = ~series.observed.any(axis=(0, 1))
    if unseen.any():
        column = int(np.flatnonzero(unseen)[0])
        raise ValueError(
            f"Number {column} of the steps (counted from 0) is missing in every series. Leave that "
            "column out."
        )


class MissingPatterns(NamedTuple):
    """The distinct patterns of missing numbers: covariances depend on nothing else."""

    index: np.ndarray  # (N,) pattern of each series
    counts: np.ndarray  # (G,) series of each pattern
    observed: np.ndarray  # (G, T, p) bool
    in_length: np.ndarray  # (G, T) bool; steps beyond the end of a series are not missing numbers


def missing_patterns(series: SeriesBatch) -> MissingPatterns:
    """Return the patterns of a batch, in a fixed order."""
    n_series, n_steps = series.values.shape[:2]
    in_length = np.arange(n_steps) < series.lengths[:, None]
    everything = np.hstack([in_length, series.observed.reshape(n_series, -1)])
    codes = np.packbits(everything, axis=1)
    if (codes == codes[0]).all():
        first, index, counts = np.zeros(1, int), np.zeros(n_series, int), np.array([n_series])
    else:
        _, first, index, counts = np.unique(
            codes, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
    return MissingPatterns(index.reshape(-1), counts, series.observed[first], in_length[first])
