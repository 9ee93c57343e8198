"""The regression stage: every method is selected, fitted and timed by the same loop."""

from __future__ import annotations

import numbers
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.json_text import write_json
from workflow_lib.fitting.fit_data import FitData, RowsOfTraining, SplitData
from workflow_lib.items.group_names import TRAINING_TARGETS, UNBOUNDED_ENTRIES, components_group
from workflow_lib.methods.contract.base import ARTIFACTS, Method, method_of

Artifacts = Mapping[str, Path | Sequence[Path] | None]


def run(
    module: str, artifacts: Artifacts, settings: Mapping[str, Any], output: Path, timings: Path
) -> None:
    """Select and fit a method for every training size, weak size and component count.

    Writes the "regression" artifact and the seconds of each item, as JSON. The artifact holds for
    each item the selected values and the fit, the predictions for the test rows (``test_targets``:
    outputs, their embeddings or scores of the classes), the same for the training rows
    (``training_targets``, where `Fitted.has_training_error`), and those for each training row by a
    fit without its fold (``heldout_outputs``). An item that averages over component counts holds
    these for each of them, in the group ``members``.

    Raises UserError if the method cannot be fitted.

    Parameters
    ----------
    module : str
        Name of the method's module in `workflow_lib.methods`.
    artifacts : mapping from str to path, sequence of paths or None
        Those that the method reads; other names are ignored.
    settings : mapping
        Of `workflow_lib.methods.contract.base.method_of`.
    output, timings : path
    """
    method = method_of(module, settings)
    split = split_data(method, artifacts)
    tree: dict[str, dict] = {}
    seconds: dict[str, dict] = {}
    for spec in method.specs(split):
        entries, seconds[spec.name] = _fitted_item(method, FitData(split, spec))
        print(f"{spec.name}: {_described(entries)}")
        sizes = {"training_size": spec.training_size, "weak_size": spec.weak_size}
        tree[spec.name] = {**sizes, "components": str(spec.components)} | entries
        if spec.setting:
            tree[spec.name]["setting"] = spec.setting
    # Seconds differ from run to run.
    read = [path for name, path in split.paths.items() if name != "member_timings"]
    write_artifact(
        output,
        tree,
        "regression",
        seed=getattr(method, "seed", None),
        inputs=[
            path for paths in read for path in ([paths] if isinstance(paths, str | Path) else paths)
        ],
        allow_nan=(*UNBOUNDED_ENTRIES, *method.not_finite),
    )
    write_json(timings, seconds)


def split_data(
    method: Method, artifacts: Artifacts, trees: Mapping[str, Mapping] | None = None
) -> SplitData:
    """Return the data of a split that a method reads; `trees` as of `SplitData`."""
    landmarks = getattr(method, "landmarks", None) or {}
    read = {name: path for name, path in artifacts.items() if name in ARTIFACTS}
    return SplitData(read, landmarks.get("max_gram_rows"), trees)


def _fitted_item(method: Method, data: FitData) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the entries of one item and its seconds."""
    started = time.perf_counter()
    selection = method.select(data)
    selected = time.perf_counter()
    parts = selection.parts or (selection,)
    fits = [method.fit(data, part) for part in parts]
    fitted = time.perf_counter()
    predictions = [fit.predictions(data.test) for fit in fits]
    seconds = {
        "selection_seconds": selected - started,
        "fit_seconds": fitted - selected,
        "prediction_seconds": time.perf_counter() - fitted,
    }
    for name, value in selection.more_seconds.items():
        seconds[name] += value
    entries = [
        _without_none(
            part.entries
            | fit.entries()
            | predicted
            # In no measured time.
            | (
                {TRAINING_TARGETS: fit.predict(RowsOfTraining(data))}
                if fit.has_training_error
                else {}
            )
            | {"heldout_outputs": part.heldout}
        )
        for part, fit, predicted in zip(parts, fits, predictions, strict=True)
    ]
    if not selection.parts:
        return entries[0], seconds
    groups = [components_group(part.entries["n_components"]) for part in parts]
    average = {"heldout_outputs": selection.heldout, "members": dict(zip(groups, entries))}
    return _without_none(selection.entries) | average, seconds


def _without_none(entries: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entries.items() if value is not None}


def _described(entries: Mapping[str, Any]) -> str:
    """Return the selected values as text."""
    return ", ".join(
        f"{name} {value}" if isinstance(value, str) else f"{name} {value:.3g}"
        for name, value in entries.items()
        if isinstance(value, (str, numbers.Number))
    )
