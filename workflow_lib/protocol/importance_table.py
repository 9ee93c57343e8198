"""The importance of inputs as a table, and in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from workflow_lib.core.errors import UserError

if TYPE_CHECKING:
    import pandas

ALL_OUTPUTS = "all outputs"
"""The mean over the outputs of their relative errors, the error of the leaderboard."""

COLUMNS = ("output", "input", "columns", "importance", "deviation", "error", "permuted_error")
COLUMNS += ("p_value", "p_adjusted", "n_splits")
"""Those of the table."""

RISK = 0.05
"""An input is named as one that matters if its adjusted p value is below."""


def importance_frame(tree: Mapping, location: str) -> pandas.DataFrame:
    """Return the importance of each input for each output, the most important first.

    Raises UserError if there is none.

    Parameters
    ----------
    tree : mapping
        As of `importance_tree`, or with the text ``reason`` where there is none.
    location : str
        For the message.

    Returns
    -------
    DataFrame
        Columns ``output``; ``input``, the name of a column or of a group; ``columns``, those of the
        group, separated by semicolons; ``importance``, the increase of the error, the mean over
        splits, with its ``deviation``; ``error`` and ``permuted_error``, means over splits;
        ``p_value``, of the corrected resampled t-test against zero, ``p_adjusted``, for testing
        all inputs of the output (`holm`), and ``n_splits``.
    """
    import pandas

    if tree.get("reason"):
        raise UserError(
            location=location,
            found=f"no importance of inputs: {tree['reason']}",
            expected="a table with several input columns",
            remedy="the leaderboard and the predictions do not need it",
        )
    inputs, columns = json.loads(tree["input_names"]), json.loads(tree["columns"])
    frames = []
    for index, output in enumerate(json.loads(tree["outputs"])):
        plain, permuted = tree["errors"][:, index], tree["permuted"][:, :, index]
        is_known = ~np.isnan(plain)
        plain, permuted = plain[is_known], permuted[is_known]
        increase = permuted - plain[:, None]
        if not len(plain):
            continue
        deviation = increase.std(axis=0, ddof=1) if len(plain) > 1 else np.nan
        frame = pandas.DataFrame(
            {
                "output": output,
                "input": inputs,
                "columns": ["; ".join(names) for names in columns],
                "importance": increase.mean(axis=0),
                "deviation": deviation,
                "error": plain.mean(),
                "permuted_error": permuted.mean(axis=0),
                "p_value": tree["p_value"][:, index],
                "p_adjusted": tree["p_adjusted"][:, index],
                "n_splits": len(plain),
            }
        )
        frames.append(frame.sort_values("importance", ascending=False, kind="stable"))
    return pandas.concat(frames, ignore_index=True)


def main_rows(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of the first output: of all outputs where there are several."""
    return frame[frame["output"] == frame["output"].iloc[0]].reset_index(drop=True)


def matters(frame: pandas.DataFrame) -> pandas.Series:
    """Return for each row whether its importance is above zero by the adjusted test."""
    return (frame["importance"] > 0) & (frame["p_adjusted"] < RISK)
