"""Rows of classes in a folder, with the stages before a method of classes."""

import json
from pathlib import Path

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.models.storage import model_from_tree, scaling_from_tree
from workflow_lib.protocol import annotation, features_stage, generative_models


class ClassRows:
    """Inputs and labels, class vectors, a split, and their artifacts.

    With `products` the dataset holds inner products of the rows.
    """

    def __init__(
        self, folder: Path, X, labels, vectors, split, scale="none", products=False, **of_classes
    ):
        self.folder, self.scale = folder, scale
        self.X, self.labels, self.vectors, self.split = X, labels, vectors, split
        dataset = {
            "inputs": X @ X.T if products else X,
            "outputs": vectors[labels],
            "classes": {"labels": labels, "vectors": vectors, **of_classes},
            "names": {"classes": json.dumps([f"class {label}" for label in range(len(vectors))])},
        }
        write_artifact(self.path("dataset"), dataset, "dataset")
        write_artifact(self.path("split"), split, "split")
        self.source = self.path("dataset"), self.path("split")
        prepared = "products" if products else scale
        features_stage.run(*self.source, self.path("features"), prepared, "rbf", "none")

    def annotate(self, counts, label_kind="one-hot") -> None:
        """Fit mixtures of these numbers of components, and name the components of weak rows."""
        mixture = "gaussian_mixture", "tied_spherical", 0.05, 2, counts, "none", 7
        generative_models.run(*self.source, self.path("fitted"), *mixture)
        annotated = self.path("models"), self.path("weak_labels")
        annotation.run(*self.source, self.path("fitted"), *annotated, label_kind, 7)

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.h5"

    def training(self, size):
        """Return inputs, labels and folds of one training size."""
        rows = self.split["train"][:size]
        return self.X[rows], self.labels[rows], self.split["folds"][f"n-{size}"]

    @property
    def tests(self):
        return self.X[self.split["test"]]

    def mixture(self, size, count):
        """Return the mixture of all training rows and the class vectors in its units."""
        stored = read_artifact(self.path("models"), "models")[f"n-{size}"][f"C-{count}"]["all"]
        return model_from_tree(stored), scaling_from_tree(stored).apply(self.vectors)

    def weak(self, size, count, weak_size):
        """Return inputs and memberships of the weak rows."""
        labels = read_artifact(self.path("weak_labels"), "weak_labels")[f"n-{size}"][f"C-{count}"]
        return self.X[self.split["weak"][:weak_size]], labels["memberships"][:weak_size]

    def accuracy(self, item):
        """Return the share of test rows whose class is found."""
        found = item["test_targets"].argmax(axis=1)
        return (found == self.labels[self.split["test"]]).mean()
