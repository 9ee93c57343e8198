"""The numbers of the comparison: errors of the cells, and how the methods stand to each other.

A cell is a table at a training size; its error is the mean over the splits. The scores are rows as
in ``scores.csv``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import pandas as pd

SUBJECT = "ofer-stack"
"""The method that the comparison is about: what is recommended to try first."""

MEAN_LIMIT, WORST_LIMIT = 1.01, 1.03
"""Goals: the mean error over cells, and the error of each cell, as multiples of the error of the
best single method, chosen in hindsight for each cell."""


FEWEST_ROWS = 20
"""Training rows of the cells on which goals and means rest: with fewer nothing is told apart."""


def cell_errors(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the mean error over splits: a row for each cell (table, size), a column a method.

    NaN where a method lacks a split that others have.
    """
    keys = ["table", "size", "method"]
    found = scores.groupby(keys)["error"].agg(["mean", "count"])
    splits = scores.groupby(["table", "size"])["split"].nunique()
    complete = found["count"] == splits.reindex(found.index.droplevel("method")).to_numpy()
    return found["mean"].where(complete).unstack("method").dropna(how="all")


def best_single(errors: pd.DataFrame, stacks: Collection[str]) -> pd.DataFrame:
    """Return, for each cell, the best method that is no stack: columns ``method`` and ``error``."""
    single = errors.drop(columns=[name for name in stacks if name in errors])
    return pd.DataFrame({"method": single.idxmin(axis=1), "error": single.min(axis=1)})


def of_enough_rows(errors: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of at least `FEWEST_ROWS` training rows; all where none has so many.

    Methods that ran on none of them are left out.
    """
    enough = errors[errors.index.get_level_values("size") >= FEWEST_ROWS]
    return (enough if len(enough) else errors).dropna(axis="columns", how="all")


def ratios_by_size(errors: pd.DataFrame, stacks: Collection[str]) -> pd.DataFrame:
    """Return the mean ratio to the best single method: a row for each method, a column a size."""
    ratios = errors.div(best_single(errors, stacks)["error"], axis=0)
    return ratios.groupby("size").mean().T


def method_summary(
    errors: pd.DataFrame, stacks: Collection[str], subject: str = SUBJECT
) -> pd.DataFrame:
    """Return a row for each method, the lowest ratio first.

    Columns: ``cells`` (on how many it ran), ``mean_error`` (NaN where it did not run on all, for
    means over different cells say nothing), ``mean_ratio`` and ``worst_ratio`` to the best single
    method of each cell, ``worst_cell``, and on the cells shared with `subject` ``wins`` and
    ``losses`` (where `subject` has the lower, and the higher error) and ``gain``, by which share
    its mean error is lower.
    """
    ratios = errors.div(best_single(errors, stacks)["error"], axis=0)
    rows = {}
    for method in errors:
        ran, ratio = errors[method].dropna(), ratios[method].dropna()
        table, size = ratio.idxmax()
        row = {
            "cells": len(ran),
            "mean_error": ran.mean() if len(ran) == len(errors) else float("nan"),
            "mean_ratio": ratio.mean(),
            "worst_ratio": ratio.max(),
            "worst_cell": f"{table}, {size}",
        }
        if subject in errors and method != subject:
            shared = errors[[subject, method]].dropna()
            row |= {
                "wins": int((shared[subject] < shared[method]).sum()),
                "losses": int((shared[subject] > shared[method]).sum()),
                "gain": 1.0 - shared[subject].mean() / shared[method].mean(),
            }
        rows[method] = row
    return pd.DataFrame.from_dict(rows, orient="index").sort_values("mean_ratio", kind="stable")


def goals(
    errors: pd.DataFrame,
    stacks: Collection[str],
    peers: Collection[str],
    subject: str = SUBJECT,
) -> list[tuple[str, str, bool]]:
    """Return what is aimed at for `subject`, what was measured, and whether it is reached.

    `peers` are the methods of other libraries. Empty where `subject` did not run on all cells.
    """
    if subject not in errors or errors[subject].isna().any():
        return []
    best = best_single(errors, stacks)["error"]
    ratio = errors[subject] / best
    mean, (table, size) = errors[subject].mean() / best.mean(), ratio.idxmax()
    gains = method_summary(errors, stacks, subject)["gain"].reindex(list(peers))
    behind = gains.index[gains <= 0]
    return [
        (
            f"mean error at most {MEAN_LIMIT:g} times that of the best single method of each cell",
            f"{mean:.3f} times",
            bool(mean <= MEAN_LIMIT),
        ),
        (
            f"error of no cell more than {WORST_LIMIT:g} times that of its best single method",
            f"{ratio.max():.3f} times ({table}, {size} rows); above in "
            f"{int((ratio > WORST_LIMIT).sum())} of {len(ratio)} cells",
            bool(ratio.max() <= WORST_LIMIT),
        ),
        (
            "lower mean error than every method of another library, on the cells where both ran",
            f"not lower than {', '.join(behind)}" if len(behind) else "lower than all",
            not len(behind),
        ),
    ]


def mean_seconds(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the mean seconds of a fit with its tuning: a row a method, a column a size."""
    return scores.pivot_table(index="method", columns="size", values="seconds", aggfunc="mean")


def stacks_of(methods: Mapping[str, Mapping], peers: Iterable[str]) -> set[str]:
    """Return the methods that combine others: those of the regressor ``stack``, and `peers`."""
    own = {name for name, values in methods.items() if values["regressor"] == "stack"}
    return own | set(peers)
