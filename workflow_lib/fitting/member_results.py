"""The stored results of the methods that another method combines."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fit_spec import FitSpec

MemberItem = Callable[[str, Mapping[str, Any], FitSpec], str]
"""Returns the name of the item of a member, one of its items, for a fit."""


def stored_members(
    names: Sequence[str], data: FitData, member_item: MemberItem
) -> dict[str, MemberResults]:
    """Return the stored results of members, by name, for one fit.

    The data need the artifacts ``regressions``, ``predictions`` and ``member_timings``.
    """
    paths = by_member(names, data.split.paths)
    files, _ = data.split.once(
        "members", None, lambda: {name: _MemberFiles(name, paths[name]) for name in paths}
    )
    return {
        name: MemberResults(member, member_item(name, member.items, data.spec))
        for name, member in files.items()
    }


def by_member(names: Sequence[str], paths: Mapping[str, Sequence[Path]]) -> dict[str, dict]:
    """Return the paths of each member, from lists in the order of their `names`.

    Each member has one of the ``regressions`` and ``predictions``, and equally many consecutive
    ``member_timings``.
    """
    timings = paths["member_timings"]
    count = len(timings) // len(names)
    return {
        name: {
            "regression": paths["regressions"][index],
            "predictions": paths["predictions"][index],
            "timings": list(timings[index * count : (index + 1) * count]),
        }
        for index, name in enumerate(names)
    }


class _MemberFiles:
    """The stored results of one member."""

    def __init__(self, name: str, paths: Mapping) -> None:
        self._name, self._paths = name, paths
        self._trees = {
            "regression": read_artifact(paths["regression"], "regression"),
            "predictions": read_artifact(paths["predictions"], "predictions"),
        }
        self._stages = [
            json.loads(Path(path).read_text(encoding="utf-8")) for path in paths["timings"]
        ]

    @property
    def items(self) -> dict:
        """Return the items of the regression, by name."""
        return self._trees["regression"]

    def seconds(self, item: str) -> dict[str, float]:
        """Return the seconds of all stages, pre-images as part of the prediction."""
        total = summed([stage[item] for stage in self._stages])
        preimages = total.pop("preimage_seconds", 0.0)
        return summed([total, {"prediction_seconds": preimages}])

    def entry(self, kind: str, item: str, entry: str) -> np.ndarray:
        """Return one entry of an item of an artifact of a kind. Raises UserError if it is not
        there."""
        path, tree = self._paths[kind], self._trees[kind]
        if item not in tree:
            raise UserError(
                location=str(path),
                found=f"the member {self._name} holds no item {item}",
                expected="one item a training size, its components chosen by cross-validation",
                remedy="write components: selected in the experiment, or leave out the method that "
                "combines it",
            )
        if entry not in tree[item]:
            raise UserError(
                location=f"{path}, {item}",
                found=f"the member {self._name} holds no {entry}",
                expected="the predictions of its training rows, each without the row's fold",
                remedy=f"rm {path} and run the same snakemake command again; if it persists, "
                f"leave {self._name} out of the members",
            )
        return tree[item][entry]


class MemberResults:
    """One item of a member, which predicts what it has predicted."""

    def __init__(self, files: _MemberFiles, item: str) -> None:
        self._files, self._item = files, item

    def heldout_outputs(self) -> np.ndarray:
        """Return the predictions (n, d) of the training rows, each without its fold."""
        return self._files.entry("regression", self._item, "heldout_outputs")

    def predict(self, rows: Any) -> np.ndarray:
        """Return the predictions (n_test, d) of the test rows."""
        return self._files.entry("predictions", self._item, "outputs")

    def seconds(self) -> dict[str, float]:
        """Return the seconds of all its stages."""
        return self._files.seconds(self._item)


def summed(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the sums of numbers of the same name."""
    total: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, 0.0) + value
    return total
