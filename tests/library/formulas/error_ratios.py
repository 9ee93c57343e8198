"""Relative errors, from sums over one output at a time."""

import numpy as np


def squares(rows) -> tuple[list[float], list[float], list[float]]:
    """Return the sums over observed rows of (y - p)^2, (y - training mean)^2 and y^2 by output."""
    sums = []
    for column in range(rows.truth.shape[1]):
        mean = np.nanmean(rows.train[:, column])
        known = [
            (y, p)
            for y, p in zip(rows.truth[:, column], rows.predictions[:, column], strict=True)
            if not np.isnan(y)
        ]
        sums.append(
            [
                sum((y - p) ** 2 for y, p in known),
                sum((y - mean) ** 2 for y, _ in known),
                sum(y**2 for y, _ in known),
            ]
        )
    return tuple(zip(*sums, strict=True))


def ratios(rows) -> list[float]:
    errors, of_mean, _ = squares(rows)
    return [error / base for error, base in zip(errors, of_mean, strict=True)]


FORMULAS = {
    "arrmse": lambda rows: np.mean(np.sqrt(ratios(rows))),
    "rrmse": lambda rows: np.sqrt(sum(squares(rows)[0]) / sum(squares(rows)[1])),
    "root_sum_rrmse": lambda rows: np.sqrt(sum(ratios(rows))),
    "norm_rrmse": lambda rows: np.sqrt(sum(squares(rows)[0]) / sum(squares(rows)[2])),
}
