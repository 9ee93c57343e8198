"""Which tables and figures of a paper are in this run, and whether their numbers agree."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pandas as pd

from workflow_lib.report.agreement import (
    SPREAD_NOTE,
    count_within,
    format_spreads,
    largest_of,
    same_order,
)
from workflow_lib.report.labels import MISSING, count_of, format_difference
from workflow_lib.report.paper_contents import PaperItem, commands
from workflow_lib.report.published_tables import PAPER, source_and_name
from workflow_lib.report.quantities import QUANTITIES
from workflow_lib.report.render import Section, section
from workflow_lib.report.reproduced_tables import DRAWING, OWN_DATA, RECIPE, STAND_IN, Reproduction
from workflow_lib.report.results import read_published, read_published_apart
from workflow_lib.report.table_notes import READINGS

SMALL_DIFFERENCE = 0.05
"""A difference up to this part of the published number is called small."""

COLUMNS = (("In the paper", 12), ("In this report", 9), ("Compared", 4), ("Within 1", 3))
COLUMNS += (("Within 2", 3), ("Largest difference", 7), ("Same order", 3), ("Reasons", 13))
"""Columns with their least widths in rem; without these, texts get as little room as counts."""

COLUMNS_OF_CONTENTS = (("In the paper", 14), ("State", 8), ("How to run it", 28))

SPREADS = {
    PAPER: "Published spreads are standard deviations over ten splits (section 6.1 of the paper). "
}
"""Paper -> the sentence that says what its spreads are; none of a paper that prints none."""

_KINDS = (OWN_DATA, RECIPE, STAND_IN)


def paper_comparison_section(
    contents: Sequence[PaperItem],
    reproductions: Sequence[Reproduction],
    published: Mapping[str, str | Path],
    runs: Mapping[str, Sequence[Mapping]],
) -> Section:
    """Return the section with a row for each reproduction of a table or figure of a paper.

    In a second table every table and figure of the paper has a row, with its state and how to run
    it.

    `contents` are the tables and figures of one paper, and `reproductions` those of all experiments
    of the run. `published` are the files of `workflow_lib.run.named_settings.published_tables`, and
    `runs` those of `workflow_lib.run.paper_runs.paper_runs`, for the command lines.
    """
    paper = contents[0].paper
    rows, listed, shown = [], [], []
    for item in contents:
        groups = _groups(item, reproductions)
        rows += [_row(item, group, published) for group in groups]
        kinds = {group[0].data_kind for group in groups}
        found, has_paper_data = commands(item, runs, _KINDS)
        state = _state(item, kinds, found, has_paper_data)
        listed.append(
            {"item": item, "state": state, "commands": found, "has_paper_data": has_paper_data}
        )
        shown += [reproduction for group in groups for reproduction in group]
    return section(
        re.sub(r"\W+", "-", paper.lower()).strip("-"),
        f"Comparison with {paper}",
        "paper_comparison.html",
        paper=paper,
        columns=COLUMNS,
        columns_of_contents=COLUMNS_OF_CONTENTS,
        rows=rows,
        contents=listed,
        notes=_notes(paper),
        **_counts(contents, shown),
    )


def _state(
    item: PaperItem, kinds: Collection[str], found: Sequence[Mapping], has_paper_data: bool
) -> str:
    """Return whether this run reproduces an item on data of these kinds, or what stands against it.

    `found` and `has_paper_data` are from `commands`.
    """
    if set(kinds) - {STAND_IN}:
        return "run"
    needs = item.needs or ("data" if any(command["files"] for command in found) else "")
    if needs:
        missing = f"needs {needs}"
    elif has_paper_data:
        missing = "not in this run"
    elif item.quantity == "drawing":
        missing = "without numbers, not drawn"
    else:
        missing = "no data of the paper" if found else "not built"
    return f"a stand-in, not comparable; {missing}" if kinds else missing


def _groups(item: PaperItem, reproductions: Sequence[Reproduction]) -> list[list[Reproduction]]:
    """Return the reproductions in each row of an item: one in each row.

    Experiments that as a whole stand in for it share a row, and only where it has no other
    reproduction.
    """
    found = [reproduction for reproduction in reproductions if reproduction.item == item]
    named = [[reproduction] for reproduction in found if reproduction.name]
    return named or ([found] if found else [])


def _counts(contents: Sequence[PaperItem], shown: Sequence[Reproduction]) -> dict:
    """Return the counts above the table: how much of the paper is here, and how much agrees."""
    by_kind = {
        kind: {reproduction.item for reproduction in shown if reproduction.data_kind == kind}
        for kind in (*_KINDS, DRAWING)
    }
    n_tables = sum(item.kind == "table" for item in contents)
    counted = [each.errors["in_spreads"] for each in shown if len(each.errors)]
    in_spreads = pd.concat(counted) if counted else pd.Series(dtype=float)
    orders = [same_order(reproduction.comparisons) for reproduction in shown]
    pairs = sum(pairs for _, pairs in orders)
    return {
        "n_tables": count_of(n_tables, "table"),
        "n_figures": count_of(len(contents) - n_tables, "figure"),
        "n_own": len(by_kind[OWN_DATA]),
        "n_recipe": len(by_kind[RECIPE]),
        "n_stand_in": len(by_kind[STAND_IN] - by_kind[OWN_DATA] - by_kind[RECIPE]),
        "n_drawings": len(by_kind[DRAWING]),
        "n_absent": len(contents) - len({reproduction.item for reproduction in shown}),
        "within_one": count_within(in_spreads, 1),
        "within_two": count_within(in_spreads, 2),
        "n_compared": count_of(len(in_spreads), "number") if counted else "",
        "n_pairs": pairs,
        "pairs": count_of(pairs, "pair"),
        "n_same": sum(same for same, _ in orders),
    }


def _notes(paper: str) -> str:
    return (
        "Within 1 and 2: how many numbers are within one and two spreads of the published one. "
        f"Differences are this run minus published. {SPREAD_NOTE} "
        f"{SPREADS.get(paper, '')}Within one or two spreads is "
        "called agreement only on the paper's own data or data drawn by its recipe, never on a "
        "stand-in; it refers to the scatter of single splits, and is not a statistical test. "
        "Seconds depend on the machine: they count only in the order, not in the agreement. Same "
        "order: of the pairs of numbers at one training size (or in one row or column of the "
        "published table) that differ in the paper, how many are in the same order here. Each "
        "reproduction of a table counts separately."
    )


def _row(
    item: PaperItem, reproductions: Sequence[Reproduction], published: Mapping[str, str | Path]
) -> dict:
    """Return one row of the table: an item, and one reproduction or all experiments of it."""
    reproduction = reproductions[0]
    kind = reproduction.data_kind
    titles = ", ".join(dict.fromkeys(each.data for each in reproductions))
    row = {
        "item": item,
        "links": [
            {"anchor": each.anchor, "label": ": ".join(filter(None, (each.experiment, each.name)))}
            for each in reproductions
        ],
        # As "Drawn by the paper's recipe: D2".
        "data": ": ".join(filter(None, (kind[0].upper() + kind[1:], titles))),
        **dict.fromkeys(("compared", "within_one", "within_two", "order"), MISSING),
        "largest": [MISSING],
    }
    if kind == STAND_IN:
        why_not = "Other data than the paper's."
        return row | {"compared": "not comparable: stand-in", "why_not": why_not}
    row["why_not"] = _why_not(item, reproduction, published)
    errors = reproduction.errors
    if len(reproduction.comparisons):
        same, pairs = same_order(reproduction.comparisons)
        row["order"] = f"{same} of {pairs}" if pairs else MISSING
    if len(errors):
        row["compared"] = f"{len(errors)} of {_n_printed(item, published)}"
        row["within_one"], row["within_two"] = (
            str(count_within(errors["in_spreads"], n)) for n in (1, 2)
        )
        largest = largest_of(errors)
        row["largest"] = [_difference(largest), largest["label"]]
    return row


def _n_printed(item: PaperItem, published: Mapping[str, str | Path]) -> int:
    """Return how many numbers the paper prints in a table, as far as they are available."""
    if item.kind != "table" or item.paper_table not in published:
        return 0
    path = published[item.paper_table]
    numbers = read_published([path]) + read_published_apart([path])
    return sum(
        source_and_name(each.table) == (item.paper, item.number) and not math.isnan(each.value)
        for each in numbers
    )


def _difference(comparison: pd.Series) -> str:
    """Return a difference with its unit and in spreads, as ``−0.31 (−8.6 spreads)``."""
    is_percent = QUANTITIES[comparison["quantity"]].is_percent
    text = format_difference(comparison["difference"], 1 if is_percent else 3)
    if is_percent:
        text += " points"
    spreads = format_spreads(comparison["in_spreads"])
    return f"{text} (no spread known)" if spreads == MISSING else f"{text} ({spreads} spreads)"


def _why_not(
    item: PaperItem, reproduction: Reproduction, published: Mapping[str, str | Path]
) -> str:
    """Return the known reasons why the numbers of a reproduction differ, or that they agree."""
    if reproduction.data_kind == DRAWING:
        return "Our own drawing of the same steps; there is nothing to measure."
    if item.kind == "figure":
        return "A figure has no numbers to compare."
    if not _n_printed(item, published):
        return (
            "The text of the paper does not contain the numbers of this table, so that none is "
            "compared."
        )
    sentences = []
    seconds, errors = reproduction.seconds, reproduction.errors
    if len(seconds):
        ratios = seconds["value"] / seconds["published_value"]
        sentences.append(
            f"Another machine and other code: times are {_ratio(ratios.min())} to "
            f"{_ratio(ratios.max())} times the published ones (median {_ratio(ratios.median())})."
        )
    elif not len(errors):
        if read_published([published[item.paper_table]]):
            sentences.append("No published number has the row and column of a number of this run.")
        else:
            sentences.append(
                "The published numbers are shown with the table as they were printed. They have "
                "no training size, and are not compared."
            )
    beyond = errors[errors["in_spreads"].abs() > 2]
    if len(beyond):
        sentences += _reasons(reproduction, beyond)
    elif len(errors):
        sentences.append("No number is more than two spreads away.")
    return " ".join(sentences)


def _reasons(reproduction: Reproduction, beyond: pd.DataFrame) -> list[str]:
    """Return the sentences about numbers beyond two spreads, by what is known of the data."""
    sentences = []
    limit = SMALL_DIFFERENCE * beyond["published_value"].abs()
    n_small = int((beyond["difference"].abs() <= limit).sum())
    if n_small:
        sentences.append(
            f"Of the {count_of(len(beyond), 'number')} beyond two spreads, {n_small} "
            f"{'is' if n_small == 1 else 'are'} within {100 * SMALL_DIFFERENCE:.0f} % of the "
            f"published one, because the spreads are small."
        )
    if n_small == len(beyond):
        return sentences
    sentences += [text for unit, text in READINGS.items() if unit in set(beyond["quantity"])]
    if reproduction.data_kind == RECIPE:
        sentences.append(
            "The paper's recipe does not fully determine its data. What was chosen here is stated "
            "with the data; another choice gives other errors."
        )
    else:
        sentences.append("The data are the paper's own; why the numbers differ is not known.")
    return sentences


def _ratio(ratio: float) -> str:
    """Return a ratio with two significant digits and no exponent."""
    return f"{float(f'{ratio:.2g}'):,.12f}".rstrip("0").rstrip(".")
