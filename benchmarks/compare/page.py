"""The page of the comparison, in Markdown, with its diagram of ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template

import pandas as pd

from benchmarks.compare import summary
from benchmarks.compare.peers import PEERS
from benchmarks.compare.tables import Table
from workflow_lib.core.whole_files import write_text
from workflow_lib.report.rank_sentences import rank_sentences
from workflow_lib.report.ranks import Ranking, rank_methods
from workflow_lib.report.run_figures.critical_difference import draw_critical_difference
from workflow_lib.report.style import save_figure
from workflow_lib.report.variants import SELECTED

PAGE_NAME, FIGURE_NAME = "comparison.md", "comparison-ranks.svg"

NEW = "new tables"


def write_page(
    folder: Path,
    scores: pd.DataFrame,
    tables: Mapping[str, Table],
    left_out: Mapping[str, str],
    methods: Mapping[str, Mapping],
    machine: Mapping[str, str],
) -> None:
    """Write the page and its figure to `folder`.

    Parameters
    ----------
    folder : path
    scores : data frame
        As in ``scores.csv``.
    tables : mapping of str to Table
    left_out : mapping of str to str
        Why each other dataset is left out.
    methods : mapping of str to mapping
        The settings of our methods.
    machine : mapping of str to str
        As returned by `benchmarks.machine.description`.
    """
    # A file in config/methods may have the name of a peer, such as catboost.
    used = {name: methods[name] for name in scores["method"][scores["source"] == "own"].unique()}
    styles = {
        name: {"label": peer.label, "color": peer.color, "marker": peer.marker}
        for name, peer in PEERS.items()
    } | {name: _style(values) for name, values in used.items()}
    # Methods of equal rank are named in this order.
    order = [*used, *(name for name in PEERS if name not in used)]
    every = summary.cell_errors(scores)
    every = every[[name for name in order if name in every]]
    errors = summary.of_enough_rows(every)
    stacks = summary.stacks_of(used, (name for name, peer in PEERS.items() if peer.members))
    members = used.get(summary.SUBJECT, {}).get("members", ())
    ranking = ranking_of(scores, tables, order)
    save_figure(draw_critical_difference(ranking, styles), folder / FIGURE_NAME)
    parts = [
        _beginning(scores, every, machine),
        _new_tables(scores, errors, stacks, styles, tables, order),
        _goals(scores, errors, stacks, styles, tables),
        _above(scores, errors, stacks, styles, members, tables),
        _methods(scores, errors, stacks, styles, ranking),
        _ranks(ranking, styles),
        _cells(every, stacks, styles),
        _procedure(scores, tables, left_out),
        _machine(machine),
    ]
    write_text(folder / PAGE_NAME, "\n\n".join(part.strip("\n") for part in parts if part) + "\n")


def ranking_of(
    scores: pd.DataFrame, tables: Mapping[str, Table], order: Sequence[str]
) -> Ranking | None:
    """Return the ranks of the methods over the tables, each at its largest training size."""
    # Of all sizes, the one with most methods would be ranked, which a peer without it may lower.
    largest = scores[scores["size"] == scores.groupby("table")["size"].transform("max")]
    every = largest.rename(columns={"size": "training_size", "error": "value"}).assign(
        experiment=largest["table"],
        dataset=largest["table"],
        components=SELECTED,
        weak_size=0,
        setting="",
        quantity="arrmse",
    )
    records = dict(list(every.groupby("table", sort=False)))
    experiments = {
        name: {
            "title": tables[name].title,
            "dataset": name,
            "is_made": tables[name].is_made,
            "metric": "arrmse",
        }
        for name in records
    }
    return rank_methods(records, experiments, order)


# --- parts of the page ---------------------------------------------------------------------------


def _beginning(scores: pd.DataFrame, errors: pd.DataFrame, machine: Mapping[str, str]) -> str:
    absent = [peer.label for peer in PEERS.values() if not peer.is_installed]
    return _BEGINNING.substitute(
        date=machine.get("date", "an unknown date"),
        n_peers=sum(name in PEERS for name in errors),
        n_tables=scores["table"].nunique(),
        n_cells=len(errors),
        n_splits=scores["split"].nunique(),
        absent=f"\nNot installed, and so left out: {', '.join(absent)}." if absent else "",
    )


def _goals(
    scores: pd.DataFrame,
    errors: pd.DataFrame,
    stacks: set[str],
    styles: Mapping[str, Mapping],
    tables: Mapping[str, Table],
) -> str:
    peers = [name for name in PEERS if name in errors]
    names = errors.index.get_level_values("table")
    parts = {
        "real data": errors[[not tables[name].is_made for name in names]],
        NEW: errors[[tables[name].is_new for name in names]],
    }
    smaller = {group: cells for group, cells in parts.items() if 0 < len(cells) < len(errors)}
    found = {
        group: summary.goals(scores, cells.dropna(axis="columns", how="all"), stacks, peers)
        for group, cells in {"all cells": errors, **smaller}.items()
    }
    if not all(found.values()):
        return ""
    rows = [
        [goals[0][0], *(_outcome(measured, styles, reached) for _, measured, reached in goals)]
        for goals in zip(*found.values())
    ]
    title = f"## Goals of {styles[summary.SUBJECT]['label']}"
    return f"{title}\n\n{_table(['goal', *found], rows)}\n{_GOALS}"


def _outcome(measured: str, styles: Mapping[str, Mapping], reached: bool) -> str:
    return f"{'reached' if reached else '**not reached**'}: {_labelled(measured, styles)}"


def _above(
    scores: pd.DataFrame,
    errors: pd.DataFrame,
    stacks: set[str],
    styles: Mapping[str, Mapping],
    members: Sequence[str],
    tables: Mapping[str, Table],
) -> str:
    """Return the list of the cells in which the subject misses its goal."""
    if summary.SUBJECT not in errors:
        return ""
    found = summary.cells_above(scores, errors, stacks, members)
    if found.empty:
        return ""
    label = styles[summary.SUBJECT]["label"]
    is_mixed = not all(tables[table].is_new for table, _ in errors.index)
    head = ["table", "rows", "best single method", "ratio to it", "in each split"]
    head += ["best member", "ratio to it"]
    rows = [
        [
            f"{table} (new)" if is_mixed and tables[table].is_new else table,
            str(size),
            styles[row["method"]]["label"],
            _number(row["ratio"], 3),
            ", ".join(_number(ratio, 2) for ratio in row["by_split"]),
            styles[row["member"]]["label"] if row["member"] else "",
            _number(row["member_ratio"], 3),
        ]
        for (table, size), row in found.iterrows()
    ]
    words = _ABOVE.substitute(label=label, limit=f"{summary.WORST_LIMIT:g}")
    return f"## Where {label} is not near the best\n\n{words.strip()}\n\n{_table(head, rows)}"


def _new_tables(
    scores: pd.DataFrame,
    errors: pd.DataFrame,
    stacks: set[str],
    styles: Mapping[str, Mapping],
    tables: Mapping[str, Table],
    order: Sequence[str],
) -> str:
    """Return the methods on the new tables alone, or that all tables are new."""
    is_new = [tables[name].is_new for name in errors.index.get_level_values("table")]
    names = [name for name in scores["table"].unique() if tables[name].is_new]
    if all(is_new):
        return _ALL_NEW.strip()
    if not names:
        return ""
    ranking = ranking_of(scores[scores["table"].isin(names)], tables, order)
    summarised = _summary(errors[is_new].dropna(axis="columns", how="all"), stacks, styles, ranking)
    words = _NEW.substitute(names=", ".join(f"`{name}`" for name in names))
    return f"## New tables\n\n{words.strip()}\n\n{summarised}"


def _methods(
    scores: pd.DataFrame,
    errors: pd.DataFrame,
    stacks: set[str],
    styles: Mapping[str, Mapping],
    ranking: Ranking | None,
) -> str:
    by_size, seconds = summary.ratios_by_size(errors, stacks), summary.mean_seconds(scores)
    sizes = [f"{size} rows" for size in by_size]
    head = ["method", *sizes, *(f"{size} rows, s" for size in seconds)]
    rows = [
        [
            styles[method]["label"],
            *(_number(value, 3) for value in by_size.loc[method]),
            *(_number(value, 2) for value in seconds.loc[method]),
        ]
        for method in summary.method_summary(errors, stacks).index
    ]
    tables = f"{_summary(errors, stacks, styles, ranking)}\n\n{_table(head, rows)}"
    return f"## All methods\n\n{tables}\n\n{_COLUMNS.strip()}"


def _summary(
    errors: pd.DataFrame,
    stacks: set[str],
    styles: Mapping[str, Mapping],
    ranking: Ranking | None,
) -> str:
    """Return the table with a row for each method."""
    found = summary.method_summary(errors, stacks)
    ranks = dict(zip(ranking.methods, ranking.average_ranks)) if ranking else {}
    subject = summary.SUBJECT if summary.SUBJECT in errors else None
    head = ["method", "cells", "mean error", "to the best", "worst", "where", "rank"]
    head += [f"{styles[subject]['label']} wins", "loses"] if subject else []
    rows = []
    for method, row in found.iterrows():
        against = []
        if subject:
            against = (
                ["", ""] if method == subject else [f"{row['wins']:.0f}", f"{row['losses']:.0f}"]
            )
        rows.append(
            [
                styles[method]["label"],
                f"{row['cells']:.0f}",
                _number(row["mean_error"], 4),
                _number(row["mean_ratio"], 3),
                _number(row["worst_ratio"], 3),
                row["worst_cell"],
                _number(ranks.get(method, math.nan), 2),
                *against,
            ]
        )
    return _table(head, rows)


def _ranks(ranking: Ranking | None, styles: Mapping[str, Mapping]) -> str:
    if ranking is None:
        return ""
    picture = f"![Average ranks of the methods over the tables]({FIGURE_NAME})"
    words = "\n".join(f"- {sentence}" for sentence in rank_sentences(ranking, styles))
    return f"## Ranks\n\n{picture}\n\n{_RANKS.strip()}\n\n{words}"


def _cells(errors: pd.DataFrame, stacks: set[str], styles: Mapping[str, Mapping]) -> str:
    best = summary.best_single(errors, stacks)
    head = ["table", "rows", "best single method", *(styles[name]["label"] for name in errors)]
    rows = []
    for (table, size), row in errors.iterrows():
        lowest = row.min()
        cells = [
            f"**{value:.3f}**" if value == lowest else _number(value, 3) for value in row.to_numpy()
        ]
        rows.append([table, str(size), styles[best["method"][table, size]]["label"], *cells])
    return (
        f"## All cells\n\nMean errors over the splits; the lowest is bold.\n\n{_table(head, rows)}"
    )


def _procedure(
    scores: pd.DataFrame, tables: Mapping[str, Table], left_out: Mapping[str, str]
) -> str:
    run = set(scores["method"])
    peers = [
        f"- **{peer.label}**: {peer.summary}"
        + (
            f" Left out above {peer.most_inputs} inputs: {peer.because}."
            if peer.most_inputs
            else ""
        )
        for name, peer in PEERS.items()
        if name in run
    ]
    reasons: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        reasons.setdefault(reason, []).append(f"`{name}`")
    absent = [f"- {', '.join(names)}: {reason}." for reason, names in reasons.items()]
    return "\n\n".join(
        [
            "## How it was measured",
            _PROCEDURE.strip(),
            "\n".join(peers),
            "Datasets of the catalogue that are left out:",
            "\n".join(absent),
        ]
    )


def _machine(machine: Mapping[str, str]) -> str:
    entries = [f"- {name[:1].upper()}{name[1:]}: {text}" for name, text in machine.items()]
    return "## The machine\n\n" + "\n".join(entries) if entries else ""


# --- words ---------------------------------------------------------------------------------------


def _style(values: Mapping) -> dict[str, str]:
    return {name: values[name] for name in ("label", "color", "marker") if name in values}


def _labelled(text: str, styles: Mapping[str, Mapping]) -> str:
    """Return a text with labels instead of the names of methods."""
    words = text.split(" ")
    return " ".join(
        styles[word.rstrip(",")]["label"] + word[len(word.rstrip(",")) :]
        if word.rstrip(",") in styles
        else word
        for word in words
    )


def _number(value: float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_BEGINNING = Template("""
# Comparison with other libraries

The methods of this project and $n_peers of other libraries, measured on $date: on $n_tables
tables of the catalogue with 20, 50, 100 and 200 training rows where they fit, $n_cells cells in
all, $n_splits training/test splits each. All methods learn from the same rows and choose their
settings by the same folds. The error is the mean over outputs of the error relative to that of the
training mean (aRRMSE): 1 is the error of the training mean, lower is better.$absent

```sh
pip install '.[boosting]'   # CatBoost, LightGBM and XGBoost, where they are wanted
make compare                # writes results/compare; current results are kept
make compare OPTIONS=--docs # writes this page, too
```

AutoGluon needs an earlier pandas than this project asks for, with which the comparison works as
well: in an environment of its own, `pip install 'autogluon.tabular[catboost,lightgbm,xgboost]'`
after `pip install .` replaces pandas (pip warns), and `python -m benchmarks compare` includes it.
Without PyTorch, which this does not install, it leaves out its neural networks.

After a method in `config/methods` is added or changed, the same command computes the results that
depend on it and no others.
""")

_GOALS = """
The best single method is chosen in hindsight, by the test errors, in three ways: for each table
(with the least mean error over its sizes), for each cell, and for each cell and split by the errors
on the other splits. The second is the strictest reference, since part of its lead is due to chance,
the more so the more methods and the fewer splits there are. The third shows the error of such a
choice on splits that it did not use.
"""

_ABOVE = Template("""
The cells in which the error of $label is more than $limit times that of the best single method of
the cell, chosen in hindsight; the ratio in each split; and the member of $label that has the lowest
error there, with the error of $label divided by that of this member. Above 1 a better choice of
the weights would have helped; below 1 the combination is better than each of its members, and it is
another kind of method that is missing.
""")

_ALL_NEW = """
All these tables are new: they came after our methods were fixed, and neither members nor grids were
chosen by errors on them.
"""

_NEW = Template("""
Tables that came after our methods were fixed: $names.
Neither members nor grids were chosen by errors on them. The columns are explained under 'All
methods'.
""")

_COLUMNS = """
To the best: the error divided by that of the best single method of each cell, chosen in hindsight;
its mean and its largest value over the cells, and its mean at each number of training rows. All
methods but the stacks are single. The mean error is over all cells, and left out where a method did
not run on all of them. Rank: see below. Wins and losses are numbers of cells. All these columns are
over cells of at least 20 training rows. Seconds are those of tuning and fitting, members of stacks
included, with one thread, as means over the tables: for our methods those that passed (with
prediction), which other processes on the machine prolong, for the others processor time.
"""

_RANKS = """
Each table counts once, at its largest training size. Methods that did not run on all tables are not
ranked.
"""

_PROCEDURE = """
Our methods run through the workflow, with the settings in `config/methods`. The others are tuned by
the same five folds of the training rows and by the same score, unless their entry says otherwise.
All get the same inputs: missing values are replaced by the training mean, and inputs standardised
(and cut at 8 standard deviations where most training rows have one value) unless the columns of the
table share a unit. Test rows are a quarter of the table (of `linnerud`, half of its 20 rows), drawn
at random, as whole groups where its settings name groups of rows such as days; the folds then hold
whole groups, too. The members of OFER-stack, the kernels of OFER-GMM and the grids of the forests
were chosen on other splits of ten tables of the catalogue (the nine Mulan sets and
`digits-completion`), and the averaging of its weights over samples of the rows by the errors on an
earlier page of sixteen tables (mean error before: .7061), so that part of its lead on them is a
result of these choices; nothing was chosen on new tables. The Mulan sets, which stand in for tasks
of the paper in other reports of this project, are used here for themselves.
"""
