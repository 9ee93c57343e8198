"""A stack of classes: one pool of the calibrated probabilities of other methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.fitting.class_selection import error_rate, squared_error
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fit_spec import FitSpec
from workflow_lib.fitting.member_results import stored_members, summed
from workflow_lib.items.group_names import SELECTED, item_group
from workflow_lib.methods.contract import base
from workflow_lib.methods.contract.saved_method import members_as_arrays, members_in
from workflow_lib.solvers.class_calibration import MIN_PROBABILITY, Calibration, pool_weights

REGRESSORS = ("class_stack",)
TASKS = ("classes",)
NEEDS = {"minutes": 1, "grams": 2}
READS = ("dataset", "split", "regressions", "predictions", "member_timings")


@dataclass
class Method(base.Method):
    """Combine the probabilities of the member methods.

    The scores that each training row got without its fold are calibrated for each member
    (`workflow_lib.solvers.class_calibration.Calibration`), and the weights are those of
    `pool_weights` there: the convex combination with the least log loss. No class of a test row is
    looked at. The scores of the stack are the logarithms of the pooled probabilities. The artifact
    holds ``weight_NAME`` of each member, and ``member_weights``, ``inverse_temperatures`` and
    ``of_logarithms`` (k,) in the order of `members`. The score, the `squared_error` of the
    probabilities, is a little too good, as weights and temperatures are fitted to the same rows.
    The seconds are the sums over the members, with those of the stack.

    Attributes
    ----------
    members : sequence of str
        Their names, in the order of the artifacts.
    """

    members: Sequence[str]

    def select(self, data: FitData) -> base.Selection:
        """Return the weights and calibrations.

        Raises UserError if a member's artifacts lack the item, or the predictions of its training
        rows are not scores of the classes.
        """
        members = data.members or stored_members(self.members, data, self.member_item)
        scores = [_scores_of(name, members[name], data) for name in self.members]
        calibrations = [Calibration.fit(each, data.labels) for each in scores]
        probabilities = [
            np.exp(calibration.log_probabilities(each))
            for calibration, each in zip(calibrations, scores, strict=True)
        ]
        weights = pool_weights(probabilities, data.labels)
        pooled = np.tensordot(weights, probabilities, axes=1)
        entries = {f"weight_{name}": float(each) for name, each in zip(self.members, weights)}
        print(f"wrong out-of-fold classes: {error_rate(pooled, data.labels):.3f}")
        return base.Selection(
            _logarithms(pooled),
            {
                "score": squared_error(pooled, data.labels),
                "member_weights": weights,
                "inverse_temperatures": np.array(
                    [each.inverse_temperature for each in calibrations]
                ),
                "of_logarithms": np.array([each.of_logarithms for each in calibrations], dtype=int),
                **entries,
            },
            more_seconds=summed([members[name].seconds() for name in self.members]),
            fitting=members,
        )

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        members, entries = selection.fitting or data.members, selection.entries
        parts = {
            name: (entries["member_weights"][index], _calibration(entries, index), members[name])
            for index, name in enumerate(self.members)
            if name in members and entries["member_weights"][index] > 0.0
        }
        return Fitted(parts)

    def member_item(self, member: str, items: Mapping[str, Any], spec: FitSpec) -> str:
        """Return the name of the item of a member for a fit of the stack."""
        return item_group(spec.training_size, 0, SELECTED)


class Fitted(base.Fitted):
    """The weight, the calibration and the fit of each member, by its name."""

    has_training_error = False

    def __init__(self, parts: Mapping[str, tuple[float, Calibration, Any]]) -> None:
        self._parts = parts

    def predict(self, rows):
        pooled = [
            weight * np.exp(calibration.log_probabilities(member.predict(rows)))
            for weight, calibration, member in self._parts.values()
        ]
        return _logarithms(sum(pooled))

    def to_arrays(self):
        weights, calibrations, members = zip(*self._parts.values(), strict=True)
        return members_as_arrays(dict(zip(self._parts, members, strict=True))) | {
            "member_weights": np.array(weights),
            "inverse_temperatures": np.array([each.inverse_temperature for each in calibrations]),
            "of_logarithms": np.array([each.of_logarithms for each in calibrations], dtype=int),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        members = members_in(arrays)
        parts = enumerate(zip(arrays["member_weights"], members.items(), strict=True))
        return cls(
            {
                name: (weight, _calibration(arrays, index), member)
                for index, (weight, (name, member)) in parts
            }
        )


def _calibration(entries: Mapping, index: int) -> Calibration:
    inverse_temperature = float(entries["inverse_temperatures"][index])
    return Calibration(inverse_temperature, bool(entries["of_logarithms"][index]))


def _logarithms(probabilities: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(probabilities, MIN_PROBABILITY))


def _scores_of(name: str, member: Any, data: FitData) -> np.ndarray:
    scores = member.heldout_outputs()
    if scores.shape[1] != data.n_classes:
        raise UserError(
            location="the method file of the stack, key members",
            found=f"{name} predicts {scores.shape[1]} values for {data.n_classes} classes",
            expected="methods that score every class",
            remedy=f"leave {name} out of the members",
        )
    return scores
