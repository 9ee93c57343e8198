"""Where OFER helps, and where it is kernel ridge regression: measured, experiment by experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from workflow_lib.errors import UserError
from workflow_lib.report.answer_part import read_json
from workflow_lib.report.findings import Found, data_words, effect_words, where_words
from workflow_lib.report.labels import MINUS, MISSING, count_of, join_words, method_label
from workflow_lib.report.quantities import QUANTITIES
from workflow_lib.report.render import Section, html_markup, section
from workflow_lib.report.table_markup import Block, Entry, Layout
from workflow_lib.report.verdict import Comparison, Verdict

ANCHOR = "where-ofer-helps"
HEADING = "Where OFER helps, and where it is kernel ridge"

MOST_SHOWN = 3
"""Gains and losses are named up to this number, the largest effects first."""

WORDS = {
    "lower": "better",
    "higher": "worse",
    "equal": "equal",
    "open": "",
    "untested": "not tested",
}
"""Outcome of a comparison -> its word in the tables; none where it is not distinguishable."""


def gains_section(
    verdicts: Mapping[str, Verdict],
    equivalence_checks: Mapping[str, str | Path],
    methods: Mapping[str, Mapping],
    sections: Sequence[Mapping],
) -> Section:
    """Return the section; if nothing was compared or checked it says so.

    Parameters
    ----------
    verdicts : mapping of experiment name to Verdict
    equivalence_checks : mapping of experiment name to path
        The JSON files of `workflow_lib.experiments.equivalence_stage`, of the experiments that have
        one.
    methods : mapping of method name to {"label": ...}
    sections : sequence of mappings
        ``name``, ``is_made`` and ``stand_in_for`` of each experiment.

    Raises
    ------
    UserError
        If a file of equivalence checks is missing or damaged.
    """
    by_name = {section["name"]: section for section in sections}
    statements = _statements(equivalence_checks)
    found = [
        Found(comparison, verdict, by_name[name])
        for name, verdict in verdicts.items()
        for comparison in verdict.comparisons
    ]
    return section(
        ANCHOR,
        HEADING,
        "gains.html",
        sentences=[*_equivalence_sentences(statements), *_outcomes(found, methods)],
        equivalence_table=""
        if statements.empty
        else html_markup(_equivalence_layout(statements, by_name)),
        how_checked=_HOW_CHECKED,
        outcome_tables=[
            html_markup(outcomes_layout(verdict, by_name[name], methods))
            for name, verdict in verdicts.items()
            if verdict.comparisons
        ],
        how_compared=_HOW_COMPARED,
    )


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
    sizes = sorted({comparison.training_size for comparison in verdict.comparisons})
    found = {
        (comparison.label, comparison.training_size): comparison
        for comparison in verdict.comparisons
    }
    rows = [
        (label, [_entry(found.get((label, size)), verdict) for size in sizes])
        for label in dict.fromkeys(comparison.label for comparison in verdict.comparisons)
    ]
    measured = QUANTITIES[verdict.metric]
    sign = "positive" if measured.is_accuracy else "negative"
    return Layout(
        f"{data_words(experiment)}: difference in {measured.difference_name} from "
        f"{method_label(verdict.reference, methods)}",
        "Method",
        [f"n = {size}" for size in sizes],
        [Block("", rows)],
        [f"{measured.size_note}; {sign} is better."],
    )


def _entry(comparison: Comparison | None, verdict: Verdict) -> Entry | str:
    if comparison is None:
        return MISSING
    measured, cell = QUANTITIES[verdict.metric], comparison.cell
    word = WORDS[comparison.outcome]
    if comparison.outcome == "equal":
        return word
    text = measured.write_difference(cell.difference)
    if comparison.outcome != "untested":
        text += f" ({effect_words(measured.shown_effect(cell.effect))})"
    return Entry(f"{text} {word}".rstrip(), bold=comparison.outcome in ("lower", "higher"))


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
            "Every cell agrees with theory unless it says otherwise.",
        ],
    )


def _check_entry(statement) -> Entry | str:
    difference = statement.difference
    text = f"{difference:.2g}" if difference >= 1e-3 else f"{difference:.0e}"
    text = text.replace("e-", f"e{MINUS}")
    return text if statement.holds else Entry(f"{text} NOT as theory says", bold=True)


def _equivalence_sentences(statements: pd.DataFrame) -> list[str]:
    """Return where the checks found OFER equal to kernel ridge regression, and where not."""
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


def _outcomes(found: Sequence[Found], methods: Mapping[str, Mapping]) -> list[str]:
    """Return where OFER helps, where it equals the reference and where it loses."""
    if not found:
        return ["No OFER method was compared with a reference in this run."]
    gains = sorted(
        (finding for finding in found if finding.comparison.outcome == "lower"),
        key=lambda finding: finding.comparison.cell.effect,
    )
    losses = sorted(
        (finding for finding in found if finding.comparison.outcome == "higher"),
        key=lambda finding: -finding.comparison.cell.effect,
    )
    equal = [finding for finding in found if finding.comparison.outcome == "equal"]
    of_all = f"of {count_of(len(found), 'comparison')}"
    sentences = [
        _named(f"OFER is better in {len(gains)} {of_all}", "gains", gains),
        _named(f"OFER is worse in {len(losses)} {of_all}", "losses", losses),
    ]
    if equal:
        where: dict[str, list[str]] = {}
        for finding in equal:
            where.setdefault(finding.comparison.label, []).append(finding.section["name"])
        rows = [
            f"{label} ({join_words(list(dict.fromkeys(names)))})" for label, names in where.items()
        ]
        references = dict.fromkeys(
            method_label(finding.verdict.reference, methods) for finding in equal
        )
        sentences.append(
            f"OFER equals {join_words(list(references))} in every split up to rounding in "
            f"{len(equal)} {of_all}: {'; '.join(rows)}."
        )
    n_open = sum(finding.comparison.outcome == "open" for finding in found)
    n_lower = sum(
        finding.comparison.outcome == "open" and finding.comparison.cell.difference < 0
        for finding in found
    )
    if n_open:
        sentences.append(
            f"The two are not distinguishable in {n_open} {of_all}; of these the mean is better in "
            f"{n_lower} and worse in {n_open - n_lower}."
        )
    return sentences


def _named(beginning: str, word: str, found: Sequence[Found]) -> str:
    if not found:
        return f"{beginning}."
    shown = [where_words(finding) for finding in found[:MOST_SHOWN]]
    largest = f"the largest {word}: " if len(found) > 1 else ""
    return f"{beginning}; {largest}{'; '.join(shown)}."


def _statements(checked: Mapping[str, str | Path]) -> pd.DataFrame:
    """Return the checks of all experiments: a row for each statement, with what its file says.

    Raises UserError where a file lacks something.
    """
    rows = []
    for experiment, path in checked.items():
        found = read_json(path)
        lacking = {"n_training", "n_test", "tolerance", "statements"} - found.keys()
        if lacking:
            raise UserError(
                str(path),
                f"it has no {join_words(sorted(lacking))}",
                "a JSON file that the rule equivalence_checks made",
                f"rm -f {path} and run the same snakemake command again",
            )
        rows += [
            {"experiment": experiment, **found, **statement} for statement in found["statements"]
        ]
    return pd.DataFrame(rows)
