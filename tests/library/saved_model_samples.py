"""A split in which every row is a training and a test row, its methods, and their saved models."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from fit_methods import run_method
from small_pipeline import Stages

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.data.table_encoding import EncodedRows, TableEncoding
from workflow_lib.items.sparse_inputs import inputs_of
from workflow_lib.methods.contract.base import ARTIFACTS, method_modules
from workflow_lib.models.class_decoders import MIXTURE_DECODERS
from workflow_lib.protocol import (
    annotation,
    embedding,
    features_stage,
    generative_models,
    output_predictions,
    preimages,
    splitting,
)
from workflow_lib.table import saved_model_stage
from workflow_lib.table.calibration_stage import NOT_ALWAYS_FINITE
from workflow_lib.table.saved_model import SavedModel, load_model
from workflow_lib.tabular.table_file import Table
from workflow_lib.tabular.tables import dataset_tree

N_ROWS, N_WEAK, SEED, METRIC = 48, 9, 5, "arrmse"


@dataclass
class Final:
    """The artifacts of one dataset and of the split in which all labelled rows are in both sets.

    Of a split of the `kind` given, `n_weak` rows are weak whose outputs are known. `methods` are
    those for `saved_model_stage.run`.
    """

    folder: Path
    dataset: dict
    n_weak: int = 0
    scale: str = "standard"
    kernel: str = "rbf"
    lagged_values: str = "none"
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
            self.lagged_values,
        )

    def _write_split(self) -> None:
        """Write the split in which rows with known outputs are the weak rows."""
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
        decoding = {"form": stages.form, "covariance_block": stages.covariance_block}
        decoding |= {"preimage": stages.preimage, "start": stages.start}
        self._add(
            name,
            "kernel_ridge",
            stages.folder,
            stages.arguments(),
            predicts_scores=False,
            **(decoding if has_embedding else {}),
        )

    def _weak_sizes(self, options) -> list:
        return [self.n_weak] if self.n_weak and options.get("weak") else []

    def forest(self, name: str, n_trees: int = 7, kind: str = "random_forest") -> None:
        settings = {"max_features": (0.5, 1.0), "n_trees": n_trees, "metric": self.metric}
        self._run(name, kind, **settings, seed=7, regressor=kind)

    def of_outputs(self, name: str, regressor: str, **more_settings) -> None:
        """Add a method that predicts outputs without an embedding."""
        grid = {"kernel": self.kernel, "widths": [0.3, 3.0], "alphas": [1e-4, 1e-2], "center": True}
        more = {
            "training_mean": {},
            "least_squares": {},
            "principal_component_ridge": grid,
            "reduced_rank_ridge": grid | {"ranks": [1, 2]},
            "laplacian_ridge": grid | {"laplacian_weights": [0.1, 1.0], "neighbours": [3, 5]},
            "back_translation": grid | {"grid": {"unpaired_weight": [0.0, 0.1]}, "seed": 0},
            "posterior_ridge": grid | {"grid": {"prior": ["gaussian"], "noise": [1.0]}, "seed": 0},
        }
        self._run(name, regressor, metric=self.metric, **more[regressor], **more_settings)

    def of_output_kernel(
        self, name: str, output_kernel: str, preimage: str, alignments: Path | None = None
    ) -> None:
        """Add a method of the regressor output_kernel_regression."""
        self._run(
            name,
            "output_kernel_regression",
            kernel=self.kernel,
            widths=[0.3, 3.0],
            alphas=[1e-4, 1e-2],
            output_kernel=output_kernel,
            output_widths=[0.3, 1.0],
            preimage=preimage,
            center=True,
            metric=self.metric,
            alignments=alignments,
        )

    def estimator(self, name: str, estimator: str, weak: bool = False, **settings) -> None:
        """Add a method of the regressor estimator, which with weak rows predicts embeddings."""
        folder, more, decoding = self._folder(name), {}, {}
        if weak:
            more = self._mixtures(name, weak=True) | {"embeddings": folder / "embeddings.h5"}
            decoding = {"form": "reduced", "covariance_block": "constrained"}
            source = (self.path("dataset"), self.path("split"), more["models"])
            embedding.run(*source, more["embeddings"], *decoding.values())
            decoding |= {"preimage": "projected", "start": None}
            more |= {"component_counts": [2, 3], "combine": "average", "projections": [True]}
            more |= {"weak": True, "weak_weights": [0.3, 1.0]}
        arguments = {"estimator": estimator, "settings": settings, "grid": {}, "seed": SEED}
        arguments |= {"metric": self.metric, "method_file": f"config/methods/{name}.yaml"}
        self._run(name, "estimator", decoding, **arguments, **more)

    def class_ridge(
        self,
        name: str,
        decoder: str = "one_hot",
        weak: bool = False,
        kernels: Sequence[str] | None = None,
    ) -> None:
        has_mixture = decoder in MIXTURE_DECODERS
        self._run(
            name,
            "class_ridge",
            decoder=decoder,
            kernel=self.kernel,
            widths=[0.3, 3.0],
            alphas=[1e-3, 1e-1],
            output_widths=[0.5, 2.0] if decoder == "output_kernel" else [],
            components="selected",
            component_counts=[2, 3] if has_mixture else [],
            block_weights=[0.5, 2.0] if has_mixture else [],
            weak_weights=[0.3, 1.0] if weak else [],
            weak=weak,
            center=True,
            one_example={},
            kernels=kernels,
            **(self._mixtures(name, weak) if has_mixture else {}),
        )

    def joint(self, name: str, combine: str = "average", weak: bool = False) -> None:
        self._run(
            name,
            "joint_ridge",
            components="selected",
            component_counts=[2, 3],
            combine=combine,
            kernel=self.kernel,
            widths=[0.3, 3.0],
            alphas=[1e-4, 1e-2],
            weak=weak,
            weak_weights=[0.3, 1.0] if weak else [],
            projections=[False, True],
            grid={"joint_alpha": [1e-2], "variance_floor": [0.05, 0.5]},
            center=True,
            metric=self.metric,
            **self._mixtures(name, weak),
        )

    def self_training(
        self, name: str, pseudo_classes: str, kernels: Sequence[str] | None = None
    ) -> None:
        self._run(
            name,
            "self_training",
            pseudo_classes=pseudo_classes,
            kernel=self.kernel,
            widths=[0.3, 3.0],
            alphas=[1e-3, 1e-1],
            components="selected",
            component_counts=[2, 3],
            center=True,
            one_example={},
            kernels=kernels,
            **self._mixtures(name, weak=True),
        )

    def _mixtures(self, name: str, weak: bool) -> dict[str, Path]:
        """Fit mixtures of two and three components; return them, and the labels of weak rows."""
        source, folder = (self.path("dataset"), self.path("split")), self._folder(name)
        models = folder / "models.h5"
        kind = ("gaussian_mixture", "tied_spherical", 0.05, 2, [2, 3], "none", SEED)
        generative_models.run(*source, models, *kind)
        if not weak:
            return {"models": models}
        annotated = [folder / "annotated.h5", folder / "weak_labels.h5"]
        annotation.run(*source, models, *annotated, "one-hot", SEED)
        return dict(zip(("models", "weak_labels"), annotated, strict=True))

    def classifier(self, name: str, regressor: str, n_trees: int = 9) -> None:
        """Add a method that predicts scores of classes."""
        grids = {
            "support_vector_machine": {"width": [0.3, 3.0], "cost": [1, 10]},
            "perceptron": {"l2_penalty": [1e-2, 1.0]},
            "random_forest_classifier": {"max_features": [0.4, 1.0], "n_trees": n_trees},
        }
        settings = {
            "kernel": self.kernel,
            "kernels": None,
            "grid": grids[regressor],
            "one_example": {},
            "seed": SEED,
        }
        fields = method_modules()[regressor].settings
        self._run(name, regressor, **{key: settings[key] for key in fields})

    def machine_of_features(self, name: str, transformer: str, grid: dict) -> None:
        """Add a support vector machine on features that a transformer learns without labels."""
        learner = {"transformer": transformer, "settings": {}, "grid": grid, "unlabelled": False}
        self._run(
            name,
            "support_vector_machine",
            kernel="linear",
            kernels=["linear", "rbf"],
            grid={"width": [0.5], "cost": [1, 10]},
            one_example={},
            feature_learner=learner | {"seed": 0, "method_file": f"config/methods/{name}.yaml"},
        )

    def stack(self, name: str, members: list[str], weak_members: Sequence[str] = ()) -> None:
        self._run(
            name,
            "stack",
            **self._results_of(members),
            member_sizes={},
            weak_members=weak_members,
            metric=self.metric,
            seed=1,
        )

    def class_stack(self, name: str, members: list[str]) -> None:
        self._run(name, "class_stack", **self._results_of(members))

    def stacked_features(self, name: str, members: list[str], columns: str) -> None:
        self._run(
            name,
            "stacked_features",
            **self._results_of(members),
            columns=columns,
            estimator="sklearn.ensemble.ExtraTreesRegressor",
            settings={"n_estimators": 5},
            grid={"max_features": [0.5, 1.0]},
            metric=self.metric,
            seed=SEED,
            method_file=f"config/methods/{name}.yaml",
        )

    def _results_of(self, members: list[str]) -> dict[str, list]:
        """Return the members of a method that combines them, and their artifacts."""
        return {
            "regressions": [self.methods[member]["regression"] for member in members],
            "predictions": [self.methods[member]["predictions"] for member in members],
            "member_timings": [self.folder / member / "regression.json" for member in members],
            "members": members,
        }

    def _run(self, name: str, kind: str, decoding: dict | None = None, **arguments) -> None:
        """Run a method of the regressor `kind`, predict, and add it. `decoding` is that of
        predicted embeddings: the form, the covariance block, the pre-image and its start."""
        folder, module = self._folder(name), method_modules()[kind].name

        def path(file: str) -> Path:
            is_shared = file in ("dataset", "split", "features")
            return self.path(file) if is_shared else folder / f"{file}.h5"

        run_method(module, path, **arguments)
        files = folder / "predictions.h5", folder / "preimages.json"
        if decoding:
            models = arguments["models"]
            preimages.run(folder / "regression.h5", models, *files, *decoding.values())
        else:
            output_predictions.run(folder / "regression.h5", *files, self.metric == "accuracy")
        self._add(name, module, folder, arguments, **(decoding or {}))

    def _folder(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def _add(self, name: str, module: str, folder: Path, arguments: dict, **parts) -> None:
        """Add a method as `saved_model_stage.run` takes it."""
        shared = {kind: self.path(kind) for kind in ("dataset", "split", "features")}
        given = {key: value for key, value in arguments.items() if key in ARTIFACTS}
        self.methods[name] = {
            "module": module,
            "settings": {key: value for key, value in arguments.items() if key not in ARTIFACTS},
            "artifacts": shared | given,
            "members": arguments.get("members", []),
            "decoder": arguments.get("decoder"),
            "predicts_scores": self.metric == "accuracy",
            "seed": SEED,
            "regression": folder / "regression.h5",
            "predictions": folder / "predictions.h5",
        } | parts

    def stored(self, name: str) -> np.ndarray:
        """Return the workflow's predictions for the test rows, outputs or scores of classes."""
        *_, item = read_artifact(self.methods[name]["predictions"], "predictions").values()
        return item["outputs"]

    def repeated(self, name: str) -> np.ndarray:
        """Return the predictions of the saved model of a method for the same rows."""
        model = self.saved(name)
        dataset, test = self.dataset, self.split["test"]
        inputs, lagged_values = inputs_of(dataset), dataset.get("lagged_values")
        if self.kernel == "precomputed" or self.scale == "products":
            kept = read_artifact(self.path("model"), "predictor")["inputs"]["n_weak"]
            known = np.sort(np.concatenate([self.split["train"], self.split["weak"][:kept]]))
            lengths = inputs[test, test][:, None]
            inputs = inputs[np.ix_(test, known)]
            inputs = np.hstack([inputs, lengths]) if self.scale == "products" else inputs
        else:
            inputs = inputs[test]
        lagged_values = None if self.lagged_values == "none" else lagged_values["values"][test]
        notes = [""] * len(test)
        names = [f"input {column}" for column in range(inputs.shape[1])]
        lagged_names = (
            [] if lagged_values is None else [f"lagged {n}" for n in range(lagged_values.shape[1])]
        )
        return model.predict_inputs(
            EncodedRows(inputs, names, lagged_values, lagged_names, notes)
        ).outputs

    def predictions(self, name: str) -> np.ndarray:
        """Return the outputs that the workflow predicted, in the order of the dataset's rows."""
        (item,) = read_artifact(self.methods[name]["predictions"], "predictions").values()
        in_order = np.full((len(self.dataset["outputs"]), item["outputs"].shape[1]), np.nan)
        in_order[self.split["test"]] = item["outputs"]
        return in_order

    def answer(self, winner: str, *others: str, **more) -> Path:
        """Write answer.json; the methods come in the order of the leaderboard."""
        path = self.folder / f"answer-{winner}.json"
        board = [
            {"method": name, "label": name.upper(), "mean": 0.5 + 0.1 * rank}
            for rank, name in enumerate([winner, *others])
        ]
        entries = {"winner": winner, "label": winner.upper(), "mean": 0.5}
        entries |= {"metric": self.metric, "leaderboard": board} | more
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
        self, winner: str, *others: str, calibration=None, options=None, **more
    ) -> SavedModel:
        """Return the model that the stage saves, read from its file."""
        saved_model_stage.run(
            self.answer(winner, *others, **more),
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
        **({} if rows.lagged_values is None else {"lagged_values": {"values": rows.lagged_values}}),
    )
    return labelled
