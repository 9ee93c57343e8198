"""Which methods to compare on a table: those that can run on it, and why the others cannot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workflow_lib.datasets.table_request import COMMAND

if TYPE_CHECKING:
    from workflow_lib.datasets.proposal import Proposal

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
