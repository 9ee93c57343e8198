"""A stack: one convex combination of other methods for each training size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec, fit_specs
from workflow_lib.fitting.member_results import stored_members, summed
from workflow_lib.items.group_names import SELECTED, item_group
from workflow_lib.measures.metrics import heldout_error
from workflow_lib.methods.contract import base
from workflow_lib.methods.contract.saved_method import members_as_arrays, members_in
from workflow_lib.solvers.stacking import combined, output_weights

WITHOUT_UNPAIRED = "unpaired_size=0"
"""The setting of the fits of members without outputs that lack inputs."""

REGRESSORS = ("stack",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 1, "grams": 2}
READS = ("dataset", "split", "regressions", "predictions", "member_timings")


@dataclass
class Method(base.Method):
    """Combine the predictions of the member methods.

    The weights are those of `workflow_lib.solvers.stacking.output_weights`, fitted to the
    predictions that each training row got without its fold. No output of a test row is looked at.
    The artifact holds the weight of each member, its mean over outputs, and ``member_weights``
    (k, d), those of every output in the order of `members`. The score is a little too good, as the
    weights are fitted to the same rows. The seconds are the sums over the members that take part,
    with those of the stack; the pre-images of the members count as prediction.

    Attributes
    ----------
    members : sequence of str
        Their names, in the order of the artifacts. Of members that are equally good the earlier is
        preferred.
    member_sizes : mapping from the names of methods
        Smallest training size from which a member takes part; below it its weight is zero.
        Those without an entry always do.
    weak_members : sequence of str
        Members that learn from weak rows or their inputs; the others are taken as they are without
        weak rows. With any there is a fit for each number of weak rows of the split.
    unpaired : bool
        Whether members learn from outputs without inputs.
    metric : {"arrmse", "rrmse"}
        Error that the score gives; the weights do not depend on it.
    seed : int
        Of the samples of rows over which weights are averaged.
    """

    members: Sequence[str]
    member_sizes: Mapping[str, int]
    metric: str
    seed: int
    weak_members: Sequence[str] = ()
    unpaired: bool = True

    def specs(self, split: SplitData) -> list[FitSpec]:
        """Return the fits of each size, and of each number of weak rows where members use them.

        Where members learn from outputs without inputs, a study of the largest size is without
        these outputs.
        """
        specs = fit_specs(split.sizes, split.weak_sizes if self.weak_members else [0])
        if self.unpaired and max(split.unpaired_sizes, default=0) > 0:
            specs.append(replace(specs[-1], setting=WITHOUT_UNPAIRED))
        return specs

    def select(self, data: FitData) -> base.Selection:
        """Return the weights.

        Raises UserError if no member takes part in a training size, or a member's artifacts lack
        the item or the predictions of its training rows.
        """
        present = [name for name in self.members if data.size >= self.member_sizes.get(name, 0)]
        if not present:
            smallest = ", ".join(f"{name} {size}" for name, size in self.member_sizes.items())
            raise UserError(
                location="the method file of the stack, keys members and member_sizes",
                found=f"no member takes part at training size {data.size} (smallest sizes: "
                f"{smallest})",
                expected="at least one member at every training size",
                remedy="add a member that has no entry in member_sizes",
            )
        members = data.members or stored_members(self.members, data, self.member_item)
        heldout = [members[name].heldout_outputs() for name in present]
        weights = output_weights(heldout, data.outputs, self.seed)
        heldout_outputs = combined(weights, heldout)
        score = heldout_error(data.outputs, heldout_outputs, data.folds, self.metric)
        member_weights = np.zeros((len(self.members), data.outputs.shape[1]))
        member_weights[[list(self.members).index(name) for name in present]] = weights
        means = zip(self.members, map(float, member_weights.mean(axis=1)), strict=True)
        entries = {f"weight_{name}": weight for name, weight in means}
        return base.Selection(
            heldout_outputs,
            {"score": score, "member_weights": member_weights, **entries},
            more_seconds=summed([members[name].seconds() for name in present]),
            fitting={name: members[name] for name in present},
        )

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        members = selection.fitting or data.members
        weights = dict(zip(self.members, selection.entries["member_weights"], strict=True))
        return Fitted({name: weights[name] for name in members}, members)

    def member_item(self, member: str, items: Mapping[str, Any], spec: FitSpec) -> str:
        """Return the name of the item of a member, one of its `items`, for a fit of the stack."""
        weak_size = spec.weak_size if member in self.weak_members else 0
        name = item_group(spec.training_size, weak_size, SELECTED)
        without = item_group(spec.training_size, weak_size, SELECTED, WITHOUT_UNPAIRED)
        has_unpaired = self.unpaired and spec.setting != WITHOUT_UNPAIRED
        return name if has_unpaired or without not in items else without


class Fitted(base.Fitted):
    """Weights (d,) of members, and the members, which predict."""

    has_training_error = False

    def __init__(self, weights: Mapping[str, np.ndarray], members: Mapping[str, Any]) -> None:
        self._weights, self._members = weights, members

    def predict(self, rows):
        shared = _SharedGrams(rows)
        predictions = [member.predict(shared) for member in self._members.values()]
        return combined([self._weights[name] for name in self._members], predictions)

    def to_arrays(self):
        """Members without any weight are left out."""
        kept = [name for name, weight in self._weights.items() if weight.any()]
        members = members_as_arrays({name: self._members[name] for name in kept})
        return members | {"weights": {name: self._weights[name] for name in kept}}

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        members = members_in(arrays)
        return cls({name: arrays["weights"][name] for name in members}, members)


class _SharedGrams:
    """Rows whose Gram matrices are computed once for all members."""

    def __init__(self, rows: Any) -> None:
        self._rows, self._grams = rows, {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)

    def __len__(self) -> int:
        return len(self._rows)

    def test_gram(self, kernel: str, width: float | None, weak_size: int = 0) -> np.ndarray:
        """As of the rows."""
        key = kernel, width, weak_size
        if key not in self._grams:
            self._grams[key] = self._rows.test_gram(*key)
        return self._grams[key]
