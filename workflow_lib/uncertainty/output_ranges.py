"""The values that outputs can take, to which predictions and their intervals are clipped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class OutputRanges:
    """The values that each of d outputs can take.

    ``least`` and ``largest`` (d,) are -inf and inf where there is no such bound; ``whole`` (d,)
    says whether the output is a whole number.
    """

    least: np.ndarray
    largest: np.ndarray
    whole: np.ndarray

    @classmethod
    def of(cls, ranges: Sequence[Mapping]) -> OutputRanges:
        """Return the ranges from one mapping per output: ``least``, ``largest``, ``whole``.

        Each of them may be left out, or None.
        """
        bounds = [
            [float(output[key]) if output.get(key) is not None else infinite for output in ranges]
            for key, infinite in (("least", -np.inf), ("largest", np.inf))
        ]
        whole = [bool(output.get("whole")) for output in ranges]
        return cls(np.array(bounds[0]), np.array(bounds[1]), np.array(whole, dtype=bool))

    @classmethod
    def of_dataset(cls, data: Mapping) -> OutputRanges:
        """Return the ranges in a "dataset" artifact: its text ``ranges`` in ``names``, if any.

        The text is JSON, a list with one object per output, as for `of`.
        """
        n_outputs = data["outputs"].shape[1]
        text = data.get("names", {}).get("ranges")
        return cls.of(json.loads(text) if isinstance(text, str) else [{}] * n_outputs)

    def text(self) -> str:
        """Return the JSON text that `of_dataset` reads."""
        parts = []
        for least, largest, whole in zip(self.least, self.largest, self.whole):
            bounds = {"least": float(least), "largest": float(largest)}
            part = {key: value for key, value in bounds.items() if np.isfinite(value)}
            parts.append(part | ({"whole": True} if whole else {}))
        return json.dumps(parts)

    def within(self, predicted: np.ndarray) -> np.ndarray:
        """Return predictions (m, d) clipped to the ranges, which hold the outputs.

        So no error grows. A mean of whole numbers need not be one, and is not rounded.
        """
        return np.clip(predicted, self.least, self.largest)

    def ends(self, predicted: np.ndarray, half_widths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and the upper ends (m, d) of intervals around predictions (m, d).

        They lie in the range, and the prediction, clipped to it, between them. A whole number lies
        in an interval if and only if it lies between its ends rounded inwards, so these, or the
        prediction where it lies beyond, are its ends; where no whole number lies in it, it is
        extended to the one nearest to the prediction.

        Where there is no interval, half-widths (m, d) or (d,) are infinite, and so are its ends,
        whatever the range.
        """
        predicted = self.within(predicted)
        lower, upper = predicted - half_widths, predicted + half_widths
        # For rounding errors: 3 - 1e-13 counts as 3.
        tolerance = 1e-9 * np.maximum(np.abs(predicted), 1.0)
        inner = np.ceil(lower - tolerance), np.floor(upper + tolerance)
        is_empty = inner[0] > inner[1]
        nearest = np.rint(predicted)
        ends = []
        sides = (lower, np.minimum, -np.inf), (upper, np.maximum, np.inf)
        for (end, outer, infinite), rounded in zip(sides, inner, strict=True):
            whole = outer(np.where(is_empty, nearest, rounded), predicted)
            end = self.within(np.where(self.whole, whole, end))
            ends.append(np.where(np.isfinite(half_widths), end, infinite))
        return ends[0], ends[1]
