"""How good the winner's predictions are for each output, or each class, of a user's table.

All numbers come from the test rows in a "calibration" artifact: one for each split, of which the
mean and the standard deviation over the splits are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas

OUTPUT_MEASURES = ("relative_error", "r_squared", "rmse", "rmse_of_training_mean")
CLASS_MEASURES = ("recall", "precision", "f1")


def output_errors(splits: Sequence[Mapping], names: Sequence[str]) -> pandas.DataFrame:
    """Return a row for each output, or for each class where the outputs are classes.

    Parameters
    ----------
    splits : sequence of mappings
        Those of a "calibration" artifact (`workflow_lib.table.calibration_stage`).
    names : sequence of str
        Of the outputs, or of the classes.

    Returns
    -------
    DataFrame
        ``output`` or ``class``; each measure, and its standard deviation over the splits, with the
        suffix ``_deviation``, which is NaN for one split; ``n_rows``, the distinct test rows where
        the output is known, or of the class; and ``n_splits``, those that have the first measure.

        Of an output with the truth y and the predictions f in n test rows of a split: ``rmse``,
        sqrt(sum (y - f)^2 / n), and ``rmse_of_training_mean``, which has the mean of the training
        rows in index of f, both in the unit of the output; ``relative_error``, the ratio of the
        two; and ``r_squared``, 1 - sum (y - f)^2 / sum (y - mean y)^2, as scikit-learn defines it.
        The last is not 1 - relative_error^2, because the mean is that of the test rows.

        Of a class: ``recall``, the share of its rows for which it is predicted; ``precision``, the
        share of right ones among the rows for which it is predicted; ``f1``, their harmonic mean.

        What is not defined, such as the R^2 of a constant output, is NaN and left out of means.
    """
    # Imported here, because it takes longer to load than all else.
    import pandas

    if any("true_classes" in split for split in splits):
        first, measures = "class", _of_classes(splits, len(names))
        known = [np.eye(len(names), dtype=bool)[split["true_classes"]] for split in splits]
    else:
        first, measures = "output", _of_outputs(splits)
        known = [~np.isnan(split["truth"]) for split in splits]
    columns: dict[str, object] = {first: list(names)}
    for name, values in measures.items():
        columns[name], columns[f"{name}_deviation"] = _mean_and_deviation(values)
    _, index = np.unique(np.concatenate([split["rows"] for split in splits]), return_index=True)
    columns["n_rows"] = np.vstack(known)[index].sum(axis=0)
    columns["n_splits"] = (~np.isnan(next(iter(measures.values())))).sum(axis=0)
    return pandas.DataFrame(columns)


def _of_outputs(splits: Sequence[Mapping]) -> dict[str, np.ndarray]:
    """Return each measure of the outputs, (n_splits, d)."""
    errors, reference = (np.array([s[name] for s in splits]) for name in ("errors", "reference"))
    n_known = np.array([(~np.isnan(split["truth"])).sum(axis=0) for split in splits])
    about_mean = np.array([_squares_about_mean(split["truth"]) for split in splits])
    measures = (
        np.sqrt(_ratio(errors, reference)),
        1.0 - _ratio(errors, about_mean),
        np.sqrt(_ratio(errors, n_known)),
        np.sqrt(_ratio(reference, n_known)),
    )
    return dict(zip(OUTPUT_MEASURES, measures, strict=True))


def _squares_about_mean(truth: np.ndarray) -> np.ndarray:
    """Return the sums (d,) of squares about the means, exactly 0 of a constant column."""
    sums = np.zeros(truth.shape[1])
    for index, column in enumerate(truth.T):
        known = column[~np.isnan(column)]
        if len(known) and np.ptp(known) > 0:
            sums[index] = ((known - known.mean()) ** 2).sum()
    return sums


def _of_classes(splits: Sequence[Mapping], n_classes: int) -> dict[str, np.ndarray]:
    """Return each measure of the classes, (n_splits, n_classes)."""
    counts = np.zeros((len(splits), n_classes, n_classes))
    for table, split in zip(counts, splits, strict=True):
        np.add.at(table, (split["true_classes"], split["predicted_classes"]), 1)
    right, true, predicted = np.einsum("skk->sk", counts), counts.sum(axis=2), counts.sum(axis=1)
    measures = _ratio(right, true), _ratio(right, predicted), _ratio(2 * right, true + predicted)
    return dict(zip(CLASS_MEASURES, measures, strict=True))


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return a quotient, NaN where nothing is divided by."""
    return np.where(denominator > 0, numerator / np.where(denominator > 0, denominator, 1), np.nan)


def _mean_and_deviation(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and standard deviations over splits, of the values that are defined."""
    n_known = (~np.isnan(values)).sum(axis=0)
    means = _ratio(np.nansum(values, axis=0), n_known)
    return means, np.sqrt(_ratio(np.nansum((values - means) ** 2, axis=0), n_known - 1))
