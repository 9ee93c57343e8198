"""Where OFER helps, and where it is kernel ridge regression: measured, experiment by experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from workflow_lib.core.errors import UserError
from workflow_lib.report.labels import (
    MINUS,
    MISSING,
    count_of,
    format_p_value,
    format_signed,
    join_words,
    method_label,
)
from workflow_lib.report.quantities import QUANTITIES, Quantity
from workflow_lib.report.render import Section, html_markup, section
from workflow_lib.report.results import read_json
from workflow_lib.report.table_markup import Block, Entry, Layout
from workflow_lib.table.verdict import Verdict

ANCHOR = "where-ofer-helps"
HEADING = "Where OFER helps, and where it is kernel ridge"

MAX_SHOWN = 3
"""Gains and losses are named up to this number, the largest effects first."""

WORDS = {"lower": "better", "higher": "worse", "equal": "equal"}
WORDS |= {"open": "", "untested": "not tested"}
"""Outcome of a comparison -> its word in the tables; none where it is not distinguishable."""


def gains_section(
    verdicts: Mapping[str, Verdict],
    equivalence_checks: Mapping[str, str | Path],
    methods: Mapping[str, Mapping],
    sections: Sequence[Mapping],
) -> Section:
    """Return the section; if nothing was compared or checked it says so.

    `equivalence_checks` map the experiments that have them to the JSON files of
    `workflow_lib.protocol.equivalence_stage`, and `sections` have ``name``, ``is_made`` and
    ``stand_in_for`` of each experiment.

    Raises UserError if a file of equivalence checks is missing or damaged.
    """
    by_name = {section["name"]: section for section in sections}
    statements = _statements(equivalence_checks)
    found = [
        each.comparisons.assign(experiment=name, metric=each.metric, reference=each.reference)
        for name, each in verdicts.items()
        if len(each.comparisons)
    ]
    return section(
        ANCHOR,
        HEADING,
        "gains.html",
        sentences=[*_equivalence_sentences(statements), *_outcomes(found, by_name, methods)],
        equivalence_table=""
        if statements.empty
        else html_markup(_equivalence_layout(statements, by_name)),
        how_checked=_HOW_CHECKED,
        outcome_tables=[
            html_markup(outcomes_layout(verdict, by_name[name], methods))
            for name, verdict in verdicts.items()
            if len(verdict.comparisons)
        ],
        how_compared=_HOW_COMPARED,
    )


_OF_A_FILE = ("n_training", "n_test", "tolerance")

_HOW_CHECKED = (
    "On the training rows of the first split of each experiment the predictions of OFER are "
    "compared with those of kernel ridge regression with the same penalty and Gram matrix. A "
    "difference is the largest over all test rows and outputs, relative to the largest distance of "
    "a prediction from the training mean."
)

_HOW_COMPARED = (
    "Each cell has the mean difference from the reference, in brackets that difference in units of "
    "its spread, and better or worse where the corrected resampled t-test is significant at 0.05. "
    "Without such a word the two are not distinguishable, which does not mean equal; equal means "
    "equal in every split up to rounding."
)


def outcomes_layout(
    verdict: Verdict, experiment: Mapping, methods: Mapping[str, Mapping]
) -> Layout:
    """Return the table of one experiment: a row for each OFER row, a column for each size."""
    measured, sizes = QUANTITIES[verdict.metric], sorted(set(verdict.comparisons["training_size"]))
    rows = []
    for label, group in verdict.comparisons.groupby("label", sort=False):
        entries = {row.training_size: _entry(row, measured) for row in group.itertuples()}
        rows.append((label, [entries.get(size, MISSING) for size in sizes]))
    sign = "positive" if measured.higher_is_better else "negative"
    return Layout(
        f"{data_words(experiment)}: difference in {measured.difference_name} from "
        f"{method_label(verdict.reference, methods)}",
        "Method",
        [f"n = {size}" for size in sizes],
        [Block("", rows)],
        [f"{measured.size_note}; {sign} is better."],
    )


def _entry(row, measured: Quantity) -> Entry | str:
    word = WORDS[row.outcome]
    if row.outcome == "equal":
        return word
    text = measured.write_difference(row.difference)
    if row.outcome != "untested":
        text += f" ({format_signed(measured.shown_effect(row.effect), 1)})"
    return Entry(f"{text} {word}".rstrip(), bold=row.outcome in ("lower", "higher"))


def _equivalence_layout(statements: pd.DataFrame, by_name: Mapping[str, Mapping]) -> Layout:
    """Return the table with a row for each experiment and a column for each statement."""
    is_same = dict(zip(statements["name"], statements["is_kernel_ridge"]))
    names = sorted(is_same, key=lambda name: not is_same[name])
    rows = []
    for experiment, found in statements.groupby("experiment", sort=False):
        entries = {each.name: _check_entry(each) for each in found.itertuples(index=False)}
        n_rows = f"{found['n_training'].iloc[0]} + {found['n_test'].iloc[0]}"
        texts = [n_rows, *(entries.get(name, MISSING) for name in names)]
        rows.append((data_words(by_name[experiment]), texts))
    below = join_words([f"{number:.0e}" for number in sorted(set(statements["tolerance"]))])
    return Layout(
        "Largest relative difference of predictions from kernel ridge regression",
        "Experiment",
        [
            "Training + test rows",
            *(f"{'The same' if is_same[name] else 'Not the same'}: {name}" for name in names),
        ],
        [Block("", rows)],
        [
            "The heading of a column states what theory says of OFER in the case named there. The "
            f"same means a difference below {below}. "
            "Every cell agrees with theory unless it says otherwise."
        ],
    )


def _check_entry(statement) -> Entry | str:
    difference = statement.difference
    text = f"{difference:.2g}" if difference >= 1e-3 else f"{difference:.0e}"
    text = text.replace("e-", f"e{MINUS}")
    return text if statement.holds else Entry(f"{text} NOT as theory says", bold=True)


def _equivalence_sentences(statements: pd.DataFrame) -> list[str]:
    if statements.empty:
        return ["The equivalence to kernel ridge regression was not checked in this run."]
    sentences = []
    is_same = statements["is_kernel_ridge"]
    same, other = statements[is_same], statements[~is_same]
    if len(same):
        n_experiments = statements["experiment"].nunique()
        sentences.append(
            f"Where OFER is kernel ridge regression by algebra, its predictions are those of "
            f"kernel ridge regression in {same['holds'].sum()} of "
            f"{count_of(len(same), 'check')} on {count_of(n_experiments, 'experiment')}; the "
            f"largest relative difference is {same['difference'].max():.0e}."
        )
    if len(other):
        sentences.append(
            f"Where theory says that it is not (a penalty per block, different variances), the "
            f"predictions differ in {other['holds'].sum()} of {count_of(len(other), 'check')}, by "
            f"{other['difference'].min():.2g} to {other['difference'].max():.2g}."
        )
    return sentences + [
        f"NOT as theory says: {each.name} on {each.experiment}, a difference of "
        f"{each.difference:.1e}."
        for each in statements[~statements["holds"]].itertuples(index=False)
    ]


def _outcomes(
    frames: Sequence[pd.DataFrame], by_name: Mapping[str, Mapping], methods: Mapping[str, Mapping]
) -> list[str]:
    if not frames:
        return ["No OFER method was compared with a reference in this run."]
    found = pd.concat(frames, ignore_index=True)
    of_all = f"of {count_of(len(found), 'comparison')}"
    sentences = []
    for outcome, side, word in (("lower", "better", "gains"), ("higher", "worse", "losses")):
        rows = found[found["outcome"] == outcome]
        rows = rows.sort_values("effect", ascending=outcome == "lower", kind="stable")
        text = f"OFER is {side} in {len(rows)} {of_all}"
        if len(rows):
            shown = rows.head(MAX_SHOWN).itertuples()
            largest = f"the largest {word}: " if len(rows) > 1 else ""
            named = "; ".join(where_words(row, by_name[row.experiment]) for row in shown)
            text += f"; {largest}{named}"
        sentences.append(f"{text}.")
    equal, unclear = (found[found["outcome"] == outcome] for outcome in ("equal", "open"))
    if len(equal):
        rows = [
            f"{label} ({join_words(names.unique().tolist())})"
            for label, names in equal.groupby("label", sort=False)["experiment"]
        ]
        references = [method_label(method, methods) for method in equal["reference"]]
        sentences.append(
            f"OFER equals {join_words(list(dict.fromkeys(references)))} in every split up to "
            f"rounding in {len(equal)} {of_all}: {'; '.join(rows)}."
        )
    if len(unclear):
        n_lower = (unclear["difference"] < 0).sum()
        sentences.append(
            f"The two are not distinguishable in {len(unclear)} {of_all}; of these the mean is "
            f"better in {n_lower} and worse in {len(unclear) - n_lower}."
        )
    return sentences


def data_words(section: Mapping) -> str:
    """Return an experiment with the kind of its data, as ``digits (a stand-in)``."""
    if section["stand_in_for"]:
        return f"{section['name']} (a stand-in)"
    kind = "simulated data" if section["is_made"] else "real data"
    return f"{section['name']} ({kind})"


def where_words(row, section: Mapping) -> str:
    """Return a comparison in words: row, reference, experiment, size, difference and tests.

    `row` has the columns `workflow_lib.table.verdict.COMPARED` and the ``metric``.
    """
    measured = QUANTITIES[row.metric]
    effect = format_signed(measured.shown_effect(row.effect), 1)
    return (
        f"{row.label} on {data_words(section)} at n = {row.training_size}: "
        f"{measured.write_difference(row.difference)} in {measured.difference_name}, {effect} in "
        f"units of its spread (corrected {format_p_value(row.p_reference_corrected)})"
    )


def _statements(checked: Mapping[str, str | Path]) -> pd.DataFrame:
    """Return the checks of all experiments: a row for each statement, with what its file says.

    Raises UserError where a file lacks something.
    """
    rows = []
    for experiment, path in checked.items():
        found = read_json(path)
        lacking = {*_OF_A_FILE, "statements"} - found.keys()
        if lacking:
            raise UserError(
                str(path),
                f"it has no {join_words(sorted(lacking))}",
                "a JSON file that the rule equivalence_checks made",
                f"rm -f {path} and run the same snakemake command again",
            )
        known = {"experiment": experiment} | {key: found[key] for key in _OF_A_FILE}
        rows += [known | statement for statement in found["statements"]]
    return pd.DataFrame(rows)
