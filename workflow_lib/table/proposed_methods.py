"""Which methods to compare on a table: those that can run on it, and why the others cannot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workflow_lib.core.errors import UserError, key_location, unknown_name
from workflow_lib.core.gram_limit import MAX_ROWS_OF_DENSITY
from workflow_lib.table.table_request import COMMAND, wrong_key
from workflow_lib.tasks.found import tasks

if TYPE_CHECKING:
    from workflow_lib.table.proposal import Proposal

METHODS = {name: task.methods for name, task in tasks().items()} | {
    "sequences": (
        "nfess",
        "fess-symbol",
        "fisher-one-model",
        "fisher-class-models",
        "top-kernel",
        "map-hmm",
        "spectrum",
        "composition",
        "sequence-length",
        "position-naive-bayes",
        "one-hot-letters",
    ),
    "bags of rows": ("fv-svm", "fv-network", "m-svm", "class-krr", "m-rf-classes"),
    "bags": (
        "lda-fess",
        "lda-fisher",
        "map-lda",
        "topic-proportions",
        "word-histogram",
        "m-rf-classes",
    ),
}
"""Methods to compare, by task, and of sequences, bags of rows or of words that belong to classes:
those of the library, good other methods, and the mean."""

SLOW_METHODS = ("ofer-density", "ofer-stack")
"""Methods whose components are all training rows, or that combine such a method."""

MIN_MEMBERS = 2
"""Smallest number of methods that a stack combines: a stack of one equals that method."""

METHODS_OF_CLASS_VECTORS = ("sem-krr", "sem-krr-cosine", "sem-iokr", "ofer-candidates")
"""Methods that also run where classes have vectors."""

METHODS_OF_LOSSES = ("class-krr-cost",)
"""Methods that also run where there are losses between classes."""

STACK = "ofer-stack"
"""The method that combines others, those that learn from outputs alone included."""

METHODS_OF_EQUAL_LENGTHS = ("fess",)
"""Methods that also run where all sequences have one length: they compare positions."""

METHODS_OF_UNLABELLED = ("fv-svm-labelled", "ssfv-network", "fv-self-training", "fv-network-pseudo")
"""Methods that also run where bags of rows have no class; the first is without them."""

METHODS_OF_UNPAIRED = ("ofer-unpaired", "back-translation")
"""Methods that also run where rows have outputs and no input."""

NOT_REQUESTED = "as requested"
"""Why a method is left out that the user does not want."""


NOT_SELECTING = ("ofer-stack", "ofer-density", "m-mean")
"""Of the usual methods those without the errors of a grid, or with those of others."""

QUESTIONS = (
    ("Are Fisher vectors better than pooled rows?", "fv-svm", "m-svm"),
    ("Does training the mixture with the classifier help?", "fv-network", "fv-svm"),
    ("Does a mixture of all bags help, with a linear machine?", "fv-svm", "fv-svm-labelled"),
    ("Do unlabelled bags in its batches help?", "ssfv-network", "fv-network"),
    ("Do pseudo-classes of unlabelled bags help a linear machine?", "fv-self-training", "fv-svm"),
    ("Does training the mixture on pseudo-classes help?", "fv-network-pseudo", "fv-self-training"),
)
"""Questions about bags of rows that the report answers, each with two methods."""


def runnable_methods(
    proposal: Proposal, config_folder: Path
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the methods that can run, with their summaries, and the others, with the reasons.

    Whether a method can run is decided by `workflow_lib.run.capabilities`, as in the run itself.
    Methods that could not be saved as the winner are left out too.
    """
    # Imported here, because pydantic takes longer to load than all else.
    from workflow_lib.methods.contract.saving import why_not_saved
    from workflow_lib.run import capabilities
    from workflow_lib.run.models import DatasetSettings, ExperimentSettings
    from workflow_lib.run.named_settings import ConfigurationFiles
    from workflow_lib.run.problems import raise_errors

    dataset = DatasetSettings(
        title=proposal.name,
        description=proposal.name,
        task=proposal.task,
        reader=proposal.reader,
        options=proposal.options,
        inputs=proposal.inputs,
        outputs={"scale": proposal.outputs_scale},
        class_tree=proposal.request.get("class_tree"),
        class_costs=proposal.request.get("class_costs"),
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
        unpaired_sizes=proposal.unpaired_sizes,
    )
    items = {"sequence": "sequences", "bags": "bags", "bag": "bags of rows"}
    of_items = [kind for option, kind in items.items() if option in proposal.options]
    usual = METHODS[of_items[0] if of_items else proposal.task]
    if len(set(proposal.facts.get("sequence_lengths", ()))) == 1:
        usual = METHODS_OF_EQUAL_LENGTHS + usual
    if "bag" in proposal.options and proposal.weak_sizes:
        usual += METHODS_OF_UNLABELLED
    if "class_vectors" in proposal.options:
        usual += METHODS_OF_CLASS_VECTORS
    if {"class_tree", "class_costs"} & set(proposal.request):
        usual += METHODS_OF_LOSSES
    if proposal.unpaired_sizes:
        usual += METHODS_OF_UNPAIRED
    files = ConfigurationFiles(Path(config_folder))
    requested = proposal.request.get("methods", [])
    candidates, unwanted = chosen_methods(requested, usual, files.names("method"))
    kept, left_out = {}, [(name, NOT_REQUESTED) for name in unwanted]
    has_stack = files.has("method", STACK)
    stack = files.get("method", STACK, COMMAND) if has_stack else None
    fewest_rows = stack.member_sizes if stack else {}
    for name in candidates:
        if not files.has("method", name):
            left_out.append((name, f"there is no file {files.location('method', name)}"))
            continue
        is_large = proposal.facts["rows_labelled"] > MAX_ROWS_OF_DENSITY
        if is_large and name in SLOW_METHODS and name not in requested:
            left_out.append((name, f"slow with more than {MAX_ROWS_OF_DENSITY} rows"))
            continue
        fewest = fewest_rows.get(name, 0)
        if max(proposal.training_sizes) < fewest and name in SLOW_METHODS and name not in requested:
            left_out.append((name, f"slow, and good from {fewest} training rows on"))
            continue
        method = files.get("method", name, COMMAND)
        for key, *fault in method.faults() if name in requested else ():
            files.errors.append(
                UserError(key_location(files.location("method", name), key), *fault)
            )
        raise_errors(files.errors)
        if method.weak and not proposal.weak_sizes:
            continue
        model = files.get("model", method.model, COMMAND) if method.model else None
        raise_errors(files.errors)
        space = method.score_space
        of_inputs = files.get("input_model", space.models, COMMAND) if space else None
        raise_errors(files.errors)
        reasons = capabilities.check(method, model, dataset, experiment, input_model=of_inputs)
        # Members are checked as methods of their own.
        not_saved = why_not_saved(name, {name: method.model_dump(exclude={"members"})})
        if not_saved:
            reasons.append(f"it cannot be saved: {not_saved}")
        reason = "; ".join(reasons)
        if reason and name in requested:
            found = f"{name} cannot run on this table: {reason}"
            remedy = f"take {name} out of methods"
            raise wrong_key("methods", found, "methods that can run", remedy)
        if reason:
            left_out.append((name, reason))
        else:
            kept[name] = method
    for name, method in list(kept.items()):
        missing = [member for member in method.members if member not in kept]
        if missing and len(method.members) - len(missing) < MIN_MEMBERS:
            del kept[name]
            left_out.append((name, f"it combines {', '.join(missing)}, which do not run"))
    if not kept:
        raise wrong_key(
            "methods",
            "no method is left: " + "; ".join(f"{name}: {reason}" for name, reason in left_out),
            "at least one method that can run",
            "name other methods, or leave out the key",
        )
    return [(name, method.summary) for name, method in kept.items()], left_out


def note_unpaired(proposal: Proposal) -> None:
    """Add a note on the rows without inputs; without a method for them, no numbers are kept."""
    count, n_empty = proposal.facts["rows_unpaired"], proposal.facts["rows_empty"]
    if n_empty:
        proposal.notes.append(f"Rows with neither inputs nor outputs, left out: {n_empty}.")
    if not count:
        return
    names = [name for name, _ in proposal.methods if name in METHODS_OF_UNPAIRED]
    what = tasks()[proposal.task].output_of_row
    start = f"Rows with {what} but no input: {count}."
    if not names:
        proposal.unpaired_sizes = []
        proposal.notes.append(
            f"{start} They are not used: no method here learns from {what} alone."
        )
        return
    names += [name for name, _ in proposal.methods if name == STACK]
    (size,) = proposal.unpaired_sizes
    which = "these outputs" if size == count else f"{size} of these outputs, drawn in every split"
    listed = " and ".join([", ".join(names[:-1]), names[-1]][len(names) == 1 :])
    proposal.notes.append(
        f"{start} {listed} learn{'s' * (len(names) == 1)} from {which}; the rows "
        "are neither training nor test rows."
    )


def chosen_methods(
    requested: Sequence[str], usual: Sequence[str], known: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the requested methods, and the usual methods that are not wanted.

    `requested` are either the names of all methods to run, or names with ``-`` before them, which
    are left out of the usual methods; empty for all usual methods. `usual` are those of the task,
    and `known` all existing methods.

    Raises UserError for a name that no method has, and for names with and without ``-`` together.
    """
    unwanted = [name[1:].strip() for name in requested if name.startswith("-")]
    wanted = [name for name in requested if not name.startswith("-")]
    for name in [*unwanted, *wanted]:
        if name not in known:
            raise unknown_name(f"{COMMAND}, key methods", "method", name, known)
    if unwanted and wanted:
        raise wrong_key(
            "methods",
            f"{wanted[0]} without and {unwanted[0]} with '-' before it",
            "either the methods to compare, or those to leave out of the usual methods",
            "write methods=" + ",".join(f"-{name}" for name in unwanted),
        )
    if wanted:
        return list(dict.fromkeys(wanted)), []
    return [name for name in usual if name not in unwanted], unwanted
