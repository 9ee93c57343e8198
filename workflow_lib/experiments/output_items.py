"""The items of a method that predicts the outputs themselves, collected and written together."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workflow_lib.artifacts import write_artifact
from workflow_lib.experiments.items import SELECTED, UNBOUNDED_ENTRIES, item_group
from workflow_lib.experiments.stage_timings import stage_seconds, write_timings


class OutputItems:
    """What a regression stage has found for each training size, and the seconds it took."""

    def __init__(self) -> None:
        self._tree: dict[str, dict] = {}
        self._seconds: dict[str, dict] = {}

    def add(
        self,
        training_size: int,
        test_outputs: np.ndarray | None,
        heldout_outputs: np.ndarray,
        seconds: Mapping[str, float] | Sequence[float],
        weak_size: int = 0,
        components: int | str = SELECTED,
        setting: str = "",
        **entries: Any,
    ) -> None:
        """Add one item and say in the log what was chosen.

        Parameters
        ----------
        training_size, weak_size : int
        test_outputs : array (n_test, d) or None
            Predicted outputs of the test rows, or scores of the classes (n_test, K). They stand
            where other methods have embeddings; `workflow_lib.experiments.output_predictions`
            makes predictions of them. None where the entry ``members`` holds them.
        heldout_outputs : array (n, d)
            Predictions of the training rows, each without its fold.
        seconds : four readings of a clock, or the seconds by name
            Before selection, before the fit, before prediction and after it.
        components : int or str, default=SELECTED
            A fixed number of components, or SELECTED.
        setting : str, default=""
            What a study fixes, in words; empty outside of studies.
        **entries
            What was chosen and fitted: arrays, and numbers, which the tables of scores can show.
            Those that are None mean nothing for this method and are left out.
        """
        name = item_group(training_size, weak_size, components, setting)
        chosen = {key: value for key, value in entries.items() if value is not None}
        self._tree[name] = {
            "training_size": training_size,
            "weak_size": weak_size,
            "components": str(components),
            "heldout_outputs": heldout_outputs,
        } | chosen
        if test_outputs is not None:
            self._tree[name]["test_embedding"] = test_outputs
        if setting:
            self._tree[name]["setting"] = setting
        is_named = isinstance(seconds, Mapping)
        self._seconds[name] = dict(seconds) if is_named else stage_seconds(*seconds)
        parts = [
            f"{key} {value}" if isinstance(value, str) else f"{key} {value:.3g}"
            for key, value in chosen.items()
            if isinstance(value, (str, numbers.Number))
        ]
        print(f"{name}: {', '.join(parts)}")

    def write(
        self,
        output: Path,
        timings: Path,
        inputs: Sequence[Path | None],
        seed: int | None = None,
        unbounded: Sequence[str] = (),
    ) -> None:
        """Write the "regression" artifact, and the seconds as JSON.

        `inputs` may hold None for files that a method does without; `unbounded` names further
        entries that may be infinite.
        """
        write_artifact(
            output,
            self._tree,
            "regression",
            seed=seed,
            inputs=[path for path in inputs if path],
            allow_nan=(*UNBOUNDED_ENTRIES, *unbounded),
        )
        write_timings(timings, self._seconds)
