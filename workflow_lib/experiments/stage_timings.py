"""Measured seconds of a stage, kept apart from its results, which are reproducible."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path


def write_timings(path: Path, seconds: Mapping[str, Mapping[str, float]]) -> None:
    """Write measured seconds of every item as JSON."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(json.dumps(seconds, indent=1, sort_keys=True) + "\n")
    os.replace(temporary, path)


def stage_seconds(started: float, selected: float, fitted: float, predicted: float) -> dict:
    """Return the seconds of selection, fit and prediction, from four readings of one clock."""
    return {
        "selection_seconds": selected - started,
        "fit_seconds": fitted - selected,
        "prediction_seconds": predicted - fitted,
    }
