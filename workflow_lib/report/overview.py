"""What is seen at a glance of all experiments: methods against the reference, and the findings.

Everything is at the largest training size of an experiment, where a method has one row: that with
the most weak rows and with selected components or, where the numbers of components are fixed, the
lowest of their mean errors.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from workflow_lib.protocol.statistics import detectable_difference
from workflow_lib.report.labels import count_of, format_signed, is_ceiling, method_label
from workflow_lib.report.quantities import QUANTITIES
from workflow_lib.report.results import outside_studies, rows_of_sizes
from workflow_lib.report.tables import Cell, error_table
from workflow_lib.report.variants import SELECTED

OUTCOMES = {"lower": "better", "higher": "worse", "untested": "open"}
"""Outcome of a cell -> what it is called here, where that is another word."""


class Finding(NamedTuple):
    """A sentence with one number, and a link inside of it."""

    before: str
    anchor: str
    link: str
    after: str


def reference_of(settings: Mapping) -> str:
    """Return the method of an experiment with which the others are compared.

    It is that of the ``metric`` or, in an experiment without it, the first of its ``methods``.
    """
    usual = QUANTITIES[settings.get("metric") or "arrmse"].reference
    methods = settings.get("methods") or [usual]
    return usual if usual in methods else methods[0]


def overview(
    scores: Mapping[str, pd.DataFrame],
    experiments: Mapping[str, Mapping],
    methods: Mapping[str, Mapping],
) -> pd.DataFrame:
    """Return a row for each experiment and method, in the order of both.

    `experiments` have ``title`` (of the dataset), ``stand_in_for``, ``metric`` and ``methods``, and
    `methods` ``label`` and ``weak_outputs``. Columns: ``experiment``, ``title``, ``is_stand_in``,
    ``training_size``, ``n_splits``, ``method``, ``label``, ``is_ceiling``, ``error`` (mean over the
    splits; the error rate of classes), ``reference``, ``reference_error``, ``difference_percent``
    (of the error from that of the reference, relative to it; infinite where this is 0),
    ``outcome`` (``better``, ``worse``, ``open``, or ``equal`` up to rounding; empty where there is
    no comparison) and ``detectable_percent`` (the difference that the test finds in 80 % of
    repetitions, `workflow_lib.protocol.statistics.detectable_difference`).
    """
    rows = []
    for name, settings in experiments.items():
        metric = settings.get("metric") or "arrmse"
        every = outside_studies(scores[name])
        reference = reference_of(settings)
        size, n_train = list(rows_of_sizes(every).items())[-1]
        cells = error_table(
            every[every["training_size"] == size],
            method_order=methods,
            reference=reference,
            errors=[metric],
        )
        chosen = {
            method: _chosen([cell for cell in cells if cell.method == method])
            for method in dict.fromkeys(cell.method for cell in cells)
        }
        base = chosen[reference].mean if reference in chosen else math.nan
        rows += [
            {
                "experiment": name,
                "title": settings["title"],
                "is_stand_in": bool(settings.get("stand_in_for")),
                "training_size": size,
                "n_splits": cell.n_splits,
                "method": method,
                "label": method_label(method, methods),
                "is_ceiling": is_ceiling(method, methods),
                "error": cell.mean,
                "reference": method_label(reference, methods),
                "reference_error": base,
                "difference_percent": _percent(cell.difference, base),
                "outcome": OUTCOMES.get(cell.outcome, cell.outcome),
                "detectable_percent": _percent(_detectable(cell, n_train), base),
            }
            for method, cell in chosen.items()
        ]
    return pd.DataFrame(rows)


def shared_methods(found: pd.DataFrame) -> list[str]:
    """Return the methods with a comparison in two experiments or more, in their order.

    With one experiment these are all of its methods.
    """
    compared = found[found["outcome"] != ""]
    counts = compared.groupby("method", sort=False)["experiment"].nunique()
    least = min(2, found["experiment"].nunique())
    return list(counts[counts >= least].index)


def best_of(found: pd.DataFrame) -> pd.DataFrame:
    """Return the row with the lowest error of each experiment; ceilings cannot be the best.

    Of methods that are equal up to rounding it is the reference.
    """
    # A reference with weak rows may equal itself without them.
    differs = (found["outcome"] != "equal") | (found["label"] == found["reference"])
    fair = found[~found["is_ceiling"] & differs]
    return fair.loc[fair.groupby("experiment", sort=False)["error"].idxmin()]


def came_out(found: pd.DataFrame) -> Finding:
    """Return what came out, in a sentence: where a method is better than the reference, and most.

    Better is so by the corrected test at 0.05, at the largest training size of an experiment.
    """
    fair = found[~found["is_ceiling"]]
    rows = fair[fair["outcome"] == "better"]
    n_experiments = found["experiment"].nunique()
    if rows.empty:
        before = "What came out: no method is significantly better than the reference in any of "
        return _with_comparisons(before, fair)
    row = rows.loc[rows["difference_percent"].idxmin()]
    before = (
        "What came out: a method is significantly better than the reference in "
        f"{rows['experiment'].nunique()} of {count_of(n_experiments, 'experiment')}; the largest "
        f"of these gains is that of {row['label']} on "
    )
    return _with_experiment(before, row, "lower")


def beware(found: pd.DataFrame, unbeaten: Sequence[str] = ()) -> Finding:
    """Return what a reader must know before the numbers are believed, in a sentence.

    `unbeaten` names the experiments in which no method has a lower error than a guess.
    """
    n_stand_ins = found.loc[found["is_stand_in"], "experiment"].nunique()
    before = "What to beware of: "
    if n_stand_ins:
        before += (
            f"the numbers on {count_of(n_stand_ins, 'stand-in')} are not comparable with published "
            "ones, "
        )
    if unbeaten:
        before += (
            f"no method beats a guess at some training size in {len(unbeaten)} of "
            f"{count_of(found['experiment'].nunique(), 'experiment')}, "
        )
    if n_stand_ins or unbeaten:
        before += "and "
    fair, after = found[~found["is_ceiling"]], " are not corrected for their number."
    return _with_comparisons(f"{before}the tests of ", fair, after)


def findings(found: pd.DataFrame) -> list[Finding]:
    """Return at most three more sentences: who is best, the largest loss, and equality."""
    best = best_of(found)
    counts = best["label"].value_counts()
    most = max(counts.index, key=lambda label: (counts[label], -list(best["label"]).index(label)))
    of_all = count_of(found["experiment"].nunique(), "experiment")
    before = f"{most} has the lowest error in {counts[most]} of "
    sentences = [Finding(before, "figure-headline", of_all, ".")]
    fair = found[~found["is_ceiling"]]
    rows = fair[fair["outcome"] == "worse"]
    if rows.empty:
        before = "No method is significantly worse than the reference in any of "
        sentences.append(_with_comparisons(before, fair))
    else:
        row = rows.loc[rows["difference_percent"].idxmax()]
        before = f"The largest significant loss against the reference: {row['label']} on "
        sentences.append(_with_experiment(before, row, "higher"))
    ofer = fair[fair["method"].str.match("w?ofer") & (fair["outcome"] != "")]
    equal = ofer[ofer["outcome"] == "equal"]
    if not equal.empty:
        before = f"OFER is its reference up to rounding in {len(equal)} of "
        of_all = count_of(len(ofer), "comparison")
        sentences.append(Finding(before, "where-ofer-helps", of_all, "."))
    return sentences


def _chosen(cells: Sequence[Cell]) -> Cell:
    """Return the row of a method that is shown, of those at one training size."""
    most = max(cell.weak_size for cell in cells)
    cells = [cell for cell in cells if cell.weak_size == most]
    return min(cells, key=lambda cell: (cell.components != SELECTED, cell.mean))


def _with_comparisons(before: str, fair: pd.DataFrame, after: str = ".") -> Finding:
    number = int((fair["outcome"] != "").sum())
    return Finding(before, "figure-headline", count_of(number, "comparison"), after)


def _with_experiment(before: str, row: pd.Series, side: str) -> Finding:
    name = row["experiment"]
    size = f"{format_signed(row['difference_percent'])[1:]} %"
    if math.isinf(row["difference_percent"]):
        size = f"of {row['error']:.2g}, that of the reference being 0:"
    link = f"{name} (a stand-in)" if row["is_stand_in"] else name
    return Finding(before, f"experiment-{name}", link, f", with an error {size} {side}.")


def _percent(difference: float, base: float) -> float:
    """Return a difference relative to `base`; infinite above a reference without any error."""
    if base == 0.0:
        return math.inf if difference > 0.0 else 0.0 * difference
    return 100.0 * difference / base


def _detectable(cell: Cell, n_train: int) -> float:
    if not cell.n_nonzero or cell.n_splits < 2 or not cell.effect:
        return math.nan
    spread = abs(cell.difference / cell.effect)
    return detectable_difference(spread, cell.n_splits, n_train, cell.n_test)
