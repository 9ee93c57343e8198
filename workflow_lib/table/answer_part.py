"""The answer for a table as sections of an HTML page: what to use, how certain, and what is next.

Numbers and sentences come from the answer (`workflow_lib.table.leaderboard`), the data profile of
the table and the "calibration" artifact; nothing is computed here but means over splits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.protocol.importance_table import importance_frame, main_rows
from workflow_lib.report.calibration_splits import splits_of
from workflow_lib.report.labels import (
    MINUS,
    MISSING,
    PLUS_MINUS,
    count_of,
    format_error,
    format_p_value,
    format_percent,
    format_seconds,
    format_share,
    join_words,
)
from workflow_lib.report.quantities import QUANTITIES
from workflow_lib.report.render import Section, figure_part, html_markup, section
from workflow_lib.report.results import read_json
from workflow_lib.report.run_figures import calibration as calibrated
from workflow_lib.report.run_figures import reliability
from workflow_lib.report.run_figures.effects import effects_of
from workflow_lib.report.run_figures.importance import importance_in_words
from workflow_lib.report.table_markup import HIGHER_MARK, LOWER_MARK, Block, Entry, Layout
from workflow_lib.table.importance_part import CAPTION, EFFECTS, importance_section
from workflow_lib.table.outputs_part import outputs_layout
from workflow_lib.table.replicates import AGAIN, replicates_remedy, replicates_sentence
from workflow_lib.table.terminal_summary import HOLDS_ROWS
from workflow_lib.uncertainty.class_sets import ClassSets

MAX_OUTPUTS = 20
"""A table of outputs with more rows is folded."""

MAX_NAMES = 12
"""Columns are named up to this number, and only counted above."""

METHODS = "Colored: mean and standard deviation over the splits; each grey point is a split."
OUTPUTS = "Each point is a test row of a split; the band is the interval of a prediction."
CLASSES = "Blue: test rows of a class for which it was predicted, all splits together."
CURVE = "Means and standard deviations over the splits."

_PARTS = ("training", "prediction")

_LEAKS = {
    "equal": "is the output itself, in some unit",
    "correlation": "correlates with it",
    "rank correlation": "orders the rows as it does",
    "levels": "determines it: rows with the same value have the same output",
}
"""Kind of a leak -> its description."""


def answer_part(
    answer: str | Path,
    name: str,
    *,
    data_profile: str | Path | None = None,
    calibration: str | Path | None = None,
    output_names: Sequence[str] = (),
    figures: Mapping[str, Mapping[str, str | Path]] | None = None,
    importance: str | Path | None = None,
) -> list[Section]:
    """Return the sections of the page: answer, leaderboard, intervals, data profile, what next.

    `answer` is the JSON that `workflow_lib.table.leaderboard.run` wrote, and `name` that of the
    experiment, for the command lines. The JSON `data_profile` and the "calibration" artifact have a
    section each where they are given, but not a calibration with neither outputs that are numbers
    nor sets of classes; facts that the profile lacks are left out. `output_names` are those of the
    classes where the outputs are classes; outputs without a name have numbers from 1. `figures` are
    the files of the figures of the answer. The "importance" artifact has a section, too, and a
    figure where `figures` has its files; not where it says why there is none.

    Raises UserError if a file is missing or damaged.
    """
    content = read_json(answer)
    shown = answer_figures(content, figures) if figures else {}
    inputs = [] if importance is None else _importance(importance, content, figures, shown)
    tree = {} if calibration is None else read_artifact(calibration, "calibration")
    outputs = outputs_layout(tree, output_names, content["label"])
    sections = [answer_section(content, shown, *outputs), leaderboard_section(content), *inputs]
    if tree and np.size(tree["half_widths"]):
        drawn = calibration_figure(figures or {}, calibrated.CAPTION)
        sections.append(interval_section(tree, output_names, drawn))
    elif "sets" in tree:
        drawn = calibration_figure(figures or {}, reliability.CAPTION)
        sections.append(set_section(tree, drawn))
    if data_profile is not None:
        sections.append(data_profile_section(read_json(data_profile)))
    return [*sections, next_section(content, name)]


def answer_figures(
    answer: Mapping, files: Mapping[str, Mapping[str, str | Path]]
) -> dict[str, dict]:
    """Return what the templates show of the figures of an answer, by name."""
    is_of_classes = QUANTITIES[answer["metric"]].is_accuracy
    captions = {
        "methods": METHODS,
        "outputs": CLASSES if is_of_classes else OUTPUTS,
        "curve": CURVE,
    }
    return {name: figure_part(files[name], caption=words) for name, words in captions.items()}


def calibration_figure(files: Mapping[str, Mapping[str, str | Path]], caption: str) -> dict | None:
    """Return what the templates show of the figure of the calibration; None without numbers."""
    if "calibration" not in files:
        return None
    part = figure_part(files["calibration"], caption=caption)
    return part if part["csv"] else None


def _importance(
    path: str | Path, answer: dict, figures: Mapping | None, shown: dict
) -> list[Section]:
    """Return the section of the importance of inputs; add its sentence and its figure."""
    tree = read_artifact(path, "importance")
    if tree.get("reason"):
        return []
    words = importance_in_words(main_rows(importance_frame(tree, str(path))))
    headline, *others = answer["sentences"]
    answer["sentences"] = [headline, words, *others]
    if figures and "importance" in figures:
        files = figures["importance"]
        shown["importance"] = figure_part(files, caption=CAPTION)
    effects = {}
    if "effects" in (figures or {}) and effects_of(tree):
        effects = figure_part(figures["effects"], caption=EFFECTS)
    return [importance_section(tree, str(path), effects)]


def answer_section(
    answer: Mapping,
    figures: Mapping[str, Mapping] | None = None,
    outputs: Layout | None = None,
    range_of_outputs: str = "",
) -> Section:
    """Return the answer in large type, its figures, the other sentences and the notes.

    The table `outputs` has the errors of each output or class; a long one is folded under the words
    `range_of_outputs`.
    """
    headline, *others = answer["sentences"]
    is_long = outputs is not None and len(outputs.blocks[0].rows) > MAX_OUTPUTS
    return section(
        "answer",
        "The answer",
        "answer.html",
        headline=headline,
        figures=figures or {},
        outputs=html_markup(outputs) if outputs else "",
        folded=range_of_outputs if is_long else "",
        sentences=others,
        notes=answer.get("notes"),
    )


def leaderboard_section(answer: Mapping) -> Section:
    """Return the table of all methods and, folded, the tests of their differences."""
    n_splits, n_test = answer["n_splits"], answer["n_test"]
    basis = (
        f"{count_of(answer['training_size'], 'training row')}, {count_of(n_splits, 'split')}, "
        f"{n_test} test rows"
    )
    what = QUANTITIES[answer["metric"]].column.capitalize()
    rows = [
        (
            f"{row['label']} (cannot be saved)" if row.get("why_not_saved") else row["label"],
            _row_entries(row, answer),
        )
        for row in answer["leaderboard"]
    ]
    baseline = (answer.get("baseline") or {}).get("label") or "no baseline"
    notes = [
        f"Mean {PLUS_MINUS} standard deviation over splits; {answer['better']} is better.",
        "Training includes the choice of hyper-parameters and one fit, for a stack also those of "
        "its members; prediction is that of all test rows.",
        f"{LOWER_MARK} better, {HIGHER_MARK} worse by the corrected resampled t-test (p < 0.05).",
    ]
    if any(row["bold"] for row in answer["leaderboard"]):
        notes.append("Bold: better than every other method by Student's paired t-test (p < 0.001).")
    others = [row["label"] for row in answer["leaderboard"] if not row["can_win"]]
    if others:
        notes.append(f"Cannot win (see the limits above): {join_words(others)}.")
    layout = Layout(
        f"All methods, the winner first ({basis})",
        "Method",
        [what, "Training", "Prediction", "Against the winner", f"Against {baseline}"],
        [Block("", rows)],
        notes,
    )
    return section(
        "leaderboard",
        "Leaderboard",
        "leaderboard.html",
        table=html_markup(layout),
        tests=html_markup(_tests_layout(answer, baseline)) if n_splits > 1 else "",
    )


def interval_section(
    calibration: Mapping, output_names: Sequence[str], figure: Mapping | None = None
) -> Section:
    """Return the intervals of predictions, their coverage of test outputs, and `figure`."""
    level = 100 * float(calibration["level"])
    widths = np.atleast_1d(calibration["half_widths"])
    coverage = np.atleast_2d(calibration["coverage"])
    splits = splits_of(calibration)
    names = [*output_names, *(f"output {n + 1}" for n in range(len(output_names), len(widths)))]
    truth = np.concatenate([np.atleast_2d(split["truth"]) for split in splits]) if splits else None
    usual = calibration.get("usual_half_widths", np.column_stack([widths, widths]))
    thirds = calibration.get("thirds", {})
    rows = []
    for index, width in enumerate(widths):
        shares = coverage[:, index][np.isfinite(coverage[:, index])]
        ends = f"{_percent(shares.min())} to {_percent(shares.max())}" if shares.size > 1 else None
        texts = [
            f"{PLUS_MINUS} {width:.3g}" if math.isfinite(width) else "too few rows",
            _usual_widths(usual[index]),
            _spread_units(width, truth, index),
            _percent(shares.mean()) if shares.size else MISSING,
            ends or MISSING,
            _thirds(thirds["of_predicted"][index]) if thirds else MISSING,
        ]
        rows.append((names[index], texts))
    notes = [
        f"A prediction {PLUS_MINUS} the half-width of its row is to cover {level:g} % of new "
        f"outputs. Half-widths are means over the test rows; those of four fifths of the rows lie "
        f"between the 10 % and the 90 % quantile. Coverage was measured in the splits, with "
        f"intervals made from other test rows; thirds are those of the rows with the lowest, the "
        f"middle and the highest predictions."
    ]
    if not np.isfinite(widths).all():
        needed = calibration.get("rows_needed")
        fewest = f" (at least {int(needed)} rows are needed)" if needed is not None else ""
        notes.append(f"Too few rows: no interval of {level:g} % can be made from them{fewest}.")
    layout = Layout(
        f"Intervals of {level:g} % for each output",
        "Output",
        [
            "Half-width, mean",
            "10 % to 90 % quantile",
            "In standard deviations",
            "Coverage",
            "By split",
            "By third of the predictions",
        ],
        [Block("", rows)],
        notes,
    )
    sentences = [
        _coverage_sentence(coverage, level),
        _thirds_sentence(thirds),
        _width_sentence(calibration),
        *_joint_sentences(calibration, splits),
        _novelty_sentence(calibration, splits),
    ]
    return section(
        "intervals",
        "How far predictions are off",
        "sentences_and_table.html",
        sentences=sentences,
        figure=figure,
        table=html_markup(layout),
        folded=_folded(len(rows)),
    )


def set_section(calibration: Mapping, figure: Mapping | None = None) -> Section:
    """Return the sets of classes of predictions, their coverage of test rows, and `figure`."""
    level = 100 * float(calibration["level"])
    coverage, size = (np.atleast_1d(calibration[key]) for key in ("set_coverage", "set_size"))
    known = np.isfinite(coverage)
    if not ClassSets.from_tree(calibration["sets"]).has_sets:
        text = (
            f"There are too few test rows for sets of classes that cover {level:g} % (at least "
            f"{int(calibration['rows_needed'])} are needed). The probabilities of the classes are "
            f"calibrated on these few rows."
        )
    elif not known.any():
        text = f"There were too few test rows for the coverage of sets of {level:g} %."
    else:
        text = (
            f"Besides its class a prediction has a set of classes that is to contain the true "
            f"class of {level:g} % of new rows. The sets of test rows, made from other test rows, "
            f"contained that of {_mean_and_ends(coverage[known])}, with {size[known].mean():.2f} "
            f"classes on average; by the probability of the class, that of "
            f"{join_words([_percent(share) for share in calibration['set_thirds']])} in the least, "
            f"the middle and the most certain third."
        )
    sentences = [
        text,
        "Probabilities of the classes are its scores after a softmax whose temperature was fitted "
        "to the test rows.",
        _novelty_sentence(calibration, splits_of(calibration), "sets"),
    ]
    return section(
        "sets",
        "How certain a predicted class is",
        "sentences_and_table.html",
        sentences=sentences,
        figure=figure,
        table="",
        folded="",
    )


def data_profile_section(facts: Mapping) -> Section:
    """Return what was found in the table before any model; facts that are absent are left out."""
    outputs = facts.get("outputs") or {}
    return section(
        "data-profile",
        "Data profile",
        "data_profile.html",
        warnings=_warnings(facts),
        facts=[(name, text) for name, text in _facts(facts) if text],
        table=html_markup(_outputs_layout(outputs)) if outputs else "",
        folded=_folded(len(outputs)),
    )


def _folded(n_outputs: int) -> str:
    """Return the words under which a table of so many outputs is folded, none where it is not."""
    return f"All {n_outputs} outputs" if n_outputs > MAX_OUTPUTS else ""


def next_section(answer: Mapping, name: str) -> Section:
    """Return the command lines for what one may want to do next."""
    steps = [
        (
            "Predict new rows, in a table with the same input columns:",
            f"snakemake --cores 2 predict --config name={name} rows=new_rows.csv",
        ),
        (
            f"The same from Python, with the saved model. {HOLDS_ROWS}",
            "from workflow_lib import load_model\n"
            f'predictions = load_model("results/{name}/model.h5").predict("new_rows.csv")',
        ),
        (
            f"After adding rows to the table, or editing config/tables/datasets/{name}.yaml "
            f"or config/tables/experiments/{name}.yaml:",
            f"snakemake --cores 2 answer --config name={name}",
        ),
    ]
    beats_mean = answer.get("beats_mean") is not False
    return section("next", "What to do next", "next.html", steps=steps, beats_mean=beats_mean)


def _row_entries(row: Mapping, answer: Mapping) -> list[Entry | str]:
    mean, deviation = _number(row["mean"]), _number(row["deviation"])
    write = format_percent if QUANTITIES[answer["metric"]].is_percent else format_error
    text = write(mean, deviation)
    if row["n_splits"] < answer["n_splits"]:
        text += f" ({count_of(row['n_splits'], 'split')})"
    seconds = row.get("seconds") or {}
    return [
        Entry(text, row["bold"]),
        *(format_seconds(_number(seconds.get(part)), math.nan) for part in _PARTS),
        *(_compared(row[key], answer["better"]) for key in ("versus_best", "versus_mean")),
    ]


def _compared(comparison: Mapping | None, better: str) -> Entry | str:
    """Return a difference in percent, or in percentage points, with the corrected p value."""
    if comparison is None:
        return MISSING
    if comparison["outcome"] == "equal":
        return "equal"
    if better == "higher":
        text = f"{_signed(_number(comparison['difference']), '.1f')} points"
    else:
        text = f"{_signed(100 * _number(comparison['relative']), '.1f')} %"
    if comparison["p_corrected"] is not None:
        text += f" ({format_p_value(comparison['p_corrected'])})"
    marks = {"better": LOWER_MARK, "worse": HIGHER_MARK}
    return Entry(text, mark=marks.get(comparison["outcome"], ""))


def _tests_layout(answer: Mapping, baseline: str) -> Layout:
    """Return the table of all differences with both tests."""
    blocks = []
    for key, heading in (("versus_best", "Minus the winner"), ("versus_mean", f"Minus {baseline}")):
        rows = [
            (row["label"], _test_texts(row[key], answer))
            for row in answer["leaderboard"]
            if row[key] is not None
        ]
        if rows:
            blocks.append(Block(heading, rows))
    sign = "Negative" if answer["better"] == "lower" else "Positive"
    heads = ["Difference", "In units of its spread", "Student", "Corrected", "Splits that differ"]
    return Layout("Paired differences over splits", "Method", heads, blocks, [f"{sign} is better."])


def _test_texts(comparison: Mapping, answer: Mapping) -> list[str]:
    is_tested = comparison["outcome"] not in ("equal", "untested")
    digits = ".1f" if QUANTITIES[answer["metric"]].is_percent else ".3f"
    texts = [_signed(_number(comparison["difference"]), digits)]
    texts.append(_signed(_number(comparison["effect"]), ".1f") if is_tested else MISSING)
    texts += [
        format_p_value(comparison[key]) if is_tested and comparison[key] is not None else MISSING
        for key in ("p_student", "p_corrected")
    ]
    return [*texts, f"{comparison['n_nonzero']} of {comparison['n_splits']}"]


def _usual_widths(limits: np.ndarray) -> str:
    """Return the 10 % and 90 % quantiles of the half-widths of rows, or that all are equal."""
    low, high = (f"{limit:.3g}" for limit in limits)
    if not np.isfinite(limits).all():
        return MISSING
    return "all equal" if low == high else f"{low} to {high}"


def _thirds(shares: np.ndarray) -> str:
    """Return the coverage in the three thirds of the rows."""
    if not np.isfinite(shares).all():
        return MISSING
    return " / ".join(f"{100 * share:.0f}" for share in shares) + " %"


def _spread_units(width: float, truth: np.ndarray | None, index: int) -> str:
    """Return a half-width in standard deviations of the true outputs of the test rows."""
    if truth is None or not math.isfinite(width):
        return MISSING
    known = truth[:, index][np.isfinite(truth[:, index])]
    spread = known.std() if known.size else 0.0
    return f"{width / spread:.2f}" if spread > 0 else MISSING


def _coverage_sentence(coverage: np.ndarray, level: float) -> str:
    """Return the coverage of test outputs by the intervals, over all outputs."""
    by_split = [row[np.isfinite(row)].mean() for row in coverage if np.isfinite(row).any()]
    if not by_split:
        return f"There were too few test rows for the coverage of intervals of {level:g} %."
    return f"Intervals of {level:g} % covered {_mean_and_ends(by_split, 'of the test outputs')}."


def _mean_and_ends(shares: Sequence[float], of_what: str = "") -> str:
    """Return the mean of shares over splits, and of several the lowest and the highest."""
    text = f"{_percent(np.mean(shares))} {of_what}".rstrip()
    if len(shares) > 1:
        text += f" (lowest split {_percent(min(shares))}, highest {_percent(max(shares))})"
    return text


def _thirds_sentence(thirds: Mapping) -> str:
    """Return the coverage of intervals by thirds of the rows."""
    means = {}
    for name in ("of_predicted", "of_novelty", "of_width"):
        shares = np.atleast_2d(thirds.get(name, np.empty((0, 3))))
        known = np.isfinite(shares).all(axis=1)
        if not known.any():
            return ""
        means[name] = [_percent(share) for share in shares[known].mean(axis=0)]
    low, middle, high = means["of_predicted"]
    return (
        f"Of the third of the rows with the lowest predictions they covered {low}, of the middle "
        f"third {middle}, of the highest third {high}; from the least to the most novel third of "
        f"the rows {join_words(means['of_novelty'])}, and from the third with the narrowest to "
        f"that with the widest intervals {join_words(means['of_width'])}."
    )


def _width_sentence(calibration: Mapping) -> str:
    """Return for how many outputs the width depends on the row, and how wide intervals are."""
    if "intervals" not in calibration:
        return ""
    varies = np.any(calibration["intervals"]["coefficients"], axis=1)
    widths, constant = calibration["half_widths"], calibration["constant_half_widths"]
    if not varies.any():
        return (
            "All rows have the same width: a width that depends on the predicted value and the "
            "novelty of the row gave no better intervals."
        )
    ratio = float(np.mean(widths[varies] / constant[varies]))
    change = f"{abs(100 * (ratio - 1)):.0f} % {'narrower' if ratio < 1 else 'wider'} than"
    compared = "as wide as" if abs(ratio - 1) < 0.005 else change
    which = (
        "The width of an interval"
        if varies.all()
        else f"For {varies.sum()} of {len(varies)} outputs the width of an interval"
    )
    return (
        f"{which} depends on the predicted value and the novelty of the row; on average these "
        f"intervals are {compared} those with one width for all rows."
    )


def _joint_sentences(calibration: Mapping, splits: Sequence[Mapping]) -> list[str]:
    """Return how often all outputs of a row lie in their intervals, in a box and an ellipsoid."""
    joint = calibration.get("joint")
    if joint is None:
        return []
    level = f"{100 * float(calibration['level']):g} %"
    coverage = np.atleast_2d(joint["coverage"])
    coverage = coverage[np.isfinite(coverage[:, 0])]
    if not len(coverage):
        return [f"There were too few test rows with all outputs for a joint region of {level}."]
    held = np.vstack([np.atleast_2d(split["held"]) for split in splits])
    held = held[np.isfinite(held).all(axis=1)]
    alone = f" ({_percent(held.all(axis=1).mean())} of the test rows)" if len(held) else ""
    novelty, width = (
        join_words([_percent(share) for share in joint[key][0]])
        for key in ("of_novelty", "of_width")
    )
    sentences = [
        f"Intervals of single outputs hold all outputs of a row less often{alone}. A joint box "
        f"(key joint of predict) covered {_mean_and_ends(coverage[:, 0], 'of the test rows')}; "
        f"from the least to the most novel third of the rows {novelty}, and from the third with "
        f"the smallest to that with the largest boxes {width}."
    ]
    if np.isfinite(coverage[:, 1]).any():
        ratio = float(np.exp(joint["log_sides"][1] - joint["log_sides"][0]))
        sentences.append(
            f"An ellipsoid (from Python) covered "
            f"{_mean_and_ends(coverage[np.isfinite(coverage[:, 1]), 1])}; a cube of its volume has "
            f"{ratio:.2f} times the side of one of the volume of the box."
        )
    return sentences


def _novelty_sentence(
    calibration: Mapping, splits: Sequence[Mapping], what: str = "intervals"
) -> str:
    """Return the share of test rows whose novelty is above the limit."""
    limit = _number(calibration.get("novelty_limit"))
    found = [np.ravel(split["novelty"]) for split in splits if "novelty" in split]
    if not found or not math.isfinite(limit):
        return ""
    novelty = np.concatenate(found)
    return (
        f"Rows with a novelty above {limit:.3g} are unlike the training rows, and their {what} "
        f"are not reliable; of the test rows these are {_percent((novelty > limit).mean())}."
    )


def _warnings(facts: Mapping) -> list[str]:
    """Return a sentence for each suspicious column, for the order of rows and for equal rows."""
    sentences = []
    for leak in facts.get("leaks") or ():
        words = _LEAKS.get(leak.get("kind"), "predicts it too well")
        strength = _number(leak.get("strength"))
        measured = "" if math.isnan(strength) else f" ({strength:.4g})"
        used = "It is used as an input" if leak.get("used") else "It is left out of the inputs"
        sentences.append(
            f"The column {leak.get('column')} reveals the output {leak.get('output')}: it "
            f"{words}{measured}. {used}; if it is not known for new rows, it must not be used."
        )
    ordered = [entry.get("output") for entry in facts.get("row_order") or ()]
    if ordered:
        sentences.append(
            f"The table seems sorted by {_names(ordered)}. If the rows are in order of time, name "
            f"the time column, so that the later rows are the test rows."
        )
    if replicates := facts.get("replicates"):
        text = replicates_sentence(replicates, facts["rows_labelled"])
        end = "The column of groups keeps the rows of a sample together."
        if not replicates["kept_together"]:
            end = (
                "With some of them in the training and others in the test set, errors are too "
                f"small: {replicates_remedy(replicates)} {AGAIN}."
            )
        sentences.append(f"{text} {end}")
    repeats, contradicts = facts.get("duplicate_rows"), facts.get("contradictions")
    if repeats:
        sentences.append(
            f"{count_of(repeats, 'row')} {'repeats' if repeats == 1 else 'repeat'} an earlier row. "
            f"A row both in training and test set makes errors too small."
        )
    if contradicts:
        sentences.append(
            f"{count_of(contradicts, 'labelled row')} {'has' if contradicts == 1 else 'have'} the "
            f"inputs of another row and other outputs, which no method can distinguish."
        )
    return sentences


def _facts(facts: Mapping) -> list[tuple[str, str]]:
    """Return (name, words) of what the data profile has counted."""
    rows = []
    if facts.get("rows") is not None:
        of_bags = facts.get("bag_rows")
        without = "without either" if facts.get("rows_weak") else "without outputs (not used)"
        without = "unlabelled" if of_bags else without
        alone = "with a class but no input (not used)"
        if not facts.get("classes"):
            alone = "with outputs but no input"
        partly = "with some outputs missing"
        if facts.get("incomplete_rows") == "drop":
            partly += " (not used as labelled)"
        kinds = [
            f"{facts[key]} {words}"
            for key, words in (
                ("rows_labelled", "labelled"),
                ("rows_weak", "with a group but no output"),
                ("rows_unpaired", alone),
                ("rows_unlabelled", without),
                ("rows_empty", "with neither inputs nor outputs (not used)"),
                ("rows_partly_labelled", partly),
            )
            if facts.get(key)
        ]
        counted = f": {join_words(kinds)}" if kinds else ""
        instances = f"; {of_bags} rows together" if of_bags else ""
        rows.append(("Bags" if of_bags else "Rows", f"{facts['rows']}{counted}{instances}"))
    kinds = facts.get("kinds") or {}
    counts = [f"{len(names)} {kind}" for kind, names in kinds.items() if names]
    if facts.get("columns") is not None:
        text = f"{facts['columns']}" + (f": {join_words(counts)}" if counts else "")
        rows.append(("Columns", text))
    missing = sorted((facts.get("missing") or {}).items(), key=lambda item: (-item[1], item[0]))
    listed = [f"{name} ({format_share(share)})" for name, share in missing]
    rows += [
        ("Missing cells", _names(listed)),
        ("Constant columns", _names(facts.get("constant") or ())),
        ("Empty columns", _names(facts.get("empty") or ())),
        ("Columns that name the rows", _names(facts.get("row_names") or ())),
    ]
    pairs = [
        f"{pair['first']} and {pair['second']} ({_signed(pair['correlation'], '.2f')})"
        for pair in (facts.get("output_correlations") or {}).get("largest") or ()
    ]
    rows.append(("Largest correlations of outputs", _names(pairs)))
    classes = [f"{name} ({number})" for name, number in (facts.get("classes") or {}).items()]
    rows.append(("Classes", _names(classes)))
    sizes = facts.get("training_sizes") or ()
    if sizes:
        tested = f", with {facts['n_test']} test rows" if facts.get("n_test") else ""
        rows.append(("Training sizes that fit", f"{join_words(sizes)}{tested}"))
    rows.append(("Groups of the outputs", _groups(facts.get("mixture") or {})))
    return rows


def _groups(mixture: Mapping) -> str:
    """Return into how many groups the outputs fall, judged by the lowest BIC of mixtures."""
    number = mixture.get("n_components")
    if not number:
        return ""
    if number == 1:
        return "none: one Gaussian describes them best (lowest BIC)"
    sizes = mixture.get("sizes") or ()
    of_rows = f" of {join_words(sizes)} rows" if sizes else ""
    return f"{number}{of_rows} (the mixture of Gaussians with the lowest BIC)"


def _outputs_layout(outputs: Mapping[str, Mapping]) -> Layout:
    rows = []
    for name, summary in outputs.items():
        numbers = [summary.get(key) for key in ("mean", "deviation", "least", "largest")]
        texts = [MISSING if n is None else f"{n:.4g}".replace("-", MINUS) for n in numbers]
        rows.append((name, [str(summary.get("n_known", MISSING)), *texts]))
    heads = ["Known in rows", "Mean", "Standard deviation", "Least", "Largest"]
    return Layout("The outputs", "Output", heads, [Block("", rows)], [])


def _names(names: Sequence) -> str:
    """Return names as words; of many, only the first."""
    if len(names) > MAX_NAMES:
        names = [*names[:MAX_NAMES], f"{len(names) - MAX_NAMES} more"]
    return join_words(names)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _signed(value: float, digits: str) -> str:
    return MISSING if math.isnan(value) else f"{value:+{digits}}".replace("-", MINUS)
