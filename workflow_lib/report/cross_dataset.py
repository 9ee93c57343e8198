"""The sections of the report about all experiments together: the ranks, and the protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from workflow_lib.report.overview import findings, overview
from workflow_lib.report.rank_sentences import data_sentences, rank_sentences
from workflow_lib.report.rank_tables import ranks_layout
from workflow_lib.report.ranks import rank_methods
from workflow_lib.report.render import Section, figure_part, html_markup, section, table_part
from workflow_lib.report.results import read_scores
from workflow_lib.report.run_figures.overview import (
    curve_points,
    curves_in_words,
    headline_in_words,
)
from workflow_lib.report.run_figures.protocol import numbers_of, protocol_in_words

HEADLINE = (
    "The difference of the mean error of each method from that of the reference, relative to it, "
    "at the largest training size. Rows are experiments, with the error of the reference below the "
    "name; methods that ran on one experiment only are shown where they are the best of these. Of "
    "several fixed numbers of components the best is shown."
)
CURVES = (
    "Mean and standard deviation over the splits of the best method at the largest training size "
    "(ceilings cannot be the best) and of the reference."
)
RANKS = "Average ranks of the methods; a thick line joins those that are not distinguishable."
PROTOCOL = "From the rows of a dataset to a score: which step uses which rows."


def opening_figures(
    scores: Mapping[str, str | Path],
    experiments: Mapping[str, Mapping],
    methods: Mapping[str, Mapping],
    files: Mapping[str, Mapping[str, str | Path]],
    unbeaten: Sequence[str],
    folder: str | Path,
) -> dict:
    """Return what opens the page: ``findings`` and ``figures``, the headline and learning curves.

    Parameters
    ----------
    scores, experiments, methods : mappings
        As `workflow_lib.report.run_figures.overview.run` takes them.
    files : mapping
        ``headline`` and ``curves``, each with ``svg``, ``png`` and ``csv`` (paths).
    unbeaten : sequence of str
        The experiments in which no method beats a guess.
    folder : path
        That of the page.
    """
    records = {name: read_scores(path) for name, path in scores.items()}
    found = overview(records, experiments, methods)
    words = {
        "headline": (HEADLINE, headline_in_words(found)),
        "curves": (CURVES, curves_in_words(curve_points(records, experiments, found))),
    }
    return {
        "findings": findings(found, unbeaten),
        "figures": {
            name: figure_part({**files[name], "alt": alt, "caption": caption}, folder)
            for name, (caption, alt) in words.items()
        },
    }


def ranks_section(
    scores: Mapping[str, str | Path],
    experiments: Mapping[str, Mapping],
    methods: Mapping[str, Mapping],
    files: Mapping[str, str | Path],
    folder: str | Path,
) -> Section:
    """Return the section on how the methods rank over the datasets of the run.

    Parameters
    ----------
    scores, experiments, methods : mappings
        As `workflow_lib.report.run_figures.critical_difference.run` takes them.
    files : mapping
        ``svg`` and ``png`` (paths) of the diagram, ``csv`` and ``tex`` of the table.
    folder : path
        That of the page.
    """
    records = {name: read_scores(path) for name, path in scores.items()}
    ranking = rank_methods(records, experiments, list(methods))
    sentences = rank_sentences(ranking, methods)
    shown = {**files, "alt": " ".join(sentences), "caption": RANKS}
    table = {**files, "html": html_markup(ranks_layout(ranking, methods))}
    return section(
        "ranks",
        "Ranks over datasets",
        "ranks.html",
        sentences=[*sentences, *data_sentences(ranking, methods)],
        figure=figure_part(shown, folder),
        table=table_part(table),
    )


def protocol_section(
    scores: Mapping[str, str | Path],
    experiments: Mapping[str, Mapping],
    n_folds: int,
    figure: Mapping[str, str | Path],
    folder: str | Path,
) -> Section:
    """Return the section on how scores are obtained, as a figure.

    Parameters
    ----------
    scores, experiments, n_folds
        As `workflow_lib.report.run_figures.protocol.run` takes them.
    figure : mapping
        ``svg`` and ``png`` (paths) of the figure.
    folder : path
        That of the page.
    """
    numbers = [numbers_of(read_scores(path), experiments[name]) for name, path in scores.items()]
    shown = {**figure, "alt": protocol_in_words(numbers, n_folds), "caption": PROTOCOL}
    figure = figure_part(shown, folder)
    return section("protocol", "Protocol", "protocol.html", figure=figure)
