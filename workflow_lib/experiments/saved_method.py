"""A fitted method as a tree of arrays, and what it predicts for new rows.

Regressors of these kinds are kept, by the entry ``kind`` of the tree. Where a Gram matrix is
computed, ``kernel`` and ``width`` say of what, and ``weak_size`` how many weak rows stand in it.

- ``ridge``: the entries of an item of a "regression" artifact that its predictions are made of:
  dual coefficients, or weights of the features of landmarks, and intercepts, for each component
  count; the generative models and the form of the embedding, where there is one.
- ``output_kernel``: dual coefficients (n, n) and intercept (n,) of the weights of the training
  outputs, these ``outputs`` (n, d), the ``preimage``, and the ``gamma`` and the matrix ``gram``
  (n, n) of the output kernel, as far as the pre-image needs them.
- ``class_ridge``: the fitted entries of an item of `workflow_lib.methods.class_ridge`,
  and the ``decoder``.
- ``forest``: the arrays of `workflow_lib.baselines.stored_forest`; where it predicts probabilities
  of classes, ``known`` (K,), which of them have a training row, each a column of its values.
- ``perceptron``: the arrays of `workflow_lib.baselines.stored_perceptron`.
- ``machines``: ``dual_coefficients`` (n, K), ``intercept`` (K,) and ``known`` (K,) of
  `workflow_lib.baselines.classifiers.SupportVectorMachines`.
- ``past``: coefficients and intercepts of the past values. ``mean``: the training mean.
- ``stack``: the same of every member with a weight, ``weights``, and the ``order`` of the members,
  as JSON, in which they are added.

Forests and perceptrons whose inputs are known by inner products have ``eigenvectors`` and
``roots``, with which `principal_coordinates` makes coordinates of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from workflow_lib.baselines.stored_forest import StoredForest
from workflow_lib.baselines.stored_perceptron import perceptron_probabilities
from workflow_lib.embeddings.class_decoding import decoded_scores
from workflow_lib.experiments.items import item_kernel
from workflow_lib.experiments.output_decoding import OutputDecoder, preimage_weights
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
        That of the experiment; it counts where a tree names no other.
    """

    def __init__(self, tree: Mapping, kernel: str) -> None:
        self._tree, self._kernel, self._kind = tree, kernel, tree["kind"]
        if self._kind == "stack":
            names = json.loads(tree["order"])
            self._members = [SavedMethod(tree["members"][name], kernel) for name in names]
            self._weights = [tree["weights"][name] for name in names]
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
            return self._of_all_classes(predicted) if "known" in tree else predicted
        if self._kind == "perceptron":
            return perceptron_probabilities(tree, self._coordinates(rows))
        if self._kind == "machines":
            decisions = self._linear(tree, self._gram(rows, tree, grams))
            # As `SupportVectorMachines.scores`, which is where scikit-learn would be loaded.
            lowest = decisions[:, tree["known"]].min(axis=1, keepdims=True)
            return np.where(tree["known"], decisions, np.minimum(lowest, -1.0))
        if self._kind == "output_kernel":
            weights = self._linear(tree, self._gram(rows, tree, grams))
            decoder = OutputDecoder(tree["outputs"], tree.get("gram"), tree.get("gamma"))
            return decoder.decode(preimage_weights(weights, tree["preimage"]), tree["preimage"])
        if self._kind == "class_ridge":
            return self._decoded_classes(self._gram(rows, tree, grams))
        return self._ridge_outputs(rows, grams)

    def _gram(self, rows: AnyNewRows, part: Mapping, grams: dict) -> np.ndarray:
        """Return the Gram matrix (m, n + w) of new rows that a part of the tree needs."""
        key = item_kernel(part, self._kernel), part.get("width"), int(part.get("weak_size", 0))
        if key not in grams:
            grams[key] = rows.test_gram(*key)
        return grams[key]

    def _linear(self, part: Mapping, gram: np.ndarray, prefix: str = "") -> np.ndarray:
        """Return what a regression predicts; the rows that it was not fitted to come last."""
        dual = part[f"{prefix}dual_coefficients"]
        return gram[:, : len(dual)] @ dual + part[f"{prefix}intercept"]

    def _decoded_classes(self, gram: np.ndarray) -> np.ndarray:
        """Return the scores (m, K) of the classes."""
        tree, memberships = self._tree, None
        if "membership_dual_coefficients" in tree:
            memberships = self._linear(tree, gram, "membership_")
        codes, weights = tree.get("codes"), tree.get("code_weights")
        return decoded_scores(
            tree["decoder"], self._linear(tree, gram), memberships, codes, weights
        )

    def _of_all_classes(self, known_scores: np.ndarray) -> np.ndarray:
        """Return scores (m, K) of all classes: zero for those without a training row."""
        known = self._tree["known"]
        scores = np.zeros((len(known_scores), len(known)))
        scores[:, known] = known_scores
        return scores

    def _coordinates(self, rows: AnyNewRows) -> np.ndarray:
        """Return the rows as vectors of features."""
        if "eigenvectors" in self._tree:
            products = rows.test_gram("linear", None)
            return products @ self._tree["eigenvectors"] / self._tree["roots"]
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
        if "weights" in member:
            return self._features(member, rows) @ member["weights"] + member["intercept"]
        return self._linear(member, self._gram(rows, member, grams))

    def _features(self, member: Mapping, rows: AnyNewRows) -> np.ndarray:
        prepared = rows.test_rows()
        n_columns = prepared.shape[1]
        if "landmarks" not in member:
            return LinearFeatures(n_columns).transform(prepared)
        gamma = rbf_gamma(member.get("width"), n_columns)
        kernel = item_kernel(member, self._kernel)
        return LandmarkFeatures(member["landmarks"], kernel, gamma, member["projection"]).transform(
            prepared
        )
