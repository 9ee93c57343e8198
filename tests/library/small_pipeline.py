"""All stages of one split of a tiny experiment, run one after the other in a folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from fit_methods import predict_outputs, run_method
from small_data import write_dataset

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.protocol import (
    annotation,
    embedding,
    features_stage,
    generative_models,
    preimages,
    splitting,
)


@dataclass
class Stages:
    """Runs the stages on demand; every method writes its artifacts and returns its tree."""

    folder: Path
    X: np.ndarray
    Y: np.ndarray
    sizes: list = field(default_factory=lambda: [20, 30])
    weak_sizes: list = field(default_factory=list)
    scale: str = "none"
    lagged_values: str = "none"
    kernel: str = "rbf"
    kind: str | None = "gaussian_mixture"
    covariance_type: str = "tied_spherical"
    form: str = "reduced"
    covariance_block: str = "constrained"
    counts: list = field(default_factory=lambda: [1, 3])
    components: object = "selected"
    widths: list = field(default_factory=lambda: [0.3, 3.0])
    alphas: list = field(default_factory=lambda: [1e-4, 1e-2, np.inf])
    penalty: str = "shared"
    weak_weights: list = field(default_factory=lambda: [0.1, 1.0])
    combine: str = "best"
    weak_outputs: str | None = None
    label_kind: str = "one-hot"
    projections: list | None = None
    studies: dict = field(default_factory=dict)
    preimage: str = "projected"
    start: str = "closed_form"
    center: bool = True
    metric: str = "arrmse"
    output_scale: str = "none"
    n_channels: int = 1
    seed: int = 7
    landmarks: dict | None = None
    approximation: str = "landmarks"
    precision: str = "float64"
    wrong_labels: float = 0.0

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.h5"

    def prepare(self) -> Stages:
        """Run the dataset, split and features stages."""
        write_dataset(self.path("dataset"), self.X, self.Y, self.n_channels)
        splitting.run(
            self.path("dataset"),
            self.path("split"),
            self.sizes,
            self.weak_sizes,
            test_size=12,
            n_folds=4,
            seed=self.seed,
            experiment="small",
            wrong_labels=self.wrong_labels,
        )
        features_stage.run(
            self.path("dataset"),
            self.path("split"),
            self.path("features"),
            self.scale,
            self.kernel,
            self.lagged_values,
        )
        return self

    def model(self) -> Stages:
        """Run the models, annotation and embeddings stages."""
        source = (self.path("dataset"), self.path("split"))
        counts = [1] if self.kind == "gaussian" else self.counts
        generative_models.run(
            *source,
            self.path("models"),
            self.kind,
            self.covariance_type,
            variance_floor=0.05,
            n_init=2,
            component_counts=counts,
            output_scale=self.output_scale,
            seed=self.seed,
        )
        if self.weak_sizes:
            annotation.run(
                *source,
                self.path("models"),
                self.path("annotated"),
                self.path("weak_labels"),
                self.label_kind,
                self.seed,
            )
        embedding.run(
            *source, self._models(), self.path("embeddings"), self.form, self.covariance_block
        )
        return self

    def _models(self) -> Path:
        return self.path("annotated" if self.weak_sizes else "models")

    def arguments(self) -> dict:
        """Return the artifacts and settings of kernel ridge regression."""
        has_model = self.kind is not None
        has_embedding = has_model and self.weak_outputs is None
        return {
            "components": self.components,
            "component_counts": [1] if self.kind == "gaussian" else self.counts,
            "combine": self.combine,
            "kernel": self.kernel,
            "widths": self.widths,
            "alphas": self.alphas,
            "penalty": self.penalty,
            "weak": bool(self.weak_sizes),
            "weak_weights": self.weak_weights,
            "weak_outputs": self.weak_outputs,
            "projections": self.projections or [self.preimage != "closed_form"],
            "studies": self.studies,
            "center": self.center,
            "metric": self.metric,
            "landmarks": self.landmarks,
            "approximation": self.approximation,
            "precision": self.precision,
            "embeddings": self.path("embeddings") if has_embedding else None,
            "models": self._models() if has_model else None,
            "weak_labels": self.path("weak_labels") if self.weak_sizes and has_model else None,
        }

    def regress(self) -> Stages:
        """Run the kernel ridge and the pre-image stages."""
        has_model = self.kind is not None
        has_embedding = has_model and self.weak_outputs is None
        run_method("kernel_ridge", self.path, **self.arguments())
        preimages.run(
            self.path("regression"),
            self._models() if has_model else None,
            self.path("predictions"),
            self.folder / "preimages.json",
            self.form if has_embedding else None,
            self.covariance_block if has_embedding else None,
            self.preimage if has_embedding else None,
            self.start if has_embedding else None,
        )
        return self

    def all(self) -> Stages:
        """Run every stage of the kernel ridge method."""
        self.prepare()
        if self.kind is not None:
            self.model()
        return self.regress()

    def forest(self, max_features=(0.5, 1.0), n_trees=10, regressor="random_forest") -> Stages:
        """Run the stages of a forest."""
        self.prepare()
        run_method(
            "forest",
            self.path,
            max_features=max_features,
            n_trees=n_trees,
            metric=self.metric,
            seed=self.seed,
            regressor=regressor,
        )
        predict_outputs(self.path)
        return self

    def ridge(self, module: str, **settings) -> Stages:
        """Run the stages of a ridge regression of the outputs, with the grid of these stages."""
        names = ("kernel", "widths", "alphas", "center", "metric")
        self.prepare()
        run_method(module, self.path, **{name: getattr(self, name) for name in names}, **settings)
        predict_outputs(self.path)
        return self

    def tree(self, name: str) -> dict:
        """Return the content of an artifact."""
        kind = {"annotated": "models"}.get(name, name)
        return read_artifact(self.path(name), kind)


def without_curves(items):
    """Return items of the "regression" artifact without the errors of their grids."""
    return {
        name: {key: value for key, value in item.items() if key != "validation_curves"}
        for name, item in items.items()
    }


def assert_same_tree(first, second, location="") -> None:
    """Assert that two trees are equal, bit for bit."""
    if isinstance(first, dict):
        assert first.keys() == second.keys(), location
        for name in first:
            assert_same_tree(first[name], second[name], f"{location}/{name}")
    else:
        np.testing.assert_array_equal(first, second, err_msg=location)
