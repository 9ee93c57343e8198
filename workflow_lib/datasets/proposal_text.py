"""A proposal in words: two configuration files with comments, and a summary for the terminal.

The YAML is written as text, because the comments matter: they explain the decisions to the user,
who can edit them.
"""

from __future__ import annotations

import fnmatch
import math
import os
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workflow_lib.datasets.column_kinds import ColumnKind
from workflow_lib.datasets.proposal import Proposal
from workflow_lib.datasets.proposed_ranges import in_words
from workflow_lib.datasets.run_costs import CORES

WIDTH = 98

MANY_COLUMNS = 50
"""Number of columns of a kind above which patterns are written, if a few match exactly these."""

MOST_PATTERNS = 12

MOST_COORDINATES = 12
"""Largest number of outputs for which a figure of coordinates shows every method."""

FEWEST_MATCHED = 4
"""Smallest number of columns that a pattern matches: fewer are named."""

LONGEST_NAME = 40
"""Characters of the name of a column in the summary."""

MOST_SUMMARY_ITEMS = 4
"""Largest number of warnings, and of notes, in the summary; the files have all of them."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_PLAIN = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
_SPECIAL = re.compile(r"([*?\[])")

_SCALE_REASONS = {
    "standard": "each input gets mean 0 and variance 1, so that units do not matter",
    "tf-idf": "rare terms have more weight",
    "none": "not scaled",
}
_KERNEL_REASONS = {
    "rbf": "rows are similar when their inputs are near each other",
    "tanimoto": "the share of substructures that two molecules have in common",
    "precomputed": "the file 'gram' holds the kernel values",
}
_OUTPUT_REASONS = {
    "standard": "mean 0 and variance 1, right for outputs of different units",
    "center": "mean 0, in the unit of the series",
    "none": "not scaled",
}
_SPLIT_REASONS = {
    "random": "Test rows are drawn at random. Where rows belong together (patients, batches, "
    "scaffolds), set split: grouped with options.group in the dataset; for a forecast split: "
    "chronological with options.time.",
    "grouped": "Whole groups are test rows: results hold for new groups.",
    "chronological": "The latest rows are test rows, and only earlier rows are training rows: "
    "results hold for the future.",
    "stratified": "Every class has its share of the test rows and of the training rows, which "
    "training_sizes count. For equally many rows of each class set split: per_class; then "
    "training_sizes are examples per class.",
}


def dataset_text(proposal: Proposal) -> str:
    """Return the text of ``config/datasets/NAME.yaml``."""
    options, facts = proposal.options, proposal.facts
    weak = f", {facts['rows_weak']} only a group (weak)" if "same_group" in options else ""
    known = _known(proposal)
    unused = (
        f"; {facts['rows_unlabelled']} have no label and are not used"
        if facts["rows_unlabelled"]
        else ""
    )
    lines = [
        *comment(
            f"Made from {proposal.request['data']} by 'snakemake new', for you to edit: the "
            "comments give the reasons of the decisions. The keys are described in "
            "config/README.md."
        ),
        *_remarks(proposal.warnings, "WARNING: "),
        *_remarks(proposal.notes, "Note: "),
        f"title: {quoted(proposal.name)}",
        "description: >-",
        *_wrapped(
            f"{facts['rows']} rows and {facts['columns']} columns of {proposal.request['data']}: "
            f"{facts['rows_labelled']} rows have {known}{weak}{unused}.",
            "  ",
        ),
        f"task: {proposal.task}",
        "reader: table",
        "options:",
        f"  file: {quoted(options['file'])}",
        *_reading_lines(options),
        *_output_lines(proposal),
        *_input_lines(proposal),
        *_role_lines(proposal),
        *_left_out_lines(proposal),
        "inputs:",
        *_setting("scale", proposal.inputs["scale"], _SCALE_REASONS),
        *_setting("kernel", proposal.inputs["kernel"], _KERNEL_REASONS),
    ]
    if "lagged_values" in proposal.inputs:
        lines += comment("other columns have as much weight as the text or the structures", "  ")
        lines.append(f"  lagged_values: {proposal.inputs['lagged_values']}")
    lines += [
        "outputs:",
        *_setting("scale", proposal.outputs_scale, _OUTPUT_REASONS),
        "sources: []",
        f"licence: {quoted('Your own data')}",
        f"citation: {quoted('Your own data')}",
    ]
    return "\n".join(lines) + "\n"


def experiment_text(proposal: Proposal) -> str:
    """Return the text of ``config/experiments/NAME.yaml``."""
    n_labelled = proposal.facts["rows_labelled"]
    sizes = proposal.training_sizes
    of_classes = proposal.task == "classes"
    lines = [
        *comment(
            f"The experiment on config/datasets/{proposal.name}.yaml, for you to edit. After a "
            f"change run 'snakemake --cores 2 answer --config name={proposal.name}' again: only "
            "results that depend on the change are computed again."
        ),
        f"title: {quoted(proposal.name)}",
        f"dataset: {quoted(proposal.name)}",
        *comment(_SPLIT_REASONS[proposal.split]),
        f"split: {proposal.split}",
        *comment(
            f"Rows kept for testing, a share or a number, of {n_labelled} labelled rows. They are "
            "never training rows."
        ),
        f"test_size: {proposal.test_size}",
        *comment(
            "Each split draws other test rows; more splits make the comparison more precise, and "
            f"take longer: these take about {_minutes(proposal)} on {CORES} cores."
        ),
        f"n_splits: {proposal.n_splits}",
        *comment(
            "Numbers of training rows: the learning curve. The last is the number of available "
            "rows, or the largest that can be computed in reasonable time."
        ),
        f"training_sizes: [{', '.join(map(str, sizes))}]",
    ]
    if proposal.weak_sizes:
        lines += [
            *comment("Rows without outputs whose group is known; wofer-gmm learns from them."),
            f"weak_sizes: [{', '.join(map(str, proposal.weak_sizes))}]",
        ]
    if of_classes:
        lines += ["metric: accuracy"]
    mean = "" if of_classes else " m-mean predicts without inputs, as a reference for the others."
    lines += [
        *comment(
            f"Methods to compare; config/methods has more. To leave one out, delete its line; a "
            f"stack combines those of its members that are listed here.{mean}"
        ),
        "methods:",
    ]
    for name, summary in proposal.methods:
        lines += [*comment(summary, "  "), f"  - {name}"]
    for name, reason in proposal.methods_left_out:
        lines += comment(f"{name} is left out: {reason}", "  ")
    if proposal.task == "regression":
        lines += comment("The table typical-rows needs a mixture: ofer-gmm, for example.")
    lines += ["tables:", *_parts(_tables(proposal)), "figures:", *_parts(_figures(proposal))]
    return "\n".join(lines) + "\n"


def _minutes(proposal: Proposal) -> str:
    minutes = max(math.ceil(proposal.minutes), 1)
    return f"{minutes} minute{'s' * (minutes > 1)}"


def _known(proposal: Proposal) -> str:
    """Return in words what is known of a labelled row."""
    if proposal.task == "classes":
        return "a class"
    return (
        "all outputs"
        if proposal.options.get("incomplete_rows") == "drop"
        else ("at least one output")
    )


def summary_lines(proposal: Proposal) -> list[str]:
    """Return the lines for the terminal, at most 25; the last is the next command."""
    facts, options = proposal.facts, proposal.options
    known = _known(proposal)
    partly = facts["rows_partly_labelled"]
    without = ", not used" if options.get("incomplete_rows") == "drop" else ""
    lines = [
        f"{options['file']}: {facts['rows']} rows, {facts['columns']} columns",
        f"  labelled: {facts['rows_labelled']} rows have {known}"
        + (f" ({partly} lack some{without})" if partly else "")
        + (f"; weak: {facts['rows_weak']} have only a group" if proposal.weak_sizes else "")
        + (f"; not used: {facts['rows_unlabelled']}" if facts["rows_unlabelled"] else ""),
    ]
    if proposal.task == "classes":
        lines.append(
            f"  to predict: the class '{options['classes']}', {len(facts['classes'])} classes"
        )
    else:
        what = "a series of " if proposal.task == "series" else ""
        lines.append(
            f"  to predict: {what}{len(options['outputs'])} outputs: {_some(options['outputs'])}"
            if len(options["outputs"]) > 1
            else f"  to predict: {_some(options['outputs'])}"
        )
    pairs = facts["output_correlations"]["largest"]
    if pairs and proposal.task == "regression":
        pair = pairs[0]
        lines.append(
            f"    most correlated: '{pair['first']}' and '{pair['second']}' (correlation "
            f"{pair['correlation']:.2f})"
        )
    lines += [f"  predicted from {text}" for text in _inputs_in_words(proposal)]
    if "row_name" in options:
        lines.append(f"  rows are named by: '{options['row_name']}'")
    left_out = [name for name, _ in proposal.left_out if name != options.get("row_name")]
    lines += _left_out_summary([pair for pair in proposal.left_out if pair[0] in left_out])
    numbers = set(options.get("numbers", ()))
    missing = sorted(
        ((share, name) for name, share in facts["missing"].items() if name in numbers), reverse=True
    )
    if missing:
        lines.append(
            f"  numbers with missing values: {len(missing)}, most in '{missing[0][1]}' "
            f"({100 * missing[0][0]:.0f} %); replaced by the mean of the training rows"
        )
    n_indicators = len(options.get("missing_indicators", ()))
    if n_indicators:
        many = f"{n_indicators} further inputs indicate where they are missing"
        lines.append("    " + (many if n_indicators > 1 else "a further input indicates where"))
    lines += _shortened([f"WARNING: {text}" for text in proposal.warnings])
    lines += _shortened([f"Note: {text}" for text in proposal.notes])
    sizes = ", ".join(map(str, proposal.training_sizes))
    lines += [
        f"Plan: {len(proposal.methods)} methods, {proposal.n_splits} splits ({proposal.split}), "
        f"{sizes} training rows; about {_minutes(proposal)} on {CORES} cores",
        f"Written: config/datasets/{proposal.name}.yaml and "
        f"config/experiments/{proposal.name}.yaml",
        "Check both files (they explain every decision), then run:",
        f"  snakemake --cores 2 answer --config name={proposal.name}",
    ]
    return [shown(line) for line in lines]


def quoted(text: str) -> str:
    """Return a text as YAML: plain where that is safe, otherwise in double quotes with escapes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_PLAIN:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def shown(text: str) -> str:
    """Return a text for comments and the terminal: a single line of printable characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def comment(text: str, indent: str = "") -> list[str]:
    """Return a text as lines of a comment."""
    return _wrapped(text, f"{indent}# ")


def patterns_for(names: Sequence[str], all_names: Sequence[str]) -> list[str] | None:
    """Return at most `MOST_PATTERNS` patterns that match exactly `names`, or None if impossible.

    A pattern is a beginning that several of these names but no other names share, followed by
    ``*``; other names are patterns themselves.
    """
    wanted = set(names)
    patterns: list[str] = []

    def cover(group: Sequence[str]) -> None:
        chosen = sum(name in wanted for name in group)
        if not chosen or len(patterns) > MOST_PATTERNS:
            return
        if chosen == len(group) < FEWEST_MATCHED:
            patterns.extend(group)
            return
        beginning = os.path.commonprefix(group)
        if chosen == len(group):
            patterns.append(_SPECIAL.sub(r"[\1]", beginning) + "*")
            return
        parts: dict[str, list[str]] = {}
        for name in group:
            parts.setdefault(name[len(beginning) : len(beginning) + 1], []).append(name)
        for part in parts.values():
            cover(part)

    cover(all_names)
    # A pattern that is also the name of a column would match only that column.
    matched = {name for pattern in patterns for name in _matched(pattern, all_names)}
    return patterns if len(patterns) <= MOST_PATTERNS and matched == wanted else None


def _matched(pattern: str, all_names: Sequence[str]) -> list[str]:
    return [pattern] if pattern in all_names else fnmatch.filter(all_names, pattern)


def _escaped(letter: str) -> str:
    if letter in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[letter]
    if letter.isprintable():
        return letter
    code = ord(letter)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _wrapped(text: str, beginning: str) -> list[str]:
    return textwrap.wrap(
        shown(text),
        WIDTH,
        initial_indent=beginning,
        subsequent_indent=beginning,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _remarks(texts: Iterable[str], beginning: str) -> list[str]:
    return [line for text in texts for line in comment(beginning + text)]


def _setting(key: str, value: str, reasons: dict[str, str]) -> list[str]:
    return [f"  {key}: {value}  # {reasons[value]}"]


def _list(key: str, names: Sequence[str], all_names: Sequence[str]) -> list[str]:
    """Return a key of the options with a list of columns."""
    patterns = patterns_for(names, all_names) if len(names) > MANY_COLUMNS else None
    items = [quoted(name) for name in patterns or names]
    one_line = f"  {key}: [{', '.join(items)}]"
    if len(one_line) <= WIDTH:
        return [one_line]
    # A line for each item is easier to edit, unless there are hundreds.
    if len(items) <= MANY_COLUMNS:
        return [f"  {key}:", *(f"    - {item}" for item in items)]
    lines, line = [f"  {key}: ["], "    "
    for item in items:
        if len(line) + len(item) + 2 > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = "    "
        line += f"{item}, "
    return [*lines, line.rstrip(), "  ]"]


def _reading_lines(options: Mapping[str, Any]) -> list[str]:
    """Return the lines of the options that say how to read the file, if given."""
    lines = []
    if "delimiter" in options:
        lines += [*comment("The character between two cells.", "  ")]
        lines += [f"  delimiter: {quoted(options['delimiter'])}"]
    if "missing_values" in options:
        lines += comment("Cells that count as missing.", "  ")
        lines.append(f"  missing_values: [{', '.join(map(quoted, options['missing_values']))}]")
    return lines


def _output_lines(proposal: Proposal) -> list[str]:
    options, facts = proposal.options, proposal.facts
    if proposal.task == "classes":
        counts = [f"{name} ({count})" for name, count in facts["classes"].items()]
        lines = comment(f"The class to predict, and its rows: {_cut(counts, 12)}.", "  ")
        lines += ["  outputs: []", f"  classes: {quoted(options['classes'])}"]
        if "class_vectors" in options:
            lines += comment("The vectors of the classes: name, then numbers.", "  ")
            lines.append(f"  class_vectors: {quoted(options['class_vectors'])}")
        return lines
    if proposal.task == "series":
        lines = comment("The steps of the series to predict, in this order.", "  ")
    else:
        lines = comment("Columns to predict, names or patterns such as 'y*'.", "  ")
    incomplete = [
        f"{name} in {facts['rows_labelled'] - summary['n_known']}"
        for name, summary in facts["outputs"].items()
        if summary["n_known"] < facts["rows_labelled"]
    ]
    if incomplete:
        lines += comment(f"Missing in labelled rows: {_cut(incomplete, 8)}.", "  ")
    return [
        *lines,
        *_list("outputs", options["outputs"], proposal.columns),
        *_incomplete_lines(proposal),
        *_range_lines(proposal),
    ]


def _incomplete_lines(proposal: Proposal) -> list[str]:
    """Return the option for rows that lack some outputs; nothing where there are none."""
    treatment = proposal.options.get("incomplete_rows")
    if treatment is None:
        return []
    count = proposal.facts["rows_partly_labelled"]
    why = {
        "drop": f"{count} rows lack some of their outputs. These few rows are not used, so that no "
        "missing output must be replaced. 'keep' uses them, with missing values replaced by the "
        "mean of the output.",
        "keep": f"{count} rows lack some of their outputs, too many to leave out: in training, "
        "missing values are replaced by the mean of the output, and errors count the known values "
        "only. 'drop' leaves these rows out.",
    }
    return [*comment(why[treatment], "  "), f"  incomplete_rows: {treatment}"]


def _range_lines(proposal: Proposal) -> list[str]:
    """Return the lines of the ranges of the outputs; nothing where none was found.

    Outputs with the same range and number of known values are named by a pattern if possible.
    """
    ranges, facts = proposal.options.get("ranges", {}), proposal.facts["outputs"]
    if not ranges:
        return []
    lines = comment(
        "Possible values of the outputs, which limit prediction intervals. Remove wrong ones.", "  "
    )
    lines.append("  ranges:")
    alike: dict[tuple[str, str], list[str]] = {}
    for name, limits in ranges.items():
        written = ", ".join(
            f"{key}: {str(value).lower() if value is True else value}"
            for key, value in limits.items()
        )
        alike.setdefault((written, in_words(limits, facts[name]["n_known"])), []).append(name)
    for (written, why), names in alike.items():
        lines += comment(why, "    ")
        patterns = patterns_for(names, proposal.columns) if len(names) > FEWEST_MATCHED else None
        lines += [f"    {quoted(name)}: {{{written}}}" for name in patterns or names]
    return lines


def _input_lines(proposal: Proposal) -> list[str]:
    options, kinds, columns = proposal.options, proposal.kinds, proposal.columns
    if "gram" in options:
        return [
            *comment("Kernel values between all rows, instead of input columns.", "  "),
            f"  gram: {quoted(options['gram'])}",
        ]
    lines = []
    if options["numbers"]:
        lines += comment(
            "Numbers; missing values are replaced by the mean of the training rows.", "  "
        )
        lines += _column_notes(options["numbers"], kinds)
        lines += _list("numbers", options["numbers"], columns)
    if options.get("missing_indicators"):
        lines += comment(
            "Each gets a further input that indicates whether it is missing (shared by columns "
            "that are missing in the same rows).",
            "  ",
        )
        lines += _list("missing_indicators", options["missing_indicators"], columns)
    if options["categories"]:
        lines += comment("Each level becomes an input with the values 0 and 1.", "  ")
        for name in options["categories"][:MANY_COLUMNS]:
            lines += comment(f"{name}: {_cut(proposal.levels[name], 8)}", "  ")
        lines += _list("categories", options["categories"], columns)
    if options["strings"]:
        lines += comment("Texts with many different values, compared by their n-grams.", "  ")
        for name in options["strings"][:MANY_COLUMNS]:
            lines += comment(f"{name}: {kinds[name].n_distinct} different texts", "  ")
        lines += _list("strings", options["strings"], columns)
    if options.get("text"):
        lines += comment("Texts, compared by the words they share.", "  ")
        lines.append(f"  text: {quoted(options['text'])}")
    if options.get("smiles"):
        lines += comment("Structures of molecules, compared by the substructures they share.", "  ")
        lines.append(f"  smiles: {quoted(options['smiles'])}")
    return lines


def _column_notes(names: Sequence[str], kinds: dict[str, ColumnKind]) -> list[str]:
    noted = [f"{name}: {kinds[name].note}" for name in names if kinds[name].note]
    return [line for text in noted[:MANY_COLUMNS] for line in comment(text, "  ")]


def _role_lines(proposal: Proposal) -> list[str]:
    reasons = {
        "row_name": "Names the rows in tables and predictions.",
        "group": "Rows of the same group are never in both training and test rows.",
        "time": "Later rows are predicted from earlier rows.",
        "same_group": "Rows without outputs are weakly labelled by their group.",
    }
    lines = []
    for key, reason in reasons.items():
        if key in proposal.options:
            lines += comment(reason, "  ")
            lines.append(f"  {key}: {quoted(proposal.options[key])}")
    return lines


def _left_out_lines(proposal: Proposal) -> list[str]:
    row_name = proposal.options.get("row_name")
    reported = [(name, why) for name, why in proposal.left_out if name != row_name]
    if not reported:
        return []
    lines = comment("Left out; to use such a column, add it to a list above:", "  ")
    for name, why in reported[:MANY_COLUMNS]:
        lines += comment(f"- {name}: {why}", "  ")
    if len(reported) > MANY_COLUMNS:
        lines += comment(f"- and {len(reported) - MANY_COLUMNS} more", "  ")
    return lines


def _tables(proposal: Proposal) -> list[dict[str, str]]:
    several = len(proposal.options["outputs"]) > 1
    if proposal.task == "classes":
        error = "Share of the test rows with a correct class, by number of training rows."
    else:
        error = "Test error by number of training rows; 1 is the error of the training mean."
    parts = [
        {"name": "error", "kind": "error", "caption": error},
        {
            "name": "time",
            "kind": "time",
            "caption": "Seconds of training and prediction.",
        },
    ]
    if proposal.task != "classes" and several:
        parts.append(
            {
                "name": "coordinates",
                "kind": "coordinates",
                "caption": "Test error of each output at the largest training size.",
            }
        )
    if proposal.task == "regression":
        parts.append(
            {
                "name": "typical-rows",
                "kind": "typical_rows",
                "caption": "Groups of similar outputs, and the most typical rows of each.",
            }
        )
    return parts


def _figures(proposal: Proposal) -> list[dict[str, str]]:
    if proposal.task == "classes":
        return [
            {
                "name": "learning-curve",
                "kind": "learning_curve",
                "caption": "Share of the test rows with a correct class, against the number of "
                "training rows.",
            },
            {
                "name": "confusion",
                "kind": "confusion",
                "caption": "Predicted against true classes, for the method with the highest "
                "accuracy.",
            },
        ]
    parts = [
        {
            "name": "learning-curve",
            "kind": "learning_curve",
            "caption": "Test error against the number of training rows.",
        }
    ]
    if proposal.task == "series":
        parts.append({"name": "series", "kind": "series", "caption": "Predicted and true series."})
    n_outputs = len(proposal.options["outputs"])
    if n_outputs > 1:
        caption = "Test error of each output."
        part = {"name": "coordinates", "kind": "coordinates", "caption": caption}
        if n_outputs > MOST_COORDINATES:
            part["methods"] = "[" + ", ".join(name for name, _ in proposal.methods[:3]) + "]"
        parts.append(part)
    return parts + [
        {
            "name": "predicted-true",
            "kind": "predicted_true",
            "caption": "Predicted against true outputs of the test rows, with the interval that "
            "contains 90 % of them.",
        },
        {
            "name": "residuals-novelty",
            "kind": "residuals_novelty",
            "caption": "Errors of the test rows against their distance from the training rows.",
        },
    ]


def _parts(parts: Sequence[dict[str, str]]) -> list[str]:
    lines = []
    for part in parts:
        lines += [f"  - name: {part['name']}", f"    kind: {part['kind']}"]
        if "methods" in part:
            lines.append(f"    methods: {part['methods']}")
        lines.append(f"    caption: {quoted(part['caption'])}")
    return lines


def _inputs_in_words(proposal: Proposal) -> list[str]:
    options = proposal.options
    if "gram" in options:
        return [f"the kernel values in {options['gram']}"]
    words = []
    for key, singular, many in (
        ("numbers", "number", "numbers"),
        ("categories", "category", "categories"),
        ("strings", "column of strings", "columns of strings"),
    ):
        if options[key]:
            count = len(options[key])
            words.append(f"{count} {singular if count == 1 else many}: {_some(options[key])}")
    if options.get("text"):
        words.append(f"the text '{options['text']}'")
    if options.get("smiles"):
        words.append(f"the molecules '{options['smiles']}'")
    return words


def _some(names: Sequence[str], most: int = 6) -> str:
    short = [
        name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..." for name in names
    ]
    return _cut([f"'{name}'" for name in short], most)


def _cut(items: Sequence[str], most: int) -> str:
    shortened = (item if len(item) <= 60 else f"{item[:57]}..." for item in items[:most])
    text = ", ".join(shortened)
    return text if len(items) <= most else f"{text} and {len(items) - most} more"


def _left_out_summary(left_out: Sequence[tuple[str, str]]) -> list[str]:
    """Return which columns are left out and why, with a line for each reason."""
    by_reason: dict[str, list[tuple[str, str]]] = {}
    for name, reason in left_out:
        by_reason.setdefault(reason.partition(":")[0], []).append((name, reason))
    lines = [
        # For a single column the whole reason is shown: the value of a constant, for example.
        f"  left out: {_some([name for name, _ in found])} "
        f"({found[0][1] if len(found) == 1 else reason})"
        for reason, found in by_reason.items()
    ]
    return _shortened(lines)


def _shortened(lines: list[str]) -> list[str]:
    if len(lines) <= MOST_SUMMARY_ITEMS:
        return lines
    n_more = len(lines) - MOST_SUMMARY_ITEMS + 1
    return [*lines[: MOST_SUMMARY_ITEMS - 1], f"... and {n_more} more in the files below"]
