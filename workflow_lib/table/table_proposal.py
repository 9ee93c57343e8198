"""From a table and a request to a proposal: the inputs, the splits, the sizes and the methods.

This module makes the decisions; `workflow_lib.table.proposal_text` writes them for the user, who
can change them. No decision depends on how well it predicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.data.bags_of_rows import BagsOfRows, labelled_bags
from workflow_lib.data.class_losses import check_losses
from workflow_lib.data.column_kinds import CATEGORY, NUMBER, ColumnKind, column_kinds
from workflow_lib.data.table_bags import with_usable_bags
from workflow_lib.data.table_sequences import (
    proposed_letters,
    table_sequences,
    with_usable_sequences,
)
from workflow_lib.table.data_profile import (
    DROP,
    INPUT_LISTS,
    KEEP,
    data_profile,
    kinds_of_rows,
    leaks_of,
    replicates_of,
    resolved,
    with_inputs,
)
from workflow_lib.table.leaks import EQUAL, NEARLY_EQUAL, Leak
from workflow_lib.table.proposal import Proposal
from workflow_lib.table.proposed_formats import ProposedFormats, proposed_formats
from workflow_lib.table.proposed_inputs import (
    check_inputs,
    check_molecules,
    choose_inputs,
    choose_row_name,
    choose_spectra,
    treat_leaks,
    treat_missing,
)
from workflow_lib.table.proposed_methods import note_unpaired, runnable_methods
from workflow_lib.table.proposed_ranges import proposed_ranges
from workflow_lib.table.proposed_sizes import (
    EARLIER_SHARE,
    choose_sizes,
    choose_splits,
    choose_unpaired_sizes,
)
from workflow_lib.table.replicates import replicates_remedy, replicates_sentence
from workflow_lib.table.table_request import (
    COMMAND,
    RequestedColumns,
    checked_request,
    missing_marks,
    requested_columns,
    wrong_key,
)
from workflow_lib.tabular.row_roles import check_labelled, date_order
from workflow_lib.tabular.user_table import Table
from workflow_lib.tasks.found import tasks

COMPLETE_SHARE = 0.8
"""Smallest share of labelled rows with all outputs for the others to be dropped."""

MIN_COMPLETE = 30
"""Smallest number of labelled rows with all outputs for the others to be dropped: a small table
keeps all rows."""

MIN_STEPS = 3
"""Smallest number of steps of a series for a state-space model."""


def propose(request: Mapping[str, Any], table: Table, config_folder: Path) -> Proposal:
    """Return the proposal for a table.

    Only methods that can run are proposed: of ``methods/`` and ``models/`` in `config_folder`. The
    request is that of `workflow_lib.table.table_request`.

    Raises UserError for a request that contradicts itself or the table, outputs that are not
    numbers or are constant, too few labelled rows, and no column left for the inputs.
    """
    request = checked_request(request)
    requested = requested_columns(request, table)
    others = {*requested.categories, *requested.encode, *requested.exclude}
    others |= set(requested.single.values())
    written = proposed_formats(table, others, request.get("decimal"))
    original, table = table, table.with_formats(written.formats)
    excluded, found, read = {}, None, table
    if requested.single["bag"]:
        found = _bags_of_rows(requested, table)
        table, excluded = found.table, found.excluded
        single = requested.single | {"row_name": requested.single["bag"]}
        requested = requested._replace(bags=found.pooled, single=single)
    elif requested.bags:
        classes = requested.single["classes"]
        table, excluded = with_usable_bags(table, requested.bags, classes)
    if requested.single["sequence"]:
        table, excluded = with_usable_sequences(
            table,
            requested.single["sequence"],
            requested.single["classes"],
            _letters(table, requested),
        )
    rows, proposal, found_before = table, *_with_inputs_chosen(request, requested, table, table)
    # Without the rows that have no input the columns may be of other kinds, and others are left
    # out, which may leave further rows without any.
    while (kept := with_inputs(rows, resolved(rows, proposal.options))) is not rows:
        rows = kept
        proposal, found_before = _with_inputs_chosen(request, requested, rows, table)
    options = proposal.options
    columns = resolved(table, options)
    proposal.levels = {
        name: sorted(set(rows.strings(name)) - {""}) for name in options.get("categories", ())
    }
    proposal.facts = data_profile(table, options, proposal.kinds, *found_before)
    labelled, weak, _ = kinds_of_rows(rows, columns)
    if "sequence" in options:
        lengths = [len(text) for text in rows.strings(options["sequence"])[labelled]]
        proposal.facts["sequence_lengths"] = [min(lengths), max(lengths)]
    if found is not None:
        _describe_bags(proposal, found, read)
    _describe_cells(proposal, original, written)
    if "classes" in options:
        names = list(proposal.facts["classes"])
        check_losses(request.get("class_tree"), request.get("class_costs"), names)
    _choose_task(proposal)
    choose_sizes(proposal, rows, labelled, weak)
    choose_unpaired_sizes(proposal, table, kinds_of_rows(table, columns), columns)
    _note_facts(proposal)
    what = "Rows" if found is None else "Bags"
    proposal.notes += [
        f"{what} left out of all counts: {count} ({reason})."
        for reason, count in excluded.items()
        if count
    ]
    proposal.methods, proposal.methods_left_out = runnable_methods(proposal, config_folder)
    note_unpaired(proposal)
    choose_splits(proposal)
    return proposal


def _with_inputs_chosen(
    request: Mapping[str, Any], requested: RequestedColumns, rows: Table, table: Table
) -> tuple[Proposal, tuple[list[Leak], dict[str, Any]]]:
    """Return a proposal with the inputs and the use of incomplete rows, and what is suspicious.

    The last are columns and rows: the results of `leaks_of` and `replicates_of`.

    It is about some `rows` of the `table`; ranges hold for the outputs of all.
    """
    kinds = column_kinds(rows)
    _check_outputs(rows, requested, kinds)
    options: dict[str, Any] = {"file": request["data"], "outputs": requested.outputs}
    options |= {key: name for key, name in requested.single.items() if name is not None}
    options |= {
        key: request[key]
        for key in ("class_vectors", "gram", "delimiter", "sheet")
        if key in request
    }
    if "missing" in request or "not_missing" in request:
        options["missing_values"] = missing_marks(request)
    proposal = Proposal(request["name"], request, options, list(rows.names), kinds)
    alone = f"The kernel values of {request['gram']}" if "gram" in request else None
    if "sequence" in options:
        alone = f"The sequences in '{options['sequence']}'"
        options["letters"] = _letters(table, requested)
        options |= {key: [] for key in INPUT_LISTS}
    if requested.bags:
        alone = "The rows of the bags" if "bag" in options else "The counts of words"
        options |= {key: [] for key in INPUT_LISTS} | {"numbers": requested.bags}
        options |= {} if "bag" in options else {"bags": True}
    if alone:
        taken = {*requested.outputs, *requested.bags, *requested.single.values()}
        unused = [name for name in rows.names if name not in taken]
        if unused:
            proposal.notes.append(f"{alone} replace all inputs: no other column is used.")
        choose_row_name(proposal, rows, unused)
    else:
        choose_inputs(proposal, rows, requested)
    _choose_incomplete_rows(rows, options)
    ranges = proposed_ranges(table, options["outputs"])
    if ranges:
        options["ranges"] = ranges
    columns = resolved(rows, options)
    labelled, weak, unpaired = kinds_of_rows(rows, columns)
    n_unpaired = int(unpaired.sum()) + table.n_rows - rows.n_rows
    what = "class" if "classes" in options else "output"
    check_labelled(table, int(labelled.sum()), what, n_unpaired)
    treat_missing(proposal, rows, labelled | weak, requested.insisted)
    check_molecules(rows, labelled | weak, options)
    leaks, replicates = leaks_of(rows, columns, kinds), replicates_of(rows, columns, kinds)
    treat_leaks(proposal, leaks, replicates)
    check_inputs(proposal, rows)
    choose_spectra(proposal, rows, labelled | weak, request.get("spectra"))
    # Some columns are no inputs any more.
    names = {*options.get("categories", ()), *options.get("strings", ())}
    encoders = {name: of for name, of in options.pop("encode", {}).items() if name in names}
    options |= {"encode": encoders} if encoders else {}
    return proposal, (leaks, replicates)


def _bags_of_rows(requested: RequestedColumns, table: Table) -> BagsOfRows:
    """Return the bags of a table that has a row for each instance, by the columns of numbers."""
    bag, classes = requested.single["bag"], requested.single["classes"]
    numbers = requested.inputs
    if numbers is None:
        kinds = column_kinds(table)
        numbers = [name for name in table.names if kinds[name].kind == NUMBER]
    others = {bag, classes, *requested.exclude}
    numbers = [name for name in numbers if name not in others]
    if not numbers:
        raise wrong_key(
            "bag",
            "no column of numbers is left that describes the rows of a bag",
            "at least one such column",
            "name columns in inputs",
        )
    return labelled_bags(table, bag, classes, numbers)


def _describe_bags(proposal: Proposal, found: BagsOfRows, table: Table) -> None:
    """Replace the pooled columns by those of the table, and add the facts about its rows."""
    options = proposal.options
    lengths = [len(bag) for bag in found.bags]
    proposal.facts |= {"bag_rows": table.n_rows, "bag_lengths": [min(lengths), max(lengths)]}
    proposal.facts["columns"] = len(table.names)
    proposal.reader, proposal.columns = "bag_table", list(table.names)
    proposal.kinds = column_kinds(table)
    kept = ("file", "bag", "classes", "missing_values", "delimiter", "sheet")
    proposal.options = {key: options[key] for key in kept if key in options}
    proposal.options["numbers"] = found.numbers
    n_unlabelled = proposal.facts["rows_unlabelled"]
    proposal.weak_sizes = [n_unlabelled] if n_unlabelled else []
    if found.n_incomplete:
        proposal.notes.append(
            f"Rows of bags left out, because a number is missing: {found.n_incomplete}."
        )


def _describe_cells(proposal: Proposal, table: Table, written: ProposedFormats) -> None:
    """Add how cells are read to the options, and what the user should know of it."""
    options, notes = proposal.options, proposal.notes
    if written.formats:
        options["number_formats"] = written.formats
    if "time" in options and (
        order := date_order(table, options["time"], proposal.request.get("date_order"))
    ):
        options["date_order"] = order
    notes[:0] = written.notes
    proposal.warnings[:0] = written.warnings
    names = [options[key] for key in ("classes", "group", "same_group", "bag") if key in options]
    for name in [*names, *options.get("categories", ())]:
        if found := table.spellings(name):
            notes.append(f"Column '{name}': '{found[1]}' is the same value as '{found[0]}'.")


def _letters(table: Table, requested: RequestedColumns) -> str:
    """Return the letters of the sequences of a table."""
    return proposed_letters(table_sequences(table, requested.single["sequence"]))


def _check_outputs(
    table: Table, requested: RequestedColumns, kinds: Mapping[str, ColumnKind]
) -> None:
    for name in requested.outputs:
        kind = kinds[name]
        location = f"{table.location}, column '{name}'"
        if kind.kind == CATEGORY and not kind.warning and not table.is_numeric(name):
            raise UserError(
                location=location,
                found=f"the output holds {kind.n_distinct} different texts and no numbers",
                expected="numbers to predict",
                remedy=f"leave it out of outputs, or predict this class alone: classes={name}",
            )
        values = table.numbers(name)
        n_different = len(np.unique(values[~np.isnan(values)]))
        if n_different < 2:
            raise UserError(
                location=location,
                found=f"the output has {'the same' if n_different else 'no'} value in "
                f"{'every' if n_different else 'any'} row",
                expected="outputs that vary",
                remedy="leave this column out of outputs",
            )


def _choose_incomplete_rows(table: Table, options: dict[str, Any]) -> None:
    """Drop rows that lack some outputs if they are few, so that no output must be replaced."""
    columns = resolved(table, options)
    if columns["classes"]:
        return
    known = ~np.isnan(table.matrix(columns["outputs"]))
    n_labelled, n_complete = int(known.any(axis=1).sum()), int(known.all(axis=1).sum())
    if n_complete == n_labelled:
        return
    is_enough = n_complete >= max(COMPLETE_SHARE * n_labelled, MIN_COMPLETE)
    options["incomplete_rows"] = DROP if is_enough else KEEP


def _choose_task(proposal: Proposal) -> None:
    options, request = proposal.options, proposal.request
    others = any(options.get(key) for key in INPUT_LISTS)
    text, smiles = options.get("text"), options.get("smiles")
    if "gram" in options:
        proposal.inputs = {"scale": "none", "kernel": "precomputed"}
    elif "bag" in options:
        proposal.inputs = {"scale": "standard", "kernel": "rbf"}
    elif "sequence" in options or "bags" in options:
        proposal.inputs = {"scale": "none", "kernel": "linear"}
    elif text or (smiles and others):
        proposal.inputs = {"scale": "tf-idf", "kernel": "rbf"}
        if others:
            proposal.inputs["lagged_values"] = "added"
    elif smiles:
        proposal.inputs = {"scale": "none", "kernel": "tanimoto"}
    else:
        proposal.inputs = {"scale": "standard", "kernel": "rbf"}
    if "classes" in options:
        proposal.task, proposal.metric, proposal.split = "classes", "accuracy", "stratified"
        proposal.outputs_scale = "none"
    elif request.get("series"):
        if len(options["outputs"]) < MIN_STEPS:
            raise UserError(
                location=f"{COMMAND}, keys outputs and series",
                found=f"a series of {len(options['outputs'])} steps",
                expected=f"at least {MIN_STEPS} outputs, one per step, in the order of the table",
                remedy="name more outputs, or leave out series",
            )
        proposal.task, proposal.outputs_scale = "series", "center"
    if "group" in options:
        proposal.split = "grouped"
    elif "time" in options:
        proposal.split = "chronological"


def _note_facts(proposal: Proposal) -> None:
    """Add notes and warnings about facts on which the user should decide."""
    facts = proposal.facts
    replicates = facts["replicates"]
    if replicates and not replicates["kept_together"] and proposal.split != "chronological":
        group = proposal.options.get("group")
        divides = f" group={group} divides them." if group else ""
        used = [f" '{name}' is an input now." for name in replicates["used"][:1]]
        proposal.warnings.insert(
            0,
            f"{replicates_sentence(replicates, facts['rows_labelled'])}{divides} With some of them "
            "in the training and others in the test set, all results are too optimistic: "
            f"{replicates_remedy(replicates)}.{''.join(used)}",
        )
    elif replicates and replicates["used"]:
        name = replicates["used"][0]
        proposal.notes.append(
            f"The input '{name}' tells the samples apart. If it only numbers or names them, leave "
            f"it out: exclude={name}."
        )
    if facts["duplicate_rows"]:
        proposal.warnings.append(
            f"Rows that repeat an earlier row in every column: {facts['duplicate_rows']}. Copies "
            "in both training and test rows make results too optimistic."
        )
    correlated = facts["output_correlations"]["largest"]
    for pair in correlated:
        if abs(pair["correlation"]) > EQUAL:
            proposal.warnings.append(
                f"The outputs '{pair['first']}' and '{pair['second']}' are copies of each other "
                f"(correlation {pair['correlation']:.6f}): leave one of them out."
            )
    nearly = [pair for pair in correlated if NEARLY_EQUAL <= abs(pair["correlation"]) <= EQUAL]
    if nearly and tasks()[proposal.task].counts_outputs_apart:
        pair, others = nearly[0], f" ({len(nearly)} pairs are like that)" if nearly[1:] else ""
        proposal.warnings.append(
            f"The outputs '{pair['first']}' and '{pair['second']}' have the correlation "
            f"{pair['correlation']:.4f}{others}: both count in the error, although they say nearly "
            "the same. If one follows from the other, leave it out."
        )
    if facts["contradictions"]:
        what = tasks()[proposal.task].output_of_row.removeprefix("a ")
        proposal.notes.append(
            f"Rows that share all inputs with a row of other {what}: {facts['contradictions']}. "
            "No method can distinguish them."
        )
    if facts["row_order"] and proposal.split != "chronological":
        output = max(facts["row_order"], key=lambda entry: abs(entry["correlation"]))
        proposal.notes.append(
            f"The rows seem sorted by '{output['output']}' (rank correlation with the row number "
            f"{output['correlation']:.2f}). If neighbouring rows belong together, add group=... or "
            "time=..."
        )
    if proposal.split == "chronological":
        proposal.notes.append(
            "The test rows are the latest rows in every split; splits differ in the training rows "
            f"drawn, at most {100 * EARLIER_SHARE:.0f} % of the earlier rows."
        )
