"""The sections of the report about all experiments together: ranks, embeddings, protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from workflow_lib.report.embedding_pairs import in_words, relative_differences
from workflow_lib.report.overview import beware, came_out, findings, overview
from workflow_lib.report.rank_sentences import data_sentences, rank_sentences, ranks_layout
from workflow_lib.report.ranks import rank_methods
from workflow_lib.report.render import Section, figure_part, html_markup, section
from workflow_lib.report.run_figures.overview import (
    best_in_words,
    curve_points,
    curves_in_words,
    headline_in_words,
)
from workflow_lib.report.run_figures.protocol import numbers_of, protocol_in_words

BEST = (
    "The best method of each experiment at the largest training size: its mean error relative to "
    "that of the reference. Ceilings cannot be the best; methods that equal the reference up to "
    "rounding count as it. The best is chosen on the rows that it is compared on."
)
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
EMBEDDING = (
    "The difference of the error in per cent, mean and standard deviation over the splits: of each "
    "regressor that predicts the Fisher embeddings from the same one that predicts the outputs, "
    "and of the embedding with weak rows from that without."
)
RANKS = "Average ranks of the methods; a thick line joins those that are not distinguishable."
PROTOCOL = "From the rows of a dataset to a score: which step uses which rows."


def opening_figures(
    scores: Mapping[str, pd.DataFrame],
    experiments: Mapping[str, Mapping],
    methods: Mapping[str, Mapping],
    files: Mapping[str, Mapping[str, str | Path]],
    unbeaten: Sequence[str],
) -> dict:
    """Return what opens the page: ``sentences``, ``findings`` and ``figures``.

    The two sentences say what came out and what to beware of; the findings are more. The figures
    are ``best``, ``headline`` and ``curves``, of which `files` holds ``svg``, ``png`` and ``csv``.
    `experiments` and `methods` are those of `workflow_lib.report.run_figures.overview`, and
    `unbeaten` the experiments in which no method beats a guess.
    """
    found = overview(scores, experiments, methods)
    words = {
        "best": (best_in_words(found), BEST),
        "headline": (headline_in_words(found), HEADLINE),
        "curves": (curves_in_words(curve_points(scores, experiments, found)), CURVES),
    }
    return {
        "sentences": [came_out(found), beware(found, unbeaten)],
        "findings": findings(found),
        "figures": {
            name: figure_part(files[name], alt=alt, caption=caption)
            for name, (alt, caption) in words.items()
        },
    }


def ranks_section(
    scores: Mapping[str, pd.DataFrame],
    experiments: Mapping[str, Mapping],
    methods: Mapping[str, Mapping],
    files: Mapping[str, str | Path],
) -> Section:
    """Return the section on how the methods rank over the datasets of the run.

    `experiments` and `methods` are those of `workflow_lib.report.run_figures.critical_difference`,
    and `files` the ``svg`` and ``png`` of its diagram and the ``csv`` and ``tex`` of its table.
    """
    ranking = rank_methods(scores, experiments, list(methods))
    sentences = rank_sentences(ranking, methods)
    return section(
        "ranks",
        "Ranks over datasets",
        "ranks.html",
        sentences=[*sentences, *data_sentences(ranking, methods)],
        figure=figure_part(files, alt=" ".join(sentences), caption=RANKS),
        table={**files, "html": html_markup(ranks_layout(ranking, methods))},
    )


def embedding_section(
    scores: Mapping[str, pd.DataFrame],
    experiments: Mapping[str, Mapping],
    pairs: Mapping[str, Sequence],
    methods: Mapping[str, Mapping],
    files: Mapping[str, str | Path],
) -> Section:
    """Return the section on whether the embedding helps each regressor, and whether weak rows do.

    `experiments` and `pairs` are those of
    `workflow_lib.report.embedding_pairs.relative_differences`, and `files` the ``svg``, ``png`` and
    ``csv`` of its figure.
    """
    sentences = in_words(relative_differences(scores, experiments, pairs, methods))
    return section(
        "embedding-or-raw",
        "Embedding or raw outputs?",
        "embedding_or_raw.html",
        sentences=sentences,
        figure=figure_part(files, alt=" ".join(sentences), caption=EMBEDDING),
    )


def protocol_section(
    scores: Mapping[str, pd.DataFrame],
    experiments: Mapping[str, Mapping],
    n_folds: int,
    files: Mapping[str, str | Path],
) -> Section:
    """Return the section on how scores are obtained, as a figure.

    `experiments` and `n_folds` are those of `workflow_lib.report.run_figures.protocol`, and `files`
    the ``svg`` and ``png`` of its figure.
    """
    numbers = [numbers_of(frame, experiments[name]) for name, frame in scores.items()]
    alt = protocol_in_words(numbers, n_folds)
    figure = figure_part(files, alt=alt, caption=PROTOCOL)
    return section("protocol", "Protocol", "protocol.html", figure=figure)
