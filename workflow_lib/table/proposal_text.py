"""A proposal in words: two configuration files with comments, and a summary for the terminal.

The YAML files are made from templates, because the comments matter: they explain the decisions to
the user, who can edit them.
"""

from __future__ import annotations

import fnmatch
import math
import os
import re
import textwrap
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from workflow_lib.table.proposal import Proposal
from workflow_lib.table.proposed_methods import METHODS, NOT_SELECTING, QUESTIONS
from workflow_lib.table.proposed_ranges import in_words
from workflow_lib.table.run_costs import CORES
from workflow_lib.tabular.tables import listed
from workflow_lib.tasks.found import tasks

READS_ALL_OF = "templates"
"""The folder whose files are read here (`workflow_lib.core.imports`)."""

WIDTH = 98

MANY_COLUMNS = 50
"""Number of columns of a kind above which patterns are written, if a few match exactly these."""

MAX_PATTERNS = 12

MAX_CURVES = 4
"""Methods in a figure of validation curves."""

MAX_COORDINATES = 12
"""Largest number of outputs for which a figure of coordinates shows every method."""

MIN_MATCHED = 4
"""Smallest number of columns that a pattern matches: fewer are named."""

MAX_NAME_LENGTH = 40
"""Characters of the name of a column in the summary."""

MAX_SUMMARY_ITEMS = 4
"""Largest number of warnings, and of notes, in the summary; the files have all of them."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_PLAIN = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
_SPECIAL = re.compile(r"([*?\[])")


def dataset_text(proposal: Proposal) -> str:
    """Return the text of ``config/tables/datasets/NAME.yaml``."""
    options, facts = proposal.options, proposal.facts
    outputs = {} if proposal.task == "classes" else facts["outputs"]
    return _rendered(
        "dataset.yaml",
        proposal,
        known=_known(proposal),
        class_counts=[f"{name} ({count})" for name, count in facts.get("classes", {}).items()],
        incomplete=[
            f"{name} in {facts['rows_labelled'] - summary['n_known']}"
            for name, summary in outputs.items()
            if summary["n_known"] < facts["rows_labelled"]
        ],
        columns=lambda key: _list(key, options[key], proposal.columns),
        ranges=_ranges(proposal),
        noted_numbers=[name for name in options.get("numbers", ()) if proposal.kinds[name].note],
        left_out=_left_out(proposal),
        most_commented=MANY_COLUMNS,
    )


def experiment_text(proposal: Proposal) -> str:
    """Return the text of ``config/tables/experiments/NAME.yaml``."""
    names = [name for name, _ in proposal.methods]
    selecting = {*METHODS[proposal.task]} - {*NOT_SELECTING}
    return _rendered(
        "experiment.yaml",
        proposal,
        duration=_minutes(proposal),
        cores=CORES,
        most_coordinates=MAX_COORDINATES,
        questions=[each for each in QUESTIONS if {*each[1:]} <= {*names}],
        selecting=[name for name in names if name in selecting][:MAX_CURVES],
    )


def _rendered(template: str, proposal: Proposal, **values: Any) -> str:
    kinds = ["rows_empty"] if "bag" in proposal.options else ["rows_unlabelled", "rows_empty"]
    kinds += [] if proposal.unpaired_sizes else ["rows_unpaired"]
    # The number of rows that no method uses.
    values["n_unused"] = sum(proposal.facts[kind] for kind in kinds)
    return _environment().get_template(template).render(vars(proposal) | values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name(READS_ALL_OF)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "comment": comment,
        "wrapped": _wrapped,
        "quoted": quoted,
        "cut": _cut,
        "shown": shown,
        "file_name": lambda path: Path(path).name,
        "some": lambda names: shown(_some(names)),
    }
    return environment


def _minutes(proposal: Proposal) -> str:
    minutes = max(math.ceil(proposal.minutes), 1)
    return f"{minutes} minute{'s' * (minutes > 1)}"


def _known(proposal: Proposal) -> str:
    """Return in words what is known of a labelled row."""
    drops = proposal.options.get("incomplete_rows") == "drop"
    task = tasks()[proposal.task]
    what = task.known_of_complete_row if drops else task.known_of_row
    return f"inputs and {what}" if proposal.facts["rows_unpaired"] else what


def summary_lines(proposal: Proposal, with_commands: bool = True) -> list[str]:
    """Return the lines for the terminal, at most 25.

    The last are the files that were written and the next command, unless `with_commands` is false.
    """
    numbers = set(proposal.options.get("numbers", ()))
    text = _rendered(
        "summary.txt",
        proposal,
        with_commands=with_commands,
        known=_known(proposal),
        left_out=_left_out_summary(_left_out(proposal)),
        missing=sorted(
            ((share, name) for name, share in proposal.facts["missing"].items() if name in numbers),
            reverse=True,
        ),
        remarks=[
            *_shortened([f"WARNING: {text}" for text in proposal.warnings]),
            *_shortened([f"Note: {text}" for text in proposal.notes]),
        ],
        duration=_minutes(proposal),
        cores=CORES,
    )
    return text.removesuffix("\n").split("\n")


def quoted(text: str) -> str:
    """Return a text as YAML: plain where that is safe, otherwise in double quotes with escapes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_PLAIN:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def shown(text: str) -> str:
    """Return a text for comments and the terminal: a single line of printable characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def comment(text: str, indent: str = "") -> str:
    """Return a text as lines of a comment."""
    return _wrapped(text, f"{indent}# ")


def patterns_for(names: Sequence[str], all_names: Sequence[str]) -> list[str] | None:
    """Return at most `MAX_PATTERNS` patterns that match exactly `names`, or None if impossible.

    A pattern is a beginning that several of these names but no other names share, followed by
    ``*``; other names are patterns themselves.
    """
    wanted = set(names)
    patterns: list[str] = []

    def cover(group: Sequence[str]) -> None:
        chosen = sum(name in wanted for name in group)
        if not chosen or len(patterns) > MAX_PATTERNS:
            return
        if chosen == len(group) < MIN_MATCHED:
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
    matched = {pattern for pattern in patterns if pattern in all_names}
    for pattern in set(patterns) - matched:
        matched |= set(fnmatch.filter(all_names, pattern))
    return patterns if len(patterns) <= MAX_PATTERNS and matched == wanted else None


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode()


def _wrapped(text: str, beginning: str) -> str:
    lines = textwrap.wrap(
        shown(text),
        WIDTH,
        initial_indent=beginning,
        subsequent_indent=beginning,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "".join(f"{line}\n" for line in lines)


def _list(key: str, names: Sequence[str], all_names: Sequence[str]) -> str:
    """Return a key of the options with a list of columns."""
    patterns = patterns_for(names, all_names) if len(names) > MANY_COLUMNS else None
    items = [quoted(name) for name in patterns or names]
    one_line = f"  {key}: [{', '.join(items)}]"
    if len(one_line) <= WIDTH:
        return one_line
    # A line for each item is easier to edit, unless there are hundreds.
    if len(items) <= MANY_COLUMNS:
        return "\n".join([f"  {key}:", *(f"    - {item}" for item in items)])
    lines, line = [f"  {key}: ["], "    "
    for item in items:
        if len(line) + len(item) + 2 > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = "    "
        line += f"{item}, "
    return "\n".join([*lines, line.rstrip(), "  ]"])


def _ranges(proposal: Proposal) -> list[tuple[str, str, list[str]]]:
    """Return the reasons of ranges, the ranges as YAML, and the outputs that have them.

    Outputs with the same range and number of known values are named by a pattern if possible.
    """
    facts = proposal.facts["outputs"]
    alike: dict[tuple[str, str], list[str]] = {}
    for name, limits in proposal.options.get("ranges", {}).items():
        written = ", ".join(
            f"{key}: {str(value).lower() if value is True else value}"
            for key, value in limits.items()
        )
        alike.setdefault((in_words(limits, facts[name]["n_known"]), written), []).append(name)
    found = []
    for (reason, written), names in alike.items():
        patterns = patterns_for(names, proposal.columns) if len(names) > MIN_MATCHED else None
        found.append((reason, written, patterns or names))
    return found


def _left_out(proposal: Proposal) -> list[tuple[str, str]]:
    """Return the columns that are neither inputs nor names of rows, and why."""
    row_name = proposal.options.get("row_name")
    return [(name, reason) for name, reason in proposal.left_out if name != row_name]


def _some(names: Sequence[str]) -> str:
    return _cut([f"'{_short(name, MAX_NAME_LENGTH)}'" for name in names], 6)


def _cut(items: Sequence[str], most: int) -> str:
    return listed([_short(item, 60) for item in items], most)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


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
    if len(lines) <= MAX_SUMMARY_ITEMS:
        return lines
    n_more = len(lines) - MAX_SUMMARY_ITEMS + 1
    return [*lines[: MAX_SUMMARY_ITEMS - 1], f"... and {n_more} more in the files below"]
