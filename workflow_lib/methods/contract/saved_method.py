"""A fitted method as a tree of arrays, and what it predicts for new rows.

The tree holds ``module``, the name of the method's module; ``parts``, one group for each component
count that is averaged over, with the arrays of `workflow_lib.fitting.fitted.Fitted` in the group
``fitted`` and what was chosen in the group ``chosen``; and for embeddings ``form``,
``covariance_block``, ``preimage``, ``start`` and the generative models, in ``models``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from workflow_lib.fitting.embedding_decoding import decoders_of, mean_outputs
from workflow_lib.methods.contract.base import saved_fit


class SavedMethod:
    """A method that predicts outputs, or scores of classes, without what it was fitted to.

    Parameters
    ----------
    tree : mapping
        See the module.
    """

    def __init__(self, tree: Mapping[str, Any]) -> None:
        self.tree = tree
        self._fits = {
            group: saved_fit(tree["module"], part["fitted"])
            for group, part in tree["parts"].items()
        }

    def predict(self, rows: Any) -> np.ndarray:
        """Return the outputs (m, d), or scores of the classes (m, K), of new rows."""
        tree = self.tree
        members = [
            {"test_targets": fit.predict(rows), **tree["parts"][group]["chosen"]}
            for group, fit in self._fits.items()
        ]
        decoders = decoders_of(
            members, tree.get("models"), tree.get("form"), tree.get("covariance_block")
        )
        return mean_outputs(decoders, members, tree.get("preimage"), tree.get("start"))


def members_as_arrays(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return fitted methods, each with its ``tree``, as entries of the arrays of a fit."""
    return {
        "members": {name: member.tree for name, member in members.items()},
        # Groups of an artifact have no order, and sums depend on it.
        "order": json.dumps(list(members)),
    }


def members_in(arrays: Mapping[str, Any]) -> dict[str, SavedMethod]:
    """Return the methods of `members_as_arrays`, in their order."""
    return {name: SavedMethod(arrays["members"][name]) for name in json.loads(arrays["order"])}
