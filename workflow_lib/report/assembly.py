"""From result files and settings to the parts of the report."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from workflow_lib.artifacts import read_artifact
from workflow_lib.datasets.sparse_inputs import inputs_of
from workflow_lib.report.answer_part import answer_part
from workflow_lib.report.component_names import component_names, html_names
from workflow_lib.report.labels import (
    MINUS,
    MISSING,
    count_of,
    format_p_value,
    format_share,
    join_words,
    table_title,
)
from workflow_lib.report.manifest import read_manifest
from workflow_lib.report.page import write_report
from workflow_lib.report.published_tables import published_layouts
from workflow_lib.report.quantities import QUANTITIES, chance_error
from workflow_lib.report.scores import Score, read_coordinates, read_scores, read_timings
from workflow_lib.report.table_text import html_table, table_cells
from workflow_lib.report.tables import ERRORS
from workflow_lib.report.timeline import timeline_part
from workflow_lib.report.typical_rows import html_typical_rows, typical_rows
from workflow_lib.report.verdict import Verdict, count_sentences, verdict

MOST_NAMES = 20
"""Rows that were left out for one reason are named up to this number, and only counted above."""

_GROUPED = (
    "Test rows belong to groups of which no row trains, so that they are less like the training "
    "rows than in a random split."
)

_GIVEN = (
    "The data say which rows test, train and may be weak; splits differ only in the training and "
    "weak rows drawn. The deviation over splits therefore tells nothing of other test rows, and "
    "the tests, which take the splits for random ones, are too sure here."
)

_SELECTION = "scored on the outputs themselves, after the pre-image."

_CLASS_SELECTION = (
    "scored by a squared error, never by the number of right classes: of the class scores, up to a "
    "common factor where they are decoded, or of class vectors where these are predicted."
)

_ONE_EXAMPLE = (
    "With one example per class nothing can be selected, for a class that is held out has no "
    "example left; fixed values are used."
)

_CHRONOLOGICAL = (
    "The test rows are the latest, the same in every split, and later than all training rows; "
    "splits differ only in the training rows drawn. The deviation over splits therefore tells "
    "nothing of other test periods, and at a size that takes every earlier row it is that of the "
    "folds and random starts alone. The tests take the splits for random ones, so that they are "
    "too sure here."
)

_PER_CLASS = (
    "Every class has equally many labelled examples, and tests in the same share of its rows."
)

_SPLITS = {
    "random": ("random split", ""),
    "grouped": ("grouped split", _GROUPED),
    "given": ("split", _GIVEN),
    "chronological": ("chronological split", _CHRONOLOGICAL),
    "per_class": ("random split", _PER_CLASS),
}
"""Kind of split -> what it is called, and what is to be known of it."""


def run(
    output: str | Path,
    manifest: str | Path,
    title: str,
    author: str,
    experiments: Mapping[str, Mapping],
    datasets: Mapping[str, Mapping],
    methods: Mapping[str, Mapping],
    published: Mapping[int, str | Path],
    n_folds: int,
    jobs: str | Path | None = None,
    timeline: str | Path | None = None,
    reference: str | None = None,
) -> None:
    """Read the results of all experiments and write the report.

    Parameters
    ----------
    output, manifest : path
        The page to write and the record of the run to read.
    experiments : mapping of experiment name to mapping
        ``settings`` (title, dataset, split, training_sizes, weak_sizes, weak_labels, components,
        metric, kernel, tables, figures; as in the configuration), ``scores``, ``coordinates`` and
        ``timings`` (paths; timings may be None when no table is of kind ``time``), ``figures``
        (figure name -> path of its SVG) and, for tables of kind ``component_names``, ``models``
        (path of the "models" artifact whose components they name). Of a user's own table
        ``models``, ``final_split`` and ``first_look`` are those of tables of kind
        ``typical_rows``, and ``own`` holds ``answer``, ``first_look`` and ``calibration`` (paths)
        where they lead the page.
    datasets : mapping of dataset name to mapping
        ``settings`` (title, description, stand_in_for, reader, options, sources, licence,
        citation) and ``artifact`` (path of the "dataset" artifact).
    methods : mapping of method name to mapping
        ``label``, ``summary``, ``color`` and ``marker``, in the order of rows and sentences.
    published : mapping of table number to path
        The published tables at hand.
    n_folds : int
        Folds of the selection, for the protocol.
    jobs, timeline : path, optional
        The CSV of the jobs and the figure of them (`workflow_lib.report.figures.timeline`); the
        page has none without them.
    reference : str, optional
        The method that the others are compared with; by default that of the metric of each
        experiment.
    """
    records = {
        name: dataset_record(name, dataset["settings"], dataset["artifact"])
        for name, dataset in datasets.items()
    }
    leading, sections, verdicts = [], [], []
    for name, experiment in experiments.items():
        settings = experiment["settings"]
        section, one = experiment_section(
            name,
            settings,
            datasets[settings["dataset"]]["settings"],
            scores_path=experiment["scores"],
            coordinates_path=experiment["coordinates"],
            timings_path=experiment["timings"],
            figures=experiment["figures"],
            methods=methods,
            published=published,
            n_folds=n_folds,
            dataset_path=datasets[settings["dataset"]]["artifact"],
            models_path=experiment.get("models"),
            final_split_path=experiment.get("final_split"),
            first_look_path=experiment.get("first_look"),
            missing_share=records[settings["dataset"]]["missing_share"],
            reference=reference,
        )
        sections.append(section)
        verdicts.append(one)
        if experiment.get("own"):
            own, artifact = experiment["own"], datasets[settings["dataset"]]["artifact"]
            leading += answer_part(
                own["answer"],
                name,
                first_look=own["first_look"],
                calibration=own["calibration"],
                output_names=json.loads(read_artifact(artifact, "dataset")["names"]["outputs"]),
            )
    write_report(
        output,
        title,
        sections,
        list(records.values()),
        methods,
        read_manifest(manifest),
        author=author,
        findings=count_sentences(verdicts, methods),
        leading=leading,
        timeline=timeline_part(jobs, timeline) if jobs and timeline else None,
    )


def experiment_section(
    name: str,
    settings: Mapping,
    dataset: Mapping,
    *,
    scores_path: str | Path,
    coordinates_path: str | Path,
    timings_path: str | Path | None,
    figures: Mapping[str, str | Path],
    methods: Mapping[str, Mapping],
    published: Mapping[int, str | Path],
    n_folds: int,
    dataset_path: str | Path | None = None,
    models_path: str | Path | None = None,
    final_split_path: str | Path | None = None,
    first_look_path: str | Path | None = None,
    missing_share: float = 0.0,
    reference: str | None = None,
) -> tuple[dict, Verdict]:
    """Return the section of one experiment, for `write_report`, and its verdict.

    `settings` and `dataset` are the settings of the experiment and of its dataset, `missing_share`
    is the share of its output values that are missing. `dataset_path` and `models_path` are the
    artifacts behind tables of kind ``component_names``, and with `final_split_path` and
    `first_look_path` behind those of kind ``typical_rows``; the other parameters are those of
    `run`.
    """
    scores, metric = read_scores(scores_path), settings["metric"]
    reference = reference or QUANTITIES[metric].reference
    one = verdict(scores, methods=methods, reference=reference, metric=metric)
    tables = []
    for table in settings["tables"]:
        table_caption = table_title(table["caption"], dataset["title"], dataset["stand_in_for"])
        if table["kind"] == "component_names":
            tables.append(html_names(component_names(dataset_path, models_path), table_caption))
            continue
        if table["kind"] == "typical_rows":
            found = typical_rows(dataset_path, final_split_path, models_path, first_look_path)
            tables.append(html_typical_rows(found, table_caption))
            continue
        if table["kind"] == "time":
            records = read_timings(timings_path)
        elif table["kind"] == "coordinates":
            records = read_coordinates(coordinates_path)
        else:
            records = scores
        paths = [published[table["paper_table"]]] if table["paper_table"] in published else []
        cells = table_cells(
            table["kind"],
            records,
            methods=methods,
            reference=reference,
            published_paths=paths,
            errors=table.get("errors", ERRORS),
            metric=metric,
        )
        tables.append(
            html_table(
                cells,
                table["kind"],
                title=table_caption,
                methods=methods,
                reference=reference,
                metric=metric,
                below=published_layouts(paths, methods, dataset["stand_in_for"]),
            )
        )
    section = {
        "name": name,
        "title": settings["title"],
        "description": dataset["description"],
        "dataset": dataset["title"],
        "stand_in_for": dataset["stand_in_for"],
        "is_made": is_made(dataset),
        "protocol": protocol_sentences(
            settings,
            scores,
            n_folds,
            missing_share,
            (dataset.get("options") or {}).get("same_group"),
        ),
        "best": one.best,
        "findings": [*one.judgements, *one.equalities],
        "comparisons": comparison_rows(one),
        "difference": QUANTITIES[metric].difference_name,
        "better": "positive" if QUANTITIES[metric].is_accuracy else "negative",
        "tables": tables,
        "figures": [
            {
                "svg": figures[figure["name"]],
                "alt": _alternative_text(figure, one),
                "caption": figure["caption"],
            }
            for figure in settings["figures"]
        ],
    }
    return section, one


def comparison_rows(one: Verdict) -> list[list[str]]:
    """Return the rows of the table of differences from the reference, cells written out.

    Columns: row, training size, difference, its size in units of its spread, the two p values,
    splits that differ. What a single split or equal scores leave undefined is a dash.
    """
    rows, measured = [], QUANTITIES[one.metric]
    for comparison in one.comparisons:
        cell = comparison.cell
        is_tested = comparison.outcome not in ("equal", "untested")
        rows.append(
            [
                comparison.label,
                str(comparison.training_size),
                measured.write_difference(cell.difference),
                _signed(measured.shown_effect(cell.effect)) if is_tested else MISSING,
                format_p_value(cell.p_reference_student) if is_tested else MISSING,
                format_p_value(cell.p_reference_corrected) if is_tested else MISSING,
                f"{cell.n_nonzero} of {cell.n_splits}",
            ]
        )
    return rows


def _signed(effect: float) -> str:
    return f"{effect:+.1f}".replace("-", MINUS)


def protocol_sentences(
    settings: Mapping,
    scores: Sequence[Score],
    n_folds: int,
    missing_share: float = 0.0,
    same_group: str | None = None,
) -> str:
    """Return how an experiment was run, from its settings and from what the scores hold.

    `missing_share` is the share of the output values of the dataset that are missing, and
    `same_group` the column by which weak rows join labelled ones; None where they are made.
    """
    measured = QUANTITIES[settings["metric"]]
    sizes = sorted({score.training_size for score in scores})
    weak_sizes = sorted({score.weak_size for score in scores} - {0})
    n_test = sorted({score.n_test for score in scores})
    n_splits = len({score.split for score in scores})
    rows = str(n_test[0]) if len(n_test) == 1 else f"{n_test[0]} to {n_test[-1]}"
    nested = ", each set inside the next" if len(sizes) > 1 else ""
    each = " each" if n_splits > 1 else ""
    kind, explanation = _SPLITS[settings.get("split", "random")]
    sentences = [
        f"{_sizes_in_words(scores, measured.is_accuracy)}{nested}; "
        f"{count_of(n_splits, kind)} with {rows} test rows{each}."
    ]
    if explanation:
        sentences.append(explanation)
    left_out = sorted(set(settings["training_sizes"]) - set(sizes))
    if left_out:
        sizes_in_words = join_words([str(size) for size in left_out])
        sentences.append(f"Sizes that do not fit the data: {sizes_in_words}.")
    if weak_sizes:
        is_soft = settings.get("weak_labels") == "soft"
        known = "only how likely each component is" if is_soft else "only the component is known"
        told = (
            f"each is taken for as likely of each component as the labelled training rows with the "
            f"same value of '{same_group}' are on average."
            if same_group
            else f"of each {known}, in the mixture fitted to all labelled training rows, whose "
            f"memberships the inner folds keep."
        )
        sentences.append(
            f"{join_words([str(size) for size in weak_sizes])} weakly labelled rows for the "
            f"methods that use them: {told}"
        )
        weak_left_out = sorted(set(settings.get("weak_sizes", ())) - set(weak_sizes))
        if weak_left_out:
            sizes_in_words = join_words([str(size) for size in weak_left_out])
            sentences.append(f"Numbers of weak rows that do not fit the data: {sizes_in_words}.")
    chosen = "Hyper-parameters"
    has_choice = any(score.n_components not in (None, 1) for score in scores)
    if settings["components"] == "selected" and has_choice:
        chosen += " and numbers of components"
    sentences.append(
        f"{chosen} are selected by {n_folds}-fold cross-validation on the training rows alone, "
        + (_CLASS_SELECTION if measured.is_accuracy else _SELECTION)
    )
    if measured.is_accuracy and sizes[0] == 1:
        sentences.append(_ONE_EXAMPLE)
    if settings["components"] != "selected":
        numbers = join_words([str(number) for number in settings["components"]])
        sentences.append(f"Numbers of components are fixed to {numbers}.")
    sentences.append(f"Kernel on the inputs: {settings['kernel']}.")
    with_landmarks = [score for score in scores if score.n_landmarks]
    if with_landmarks:
        sizes_in_words = join_words(
            [str(size) for size in sorted({score.n_train for score in with_landmarks})]
        )
        number = with_landmarks[0].n_landmarks
        sentences.append(
            f"With {sizes_in_words} training rows, more than max_gram_rows, kernel ridge "
            f"regression works on the features of {number} landmarks (the Nystr\u00f6m "
            f"approximation) in the place of a Gram matrix of all pairs, with the same grid and "
            f"the same folds; landmarks are centres of training inputs, and no output has a part "
            f"in them."
        )
    if missing_share > 0:
        sentences.append(
            f"{format_share(missing_share)} of the output values are missing: in training each "
            f"takes the mean of its output over the training rows at hand, and errors count the "
            f"observed ones only."
        )
    if settings["metric"] == "rrmse":
        sentences.append(
            "Some outputs hardly vary, so the error that counts here is pooled over outputs."
        )
    if measured.is_accuracy:
        chance = measured.write(chance_error(scores), math.nan, unit=True)
        sentences.append(
            f"A guess among the classes has an accuracy of {chance}; higher is better."
        )
    else:
        sentences.append("An error of 1 is that of the training mean; lower is better.")
    return " ".join(sentences)


def _sizes_in_words(scores: Sequence[Score], of_classes: bool) -> str:
    """Return the training sizes; those of classes with the numbers of rows that they make."""
    n_train = {score.training_size: score.n_train for score in scores}
    numbers = join_words([str(size) for size in sorted(n_train)])
    if not of_classes:
        return f"{numbers} training rows"
    rows = join_words([str(n_train[size]) for size in sorted(n_train)])
    examples = "example" if list(n_train) == [1] else "examples"
    return f"{numbers} labelled {examples} per class ({rows} training rows)"


def is_made(dataset: Mapping) -> bool:
    """Return whether the data are drawn by a recipe, not observed."""
    return dataset["reader"].startswith("synthetic")


def dataset_record(name: str, settings: Mapping, artifact: str | Path) -> dict:
    """Return what the data page says of a dataset; counts come from its artifact.

    Raises UserError if the artifact is missing or damaged.
    """
    data = read_artifact(artifact, "dataset")
    report, outputs = data["report"], data["outputs"]
    n_missing = int(report.get("missing_outputs", 0))
    if is_made(settings):
        kind = "Made by a recipe"
    elif settings["sources"]:
        kind = "Observed, from the source below"
    elif settings["reader"] == "table":
        kind = "Your own table"
    elif settings.get("options", {}).get("folder"):
        kind = "Observed, files fetched by hand by the user"
    else:
        kind = "Observed, shipped with a library"
    if settings["stand_in_for"]:
        kind += "; a stand-in"
    return {
        "name": name,
        "title": settings["title"],
        "description": settings["description"],
        "kind": kind,
        "stand_in_for": settings["stand_in_for"],
        "sources": [source["address"] for source in settings["sources"]],
        "licence": settings["licence"],
        "citation": settings["citation"],
        "rows_read": report["rows_read"],
        "rows_dropped": report["rows_dropped"],
        "exclusions": dict(report.get("exclusions", {})),
        "excluded_names": {
            reason: names
            for reason, names in report.get("excluded_names", {}).items()
            if report["exclusions"][reason] <= MOST_NAMES
        },
        "n_inputs": inputs_of(data).shape[1],
        "n_outputs": outputs.shape[1],
        "n_classes": len(data["classes"]["vectors"]) if "classes" in data else 0,
        "missing_outputs": n_missing,
        "missing_share": n_missing / outputs.size,
    }


def _alternative_text(figure: Mapping, one: Verdict) -> str:
    """Return what a figure shows, for who cannot see it."""
    if figure["kind"] == "learning_curve":
        return f"{figure['caption']} {one.best}"
    return figure["caption"]
