"""Choice of the number of splits and of the training, weak and test sizes for a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.data.table_encoding import N_BITS, STRING_COLUMNS
from workflow_lib.table.data_profile import MIN_FOLD_ROWS, TEST_SHARE, n_test_rows, training_sizes
from workflow_lib.table.proposal import Proposal
from workflow_lib.table.run_costs import (
    CORES,
    MAX_MINUTES,
    answer_minutes,
    split_seconds,
    splits_per_job,
    splits_that_fit,
)
from workflow_lib.tabular.cell_texts import known_spelling
from workflow_lib.tabular.row_roles import (
    RowKinds,
    check_unpaired,
    classes_in_groups,
    group_codes,
    most_test_rows,
    row_times,
)
from workflow_lib.tabular.table_file import read_table
from workflow_lib.tabular.tables import MISSING_VALUES, listed_names
from workflow_lib.tabular.user_table import Table
from workflow_lib.tasks.found import tasks

EARLIER_SHARE = 0.8
"""Largest share of the earlier rows that are training rows in a chronological split: with all of
them, splits would not differ."""

FEW_GROUPS = 5

SPLITS_UP_TO = ((500, 10), (2000, 5))
"""Largest number of splits by the number of labelled rows; `MIN_SPLITS` for more rows."""

MAX_UNPAIRED = 1000
"""Largest number of outputs without inputs: the time of a density of single outputs grows with it,
and no benefit of more was measured."""

MIN_SPLITS = 3


def choose_sizes(proposal: Proposal, table: Table, labelled: np.ndarray, weak: np.ndarray) -> None:
    """Fill in the splits, the test rows and the sizes; `labelled` and `weak` are masks of the rows.

    Raises UserError where the rows, groups, times or classes leave too few training or test rows.
    """
    options, n_labelled = proposal.options, int(labelled.sum())
    proposal.n_splits = next(
        (splits for most, splits in SPLITS_UP_TO if n_labelled <= most), MIN_SPLITS
    )
    if proposal.task == "classes":
        used = _classes_with_vectors(proposal)
        n_labelled = _n_rows_of_classes(used, proposal, table)
    if n_test_rows(n_labelled) != round(TEST_SHARE * n_labelled):
        proposal.test_size = n_test_rows(n_labelled)
    groups = times = classes = None
    if proposal.task == "classes":
        if proposal.split != "grouped":
            proposal.training_sizes = training_sizes(pool_size(n_labelled))
            return
        classes = table.strings(options["classes"])
        labelled = labelled & np.isin(classes, list(used))
        classes = classes[labelled]
    if proposal.split == "grouped":
        groups = _groups(table, options["group"], labelled, proposal)
        if classes is not None:
            _check_groups_of_classes(groups, classes, proposal, table)
    elif proposal.split == "chronological":
        times = row_times(
            table.selected(labelled | weak), options["time"], options.get("date_order")
        )
        times = times[labelled[labelled | weak]]
    pool = pool_size(n_labelled, groups, times, classes)
    if times is not None:
        pool = int(EARLIER_SHARE * pool)
    proposal.training_sizes = training_sizes(pool)
    if not proposal.training_sizes:
        column = options.get("group") or options.get("time")
        raise UserError(
            location=f"{table.location}, column '{column}'",
            found=f"{pool} of {n_labelled} labelled rows are left for training besides the test "
            "rows",
            expected=f"at least {MIN_FOLD_ROWS}",
            remedy=f"leave out {'group' if groups is not None else 'time'}={column}, or choose a "
            "column with more different values",
        )
    if "same_group" in options:
        n_weak = int(weak.sum())
        if n_weak:
            proposal.weak_sizes = [n_weak]
        else:
            proposal.notes.append(
                f"No row without outputs has a value in '{options['same_group']}': there are no "
                "weak rows yet."
            )


def choose_unpaired_sizes(
    proposal: Proposal, table: Table, kinds: RowKinds, columns: Mapping[str, Any]
) -> None:
    """Fill in the number of outputs without inputs; none for classes.

    Raises UserError where these rows are copies of labelled rows, or have no time in a
    chronological split.
    """
    n_unpaired = proposal.facts["rows_unpaired"]
    if not n_unpaired or not tasks()[proposal.task].learns_from_outputs_alone:
        return
    check_unpaired(table, table.matrix(columns["outputs"]), kinds)
    if proposal.split == "chronological":
        order = proposal.options.get("date_order")
        row_times(table.selected(kinds.unpaired), columns["time"], order)
    proposal.unpaired_sizes = [min(n_unpaired, MAX_UNPAIRED)]


def choose_splits(proposal: Proposal) -> None:
    """Set the requested number of splits, or as many as fit into the time, and those of a job.

    Needs the methods. ``n_splits`` of the proposal is first the largest number, by the number of
    rows.
    """
    methods = [name for name, _ in proposal.methods]
    sizes = (methods, proposal.training_sizes, n_inputs(proposal))
    most = proposal.n_splits
    requested = proposal.request.get("splits")
    proposal.n_splits = requested or splits_that_fit(*sizes, most, MIN_SPLITS)
    proposal.splits_per_job = splits_per_job(*sizes, proposal.n_splits)
    proposal.minutes = answer_minutes(*sizes, proposal.n_splits)
    if requested:
        return
    if proposal.n_splits < most:
        proposal.notes.append(
            f"{most} splits would take about {answer_minutes(*sizes, most):.0f} minutes on {CORES} "
            f"cores: {proposal.n_splits} are made, which makes the comparison less precise. "
            f"splits={most} makes all."
        )
    if proposal.minutes > MAX_MINUTES:
        slowest = max(methods, key=lambda name: split_seconds([name], *sizes[1:]))
        proposal.notes.append(
            f"'answer' takes about {proposal.minutes:.0f} minutes on {CORES} cores. Most of that "
            f"is due to {slowest}, which methods=-{slowest} leaves out."
        )


def n_inputs(proposal: Proposal) -> int:
    """Return the approximate number of inputs; for texts, the number of rows.

    For sequences and bags of rows it is their length, between the shortest and the longest their
    geometric mean.
    """
    options = proposal.options
    if lengths := proposal.facts.get("sequence_lengths") or proposal.facts.get("bag_lengths"):
        return round(math.sqrt(lengths[0] * lengths[-1]))
    if "gram" in options or options.get("text"):
        return proposal.facts["rows_labelled"]
    count = len(options["numbers"]) + len(options.get("missing_indicators", ()))
    count += sum(len(levels) for levels in proposal.levels.values())
    count += STRING_COLUMNS * len(options["strings"])
    return count + N_BITS * bool(options.get("smiles"))


def pool_size(
    n_labelled: int,
    groups: np.ndarray | None = None,
    times: np.ndarray | None = None,
    classes: np.ndarray | None = None,
) -> int:
    """Return the smallest number of labelled rows that a split leaves for training.

    By the `groups` (n_labelled,) of the rows, whole groups are test rows, with no more rows than
    needed unless every group is larger; then it is the smallest group. With the `classes`
    (n_labelled,) of the rows, too, see `workflow_lib.tabular.row_roles.most_test_rows`. By `times`
    (n_labelled,) the latest rows are test rows, and rows of the same time as any of them are not
    training rows.
    """
    n_test = n_test_rows(n_labelled)
    if groups is not None and classes is not None:
        return n_labelled - most_test_rows(classes_in_groups(groups, classes)[1], n_test)
    if groups is not None:
        sizes = np.unique(groups, return_counts=True)[1]
        return n_labelled - max(n_test, int(sizes.min()))
    if times is not None:
        return int((times < np.sort(times)[-n_test:].min()).sum())
    return n_labelled - n_test


def _classes_with_vectors(proposal: Proposal) -> dict[str, int]:
    """Return the number of rows of each class that has a vector, and warn of the others."""
    counts = proposal.facts["classes"]
    if "class_vectors" not in proposal.options:
        return counts
    missing = proposal.options.get("missing_values", MISSING_VALUES)
    vectors = read_table(proposal.options["class_vectors"], missing)
    described = set(known_spelling(vectors.strings(vectors.names[0]), list(counts)))
    without = [name for name in counts if name not in described]
    if without:
        proposal.warnings.append(
            f"Classes that are left out, because {vectors.location} has no vector for them: "
            f"{listed_names(without)}."
        )
    return {name: count for name, count in counts.items() if name in described}


def _n_rows_of_classes(counts: Mapping[str, int], proposal: Proposal, table: Table) -> int:
    """Return the number of usable rows, and warn of classes with a single row."""
    location = f"{table.location}, column '{proposal.options['classes']}'"
    if len(counts) < 2:
        raise UserError(
            location=location,
            found=f"{len(counts)} class",
            expected="at least 2 classes",
            remedy="choose another column for classes",
        )
    single = [name for name, count in counts.items() if count == 1]
    if len(counts) - len(single) < 2:
        raise UserError(
            location=location,
            found=f"{len(single)} of {len(counts)} classes have a single row: "
            + listed_names(single),
            expected="at least 2 classes of 2 rows or more: one for training and one for testing",
            remedy="choose another column for classes, or add rows",
        )
    if single:
        proposal.warnings.append(
            f"Classes with a single row, which is never a test row: {listed_names(single)}. "
            "How well they are predicted is unknown."
        )
    n_rows, n_tested = sum(counts.values()), sum(count - 1 for count in counts.values())
    if n_tested < n_test_rows(n_rows):
        raise UserError(
            location=location,
            found=f"{len(counts)} classes in {n_rows} rows: at most {n_tested} can be test rows, "
            "so that each class has a training row",
            expected=f"at least {n_test_rows(n_rows)} such rows",
            remedy="add rows, or leave out the classes of few rows",
        )
    return n_rows


def _groups(table: Table, name: str, labelled: np.ndarray, proposal: Proposal) -> np.ndarray:
    """Return the number of the group of each labelled row."""
    groups = group_codes(table, name, labelled)[0][labelled]
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        raise UserError(
            location=f"{table.location}, column '{name}'",
            found="all labelled rows belong to one group",
            expected="at least 2 groups: one for training and one for testing",
            remedy=f"leave out group={name}",
        )
    if n_groups < FEW_GROUPS:
        proposal.warnings.append(
            f"Column '{name}' has only {n_groups} groups: results say little about new groups."
        )
    if n_groups == len(groups):
        proposal.notes.append(
            f"Every labelled row has a group of its own in '{name}': the split is random."
        )
    return groups


def _check_groups_of_classes(
    groups: np.ndarray, classes: np.ndarray, proposal: Proposal, table: Table
) -> None:
    """Refuse classes of which whole groups cannot be tested, and warn of those in one group."""
    name = proposal.options["group"]
    counts = classes_in_groups(groups, classes)[1]
    n_groups = dict(zip(np.unique(classes), (counts > 0).sum(axis=0).tolist()))
    single = [label for label, number in n_groups.items() if number == 1]
    is_testable = ((counts < counts.sum(axis=0)) | (counts == 0)).all(axis=1)
    if (counts[is_testable].sum(axis=0) > 0).sum() < 2:
        raise UserError(
            location=f"{table.location}, columns '{proposal.options['classes']}' and '{name}'",
            found="classes in a single group: " + listed_names(single),
            expected="at least 2 classes with rows in 2 groups or more: one for training and one "
            "for testing",
            remedy=f"add rows of these classes from other groups, or leave out group={name}",
        )
    if single:
        proposal.warnings.append(
            f"Classes in a single group of '{name}', which is never a test group: "
            f"{listed_names(single)}. How well they are predicted is unknown."
        )
