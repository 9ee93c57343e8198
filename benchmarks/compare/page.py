"""The page of the comparison, in Markdown, with its diagram of ranks."""

import re
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


class Study(NamedTuple):
    """Scores as in ``scores.csv``, and the errors of the cells for goals and means.

    `stacks` are methods that combine others; `styles` the label, colour and marker of each method.
    Methods of equal rank are named in their `order`.
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

    @property
    def is_new(self) -> list[bool]:
        """Whether the table of each cell is new."""
        return [self.tables[name].is_new for name in self.names]

    def of_cells(self, chosen: Sequence[bool]) -> pd.DataFrame:
        """Return the errors of some cells, without methods that ran on none of them."""
        return self.errors[chosen].dropna(axis="columns", how="all")

    def labelled(self, text: str) -> str:
        """Return a text with labels instead of the names of methods."""
        styles = self.styles
        return re.sub(r"[\w-]+", lambda w: styles.get(w[0], {}).get("label", w[0]), text)


def write_page(
    folder: Path,
    scores: pd.DataFrame,
    tables: Mapping[str, Table],
    left_out: Mapping[str, str],
    methods: Mapping[str, Mapping],
    machine: Mapping[str, str],
) -> None:
    """Write the page and its figures to `folder`, from scores as in ``scores.csv``.

    `left_out` says why each other dataset is left out, `methods` are the settings of our methods,
    and `machine` is as returned by `benchmarks.machine.description`.
    """
    # A file in config/methods may have the name of a peer, such as catboost.
    used = {name: methods[name] for name in scores["method"][scores["source"] == "own"].unique()}
    styles = {name: vars(peer) for name, peer in PEERS.items()} | used
    order = [*used, *(name for name in PEERS if name not in used)]
    every = summary.cell_errors(scores)
    every = every[[name for name in order if name in every]]
    stacks = summary.stacks_of(used)
    study = Study(scores, summary.of_enough_rows(every), stacks, styles, tables, order)
    ranking = ranking_of(scores, tables, order)
    save_figure(draw_critical_difference(ranking, styles), folder / FIGURE_NAME)
    reasons = pd.Series(left_out, dtype=object)
    subject = used.get(summary.SUBJECT, {})
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), undefined=jinja2.StrictUndefined
    )
    page = environment.get_template("page.md.j2").render(
        machine=machine,
        n_peers=sum(name in PEERS for name in every),
        n_tables=scores["table"].nunique(),
        n_splits=scores["split"].nunique(),
        n_cells=len(every),
        absent=[peer.label for peer in PEERS.values() if not peer.is_installed],
        all_new=all(study.is_new),
        new=[f"`{name}`" for name in scores["table"].unique() if tables[name].is_new],
        of_new=_new_tables(study),
        label=subject.get("label"),
        limit=f"{summary.WORST_LIMIT:g}",
        goals=_goals(study),
        above=_above(study, subject.get("members", ())),
        methods=_summary(study, ranking),
        by_size=_by_size(study),
        ranks=rank_sentences(ranking, styles) if ranking else [],
        figure=FIGURE_NAME,
        chart=chart.FIGURE_NAME,
        cells=_cells(every, study),
        peers=[peer for name, peer in PEERS.items() if name in set(scores["method"])],
        absent_tables={reason: names for reason, names in reasons.groupby(reasons, sort=False)},
    )
    chart.write_chart(folder, page)
    write_text(folder / PAGE_NAME, page)


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
        name: {"title": tables[name].title, "dataset": name, "is_made": tables[name].is_made}
        | {"metric": "arrmse"}
        for name in records
    }
    return rank_methods(records, experiments, order)


# --- tables of the page --------------------------------------------------------------------------


def _goals(study: Study) -> pd.DataFrame | None:
    """Return the goals, for all cells and for those of real data and of new tables."""
    parts = {
        "real data": [not study.tables[name].is_made for name in study.names],
        NEW: study.is_new,
    }
    cells = {name: study.of_cells(c) for name, c in parts.items() if any(c) and not all(c)}
    peers = [name for name in PEERS if name in study.errors]
    found = {}
    for name, errors in {"all cells": study.errors, **cells}.items():
        goals = summary.goals(study.scores, errors, study.stacks, peers)
        found.setdefault("goal", [goal for goal, _, _ in goals])
        found[name] = [
            f"{'reached' if reached else '**not reached**'}: {study.labelled(measured)}"
            for _, measured, reached in goals
        ]
    rows = list(zip(*found.values()))
    return pd.DataFrame(rows, columns=list(found)) if rows else None


def _above(study: Study, members: Sequence[str]) -> pd.DataFrame | None:
    """Return the cells in which the subject misses its goal."""
    if summary.SUBJECT not in study.errors:
        return None
    found = summary.cells_above(study.scores, study.errors, study.stacks, members)
    if found.empty:
        return None
    marked = {name for name in study.names if study.tables[name].is_new and not all(study.is_new)}
    rows = [
        [
            f"{table} (new)" if table in marked else table,
            size,
            study.labelled(row["method"]),
            _number(row["ratio"], 3),
            ", ".join(_number(ratio, 2) for ratio in row["by_split"]),
            study.labelled(row["member"]),
            _number(row["member_ratio"], 3),
        ]
        for (table, size), row in found.iterrows()
    ]
    head = ["table", "rows", "best single method", "ratio to it", "in each split"]
    return pd.DataFrame(rows, columns=[*head, "best member", "ratio to it"])


def _new_tables(study: Study) -> pd.DataFrame | None:
    """Return the methods on the new tables alone."""
    if not any(study.is_new):
        return None
    is_new = study.scores["table"].map(lambda name: study.tables[name].is_new)
    ranking = ranking_of(study.scores[is_new], study.tables, study.order)
    return _summary(study._replace(errors=study.of_cells(study.is_new)), ranking)


def _by_size(study: Study) -> pd.DataFrame:
    """Return the ratio to the best single method and the seconds of each method by size."""
    methods = summary.method_summary(study.errors, study.stacks).index
    ratios = summary.ratios_by_size(study.errors, study.stacks).loc[methods]
    seconds = summary.mean_seconds(study.scores).loc[methods]
    return pd.DataFrame(
        {"method": methods.map(study.labelled)}
        | {f"{size} rows": [_number(each, 3) for each in ratios[size]] for size in ratios}
        | {f"{size} rows, s": [_number(each, 2) for each in seconds[size]] for size in seconds}
    )


def _summary(study: Study, ranking: Ranking | None) -> pd.DataFrame:
    """Return a row for each method."""
    found = summary.method_summary(study.errors, study.stacks)
    ranks = dict(zip(ranking.methods, ranking.average_ranks)) if ranking else {}
    found["rank"] = found.index.map(ranks).astype(float)
    digits = {"cells": 0, "mean_error": 4, "mean_ratio": 3, "worst_ratio": 3}
    digits |= {"worst_cell": None, "rank": 2}
    head = ["cells", "mean error", "to the best", "worst", "where", "rank"]
    if summary.SUBJECT in study.errors:
        digits |= {"wins": 0, "losses": 0}
        head += [f"{study.labelled(summary.SUBJECT)} wins", "loses"]
    texts = {
        title: found[name] if n is None else [_number(value, n) for value in found[name]]
        for title, (name, n) in zip(head, digits.items(), strict=True)
    }
    return pd.DataFrame({"method": found.index.map(study.labelled)} | texts)


def _cells(errors: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Return a row for each cell."""
    texts = errors.map(lambda value: _number(value, 3))
    is_lowest = errors.eq(errors.min(axis="columns"), axis="index")
    texts = texts.mask(is_lowest, "**" + texts + "**").rename(columns=study.labelled)
    best = summary.best_single(errors, study.stacks)["method"].map(study.labelled)
    texts.insert(0, "best single method", best)
    return texts.reset_index(names=["table", "rows"])


def _number(value: float, digits: int) -> str:
    return "" if pd.isna(value) else f"{value:.{digits}f}"
