"""The splits of a "calibration" artifact, as figures and the answer read them."""

from __future__ import annotations

from collections.abc import Mapping


def splits_of(calibration: Mapping) -> list[Mapping]:
    """Return the groups of the splits, in the order of their numbers."""
    names = [name for name in calibration if name.startswith("split-")]
    return [calibration[name] for name in sorted(names, key=lambda name: int(name.split("-")[-1]))]
