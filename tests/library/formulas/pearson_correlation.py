"""Correlations by NumPy."""

import numpy as np

FORMULAS = {
    "correlation": lambda rows: np.mean(
        [
            np.corrcoef(y[~np.isnan(y)], p[~np.isnan(y)])[0, 1]
            for y, p in zip(rows.truth.T, rows.predictions.T, strict=True)
        ]
    )
}
