"""A fitted method as a tree of arrays, and what it predicts for new rows.

Regressors of these kinds are kept, by the entry ``kind`` of the tree:

- ``ridge``: the entries of an item of a "regression" artifact that its predictions are made of:
  dual coefficients, or weights of the features of landmarks, and intercepts, for each component
  count; the generative models and the form of the embedding, where there is one.
- ``forest``: the arrays of `workflow_lib.baselines.stored_forest`; ``basis`` where the inputs are
  known by inner products: their coordinates are K(x, .) times it. Where it predicts probabilities
  of classes: ``known`` (K,), which of them have a training row, each a column of its values.
- ``machines``: of `workflow_lib.baselines.classifiers.SupportVectorMachines` ``known``, and of the
  known classes alone ``dual_coefficients`` (n, k) and ``intercept`` (k,); the ``width``.
- ``past``: coefficients and intercepts of the past values. ``mean``: the training mean.
- ``stack``: the same of every member with a weight.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workflow_lib.baselines.stored_forest import StoredForest
from workflow_lib.experiments.preimages import decoders_of, mean_outputs, members_of
from workflow_lib.experiments.prepared_inputs import rbf_gamma
from workflow_lib.experiments.saved_inputs import NewGram, NewProducts, NewRows
from workflow_lib.regression.landmarks import LandmarkFeatures, LinearFeatures
from workflow_lib.regression.stacking import combined

AnyNewRows = NewRows | NewProducts | NewGram


class SavedMethod:
    """A method that predicts without what it was fitted to.

    Parameters
    ----------
    tree : mapping
        See the module.
    kernel : str
        That of the experiment.
    """

    def __init__(self, tree: Mapping, kernel: str) -> None:
        self._tree, self._kernel, self._kind = tree, kernel, tree["kind"]
        if self._kind == "stack":
            names = sorted(tree["members"])
            self._members = [SavedMethod(tree["members"][name], kernel) for name in names]
            self._weights = np.array([tree["weights"][name] for name in names])
        elif self._kind == "forest":
            self._forest = StoredForest(tree["forest"])

    def outputs(self, rows: AnyNewRows, n_rows: int) -> np.ndarray:
        """Return the outputs (m, d), or scores of the classes (m, K), of `n_rows` new rows."""
        return self._outputs(rows, n_rows, {})

    def _outputs(self, rows: AnyNewRows, n_rows: int, grams: dict) -> np.ndarray:
        """As `outputs`; `grams` holds Gram matrices, which members of a stack share."""
        tree = self._tree
        if self._kind == "stack":
            predictions = [member._outputs(rows, n_rows, grams) for member in self._members]
            return combined(self._weights, predictions)
        if self._kind == "mean":
            return np.tile(tree["mean"], (n_rows, 1))
        if self._kind == "past":
            return rows.past @ tree["coefficients"] + tree["intercept"]
        if self._kind == "forest":
            predicted = self._forest.predict(self._coordinates(rows))
            return self._of_all_classes(predicted, 0.0) if "known" in tree else predicted
        if self._kind == "machines":
            gram = self._gram(rows, tree.get("width"), 0, grams)
            decisions = gram @ tree["dual_coefficients"] + tree["intercept"]
            # As `SupportVectorMachines.scores`, which is where scikit-learn would be loaded.
            lowest = decisions.min(axis=1, keepdims=True)
            return self._of_all_classes(decisions, np.minimum(lowest, -1.0))
        return self._ridge_outputs(rows, grams)

    def _gram(
        self, rows: AnyNewRows, width: float | None, weak_size: int, grams: dict
    ) -> np.ndarray:
        key = width, weak_size
        if key not in grams:
            grams[key] = rows.test_gram(self._kernel, *key)
        return grams[key]

    def _of_all_classes(self, known_scores: np.ndarray, unknown: float | np.ndarray) -> np.ndarray:
        """Return scores (m, K) of all classes: `unknown` for those without a training row."""
        known = self._tree["known"]
        scores = np.empty((len(known_scores), len(known)))
        scores[:] = unknown
        scores[:, known] = known_scores
        return scores

    def _coordinates(self, rows: AnyNewRows) -> np.ndarray:
        """Return the rows as the forest knows them."""
        if "basis" in self._tree:
            return rows.test_gram("linear", None) @ self._tree["basis"]
        return rows.test_rows()

    def _ridge_outputs(self, rows: AnyNewRows, grams: dict) -> np.ndarray:
        tree = self._tree
        members = [
            member | {"test_embedding": self._embedding(member, rows, grams)}
            for member in members_of(tree["item"])
        ]
        decoders = decoders_of(
            members, tree.get("models"), tree.get("form"), tree.get("covariance_block")
        )
        return mean_outputs(decoders, members, tree.get("preimage"), tree.get("start"))

    def _embedding(self, member: Mapping, rows: AnyNewRows, grams: dict) -> np.ndarray:
        """Return the predicted embeddings (m, p) of one component count."""
        width = member.get("width")
        if "weights" in member:
            return self._features(member, rows) @ member["weights"] + member["intercept"]
        gram = self._gram(rows, width, int(member["weak_size"]), grams)
        return gram @ member["dual_coefficients"] + member["intercept"]

    def _features(self, member: Mapping, rows: AnyNewRows) -> np.ndarray:
        prepared = rows.test_rows()
        n_columns = prepared.shape[1]
        if "landmarks" not in member:
            return LinearFeatures(n_columns).transform(prepared)
        gamma = rbf_gamma(member.get("width"), n_columns)
        return LandmarkFeatures(
            member["landmarks"], self._kernel, gamma, member["projection"]
        ).transform(prepared)
