"""The numbers of the comparison: errors of the cells, and comparisons between the methods.

A cell is a table at a training size; its error is the mean over the splits. The scores are rows as
in ``scores.csv``.
"""

from collections.abc import Collection, Mapping

import pandas as pd

from benchmarks.compare.peers import PEERS

SUBJECT = "ofer-stack"
"""The method that the comparison is about, which is recommended to be tried first."""

MEAN_LIMIT, WORST_LIMIT = 1.01, 1.03
"""Goals: the mean error over cells, and the error of each cell, as multiples of the error of the
best single method, chosen in hindsight for each table."""


MIN_ROWS = 20
"""Least training rows of the cells for goals and means; with fewer, methods hardly differ."""


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


def best_of_tables(errors: pd.DataFrame, stacks: Collection[str]) -> pd.DataFrame:
    """Return, for each cell, the single method with the least mean error over the table's cells.

    Only methods that ran on all of them count. Columns as of `best_single`.
    """
    single = errors.drop(columns=[name for name in stacks if name in errors])
    means = single.groupby("table").agg(lambda column: column.mean(skipna=False))
    chosen = means.idxmin(axis=1).reindex(errors.index, level="table")
    found = [single.loc[cell, method] for cell, method in chosen.items()]
    return pd.DataFrame({"method": chosen, "error": found}, index=errors.index)


def error_chosen_elsewhere(
    scores: pd.DataFrame, errors: pd.DataFrame, stacks: Collection[str]
) -> pd.Series:
    """Return, for each cell, the mean error of the single method that is best on the other splits.

    The error of a choice in hindsight on a split that it did not use; NaN with a single split.
    """
    single = scores[~scores["method"].isin(stacks)]
    found = {}
    for cell, rows in _by_split(single).groupby(level=["table", "size"]):
        rows = rows.dropna(axis="columns")
        others = (rows.sum() - rows) / max(len(rows) - 1, 1)
        own = [rows.loc[split, method] for split, method in others.idxmin(axis=1).items()]
        found[cell] = sum(own) / len(own) if len(own) > 1 else float("nan")
    return pd.Series(found).reindex(errors.index)


def of_enough_rows(errors: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of at least `MIN_ROWS` training rows; all where none has so many.

    Methods that ran on none of them are left out.
    """
    enough = errors[errors.index.get_level_values("size") >= MIN_ROWS]
    return (enough if len(enough) else errors).dropna(axis="columns", how="all")


def ratios_by_size(errors: pd.DataFrame, stacks: Collection[str]) -> pd.DataFrame:
    """Return the mean ratio to the best single method: a row for each method, a column a size."""
    ratios = errors.div(best_single(errors, stacks)["error"], axis=0)
    return ratios.groupby("size").mean().T


def method_summary(errors: pd.DataFrame, stacks: Collection[str]) -> pd.DataFrame:
    """Return a row for each method, the lowest ratio first.

    Columns: ``cells`` (on how many it ran), ``mean_error`` (NaN where it did not run on all:
    means over different cells are not comparable), ``mean_ratio`` and ``worst_ratio`` to the best
    single method of each cell, ``worst_cell``, and on the cells shared with `SUBJECT` ``wins`` and
    ``losses`` (where it has the lower, and the higher error) and ``gain``, the share by which its
    mean error is lower.
    """
    ratios = errors.div(best_single(errors, stacks)["error"], axis=0)
    found = pd.DataFrame(
        {
            "cells": errors.count(),
            "mean_error": errors.apply(lambda column: column.mean(skipna=False)),
            "mean_ratio": ratios.apply(lambda column: column.dropna().mean()),
            "worst_ratio": ratios.max(),
            "worst_cell": ratios.idxmax().map("{0[0]}, {0[1]}".format),
        }
    )
    if SUBJECT in errors:
        ours, others = errors[SUBJECT], errors.drop(columns=SUBJECT)
        found["wins"] = others.gt(ours, axis=0).sum()
        found["losses"] = others.lt(ours, axis=0).sum()
        pairs = {name: errors[[SUBJECT, name]].dropna() for name in others}
        found["gain"] = pd.Series(
            {name: 1.0 - pair[SUBJECT].mean() / pair[name].mean() for name, pair in pairs.items()}
        )
    return found.sort_values("mean_ratio", kind="stable")


def goals(
    scores: pd.DataFrame,
    errors: pd.DataFrame,
    stacks: Collection[str],
    peers: Collection[str],
) -> list[tuple[str, str, bool]]:
    """Return the goals for `SUBJECT`, what was measured, and whether they are reached.

    `scores` are those from which the `errors` of cells are computed, `peers` the methods of other
    libraries. Empty where `SUBJECT` did not run on all cells.
    """
    if SUBJECT not in errors or errors[SUBJECT].isna().any():
        return []
    references = {
        "of each table": best_of_tables(errors, stacks)["error"],
        "of each cell": best_single(errors, stacks)["error"],
        "of each cell on the other splits": error_chosen_elsewhere(scores, errors, stacks),
    }
    found = []
    for name, best in references.items():
        if best.isna().any():
            continue
        ratio = errors[SUBJECT] / best
        mean, (table, size) = errors[SUBJECT].mean() / best.mean(), ratio.idxmax()
        found += [
            (
                f"mean error at most {MEAN_LIMIT:g} times that of the best single method {name}",
                f"{mean:.3f} times",
                bool(mean <= MEAN_LIMIT),
            ),
            (
                f"in no cell more than {WORST_LIMIT:g} times that of the best single method {name}",
                f"{ratio.max():.3f} times ({table}, {size} rows); above in "
                f"{int((ratio > WORST_LIMIT).sum())} of {len(ratio)} cells",
                bool(ratio.max() <= WORST_LIMIT),
            ),
        ]
    gains = method_summary(errors, stacks)["gain"].reindex(list(peers))
    behind = gains.index[gains <= 0]
    return [
        *found,
        (
            "lower mean error than every method of another library, on the cells where both ran",
            f"not lower than {', '.join(behind)}" if len(behind) else "lower than all",
            not len(behind),
        ),
    ]


def cells_above(
    scores: pd.DataFrame,
    errors: pd.DataFrame,
    stacks: Collection[str],
    members: Collection[str],
) -> pd.DataFrame:
    """Return the cells in which `SUBJECT` misses `WORST_LIMIT`, against the best of each cell.

    A row for each cell. Columns: ``method`` (the best single one) and ``ratio``, the error of
    `SUBJECT` divided by that of this method; ``by_split``, the same for each split; ``member`` (the
    best of its `members`) and ``member_ratio``.
    """
    best = best_single(errors, stacks)
    ratios = errors[SUBJECT] / best["error"]
    by_split = _by_split(scores)
    rows = {}
    for cell in ratios.index[ratios > WORST_LIMIT]:
        method, ran = best["method"][cell], errors.loc[cell].reindex(list(members)).dropna()
        splits = by_split.loc[cell]
        rows[cell] = {
            "method": method,
            "ratio": ratios[cell],
            "by_split": (splits[SUBJECT] / splits[method]).tolist(),
            "member": ran.idxmin() if len(ran) else "",
            "member_ratio": errors.loc[cell, SUBJECT] / ran.min() if len(ran) else float("nan"),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def _by_split(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the errors on each split of a cell: a column a method."""
    keys = ["table", "size", "split"]
    return scores.pivot_table(index=keys, columns="method", values="error")


def mean_seconds(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the mean seconds of a fit with its tuning: a row a method, a column a size."""
    return scores.pivot_table(index="method", columns="size", values="seconds", aggfunc="mean")


def stacks_of(methods: Mapping[str, Mapping]) -> set[str]:
    """Return the methods that combine others: those of the regressor ``stack``, and peers."""
    own = {name for name, values in methods.items() if values.get("regressor") == "stack"}
    return own | {name for name, peer in PEERS.items() if peer.members}
