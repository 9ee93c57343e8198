"""Measured seconds of a stage, kept separately from its results, which are reproducible."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from workflow_lib.core.whole_files import write_text


def write_timings(path: Path, seconds: Mapping[str, Mapping[str, float]]) -> None:
    """Write measured seconds of every item as JSON."""
    write_text(path, json.dumps(seconds, indent=1, sort_keys=True) + "\n")


def stage_seconds(started: float, selected: float, fitted: float, predicted: float) -> dict:
    """Return the seconds of selection, fit and prediction, from four readings of one clock."""
    return {
        "selection_seconds": selected - started,
        "fit_seconds": fitted - selected,
        "prediction_seconds": predicted - fitted,
    }
