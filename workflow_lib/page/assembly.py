"""From result files and settings to the parts of the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.page.cross_dataset import (
    embedding_section,
    opening_figures,
    protocol_section,
    ranks_section,
)
from workflow_lib.page.gains import gains_section
from workflow_lib.page.page import write_report
from workflow_lib.page.paper_comparison import paper_comparison_section
from workflow_lib.report.dataset_records import dataset_record, is_made
from workflow_lib.report.figures.base import figure_modules
from workflow_lib.report.labels import MISSING, format_p_value, format_signed
from workflow_lib.report.paper_contents import read_contents
from workflow_lib.report.protocol_sentences import protocol_sentences
from workflow_lib.report.quantities import QUANTITIES
from workflow_lib.report.render import html_markup
from workflow_lib.report.reproduced_tables import reproductions_of
from workflow_lib.report.results import read_choices, read_json, read_scores
from workflow_lib.report.table_files import make
from workflow_lib.report.table_text import TableOptions
from workflow_lib.table.answer_part import answer_part
from workflow_lib.table.error_parts import error_parts, error_parts_sentence
from workflow_lib.table.verdict import (
    Verdict,
    count_sentences,
    replaced_sentences,
    unbeaten_sizes,
    verdict,
)

ANSWERED = "predicted_true"
"""The kind of figures that the answer on a user table repeats."""


def run(
    output: str | Path,
    manifest: str | Path,
    title: str,
    author: str,
    experiments: Mapping[str, Mapping],
    datasets: Mapping[str, Mapping],
    methods: Mapping[str, Mapping],
    published: Mapping[str, str | Path],
    n_folds: int,
    contents: Sequence[str | Path] = (),
    runs: Mapping[str, Sequence[Mapping]] | None = None,
    ranked: Mapping[str, Mapping] | None = None,
    protocol: Mapping[str, Mapping] | None = None,
    pairs: Mapping[str, Sequence] | None = None,
    cross_dataset: Mapping[str, Mapping] | None = None,
) -> None:
    """Read the results of all experiments and write the report.

    Parameters
    ----------
    output, manifest : path
        The page to write and the record of the run to read.
    experiments : mapping of experiment name to mapping
        ``settings`` (title, dataset, methods, split, training_sizes, weak_sizes, weak_labels,
        unpaired_sizes, components, metric, kernel, tables, figures; as in the configuration),
        ``scores`` and ``choices`` (paths), ``table_results`` (table name -> what its kind reads ->
        path) and ``figures`` (figure name -> path of its SVG).
        For the links that save them, ``table_files`` (table name -> {"csv": path, "tex": path}) and
        ``pictures`` and ``figure_data`` (figure name -> path of its PNG and its CSV).
        ``equivalence_checks`` is the JSON of the equivalence checks; None without them. Of a user
        table ``own`` holds ``answer``, ``data_profile``, ``calibration`` (paths) and ``figures``
        (name -> suffix -> path) where the page begins with them.
    datasets : mapping of dataset name to mapping
        ``settings`` (title, description, stand_in_for, reader, options, sources, licence,
        citation) and ``artifact`` (path of the "dataset" artifact).
    methods : mapping of method name to mapping
        ``label``, ``summary``, ``color``, ``marker``, ``regressor`` and ``weak_outputs``, in the
        order of rows and sentences.
    published : mapping of table number or name to path
        The published tables that are available.
    n_folds : int
        Folds of the selection, for the protocol.
    contents : sequence of paths, default=()
        What the tables and figures of papers show (`workflow_lib.report.paper_contents`); the page
        compares the run with each of these papers where it is given.
    runs : mapping of study to experiments, optional
        As `workflow_lib.run.paper_runs.paper_runs` gives them.
    ranked, protocol : mapping of experiment name to mapping, optional
        As `workflow_lib.page.cross_dataset` takes them.
    pairs : mapping, optional
        As from `workflow_lib.report.regressor_pairs.pairs_of`; without any the page has no section
        on them.
    cross_dataset : mapping, optional
        ``svg`` and ``png`` (paths) of the figures ``headline``, ``curves``, ``ranks``,
        ``protocol`` and, with `pairs`, ``embedding-or-raw``, on all experiments, ``csv`` of all
        but the protocol and ``tex`` of the ranks; the page shows none of them without.
    """
    items = [item for path in contents for item in read_contents(path)]
    scores = {name: read_scores(experiment["scores"]) for name, experiment in experiments.items()}
    records = {
        name: dataset_record(name, dataset["settings"], dataset["artifact"])
        for name, dataset in datasets.items()
    }
    leading, sections, verdicts, reproductions = [], [], {}, []
    given = {"methods": methods, "published": published}
    for name, experiment in experiments.items():
        settings = experiment["settings"]
        dataset = datasets[settings["dataset"]]
        if own := experiment.get("own"):
            # The answer has shown the predictions.
            figures = [figure for figure in settings["figures"] if figure["kind"] != ANSWERED]
            experiment = experiment | {"settings": {**settings, "figures": figures}}
        section, verdicts[name] = experiment_section(
            *(name, experiment, scores[name], dataset),
            n_folds=n_folds,
            missing_share=records[settings["dataset"]]["missing_share"],
            **given,
        )
        sections.append(section)
        shown = settings, dataset["settings"], section["cells"]
        reproductions += reproductions_of(name, *shown, contents=items, **given)
        if own:
            names = read_artifact(dataset["artifact"], "dataset")["names"]
            leading += answer_part(
                name=name, output_names=json.loads(names.get("classes", names["outputs"])), **own
            )
    equivalence_checks = {
        name: experiment["equivalence_checks"]
        for name, experiment in experiments.items()
        if experiment.get("equivalence_checks")
    }
    following = [
        paper_comparison_section(
            [item for item in items if item.paper == paper], reproductions, published, runs or {}
        )
        for paper in dict.fromkeys(item.paper for item in items)
    ]
    opening = None
    # What compares datasets says nothing of a single table.
    if not leading:
        following.append(gains_section(verdicts, equivalence_checks, methods, sections))
    if cross_dataset and not leading:
        unbeaten = [section["name"] for section in sections if section["unbeaten"]]
        opening = opening_figures(scores, ranked, methods, cross_dataset, unbeaten)
        if pairs:
            files = cross_dataset["embedding-or-raw"]
            following.insert(0, embedding_section(scores, ranked, pairs, methods, files))
        following.append(ranks_section(scores, ranked, methods, cross_dataset["ranks"]))
    if cross_dataset:
        files = cross_dataset["protocol"]
        following.append(protocol_section(scores, protocol, n_folds, files))
    record = read_json(manifest)
    replaced = replaced_sentences(record["configuration"].get("replaced", {}))
    write_report(
        output,
        title,
        sections,
        list(records.values()),
        methods,
        record,
        author=author,
        opening=opening,
        counts=[*replaced, *count_sentences(list(verdicts.values()), methods)],
        leading=leading,
        following=following,
    )


def experiment_section(
    name: str,
    experiment: Mapping,
    scores: pd.DataFrame,
    dataset: Mapping,
    *,
    methods: Mapping[str, Mapping],
    published: Mapping[str, str | Path],
    n_folds: int,
    missing_share: float = 0.0,
) -> tuple[dict, Verdict]:
    """Return the section of one experiment, for `write_report`, and its verdict.

    `scores` are those of the experiment, `dataset` is the entry of its dataset and `missing_share`
    the share of its output values that are missing. The other parameters are those of `run`.
    """
    settings, data = experiment["settings"], dataset["settings"]
    metric = settings["metric"]
    judgement = verdict(scores, methods=methods, metric=metric)
    parts = error_parts(scores, methods, metric)
    tables, cells_of = [], {}
    for table in settings["tables"]:
        paper = table["paper_table"]
        options = TableOptions(
            methods=methods,
            metric=metric,
            caption=table["caption"],
            dataset_title=data["title"],
            stand_in_for=data["stand_in_for"],
            published=[published[paper]] if paper in published else [],
            keys=table,
            decimals=table.get("decimals"),
        )
        results = experiment["table_results"][table["name"]]
        if "scores" in results:
            # They are read once for all tables.
            results = {**results, "scores": scores}
        cells_of[table["name"]], layout, below = make(table["kind"], results, options)
        files = (experiment.get("table_files") or {}).get(table["name"], {})
        tables.append({"name": table["name"], "html": html_markup(layout, below), **files})
    figures = []
    for figure in settings["figures"]:
        module, caption = figure_modules()[figure["kind"]], figure["caption"]
        files = {
            suffix: (experiment.get(key) or {}).get(figure["name"])
            for suffix, key in (("svg", "figures"), ("png", "pictures"), ("csv", "figure_data"))
        }
        # For readers who cannot see it.
        alt = f"{caption} {judgement.best}" if module.names_best else caption
        named = {"name": figure["name"], "predicts": module.predicts}
        figures.append({**named, **files, "alt": alt, "caption": caption})
    choices = read_choices(experiment["choices"])
    same_group = (data.get("options") or {}).get("same_group")
    section = {
        "name": name,
        "title": settings["title"],
        "description": data["description"],
        "dataset": data["title"],
        "stand_in_for": data["stand_in_for"],
        "is_made": is_made(data),
        "unbeaten": unbeaten_sizes(scores, metric, methods),
        "protocol": protocol_sentences(
            settings, scores, choices, n_folds, missing_share, same_group, methods
        ),
        "best": judgement.best,
        "findings": [
            *judgement.judgements,
            *judgement.equalities,
            *([error_parts_sentence(parts, metric)] if parts else []),
        ],
        "comparisons": comparison_rows(judgement),
        "difference": QUANTITIES[metric].difference_name,
        "better": "positive" if QUANTITIES[metric].higher_is_better else "negative",
        "tables": tables,
        "cells": cells_of,
        "figures": figures,
    }
    return section, judgement


def comparison_rows(judgement: Verdict) -> list[list[str]]:
    """Return the rows of the table of differences from the reference, cells written out.

    Columns: row, training size, difference, its size in units of its spread and (Hedges' g) of that
    of the scores, the two p values, splits that differ. What a single split or equal scores leave
    undefined is a dash.
    """
    measured = QUANTITIES[judgement.metric]
    return [
        [
            row.label,
            str(row.training_size),
            measured.write_difference(row.difference),
            *(
                [MISSING] * 4
                if row.outcome in ("equal", "untested")
                else [
                    format_signed(measured.shown_effect(row.effect), 1),
                    format_signed(measured.shown_effect(row.hedges_g), 1),
                    format_p_value(row.p_reference_student),
                    format_p_value(row.p_reference_corrected),
                ]
            ),
            f"{row.n_nonzero} of {row.n_splits}",
        ]
        for row in judgement.comparisons.itertuples()
    ]
