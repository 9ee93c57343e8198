"""Spectra as inputs: each row is freed of its baseline or its scale, by itself.

Light that is scattered differently shifts and stretches a whole spectrum, whatever the sample is
made of. A first derivative removes the shift, the standard normal variate both (Barnes, Dhanoa and
Lister, Applied Spectroscopy 43, 1989). No other row is needed for either, so that nothing is
learned from the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workflow_lib.inputs.column_origins import channel_groups

NONE, DERIVATIVE, NORMAL_VARIATE, BOTH = "none", "derivative", "normal_variate", "both"

FORMS = (NONE, DERIVATIVE, NORMAL_VARIATE, BOTH)
"""What is done to spectra; ``both`` is the derivative of the standard normal variate."""

WINDOW, ORDER = 11, 2
"""Channels and degree of the polynomial of Savitzky and Golay (Analytical Chemistry 36, 1964) whose
slope is the derivative."""

MIN_CHANNELS, MIN_CORRELATION, MIN_OF_MOST = 50, 0.97, 0.7
"""Numbers in a row, median correlation of neighbours, and their correlation but for one in twenty,
from which on they look like a spectrum."""


def spectra_of(names: Sequence[str]) -> list[slice]:
    """Return the runs of at least `WINDOW` columns that a rising or falling number distinguishes.

    Examples
    --------
    >>> spectra_of(["age", *(f"x{channel}" for channel in range(1100, 1130, 2))])
    [slice(1, 16, None)]
    """
    groups = np.array(channel_groups(names, first=1), dtype=int)
    runs = [np.flatnonzero(groups == group) for group in range(1, groups.max(initial=0) + 1)]
    return [slice(int(run[0]), int(run[-1]) + 1) for run in runs if len(run) >= WINDOW]


def looks_like_spectrum(values: np.ndarray) -> bool:
    """Return whether neighbours among the columns of `values` (n, q) correlate as in a spectrum."""
    if values.shape[1] < MIN_CHANNELS or len(values) < 2:
        return False
    filled = np.where(np.isnan(values), np.nanmean(values, axis=0), values)
    deviations = filled - filled.mean(axis=0)
    lengths = np.sqrt((deviations**2).sum(axis=0))
    products = (deviations[:, 1:] * deviations[:, :-1]).sum(axis=0)
    sizes = lengths[1:] * lengths[:-1]
    found = products[sizes > 0] / sizes[sizes > 0]
    if len(found) < MIN_CHANNELS - 1:
        return False
    return np.median(found) >= MIN_CORRELATION and np.quantile(found, 0.05) >= MIN_OF_MOST


def prepared_spectra(values: np.ndarray, spectra: Sequence[slice], form: str) -> np.ndarray:
    """Return rows (n, q) with their spectra changed, each by itself.

    With the mean m and the standard deviation s of the channels of a row, the standard normal
    variate is (x - m) / s, zero where all channels are equal; the derivative is the slope of the
    polynomial of degree `ORDER` through `WINDOW` channels, for the distance 1 between channels. A
    missing channel is missing in all windows that it is in.

    `spectra` are the columns of each spectrum, as `spectra_of` returns them, and `form` one of
    `FORMS`.

    Raises ValueError if `form` is unknown.

    Examples
    --------
    >>> line = np.arange(12.0)[None] * 3
    >>> prepared_spectra(line, [slice(0, 12)], "derivative").round(9).max()
    np.float64(3.0)
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {FORMS}; found {form!r}.")
    if form == NONE:
        return values
    from scipy.signal import savgol_filter

    prepared = np.array(values, dtype=np.float64)
    for columns in spectra:
        rows = prepared[:, columns]
        if form in (NORMAL_VARIATE, BOTH):
            is_known = ~np.isnan(rows)
            counts = np.maximum(is_known.sum(axis=1, keepdims=True), 1)
            rows = rows - np.nansum(rows, axis=1, keepdims=True) / counts
            deviations = np.sqrt(np.nansum(rows**2, axis=1, keepdims=True) / counts)
            rows = rows / np.where(deviations > 0, deviations, 1.0)
        if form in (DERIVATIVE, BOTH):
            rows = savgol_filter(rows, WINDOW, ORDER, deriv=1, axis=1)
        prepared[:, columns] = rows
    return prepared
