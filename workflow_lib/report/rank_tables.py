"""The ranks of the methods as a table: a row for each method, a column for each dataset."""

from __future__ import annotations

from collections.abc import Mapping

from workflow_lib.report.labels import count_of, method_label
from workflow_lib.report.ranks import Ranking
from workflow_lib.report.table_markup import Block, Entry, Layout

TITLE = "Ranks of the methods by dataset, 1 for the lowest mean error"
NO_RANKING = "Too few methods ran on too few datasets, so that there are no ranks"


def ranks_layout(ranking: Ranking | None, methods: Mapping[str, Mapping]) -> Layout:
    """Return the table of ranks, the best method first; without rows if nothing was ranked.

    Parameters
    ----------
    ranking : Ranking or None
        As `workflow_lib.report.ranks.rank_methods` gives it.
    methods : mapping of method name to {"label"}
    """
    if ranking is None:
        return Layout(NO_RANKING, "Method", ["Average"], [Block("", [])], [])
    rows = []
    for index, method in enumerate(ranking.methods):
        of_datasets = [Entry(f"{rank:g}") for rank in ranking.ranks[:, index]]
        average = Entry(f"{ranking.average_ranks[index]:.2f}")
        rows.append((method_label(method, methods), [average, *of_datasets], []))
    heads = ["Average", *(place.experiment for place in ranking.places)]
    return Layout(TITLE, "Method", heads, [Block("", rows)], _notes(ranking))


def _notes(ranking: Ranking) -> list[str]:
    """Return the notes on the table: sizes, ties, and the kinds of data."""
    notes = [
        f"At the largest training size of each of {count_of(len(ranking.places), 'dataset')}, by "
        "the mean over its splits; equal means share their ranks."
    ]
    for what, named in (
        ("stand-ins", [place.experiment for place in ranking.places if place.stand_in_for]),
        ("drawn by a recipe", [place.experiment for place in ranking.places if place.is_made]),
    ):
        if named:
            notes.append(f"Data that are {what}: {', '.join(named)}.")
    return notes
