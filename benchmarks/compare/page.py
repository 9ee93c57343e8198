"""The page of the comparison, in Markdown, with its diagram of ranks."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import jinja2
import pandas as pd

from benchmarks.compare import chart, summary
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
    """Write the page and its figures to `folder`.

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
    stacks = summary.stacks_of(used, (name for name, peer in PEERS.items() if peer.members))
    study = Study(scores, summary.of_enough_rows(every), stacks, styles, tables, order)
    ranking = ranking_of(scores, tables, order)
    save_figure(draw_critical_difference(ranking, styles), folder / FIGURE_NAME)
    run = set(scores["method"])
    absent_tables: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        absent_tables.setdefault(reason, []).append(f"`{name}`")
    page = _template().render(
        machine=machine,
        n_peers=sum(name in PEERS for name in every),
        n_tables=scores["table"].nunique(),
        n_splits=scores["split"].nunique(),
        absent=[peer.label for peer in PEERS.values() if not peer.is_installed],
        all_new=all(tables[name].is_new for name in study.names),
        new=_new_tables(study),
        label=styles.get(summary.SUBJECT, {}).get("label"),
        limit=f"{summary.WORST_LIMIT:g}",
        goals=_goals(study),
        above=_above(study, used.get(summary.SUBJECT, {}).get("members", ())),
        methods=_summary(study, ranking),
        by_size=_by_size(study),
        ranks=rank_sentences(ranking, styles) if ranking else [],
        figure=FIGURE_NAME,
        chart=chart.FIGURE_NAME,
        cells=_cells(every, study),
        peers=[peer for name, peer in PEERS.items() if name in run],
        absent_tables=absent_tables,
    )
    chart.write_chart(folder, page)
    write_text(folder / PAGE_NAME, page)


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), undefined=jinja2.StrictUndefined
    )
    return environment.get_template("page.md.j2")


class Study(NamedTuple):
    """What is compared: `errors` are those of the cells for goals and means, by method.

    Attributes
    ----------
    scores, errors : data frame
    stacks : set of str
        Methods that combine others.
    styles : mapping of str to mapping
        Label, colour and marker of each method.
    tables : mapping of str to Table
    order : list of str
    """

    scores: pd.DataFrame
    errors: pd.DataFrame
    stacks: set[str]
    styles: Mapping[str, Mapping]
    tables: Mapping[str, Table]
    order: list[str]

    @property
    def names(self) -> pd.Index:
        """The table of each cell."""
        return self.errors.index.get_level_values("table")

    def of_cells(self, chosen: Sequence[bool]) -> pd.DataFrame:
        """Return the errors of some cells, without methods that ran on none of them."""
        return self.errors[chosen].dropna(axis="columns", how="all")

    def label(self, method: str) -> str:
        """Return the label of a method."""
        return self.styles[method]["label"]


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


def _goals(study: Study) -> dict[str, list] | None:
    """Return the goals, for all cells and for those of real data and of new tables."""
    peers = [name for name in PEERS if name in study.errors]
    parts = {
        "real data": [not study.tables[name].is_made for name in study.names],
        NEW: [study.tables[name].is_new for name in study.names],
    }
    found = {"all cells": summary.goals(study.scores, study.errors, study.stacks, peers)}
    for group, chosen in parts.items():
        if any(chosen) and not all(chosen):
            cells = study.of_cells(chosen)
            found[group] = summary.goals(study.scores, cells, study.stacks, peers)
    if not all(found.values()):
        return None
    rows = [
        [goals[0][0], *(_outcome(measured, study.styles, met) for _, measured, met in goals)]
        for goals in zip(*found.values())
    ]
    return {"head": ["goal", *found], "rows": rows}


def _outcome(measured: str, styles: Mapping[str, Mapping], reached: bool) -> str:
    return f"{'reached' if reached else '**not reached**'}: {_labelled(measured, styles)}"


def _above(study: Study, members: Sequence[str]) -> dict[str, list] | None:
    """Return the cells in which the subject misses its goal."""
    if summary.SUBJECT not in study.errors:
        return None
    found = summary.cells_above(study.scores, study.errors, study.stacks, members)
    if found.empty:
        return None
    is_mixed = not all(study.tables[name].is_new for name in study.names)
    head = ["table", "rows", "best single method", "ratio to it", "in each split"]
    rows = [
        [
            f"{table} (new)" if is_mixed and study.tables[table].is_new else table,
            size,
            study.label(row["method"]),
            _number(row["ratio"], 3),
            ", ".join(_number(ratio, 2) for ratio in row["by_split"]),
            study.label(row["member"]) if row["member"] else "",
            _number(row["member_ratio"], 3),
        ]
        for (table, size), row in found.iterrows()
    ]
    return {"head": [*head, "best member", "ratio to it"], "rows": rows}


def _new_tables(study: Study) -> dict[str, list] | None:
    """Return the methods on the new tables alone."""
    new = [name for name in study.scores["table"].unique() if study.tables[name].is_new]
    if not new:
        return None
    scores = study.scores[study.scores["table"].isin(new)]
    cells = study.of_cells([study.tables[name].is_new for name in study.names])
    ranking = ranking_of(scores, study.tables, study.order)
    found = _summary(study._replace(errors=cells), ranking)
    return found | {"names": [f"`{name}`" for name in new]}


def _by_size(study: Study) -> dict[str, list]:
    """Return the ratio to the best single method and the seconds of each method by size."""
    by_size = summary.ratios_by_size(study.errors, study.stacks)
    seconds = summary.mean_seconds(study.scores)
    sizes = [f"{size} rows" for size in by_size]
    rows = [
        [
            study.label(method),
            *(_number(value, 3) for value in by_size.loc[method]),
            *(_number(value, 2) for value in seconds.loc[method]),
        ]
        for method in summary.method_summary(study.errors, study.stacks).index
    ]
    return {"head": ["method", *sizes, *(f"{size} rows, s" for size in seconds)], "rows": rows}


def _summary(study: Study, ranking: Ranking | None) -> dict[str, list]:
    """Return a row for each method."""
    found = summary.method_summary(study.errors, study.stacks)
    ranks = dict(zip(ranking.methods, ranking.average_ranks)) if ranking else {}
    subject = summary.SUBJECT if summary.SUBJECT in study.errors else None
    head = ["method", "cells", "mean error", "to the best", "worst", "where", "rank"]
    head += [f"{study.label(subject)} wins", "loses"] if subject else []
    rows = []
    for method, row in found.iterrows():
        counts = ("wins", "losses") if subject else ()
        rows.append(
            [
                study.label(method),
                f"{row['cells']:.0f}",
                _number(row["mean_error"], 4),
                _number(row["mean_ratio"], 3),
                _number(row["worst_ratio"], 3),
                row["worst_cell"],
                _number(ranks.get(method, math.nan), 2),
                *("" if method == subject else f"{row[name]:.0f}" for name in counts),
            ]
        )
    return {"head": head, "rows": rows}


def _cells(errors: pd.DataFrame, study: Study) -> dict[str, list]:
    """Return a row for each cell."""
    best = summary.best_single(errors, study.stacks)
    head = ["table", "rows", "best single method", *(study.label(name) for name in errors)]
    rows = []
    for (table, size), row in errors.iterrows():
        lowest = row.min()
        cells = [
            f"**{value:.3f}**" if value == lowest else _number(value, 3) for value in row.to_numpy()
        ]
        rows.append([table, size, study.label(best["method"][table, size]), *cells])
    return {"head": head, "rows": rows}


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
