"""A split in which every row trains and tests, its methods, and the models saved from it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from small_pipeline import Stages

from workflow_lib.artifacts import read_artifact, write_artifact
from workflow_lib.datasets.sparse_inputs import inputs_of
from workflow_lib.datasets.table_encoding import EncodedRows, TableEncoding
from workflow_lib.datasets.table_file import Table
from workflow_lib.datasets.tables import dataset_tree
from workflow_lib.experiments import (
    annotation,
    features_stage,
    generative_models,
    output_predictions,
    saved_model_stage,
    splitting,
)
from workflow_lib.experiments.calibration_stage import NOT_ALWAYS_FINITE
from workflow_lib.experiments.saved_model import SavedModel, load_model
from workflow_lib.methods import (
    class_ridge,
    classifiers,
    laplacian_ridge,
    least_squares,
    output_kernel_regression,
    principal_component_ridge,
    reduced_rank_ridge,
    self_training,
    stack,
    training_mean,
)

N_ROWS, N_WEAK, SEED, METRIC = 48, 9, 5, "arrmse"


@dataclass
class Final:
    """The artifacts of one dataset and of the split in which all labelled rows train and test.

    Of a split of the `kind` given, `n_weak` rows are weak whose outputs are known. `methods` is
    what `saved_model_stage.run` takes.
    """

    folder: Path
    dataset: dict
    n_weak: int = 0
    scale: str = "standard"
    kernel: str = "rbf"
    past: str = "none"
    metric: str = METRIC
    kind: str = "given"
    methods: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        write_artifact(
            self.path("dataset"), self.dataset, "dataset", allow_nan=("inputs", "outputs", "values")
        )
        if self.kind == "given":
            self._write_split()
        else:
            source = (self.path("dataset"), self.path("split"))
            splitting.run(*source, [1], [self.n_weak], 0.5, 4, SEED, "small", self.kind)
        features_stage.run(
            self.path("dataset"),
            self.path("split"),
            self.path("features"),
            self.scale,
            self.kernel,
            self.past,
        )

    def _write_split(self) -> None:
        """Write the split in which rows with known outputs are the weak ones."""
        n_labelled = len(self.dataset["outputs"]) - self.n_weak
        generator = np.random.default_rng(SEED)
        rows = generator.permutation(len(self.dataset["outputs"]))
        train, weak = rows[:n_labelled], rows[n_labelled:]
        split = {
            "train": train,
            "test": generator.permutation(train),
            "weak": weak,
            "sizes": np.array([n_labelled]),
            "weak_sizes": np.array([self.n_weak] if self.n_weak else [], dtype=int),
            "folds": {f"n-{n_labelled}": np.arange(n_labelled) % 4},
        }
        if "classes" in self.dataset:
            split["examples"] = np.array([n_labelled // 4])
        write_artifact(self.path("split"), split, "split")

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.h5"

    @property
    def split(self) -> dict:
        return read_artifact(self.path("split"), "split")

    def ridge(self, name: str, **options) -> None:
        """Add a method of the regressor kernel_ridge; options are those of `Stages`."""
        stages = _Stages(self, name, **{"weak_sizes": self._weak_sizes(options), **options})
        if stages.kind is not None:
            stages.model()
        stages.regress()
        has_embedding = stages.kind is not None and stages.weak_outputs is None
        self._add(
            name,
            "kernel_ridge",
            form=stages.form if has_embedding else None,
            covariance_block=stages.covariance_block,
            preimage=stages.preimage if has_embedding else None,
            start=stages.start if has_embedding else None,
            models=stages._models() if has_embedding else None,
            folder=stages.folder,
        )

    def _weak_sizes(self, options) -> list:
        return [self.n_weak] if self.n_weak and options.get("weak") else []

    def forest(self, name: str, n_trees: int = 7, kind: str = "random_forest") -> None:
        stages = _Stages(self, name, kind=None)
        stages.prepare = lambda: stages
        stages.forest(n_trees=n_trees, regressor=kind)
        self._add(name, kind, n_trees=n_trees, seed=stages.seed, folder=stages.folder)

    def of_outputs(self, name: str, regressor: str) -> None:
        """Add a method that predicts outputs without an embedding."""
        folder = self._folder(name)
        source = [self.path("dataset"), self.path("split")]
        features = self.path("features")
        targets = [folder / "regression.h5", folder / "regression.json"]
        grid = [self.kernel, [0.3, 3.0], [1e-4, 1e-2]]
        if regressor == "training_mean":
            training_mean.run(*source, *targets, self.metric)
        elif regressor == "least_squares":
            least_squares.run(*source, features, *targets, self.metric)
        elif regressor == "principal_component_ridge":
            principal_component_ridge.run(*source, features, *targets, *grid, True, self.metric)
        elif regressor == "reduced_rank_ridge":
            reduced_rank_ridge.run(*source, features, *targets, *grid, [1, 2], True, self.metric)
        elif regressor == "laplacian_ridge":
            options = [[0.1, 1.0], [3, 5], True, self.metric]
            laplacian_ridge.run(*source, features, *targets, *grid, *options)
        self._finish(name, regressor, folder)

    def of_output_kernel(
        self, name: str, output_kernel: str, preimage: str, alignments: Path | None = None
    ) -> None:
        """Add a method of the regressor output_kernel_regression."""
        folder = self._folder(name)
        output_kernel_regression.run(
            self.path("dataset"),
            self.path("split"),
            self.path("features"),
            folder / "regression.h5",
            folder / "regression.json",
            self.kernel,
            [0.3, 3.0],
            [1e-4, 1e-2],
            output_kernel,
            [0.3, 1.0],
            preimage,
            True,
            self.metric,
            alignments=alignments,
        )
        told = {"output_kernel": output_kernel, "preimage": preimage, "alignments": alignments}
        self._finish(name, "output_kernel_regression", folder, **told)

    def class_ridge(
        self,
        name: str,
        decoder: str = "one_hot",
        weak: bool = False,
        kernels: Sequence[str] | None = None,
    ) -> None:
        folder = self._folder(name)
        has_mixture = decoder in class_ridge.MIXTURE_DECODERS
        mixtures = self._mixtures(folder, weak) if has_mixture else [None, None]
        class_ridge.run(
            self.path("dataset"),
            self.path("split"),
            self.path("features"),
            folder / "regression.h5",
            folder / "regression.json",
            decoder,
            self.kernel,
            [0.3, 3.0],
            [1e-3, 1e-1],
            [0.5, 2.0] if decoder == "output_kernel" else [],
            "selected",
            [2, 3] if has_mixture else [],
            [0.5, 2.0] if has_mixture else [],
            [0.3, 1.0] if weak else [],
            weak,
            True,
            {},
            kernels,
            *mixtures,
        )
        self._finish(name, "class_ridge", folder, decoder=decoder)

    def self_training(
        self, name: str, pseudo_classes: str, kernels: Sequence[str] | None = None
    ) -> None:
        folder = self._folder(name)
        self_training.run(
            self.path("dataset"),
            self.path("split"),
            self.path("features"),
            *self._mixtures(folder, weak=True),
            folder / "regression.h5",
            folder / "regression.json",
            pseudo_classes,
            self.kernel,
            [0.3, 3.0],
            [1e-3, 1e-1],
            "selected",
            [2, 3],
            True,
            {},
            kernels,
        )
        self._finish(name, "self_training", folder)

    def _mixtures(self, folder: Path, weak: bool) -> list[Path | None]:
        """Fit mixtures of two and three components; return them, and the labels of weak rows."""
        source = (self.path("dataset"), self.path("split"))
        models = folder / "models.h5"
        kind = ("gaussian_mixture", "tied_spherical", 0.05, 2, [2, 3], "none", SEED)
        generative_models.run(*source, models, *kind)
        if not weak:
            return [models, None]
        annotated = [folder / "annotated.h5", folder / "weak_labels.h5"]
        annotation.run(*source, models, *annotated, "one-hot", SEED)
        return annotated

    def classifier(self, name: str, regressor: str, n_trees: int = 9) -> None:
        """Add a method that `workflow_lib.methods.classifiers` fits."""
        folder = self._folder(name)
        grids = {
            "support_vector_machine": {"width": [0.3, 3.0], "cost": [1, 10]},
            "perceptron": {"l2_penalty": [1e-2, 1.0]},
            "random_forest_classifier": {"max_features": [0.4, 1.0], "n_trees": n_trees},
        }
        classifiers.run(
            self.path("dataset"),
            self.path("split"),
            self.path("features"),
            folder / "regression.h5",
            folder / "regression.json",
            regressor,
            self.kernel,
            grids[regressor],
            {},
            SEED,
        )
        self._finish(name, regressor, folder, n_trees=n_trees)

    def stack(self, name: str, members: list[str]) -> None:
        folder = self._folder(name)
        stack.run(
            self.path("dataset"),
            self.path("split"),
            [self.methods[member]["regression"] for member in members],
            [self.methods[member]["predictions"] for member in members],
            [self.folder / member / "regression.json" for member in members],
            folder / "regression.h5",
            folder / "regression.json",
            members,
            {},
            self.metric,
            seed=1,
        )
        self._finish(name, "stack", folder, members=members)

    def _folder(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir()
        return folder

    def _finish(self, name, regressor, folder, **parts) -> None:
        output_predictions.run(
            folder / "regression.h5",
            folder / "predictions.h5",
            folder / "preimages.json",
            self.metric == "accuracy",
        )
        self._add(name, regressor, folder=folder, **parts)

    def _add(self, name: str, regressor: str, folder: Path, **parts) -> None:
        keys = ("form", "covariance_block", "preimage", "start", "decoder", "models", "n_trees")
        self.methods[name] = dict.fromkeys(keys) | {
            "regressor": regressor,
            "members": [],
            "center": True,
            "seed": SEED,
            "kernel": self.kernel,
            "regression": folder / "regression.h5",
            "predictions": folder / "predictions.h5",
        }
        self.methods[name] |= parts

    def stored(self, name: str) -> np.ndarray:
        """Return what the workflow predicted for the test rows, outputs or scores of classes."""
        (item,) = read_artifact(self.methods[name]["predictions"], "predictions").values()
        return item["outputs"]

    def repeated(self, name: str) -> np.ndarray:
        """Return what the model that is saved of a method predicts for the same rows."""
        model = self.saved(name)
        dataset, test = self.dataset, self.split["test"]
        inputs, past = inputs_of(dataset), dataset.get("past")
        if self.kernel == "precomputed" or self.scale == "products":
            kept = read_artifact(self.path("model"), "predictor")["inputs"]["n_weak"]
            known = np.sort(np.concatenate([self.split["train"], self.split["weak"][:kept]]))
            lengths = inputs[test, test][:, None]
            inputs = inputs[np.ix_(test, known)]
            inputs = np.hstack([inputs, lengths]) if self.scale == "products" else inputs
        else:
            inputs = inputs[test]
        past = None if self.past == "none" else past["values"][test]
        notes = [""] * len(test)
        names = [f"input {column}" for column in range(inputs.shape[1])]
        past_names = [] if past is None else [f"past {n}" for n in range(past.shape[1])]
        return model.predict_inputs(EncodedRows(inputs, names, past, past_names, notes)).outputs

    def predictions(self, name: str) -> np.ndarray:
        """Return the outputs that the workflow predicted, in the order of the dataset's rows."""
        (item,) = read_artifact(self.methods[name]["predictions"], "predictions").values()
        in_order = np.full((len(self.dataset["outputs"]), item["outputs"].shape[1]), np.nan)
        in_order[self.split["test"]] = item["outputs"]
        return in_order

    def answer(self, winner: str, *others: str, **told) -> Path:
        """Write answer.json; the methods come in the order of the leaderboard."""
        path = self.folder / f"answer-{winner}.json"
        board = [
            {"method": name, "label": name.upper(), "mean": 0.5 + 0.1 * rank}
            for rank, name in enumerate([winner, *others])
        ]
        entries = {"winner": winner, "label": winner.upper(), "mean": 0.5}
        entries |= {"metric": self.metric, "leaderboard": board} | told
        path.write_text(json.dumps(entries))
        return path

    def calibration(
        self, method: str, half_widths=(), level=0.9, novelty_limit=2.0, **parts
    ) -> Path:
        path = self.folder / "calibration.h5"
        tree = {"method": method, "half_widths": np.array(half_widths, dtype=float)}
        tree |= {"level": level, "novelty_limit": novelty_limit, **parts}
        write_artifact(path, tree, "calibration", allow_nan=NOT_ALWAYS_FINITE)
        return path

    def saved(
        self, winner: str, *others: str, calibration=None, options=None, **told
    ) -> SavedModel:
        """Return the model that the stage saves, read from its file."""
        saved_model_stage.run(
            self.answer(winner, *others, **told),
            self.path("dataset"),
            self.path("split"),
            self.path("features"),
            calibration,
            self.methods,
            self.path("model"),
            "A small table",
            options,
        )
        return load_model(self.path("model"))


class _Stages(Stages):
    """The stages of one method, on the split and the features of a `Final`."""

    def __init__(self, final: Final, name: str, weak: bool = False, **options) -> None:
        folder = final._folder(name)
        defaults = {"kernel": final.kernel, "metric": final.metric}
        super().__init__(folder, np.empty(0), np.empty(0), **{**defaults, **options})
        self._final = final

    def path(self, name: str) -> Path:
        if name in ("dataset", "split", "features"):
            return self._final.path(name)
        return self.folder / f"{name}.h5"


def small_table(seed: int = 0, n_rows: int = N_ROWS) -> dict[str, list]:
    """Return the columns of a table: two numbers, one with gaps, a category, two outputs."""
    generator = np.random.default_rng(seed)
    first, second = generator.normal(size=(2, n_rows))
    colour = generator.integers(0, 3, size=n_rows)
    kind = np.where(first > 0, 4.0, -4.0)
    y1 = kind + first + 0.5 * second + colour
    y2 = -kind + 0.2 * second + 0.3 * generator.normal(size=n_rows)
    dose = [None if row % 11 == 3 else float(value) for row, value in enumerate(second)]
    return {
        "dose, mg": dose,
        "weight": first.tolist(),
        "colour": [("red", "green", "blue")[code] for code in colour],
        "y1": y1.tolist(),
        "y2": y2.tolist(),
    }


def table_dataset(columns: dict, n_weak: int = 0, **roles) -> dict:
    """Return the tree of a dataset made from a table whose columns y1 and y2 are the outputs."""
    table = Table.from_columns(columns, "small.csv")
    encoding = TableEncoding.fit(table, **roles)
    rows = encoding.encode(table)
    outputs = np.column_stack([table.numbers("y1"), table.numbers("y2")])
    labelled = dataset_tree(
        rows.inputs,
        outputs,
        rows.names,
        ["y1", "y2"],
        "small.csv",
        encoding=encoding.tree(),
        **({} if rows.past is None else {"past": {"values": rows.past}}),
    )
    return labelled
