"""From a table and a request to a proposal: the inputs, the splits, the sizes and the methods.

Everything is decided here and nothing is written; `workflow_lib.datasets.proposal_text` writes it
for the user, who changes what is wrong. Nothing is decided by how well it predicts.
"""

from __future__ import annotations

import datetime
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workflow_lib.datasets.cached_table import CachedTable
from workflow_lib.datasets.column_kinds import (
    CATEGORY,
    CONSTANT,
    DATE,
    EMPTY,
    NUMBER,
    ROW_NAME,
    SMILES,
    STRINGS,
    TEXT,
    ColumnKind,
    column_kinds,
    first_that_is_no_smiles,
    named_like_an_identity,
)
from workflow_lib.datasets.first_look import (
    DROP,
    INPUT_COLUMNS,
    INPUT_LISTS,
    KEEP,
    LARGEST_SHARE,
    LEAST_FOLD_ROWS,
    TEST_SHARE,
    first_look,
    leaks_of,
    matrix,
    n_test_rows,
    resolved,
    row_kinds,
    training_sizes,
)
from workflow_lib.datasets.leaks import EQUAL, Leak
from workflow_lib.datasets.table_file import read_table
from workflow_lib.datasets.table_request import (
    COMMAND,
    RequestedColumns,
    checked_request,
    requested_columns,
)
from workflow_lib.datasets.text_codes import text_codes
from workflow_lib.errors import UserError

if TYPE_CHECKING:
    from workflow_lib.datasets.table_file import Table

LEAST_LABELLED = 10
"""Labelled rows that an experiment needs: five to test and five for the folds."""

COMPLETE_SHARE = 0.8
"""Share of the labelled rows that must have all outputs for the others to be dropped."""

LEAST_COMPLETE = 30
"""Rows with all outputs that must be left then: of a small table no row is given away."""

EARLIER_SHARE = 0.8
"""Share of the earlier rows that at most train in a chronological split: with all of them, splits
would not differ, and nothing could be compared over them."""

LEAST_STEPS = 3
"""Steps of a series, from which on a state-space model can be fitted."""

FEW_GROUPS = 5

NOT_ASKED = "not among the inputs that were asked for"

SPLITS_UP_TO = ((500, 10), (2000, 5))
"""Splits by the number of labelled rows; `FEWEST_SPLITS` for more."""

FEWEST_SPLITS = 3

EXAMPLES = (1, 2, 5, 10, 20, 50, 100, 200, 500)
"""Usual numbers of labelled rows of each class."""

METHODS = {
    "regression": (
        "ofer-stack",
        "ofer-gmm",
        "ofer-density",
        "wofer-gmm",
        "m-krr",
        "m-krr-pc",
        "m-rf",
        "m-mean",
    ),
    "series": ("ofer-gssm", "m-krr", "m-krr-pc", "m-rf", "m-mean"),
    "classes": ("class-krr", "m-svm", "m-rf-classes"),
}
"""Methods to compare, by task: those of the library, good ones of others, and the mean."""

SLOW_METHODS, MOST_ROWS_OF_SLOW_METHODS = ("ofer-density", "ofer-stack"), 1500
"""Methods whose components are all training rows, and the rows up to which they are run: with twice
as many they take minutes a split."""

METHODS_OF_CLASS_VECTORS = ("sem-krr", "sem-krr-cosine", "sem-iokr", "ofer-candidates")
"""What also runs where classes have vectors."""

MOST_COORDINATES = 12
"""Outputs up to which a figure of coordinates shows every method."""


@dataclass
class Proposal:
    """What was decided about a table.

    Attributes
    ----------
    name : str
        Name of the dataset, of the experiment and of their files.
    request : dict
        The checked request.
    options : dict
        Options of the reader ``table``; columns in lists, in the order of the file.
    columns : list of str
        All columns of the table.
    kinds : dict
        By column its `ColumnKind`.
    levels : dict
        By category some of its levels.
    facts : dict
        What `first_look` returns.
    task, split, metric : str
        As in the configuration of datasets and experiments.
    inputs : dict
        ``scale``, ``kernel`` and ``past`` of the inputs.
    outputs_scale : str
    test_size : int or float
    n_splits : int
    training_sizes, weak_sizes : list of int
    methods : list of (str, str)
        Names and summaries of the methods.
    methods_left_out : list of (str, str)
        Names of methods that cannot run on the table, and why.
    left_out : list of (str, str)
        Columns that are no inputs, and why.
    notes : list of str
        Decisions that a person might take differently.
    warnings : list of str
        What is probably a mistake.
    """

    name: str
    request: dict[str, Any]
    options: dict[str, Any]
    columns: list[str]
    kinds: dict[str, ColumnKind]
    levels: dict[str, list[str]]
    facts: dict[str, Any]
    task: str = "regression"
    split: str = "random"
    metric: str = "arrmse"
    inputs: dict[str, str] = field(default_factory=dict)
    outputs_scale: str = "standard"
    test_size: int | float = TEST_SHARE
    n_splits: int = FEWEST_SPLITS
    training_sizes: list[int] = field(default_factory=list)
    weak_sizes: list[int] = field(default_factory=list)
    methods: list[tuple[str, str]] = field(default_factory=list)
    methods_left_out: list[tuple[str, str]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def propose(request: Mapping[str, Any], table: Table, config_folder: Path) -> Proposal:
    """Return what to do with a table.

    Parameters
    ----------
    request : mapping
        See `workflow_lib.datasets.table_request`.
    table : Table
    config_folder : Path
        The folder that holds ``methods/`` and ``models/``: only methods that can run are proposed.

    Returns
    -------
    Proposal

    Raises
    ------
    UserError
        For a request that contradicts itself or the table, outputs that are no numbers or never
        vary, fewer than `LEAST_LABELLED` labelled rows, and no column left for the inputs.
    """
    request = checked_request(request)
    table = CachedTable(table)
    asked = requested_columns(request, table)
    kinds = column_kinds(table)
    left_out: list[tuple[str, str]] = []
    notes: list[str] = []
    warnings: list[str] = []
    _check_outputs(table, asked, kinds)
    options: dict[str, Any] = {"file": request["data"], "outputs": asked.outputs}
    options |= {key: name for key, name in asked.single.items() if name is not None}
    options |= {key: request[key] for key in ("class_vectors", "gram") if key in request}
    if "gram" in request:
        taken = {*asked.outputs, *asked.single.values()}
        unused = [name for name in table.names if name not in taken]
        if unused:
            notes.append(
                f"The kernel values of {request['gram']} stand for all inputs: no other column is "
                "used."
            )
        if "row_name" not in options:
            _choose_row_name(table, unused, kinds, options)
    else:
        _choose_inputs(table, asked, kinds, options, left_out, notes, warnings)
    _choose_incomplete_rows(table, options)
    columns = resolved(table, options)
    labelled, weak = row_kinds(table, columns)
    _check_labelled(table, labelled, options)
    _leave_out_unknown(table, labelled | weak, options, left_out)
    _check_molecules(table, labelled | weak, options)
    leaks = leaks_of(table, columns, kinds)
    _treat_leaks(table, leaks, options, left_out, warnings)
    _check_inputs(table, options, left_out)
    proposal = Proposal(
        name=request["name"],
        request=request,
        options=options,
        columns=list(table.names),
        kinds=kinds,
        levels={
            name: sorted(set(table.strings(name)) - {""}) for name in options.get("categories", ())
        },
        facts=first_look(table, options, kinds, leaks),
        left_out=left_out,
        notes=notes,
        warnings=warnings,
    )
    _choose_task(proposal)
    _choose_sizes(proposal, table, labelled, weak)
    _note_facts(proposal)
    proposal.methods, proposal.methods_left_out = runnable_methods(proposal, config_folder)
    return proposal


def pool_size(
    n_labelled: int, groups: np.ndarray | None = None, times: np.ndarray | None = None
) -> int:
    """Return how many labelled rows a split leaves for training, at least.

    Parameters
    ----------
    n_labelled : int
    groups : array (n_labelled,) or None, default=None
        Group of each row: whole groups test, no more rows than asked for unless every group is
        larger; then the smallest one does.
    times : array (n_labelled,) or None, default=None
        Time of each row: the latest rows test, and rows of the same time as one of them do not
        train.
    """
    n_test = n_test_rows(n_labelled)
    if groups is not None:
        sizes = np.unique(groups, return_counts=True)[1]
        return n_labelled - max(n_test, int(sizes.min()))
    if times is not None:
        return int((times < np.sort(times)[-n_test:].min()).sum())
    return n_labelled - n_test


def runnable_methods(
    proposal: Proposal, config_folder: Path
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the methods that can run, with their summaries, and the others, with the reasons.

    What can run is asked of `workflow_lib.config.capabilities`, as the run itself will ask it.
    """
    # pydantic takes longer to load than all else here, and only this needs it.
    from workflow_lib.config import capabilities
    from workflow_lib.config.files import ConfigurationFiles
    from workflow_lib.config.models import DatasetSettings, ExperimentSettings
    from workflow_lib.config.problems import raise_errors

    dataset = DatasetSettings(
        title=proposal.name,
        description=proposal.name,
        task=proposal.task,
        reader="table",
        inputs=proposal.inputs,
        outputs={"scale": proposal.outputs_scale},
        licence=".",
        citation=".",
    )
    experiment = ExperimentSettings(
        title=proposal.name,
        dataset=proposal.name,
        split=proposal.split,
        metric=proposal.metric,
        training_sizes=proposal.training_sizes,
        weak_sizes=proposal.weak_sizes,
    )
    candidates = METHODS[proposal.task]
    if "class_vectors" in proposal.options:
        candidates += METHODS_OF_CLASS_VECTORS
    files = ConfigurationFiles(Path(config_folder))
    kept, left_out = {}, []
    for name in candidates:
        if name not in files.names("method"):
            left_out.append((name, f"there is no file {files.place('method', name)}"))
            continue
        if name in SLOW_METHODS and proposal.facts["rows_labelled"] > MOST_ROWS_OF_SLOW_METHODS:
            left_out.append((name, f"slow with more than {MOST_ROWS_OF_SLOW_METHODS} rows"))
            continue
        method = files.get("method", name, COMMAND)
        raise_errors(files.errors)
        if method.weak and not proposal.weak_sizes:
            continue
        model = files.get("model", method.model, COMMAND) if method.model else None
        raise_errors(files.errors)
        reasons = capabilities.check(method, model, dataset, experiment)
        if reasons:
            left_out.append((name, "; ".join(reasons)))
        else:
            kept[name] = method
    for name, method in list(kept.items()):
        missing = [member for member in method.members if member not in kept]
        if missing:
            del kept[name]
            left_out.append((name, f"it combines {', '.join(missing)}, which cannot run"))
    return [(name, method.summary) for name, method in kept.items()], left_out


def _check_outputs(table: Table, asked: RequestedColumns, kinds: Mapping[str, ColumnKind]) -> None:
    for name in asked.outputs:
        kind = kinds[name]
        place = f"{table.place}, column '{name}'"
        if kind.kind == EMPTY:
            raise UserError(
                place=place,
                found="the output has no value in any row",
                expected="at least one value in every output",
                remedy="leave this column out of outputs",
            )
        if kind.kind == CATEGORY and not kind.warning:
            raise UserError(
                place=place,
                found=f"the output holds {kind.n_distinct} different texts and no numbers",
                expected="numbers to predict",
                remedy=f"leave it out of outputs, or predict this class alone: classes={name}",
            )
        values = table.numbers(name)
        if len(np.unique(values[~np.isnan(values)])) == 1:
            raise UserError(
                place=place,
                found="the output has the same value in every row",
                expected="outputs that vary",
                remedy="leave this column out of outputs",
            )


def _choose_incomplete_rows(table: Table, options: dict[str, Any]) -> None:
    """Drop rows that lack some outputs where few do, so that nothing must stand for a value."""
    columns = resolved(table, options)
    if columns["classes"]:
        return
    known = ~np.isnan(matrix(table, columns["outputs"]))
    n_labelled, n_complete = int(known.any(axis=1).sum()), int(known.all(axis=1).sum())
    if n_complete == n_labelled:
        return
    is_enough = n_complete >= max(COMPLETE_SHARE * n_labelled, LEAST_COMPLETE)
    options["incomplete_rows"] = DROP if is_enough else KEEP


def _check_labelled(table: Table, labelled: np.ndarray, options: Mapping[str, Any]) -> None:
    n_labelled = int(labelled.sum())
    if n_labelled < LEAST_LABELLED:
        what = "a class" if "classes" in options else "at least one output"
        raise UserError(
            place=table.place,
            found=f"{n_labelled} of {table.n_rows} rows have {what}",
            expected=f"at least {LEAST_LABELLED} such rows: five to test and five to learn from",
            remedy="add rows",
        )


def _leave_out_unknown(
    table: Table, used: np.ndarray, options: dict[str, Any], left_out: list[tuple[str, str]]
) -> None:
    """Take numbers out of the inputs that no row that is `used` (a mask) has."""
    if "gram" in options or used.all():
        return
    for name in list(options["numbers"]):
        if np.isnan(table.numbers(name)[used]).all():
            options["numbers"].remove(name)
            left_out.append((name, "only rows that are not used have a value"))


def _check_molecules(table: Table, used: np.ndarray, options: Mapping[str, Any]) -> None:
    """Refuse rows that are `used` (a mask) and have no structure, as the run itself would."""
    name = options.get("smiles")
    if name is None:
        return
    without = np.flatnonzero(used & (table.strings(name) == ""))
    if without.size:
        others = f", and in {len(without) - 1} more rows" if len(without) > 1 else ""
        raise UserError(
            place=table.where(int(without[0]), name),
            found=f"no structure{others}",
            expected="the SMILES of a molecule, such as CCO, in every row that is used",
            remedy=f"fill it in, remove the row, or leave the column out (exclude={name})",
        )


def _check_inputs(
    table: Table, options: Mapping[str, Any], left_out: Sequence[tuple[str, str]]
) -> None:
    if not any(options.get(key) for key in (*INPUT_LISTS, *INPUT_COLUMNS, "gram")):
        # What was not asked for is no news.
        told = [pair for pair in left_out if pair[1] != NOT_ASKED] or left_out
        reasons = "; ".join(f"'{name}': {reason}" for name, reason in told[:5])
        raise UserError(
            place=table.place,
            found="no column is left to predict from" + (f" ({reasons})" if reasons else ""),
            expected="at least one input",
            remedy="name fewer outputs, or name the inputs: inputs=...",
        )


def _choose_row_name(
    table: Table,
    candidates: Sequence[str],
    kinds: Mapping[str, ColumnKind],
    options: dict[str, Any],
) -> None:
    """Name the rows by the first column of names: one named so first, then texts, then numbers."""
    names = [name for name in candidates if kinds[name].kind == ROW_NAME]
    names.sort(key=lambda name: (not named_like_an_identity(name), table.is_numeric(name)))
    if names:
        options["row_name"] = names[0]


def _choose_inputs(
    table: Table,
    asked: RequestedColumns,
    kinds: dict[str, ColumnKind],
    options: dict[str, Any],
    left_out: list[tuple[str, str]],
    notes: list[str],
    warnings: list[str],
) -> None:
    """Fill in the options of the inputs and tell of every column that is none.

    `kinds` is changed where the request says otherwise.
    """
    taken = {*asked.outputs, *asked.single.values()} - {
        asked.single["text"],
        asked.single["smiles"],
    }
    for name, (kind, why) in _asked_kinds(table, asked).items():
        kinds[name] = kinds[name]._replace(kind=kind, note=why)
    free = [name for name in table.names if name not in taken]
    of_names = {name for name in free if kinds[name].kind == ROW_NAME}
    candidates = []
    for name in free:
        kind = kinds[name]
        named = name in asked.insisted or name in asked.categories
        named = named or name in (asked.single["text"], asked.single["smiles"])
        if name in asked.exclude and not named:
            left_out.append((name, "excluded, as asked"))
        elif asked.inputs is not None and name not in asked.inputs and not named:
            left_out.append((name, NOT_ASKED))
        elif kind.kind == EMPTY:
            left_out.append((name, "no row has a value"))
        elif kind.kind == CONSTANT:
            left_out.append((name, f"constant: {kind.note}"))
        elif kind.kind == DATE:
            left_out.append((name, "dates are no inputs; split by them with time=" + name))
        elif kind.kind == ROW_NAME and not named:
            left_out.append((name, f"it names the rows: {kind.note}"))
        else:
            candidates.append(name)
    if not candidates:
        # Names are better than nothing: sequences of letters say something about their rows.
        rescued = [
            name
            for name in free
            if name in of_names
            and name not in asked.exclude
            and not table.is_numeric(name)
            and not named_like_an_identity(name)
        ]
        candidates = rescued
        left_out[:] = [(name, reason) for name, reason in left_out if name not in rescued]
        if rescued:
            notes.append(
                f"{_listed(rescued)} differs in every row and would name the rows, but there is "
                "no other column to predict from."
            )
    for name in candidates:
        if kinds[name].kind == ROW_NAME:
            kind = NUMBER if table.is_numeric(name) else STRINGS
            kinds[name] = kinds[name]._replace(kind=kind)
        if kinds[name].warning:
            warnings.append(f"Column '{name}': {kinds[name].warning}.")
    if "row_name" not in options:
        _choose_row_name(table, [name for name in free if name not in candidates], kinds, options)
    _choose_texts(table, candidates, kinds, options, notes)
    for option, kind in (("numbers", NUMBER), ("categories", CATEGORY), ("strings", STRINGS)):
        options[option] = [name for name in candidates if kinds[name].kind == kind]


def _asked_kinds(table: Table, asked: RequestedColumns) -> dict[str, tuple[str, str]]:
    """Return the kinds of the columns whose kind the request says."""
    kinds = {name: (CATEGORY, "a category, as asked") for name in asked.categories}
    if asked.single["text"]:
        kinds[asked.single["text"]] = (TEXT, "the text, as asked")
    name = asked.single["smiles"]
    if name:
        values = table.strings(name)
        wrong = first_that_is_no_smiles(values)
        if wrong is not None:
            raise UserError(
                place=table.where(wrong, name),
                found=f"'{values[wrong]}' is no SMILES",
                expected="the structure of a molecule, such as CCO",
                remedy="mend the value, or leave out smiles=" + name,
            )
        kinds[name] = (SMILES, "the structure of a molecule, as asked")
    return kinds


def _choose_texts(
    table: Table,
    candidates: Sequence[str],
    kinds: dict[str, ColumnKind],
    options: dict[str, Any],
    notes: list[str],
) -> None:
    """Keep one column of texts and one of SMILES; the others become strings."""
    for kind, option in ((TEXT, "text"), (SMILES, "smiles")):
        names = [name for name in candidates if kinds[name].kind == kind]
        if not names:
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
                f"the longest, '{kept}'; {_listed(others)} by pieces of words."
            )
    if options.get("smiles"):
        if importlib.util.find_spec("rdkit") is None:
            notes.append("Molecules need the package rdkit: pip install '.[chem]'.")


def _treat_leaks(
    table: Table,
    leaks: Sequence[Leak],
    options: dict[str, Any],
    left_out: list[tuple[str, str]],
    warnings: list[str],
) -> None:
    """Take copies of an output out of the inputs, and warn of the other suspicious columns."""
    told: dict[str, Leak] = {}
    for leak in leaks:
        if leak.column not in told or leak.kind == "equal":
            told[leak.column] = leak
    lists = {name: key for key in INPUT_LISTS for name in options.get(key, ())}
    for name, leak in told.items():
        if name not in lists:
            continue
        if leak.kind == "equal":
            options[lists[name]].remove(name)
            reason = f"it equals the output '{leak.output}' (correlation {leak.strength:.6f})"
            left_out.append((name, reason))
            warnings.append(f"Column '{name}' is left out: {reason}.")
            continue
        why = {
            "correlation": f"has the correlation {leak.strength:.5f} with",
            "rank correlation": f"has the rank correlation {leak.strength:.5f} with",
            "levels": "fixes (rows with the same value always have the same)",
        }[leak.kind]
        what = "class" if "classes" in options else "output"
        warnings.append(
            f"Column '{name}' {why} the {what} '{leak.output}'. If it is not known before the "
            f"{what} is, every result is too good to be true: leave it out (exclude={name})."
        )


def _choose_task(proposal: Proposal) -> None:
    options, request = proposal.options, proposal.request
    others = any(options.get(key) for key in INPUT_LISTS)
    text, smiles = options.get("text"), options.get("smiles")
    if "gram" in options:
        proposal.inputs = {"scale": "none", "kernel": "precomputed"}
    elif text or (smiles and others):
        proposal.inputs = {"scale": "tf-idf", "kernel": "rbf"}
        if others:
            proposal.inputs["past"] = "added"
    elif smiles:
        proposal.inputs = {"scale": "none", "kernel": "tanimoto"}
    else:
        proposal.inputs = {"scale": "standard", "kernel": "rbf"}
    if "classes" in options:
        proposal.task, proposal.metric, proposal.split = "classes", "accuracy", "per_class"
        proposal.outputs_scale = "none"
    elif request.get("series"):
        if len(options["outputs"]) < LEAST_STEPS:
            raise UserError(
                place=f"{COMMAND}, keys outputs and series",
                found=f"a series of {len(options['outputs'])} steps",
                expected=f"at least {LEAST_STEPS} outputs, one a step, in the order of the table",
                remedy="name more outputs, or leave out series",
            )
        proposal.task, proposal.outputs_scale = "series", "center"
    if "group" in options:
        proposal.split = "grouped"
    elif "time" in options:
        proposal.split = "chronological"


def _choose_sizes(proposal: Proposal, table: Table, labelled: np.ndarray, weak: np.ndarray) -> None:
    options, n_labelled = proposal.options, int(labelled.sum())
    proposal.n_splits = next(
        (splits for most, splits in SPLITS_UP_TO if n_labelled <= most), FEWEST_SPLITS
    )
    if proposal.task == "classes":
        counts = _classes_with_vectors(proposal)
        proposal.training_sizes = _examples(counts, options, table)
        return
    if n_test_rows(n_labelled) != round(TEST_SHARE * n_labelled):
        proposal.test_size = n_test_rows(n_labelled)
    groups = times = None
    if proposal.split == "grouped":
        groups = _groups(table, options["group"], labelled, proposal)
    elif proposal.split == "chronological":
        times = _times(table, options["time"], labelled | weak)
        times = times[labelled[labelled | weak]]
    pool = pool_size(n_labelled, groups, times)
    if times is not None:
        pool = int(EARLIER_SHARE * pool)
    proposal.training_sizes = training_sizes(pool)
    if not proposal.training_sizes:
        column = options.get("group") or options.get("time")
        raise UserError(
            place=f"{table.place}, column '{column}'",
            found=f"{pool} of {n_labelled} labelled rows are left for training beside the test "
            "rows",
            expected=f"at least {LEAST_FOLD_ROWS}",
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


def _classes_with_vectors(proposal: Proposal) -> dict[str, int]:
    """Return the number of rows of each class that can be learned, and tell of the others."""
    counts = proposal.facts["classes"]
    if "class_vectors" not in proposal.options:
        return counts
    vectors = read_table(proposal.options["class_vectors"])
    described = set(vectors.strings(vectors.names[0]))
    without = [name for name in counts if name not in described]
    if without:
        proposal.warnings.append(
            f"Classes that are left out, because {vectors.place} has no vector for them: "
            f"{_listed(without)}."
        )
    return {name: count for name, count in counts.items() if name in described}


def _examples(counts: Mapping[str, int], options: Mapping[str, Any], table: Table) -> list[int]:
    """Return the numbers of labelled rows of each class, up to what the smallest class allows."""
    if len(counts) < 2:
        raise UserError(
            place=f"{table.place}, column '{options['classes']}'",
            found=f"{len(counts)} class",
            expected="at least 2 classes",
            remedy="choose another column for classes",
        )
    smallest = min(counts, key=counts.__getitem__)
    pool = counts[smallest] - max(round(TEST_SHARE * counts[smallest]), 1)
    if pool < 1:
        raise UserError(
            place=f"{table.place}, column '{options['classes']}'",
            found=f"the class '{smallest}' has a single row",
            expected="at least 2 rows of every class: one to learn from and one to test",
            remedy="add rows of this class, or remove it",
        )
    # The size of all classes together is what the time of kernel methods grows with.
    total = training_sizes(max(pool * len(counts), LEAST_FOLD_ROWS))[-1]
    largest = max(min(pool, total // len(counts)), 1)
    return [size for size in EXAMPLES if size <= LARGEST_SHARE * largest][-4:] + [largest]


def _groups(table: Table, name: str, labelled: np.ndarray, proposal: Proposal) -> np.ndarray:
    """Return the group of each labelled row."""
    values = table.strings(name)
    for row in np.flatnonzero(labelled & (values == "")):
        raise UserError(
            place=table.where(row, name),
            found="no group",
            expected="a group in every row with a known output, because whole groups test",
            remedy="fill it in (a row that belongs to no other may have a name of its own), or "
            f"leave out group={name}",
        )
    groups, names = text_codes(values[labelled])
    n_groups = len(names)
    if n_groups < 2:
        raise UserError(
            place=f"{table.place}, column '{name}'",
            found="all labelled rows belong to one group",
            expected="at least 2 groups: one to learn from and one to test",
            remedy=f"leave out group={name}",
        )
    if n_groups < FEW_GROUPS:
        proposal.warnings.append(
            f"Column '{name}' has only {n_groups} groups: results say little about new groups."
        )
    if n_groups == len(groups):
        proposal.notes.append(
            f"Every labelled row has a group of its own in '{name}': the split is a random one."
        )
    return groups


def _times(table: Table, name: str, needed: np.ndarray) -> np.ndarray:
    """Return the times of the rows `needed` (a mask), in the order of the calendar."""
    values = table.strings(name)
    for row in np.flatnonzero(needed & (values == "")):
        raise UserError(
            place=table.where(row, name),
            found="no time",
            expected="a time in every row that is used, because the rows are split by it",
            remedy=f"fill it in, remove the row, or leave out time={name}",
        )
    if table.is_numeric(name):
        return table.numbers(name)[needed]
    times = []
    for row in np.flatnonzero(needed):
        try:
            moment = datetime.datetime.fromisoformat(values[row])
        except ValueError as error:
            raise UserError(
                place=table.where(row, name),
                found=f"'{values[row]}' is neither a number nor a date",
                expected="numbers in all rows, or dates in all rows such as 2024-05-31",
                remedy="write the dates as year-month-day",
            ) from error
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=datetime.UTC)
        times.append(moment.timestamp())
    return np.array(times)


def _note_facts(proposal: Proposal) -> None:
    """Put the facts that ask for a decision into words."""
    facts = proposal.facts
    if facts["duplicate_rows"]:
        proposal.warnings.append(
            f"Rows that repeat an earlier row in every column: {facts['duplicate_rows']}. Copies "
            "in training and test make results too good."
        )
    for pair in facts["output_correlations"]["largest"]:
        if abs(pair["correlation"]) > EQUAL:
            proposal.warnings.append(
                f"The outputs '{pair['first']}' and '{pair['second']}' are one and the same "
                f"(correlation {pair['correlation']:.6f}): leave one of them out."
            )
    if facts["contradictions"]:
        what = "class" if proposal.task == "classes" else "outputs"
        proposal.notes.append(
            f"Rows that share all inputs with a row of other {what}: {facts['contradictions']}. "
            "No method can tell them apart."
        )
    if facts["row_order"] and proposal.split != "chronological":
        told = max(facts["row_order"], key=lambda entry: abs(entry["correlation"]))
        proposal.notes.append(
            f"The rows seem sorted by '{told['output']}' (rank correlation with the row number "
            f"{told['correlation']:.2f}). If neighbours belong together, say so: group=... or "
            "time=..."
        )
    if proposal.split == "chronological":
        proposal.notes.append(
            "The test rows are the latest ones in every split; splits differ in the training rows "
            f"drawn, at most {100 * EARLIER_SHARE:.0f} % of the earlier rows."
        )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
