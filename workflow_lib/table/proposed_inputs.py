"""Choice of the inputs among the columns of a table, and their kinds: numbers, categories, ..."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.core.optional_packages import install_command, is_installed
from workflow_lib.data.column_kinds import (
    CATEGORY,
    CONSTANT,
    DATE,
    EMPTY,
    NUMBER,
    ROW_NAME,
    SMILES,
    STRINGS,
    TEXT,
    first_invalid_smiles,
    looks_like_row_id,
)
from workflow_lib.inputs.spectra import (
    BOTH,
    DERIVATIVE,
    FORMS,
    NONE,
    NORMAL_VARIATE,
    WINDOW,
    looks_like_spectrum,
    spectra_of,
)
from workflow_lib.table.data_profile import INPUT_COLUMNS, INPUT_LISTS
from workflow_lib.table.leaks import Leak
from workflow_lib.table.proposal import Proposal
from workflow_lib.table.table_request import RequestedColumns, wrong_key
from workflow_lib.tabular.tables import MISSING_VALUES, listed_names
from workflow_lib.tabular.user_table import Table

INDICATOR_SHARE, MIN_KNOWN = 0.05, 5
"""Smallest share and number of rows in which a value must be missing for an indicator, and in which
it must be known for an input: effects in a few rows can be chance."""

NAMES_OR_MARKS = [mark for mark in MISSING_VALUES if mark.isalpha()]
"""Marks of missing values that may be names, such as those of North America and of sodium."""

NOT_REQUESTED = "not among the requested inputs"


def choose_inputs(proposal: Proposal, table: Table, requested: RequestedColumns) -> None:
    """Fill in the options of the inputs, and in `left_out` every other column with the reason.

    Kinds of columns are changed where the request differs.
    """
    kinds, single, left_out = proposal.kinds, requested.single, proposal.left_out
    texts = {single["text"], single["smiles"]}
    taken = {*requested.outputs, *single.values()} - texts
    named = {*requested.insisted, *requested.categories, *requested.encode, *texts}
    for name, (kind, why) in _requested_kinds(table, requested).items():
        kinds[name] = kinds[name]._replace(kind=kind, note=why, warning="")
    free = [name for name in table.names if name not in taken]
    of_names = {name for name in free if kinds[name].kind == ROW_NAME}
    fewest, candidates = least_marked(table.n_rows), []
    for name in free:
        kind = kinds[name]
        if name in requested.exclude and name not in named:
            left_out.append((name, "excluded, as requested"))
        elif requested.inputs is not None and name not in {*requested.inputs, *named}:
            left_out.append((name, NOT_REQUESTED))
        elif name in table.unreadable:
            raise table.unreadable[name]
        elif kind.kind == EMPTY:
            left_out.append((name, "no row has a value"))
        elif kind.kind == CONSTANT and fewest <= kind.n_missing <= table.n_rows - fewest:
            kinds[name] = kind._replace(
                kind=NUMBER, note=f"{kind.note} or missing; used is whether it is missing"
            )
            candidates.append(name)
        elif kind.kind == CONSTANT:
            left_out.append((name, f"constant: {kind.note}"))
        elif kind.kind == DATE:
            left_out.append((name, kind.note))
        elif kind.kind == ROW_NAME and name not in named:
            left_out.append((name, f"it names the rows: {kind.note}"))
        else:
            candidates.append(name)
    if not candidates:
        # Names are better than no inputs: sequences of letters can be informative.
        candidates = [
            name
            for name in free
            if name in of_names
            and name not in requested.exclude
            and not table.is_numeric(name)
            and not looks_like_row_id(name)
        ]
        left_out[:] = [(name, reason) for name, reason in left_out if name not in candidates]
        if candidates:
            proposal.notes.append(
                f"{listed_names(candidates)} differs in every row and would name the rows, but "
                "there is no other column to predict from."
            )
    for name in candidates:
        if kinds[name].kind == ROW_NAME:
            kind = NUMBER if table.is_numeric(name) else STRINGS
            kinds[name] = kinds[name]._replace(kind=kind)
        if kinds[name].warning:
            proposal.warnings.append(f"Column '{name}': {kinds[name].warning}.")
    choose_row_name(proposal, table, [name for name in free if name not in candidates])
    _choose_texts(proposal, table, candidates, bool(requested.encode))
    for option, kind in (("numbers", NUMBER), ("categories", CATEGORY), ("strings", STRINGS)):
        proposal.options[option] = [name for name in candidates if kinds[name].kind == kind]
    if requested.encode:
        proposal.options["encode"] = {
            name: requested.encode[name] for name in candidates if name in requested.encode
        }


def choose_row_name(proposal: Proposal, table: Table, candidates: Sequence[str]) -> None:
    """Choose the column that names the rows, unless it was requested.

    First by the name of the column, then texts, then numbers.
    """
    names = [name for name in candidates if proposal.kinds[name].kind == ROW_NAME]
    names.sort(key=lambda name: (not looks_like_row_id(name), table.is_numeric(name)))
    if names:
        proposal.options.setdefault("row_name", names[0])


def treat_missing(
    proposal: Proposal, table: Table, used: np.ndarray, insisted: Collection[str] = ()
) -> None:
    """Remove inputs that are almost always missing, or constant, in the rows `used` (a mask).

    Numbers that are missing in many rows, at least in `INDICATOR_SHARE` of them and in
    `MIN_KNOWN`, are put into ``missing_indicators``: that a value is missing is often
    informative. Of those that are missing in the same rows only the first is. Inputs that are known
    in fewer rows than that are removed, unless they are among those `insisted` on.
    """
    options, n_used = proposal.options, int(used.sum())
    fewest = least_marked(n_used)
    indicators: dict[bytes, str] = {}
    inputs = [(option, name) for option in INPUT_LISTS for name in options.get(option, ())]
    inputs += [("text", options["text"])] if options.get("text") else []
    for option, name in inputs:
        values = (table.numbers(name) if option == "numbers" else table.strings(name))[used]
        known = ~np.isnan(values) if option == "numbers" else values != ""
        n_known = int(known.sum())
        reason = ""
        if not n_known:
            reason = "only rows that are not used have a value"
        elif n_known < min(fewest, n_used) and name not in insisted:
            reason = f"almost always missing: only {n_known} of {n_used} rows have a value"
        elif n_used - n_known < fewest and len(set(values[known].tolist())) == 1:
            reason = f"constant: always {values[known][0]} in the rows that are used"
        if reason:
            proposal.left_out.append((name, reason))
            if option == "text":
                del options["text"]
            else:
                options[option].remove(name)
        elif option == "numbers" and n_used - n_known >= fewest:
            indicators.setdefault(known.tobytes(), name)
    if indicators:
        options["missing_indicators"] = list(indicators.values())


def choose_spectra(
    proposal: Proposal, table: Table, used: np.ndarray, requested: str | None
) -> None:
    """Put into ``spectra`` what is requested, or the derivative where the numbers are spectra.

    They look like it in the rows `used` (a mask) as of
    `workflow_lib.inputs.spectra.looks_like_spectrum`; on ten tables of spectra the derivative made
    the error of the default stack 13 % lower in the mean, and 21 % higher in the worst of 26 cells
    (``docs/comparison.md``).
    """
    options, notes = proposal.options, proposal.notes
    names = [] if "bags" in options or "bag" in options else options.get("numbers", [])
    spectra = spectra_of(names)
    if requested is not None:
        if requested not in FORMS:
            found, expected = f"'{requested}'", ", ".join(FORMS[:-1]) + f" or {FORMS[-1]}"
            raise wrong_key("spectra", found, expected, f"write spectra={DERIVATIVE}")
        if requested != NONE and not spectra:
            found = f"no {WINDOW} numbers in a row whose names differ by a rising number alone"
            raise wrong_key(
                "spectra", found, "inputs such as x1100, x1102, ...", "leave out spectra"
            )
        options |= {} if requested == NONE else {"spectra": requested}
        return
    runs = [names[spectrum] for spectrum in spectra]
    if runs and all(looks_like_spectrum(table.matrix(run)[used]) for run in runs):
        options["spectra"] = DERIVATIVE
        shown = " and ".join(f"'{run[0]}' to '{run[-1]}'" for run in runs)
        notes.append(
            f"The {sum(map(len, runs))} inputs {shown} look like spectra, of which the derivative "
            f"is used. spectra={NORMAL_VARIATE} removes scatter instead, spectra={BOTH} both, and "
            f"spectra={NONE} takes them as they are."
        )


def least_marked(n_rows: int) -> float:
    """Return in how many of the rows a value must be missing, or known, to be informative."""
    return max(INDICATOR_SHARE * n_rows, MIN_KNOWN)


def check_molecules(table: Table, used: np.ndarray, options: Mapping[str, Any]) -> None:
    """Refuse rows in `used` (a mask) that have no structure, as the run itself would."""
    name = options.get("smiles")
    if name is None:
        return
    without = np.flatnonzero(used & (table.strings(name) == ""))
    if without.size:
        others = f", and in {len(without) - 1} more rows" if len(without) > 1 else ""
        raise UserError(
            location=table.where(int(without[0]), name),
            found=f"no structure{others}",
            expected="the SMILES of a molecule, such as CCO, in every row that is used",
            remedy=f"fill it in, remove the row, or leave the column out (exclude={name})",
        )


def treat_leaks(proposal: Proposal, leaks: Sequence[Leak], replicates: Mapping[str, Any]) -> None:
    """Remove copies of an output from the inputs, and warn of the other suspicious columns.

    Not of those that name the samples of `replicates`, the result of `replicates_of`: to leave them
    out does not keep the rows of a sample together.
    """
    options, warnings = proposal.options, proposal.warnings
    by_column: dict[str, Leak] = {}
    for leak in leaks:
        if leak.column not in by_column or leak.kind == "equal":
            by_column[leak.column] = leak
    lists = {name: key for key in INPUT_LISTS for name in options.get(key, ())}
    for name, leak in by_column.items():
        names_samples = name in replicates.get("columns", ()) and not replicates["kept_together"]
        if name not in lists or (leak.kind == "levels" and names_samples):
            continue
        if leak.kind == "equal":
            options[lists[name]].remove(name)
            reason = f"it equals the output '{leak.output}' (correlation {leak.strength:.6f})"
            proposal.left_out.append((name, reason))
            warnings.append(f"Column '{name}' is left out: {reason}.")
            continue
        why = {
            "correlation": f"has the correlation {leak.strength:.5f} with",
            "rank correlation": f"has the rank correlation {leak.strength:.5f} with",
            "levels": "determines (rows with the same value always have the same)",
        }[leak.kind]
        what = "class" if "classes" in options else "output"
        warnings.append(
            f"Column '{name}' {why} the {what} '{leak.output}'. If it is not known before the "
            f"{what}, all results are too optimistic: leave it out (exclude={name})."
        )


def warn_of_marks(proposal: Proposal, read: Callable[[], Table]) -> None:
    """Warn of names such as ``NA`` that count as missing in columns of names.

    `read` returns the table in which only empty cells are missing; it is called where a value is
    missing in a column of groups or classes, or in a category.
    """
    options, kinds = proposal.options, proposal.kinds
    names = [options.get(key) for key in ("classes", "group", "same_group", "bag")]
    names = [*filter(None, names), *options.get("categories", ())]
    names = [name for name in names if name in kinds and kinds[name].n_missing]
    table = read() if names else None
    for name in names:
        marks = Counter(table.strings(name))
        for mark in NAMES_OR_MARKS:
            if marks[mark]:
                category = name in options.get("categories", ())
                (proposal.notes if category else proposal.warnings).append(
                    f"Column '{name}': '{mark}' in {marks[mark]} rows counts as missing. If it is "
                    f"a value, say not_missing={mark}."
                )


def check_inputs(proposal: Proposal, table: Table) -> None:
    """Refuse a table without inputs, with the reasons why its columns were left out."""
    left_out = proposal.left_out
    if not any(proposal.options.get(key) for key in (*INPUT_LISTS, *INPUT_COLUMNS, "gram")):
        # The columns that the request leaves out are known to the user.
        unexpected = [pair for pair in left_out if pair[1] != NOT_REQUESTED] or left_out
        reasons = "; ".join(f"'{name}': {reason}" for name, reason in unexpected[:5])
        raise UserError(
            location=table.location,
            found="no column is left to predict from" + (f" ({reasons})" if reasons else ""),
            expected="at least one input",
            remedy="name fewer outputs, or name the inputs: inputs=...",
        )


def _requested_kinds(table: Table, requested: RequestedColumns) -> dict[str, tuple[str, str]]:
    """Return the kinds of the columns whose kind is in the request."""
    kinds = {
        name: (STRINGS, f"encoded by {of}, as requested") for name, of in requested.encode.items()
    }
    kinds |= {name: (CATEGORY, "a category, as requested") for name in requested.categories}
    if requested.single["text"]:
        kinds[requested.single["text"]] = (TEXT, "the text, as requested")
    name = requested.single["smiles"]
    if name:
        values = table.strings(name)
        wrong = first_invalid_smiles(values)
        if wrong is not None:
            raise UserError(
                location=table.where(wrong, name),
                found=f"'{values[wrong]}' is not SMILES",
                expected="the structure of a molecule, such as CCO",
                remedy="fix the value, or leave out smiles=" + name,
            )
        kinds[name] = (SMILES, "the structure of a molecule, as requested")
    return kinds


def _choose_texts(
    proposal: Proposal, table: Table, candidates: Sequence[str], is_learned: bool
) -> None:
    """Keep one column of texts and one column of SMILES; the others become strings.

    All become strings where folds learn the codes of names (`is_learned`).
    """
    kinds, options, notes = proposal.kinds, proposal.options, proposal.notes
    for kind, option in ((TEXT, "text"), (SMILES, "smiles")):
        names = [name for name in candidates if kinds[name].kind == kind]
        if not names:
            continue
        if is_learned:
            kinds |= {name: kinds[name]._replace(kind=STRINGS) for name in names}
            notes.append(
                f"{listed_names(names)} by n-grams of characters: encode cannot be used besides a "
                "text or molecules."
            )
            continue
        lengths = {name: sum(map(len, table.strings(name))) for name in names}
        kept = options.get(option) or max(names, key=lengths.__getitem__)
        options[option] = kept
        others = [name for name in names if name != kept]
        for name in others:
            kinds[name] = kinds[name]._replace(kind=STRINGS)
        if others:
            notes.append(
                f"Only one column of {'texts' if kind == TEXT else 'molecules'} is used as such, "
                f"'{kept}'; {listed_names(others)} by n-grams of characters."
            )
    if options.get("smiles") and not is_installed("rdkit"):
        notes.append(f"Molecules need the package rdkit: {install_command('rdkit')}.")
