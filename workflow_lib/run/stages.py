"""What the stages between a dataset and its scores read, write and are told, in every run.

The rules of the workflow and a comparison in Python take their paths and settings from here, so
that both compute the same numbers. A step names what a stage works on: it has the attributes
``experiment`` and, as far as the stage needs them, ``split``, ``method``, ``model`` and ``form``;
the wildcards of a rule are a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from workflow_lib.core.plugins import METHODS
from workflow_lib.core.seeds import derive_seed
from workflow_lib.core.settings import Settings
from workflow_lib.methods.contract.base import method_modules
from workflow_lib.methods.contract.file_settings import file_settings

if TYPE_CHECKING:
    from workflow_lib.methods.contract.base import MethodModule
    from workflow_lib.methods.contract.method_file import MethodFile
    from workflow_lib.run.configuration import Configuration

ANNOTATED = "-annotated"
"""What ends the folder of the models that weak rows were annotated with."""

FINAL = "final"
"""The split in which every labelled row trains."""

ALIGNMENT_KERNELS = ("dtw", "gak")
"""Kernels on series whose values are computed once for a dataset."""

STEP_FOLDER = "results/{experiment}/split-{split}"


@dataclass(frozen=True)
class Stages:
    """The paths and the settings of the stages of a run.

    Attributes
    ----------
    settings : Configuration
    prefix : str, default=""
        Stands before the paths in the settings of a stage, which a scheduler does not see.
    """

    settings: Configuration
    prefix: str = ""

    # What a step names.

    def experiment_of(self, step: Any) -> Any:
        return self.settings.experiments[step.experiment]

    def method_of(self, step: Any) -> MethodFile:
        return self.settings.methods[step.method]

    def module_of(self, step: Any) -> MethodModule:
        """Return what the module of a method's regressor declares."""
        return method_modules()[self.method_of(step).regressor]

    def has_preimages(self, method: str) -> bool:
        """Return whether a method predicts embeddings, or class vectors that a decoder searches."""
        values = self.settings.methods[method]
        return bool(values.form or (values.decoder and values.regressor != "class_ridge"))

    def modules_of_methods(self, methods: Iterable[str]) -> list[str]:
        """Return the modules of the library that methods need besides those of their stage."""
        chosen = [self.settings.methods[name] for name in methods]
        modules = {METHODS.modules[method_modules()[method.regressor].name] for method in chosen}
        return sorted(modules | {name for each in chosen for name in each.library_modules()})

    def method_fields(self, methods: Iterable[str], *keys: str) -> dict[str, dict[str, Any]]:
        """Return these keys of the methods, as plain values; a stage names only those it shows."""

        def plain_value(method, key):
            value = getattr(self.settings.methods[method], key)
            return value.model_dump(mode="json") if isinstance(value, Settings) else value

        return {name: {key: plain_value(name, key) for key in keys} for name in methods}

    # Seeds.

    def draw_name(self, dataset: str) -> str:
        """Return the name from which the random draws of a dataset are derived."""
        return self.settings.datasets[dataset].drawn_as or dataset

    def seed_of_dataset(self, axis: str, dataset: str, *axes: str) -> int:
        """Return the seed of a random draw of a dataset."""
        return derive_seed(self.settings.run.seed, axis, self.draw_name(dataset), *axes)

    def seed_of(self, step: Any, axis: str, *axes: str) -> int:
        """Return the seed of a random draw of one split of one experiment's dataset."""
        return self.seed_of_dataset(axis, self.experiment_of(step).dataset, step.split, *axes)

    # Paths of artifacts.

    def dataset_file(self, step: Any) -> str:
        return f"results/datasets/{self.experiment_of(step).dataset}.h5"

    def split_file(self, step: Any) -> str:
        return f"{_folder(step)}/split.h5"

    def feature_file(self, step: Any) -> str:
        return f"{_folder(step)}/features.h5"

    def regression_file(self, step: Any) -> str:
        return f"{_folder(step)}/{step.method}/regression.h5"

    def prediction_file(self, step: Any) -> str:
        return f"{_folder(step)}/{step.method}/predictions.h5"

    def regression_seconds(self, step: Any) -> str:
        return f"results/timings/{step.experiment}/split-{step.split}/{step.method}-regression.json"

    def preimage_seconds(self, step: Any) -> str:
        return f"results/timings/{step.experiment}/split-{step.split}/{step.method}-preimages.json"

    def embedding_name(self, method: str) -> str:
        """Return the name of a method's embedding in paths: its form, and the block if unusual."""
        values = self.settings.methods[method]
        if values.form == "full" and values.covariance_block == "matrix":
            return "full-matrix"
        return values.form

    def model_folder(self, step: Any) -> str:
        """Return the folder of the models that a method uses; weak methods use annotated ones."""
        method = self.method_of(step)
        return f"{_folder(step)}/{method.model}{ANNOTATED if method.weak else ''}"

    def fitted_model_file(self, step: Any) -> str:
        """Return the models of a method as they were fitted, without annotations."""
        return f"{_folder(step)}/{self.method_of(step).model}/models.h5"

    def model_file(self, step: Any) -> str | list:
        return f"{self.model_folder(step)}/models.h5" if self.method_of(step).model else []

    def embedding_model_file(self, step: Any) -> str | list:
        """Return the models of a method's embedding; a method without a form has none."""
        return self.model_file(step) if self.method_of(step).form else []

    def embedding_file(self, step: Any) -> str | list:
        if not self.method_of(step).form:
            return []
        return f"{self.model_folder(step)}/embeddings-{self.embedding_name(step.method)}.h5"

    def alignment_file(self, step: Any) -> str | list:
        """Return the kernel values between all series of the dataset, where a method needs them."""
        kernel = self.method_of(step).output_kernel
        if kernel not in ALIGNMENT_KERNELS:
            return []
        return f"results/datasets/alignments/{self.experiment_of(step).dataset}-{kernel}.h5"

    def weak_label_file(self, step: Any) -> str | list:
        method = self.method_of(step)
        return f"{self.model_folder(step)}/weak_labels.h5" if method.weak and method.model else []

    def input_model_file(self, step: Any) -> str:
        return f"{_folder(step)}/{self.method_of(step).score_space.models}/input_models.h5"

    def input_score_file(self, step: Any) -> str | list:
        if self.method_of(step).score_space is None:
            return []
        return f"{_folder(step)}/{step.method}/input_scores.h5"

    def _members(self, step: Any) -> list[Any]:
        """Return the steps of the members of a stack."""
        return [
            SimpleNamespace(experiment=step.experiment, split=step.split, method=member)
            for member in self.settings.members_of(step.experiment, step.method)
        ]

    def artifact_files(self, step: Any) -> dict[str, str | list[str]]:
        """Return the artifacts that a method reads, by name; none that it has no use for."""
        files = {name: ARTIFACT_FILES[name](self, step) for name in self.artifacts_of(step)}
        return {name: paths for name, paths in files.items() if paths}

    def artifacts_of(self, step: Any) -> tuple[str, ...]:
        """Return the names of the artifacts that a method reads."""
        scores = ("input_scores",) if self.method_of(step).score_space else ()
        return (*self.module_of(step).artifacts, *scores)

    def files_of_splits(self, step: Any, path: Callable[[Any], str]) -> list[str]:
        """Return the path of every split of an experiment."""
        values = {name: value for name, value in _attributes(step).items() if name != "split"}
        return [
            path(SimpleNamespace(**values, split=split))
            for split in self.settings.splits_of(step.experiment)
        ]

    def files_of_methods(self, step: Any, *paths: Callable[[Any], str]) -> list[str]:
        """Return the paths of every method and split of an experiment, by method."""
        return [
            file
            for method in self.settings.methods_of(step.experiment)
            for path in paths
            for file in self.files_of_splits(
                SimpleNamespace(experiment=step.experiment, method=method), path
            )
        ]

    # Settings of stages.

    def reading(self, dataset: str) -> dict[str, Any]:
        """Return the settings by which a dataset is read."""
        values = self.settings.datasets[dataset]
        return {
            "reader": values.reader,
            "options": dict(values.options),
            "class_tree": values.class_tree,
            "class_costs": values.class_costs,
            "seed": self.seed_of_dataset("dataset", dataset),
        }

    def splitting(self, step: Any) -> dict[str, Any]:
        """Return the settings of the split of rows, but for its number."""
        values = self.experiment_of(step)
        keys = ("training_sizes", "weak_sizes", "unpaired_sizes")
        return {key: list(getattr(values, key)) for key in keys} | {
            "partition_seeds": self.partition_seeds(step.experiment),
            "outer_folds": values.outer_folds,
            "test_size": values.test_size,
            "whole_groups": values.whole_groups,
            "wrong_labels": values.wrong_labels,
            "n_folds": self.settings.run.n_folds,
        }

    def numbered_split(self, step: Any) -> dict[str, Any]:
        """Return the settings that differ between splits: the seed, the kind and the fold."""
        folds = self.experiment_of(step).outer_folds
        return {
            "seed": self.seed_of(step, "split"),
            "kind": "all" if step.split == FINAL else self.experiment_of(step).split,
            # Which repetition it belongs to and which fold it tests.
            "fold": divmod(int(step.split), folds) if folds and step.split != FINAL else None,
        }

    def partition_seeds(self, experiment: str) -> list[int]:
        """Return the seeds of the partitions into outer folds, one for each repetition."""
        values = self.settings.experiments[experiment]
        n_repetitions = values.n_splits // values.outer_folds if values.outer_folds else 0
        return [
            self.seed_of_dataset("partition", values.dataset, repetition)
            for repetition in range(n_repetitions)
        ]

    def features(self, step: Any) -> dict[str, Any]:
        """Return the settings of the preparation of the inputs, but for its seed."""
        experiment = self.experiment_of(step)
        return {
            "scale": self.settings.dataset_of(step.experiment).inputs.scale,
            "kernel": experiment.kernel,
            "lagged_values": experiment.lagged_values,
        }

    def models(self, step: Any) -> dict[str, Any]:
        """Return the settings of the generative models of the outputs, but for their seed."""
        keys = ("kind", "covariance_type", "variance_floor", "n_init")
        model = self.settings.models[step.model]
        return {key: getattr(model, key) for key in keys} | {
            "component_counts": list(self.settings.component_counts(step.experiment, step.model)),
            "output_scale": self.settings.dataset_of(step.experiment).outputs.scale,
        }

    def embeddings(self, step: Any) -> dict[str, str]:
        """Return the settings of the embedding that is named ``form``."""
        is_matrix = step.form.endswith("-matrix")
        return {
            "form": step.form.removesuffix("-matrix"),
            "covariance_block": "matrix" if is_matrix else "constrained",
        }

    def method_settings(self, step: Any) -> dict[str, Any]:
        """Return the settings that a method's module takes, by their names."""
        method = self.method_of(step)
        names = self.module_of(step).settings
        taken = file_settings(method, names) | {
            name: SETTINGS_OF_METHODS[name](self, step)
            for name in names
            if name in SETTINGS_OF_METHODS
        }
        if method.feature_learner:
            more = {
                "seed": self.seed_of(step, "training", step.method),
                "method_file": self.method_file(step),
            }
            taken["feature_learner"] = method.feature_learner.model_dump(mode="json") | more
        if method.score_space:
            taken["score_space"] = {
                **plain(self.settings.input_models[method.score_space.models], "grid"),
                "method_file": self.method_file(step),
            }
        return taken

    def method_file(self, step: Any) -> str:
        """Return the file of a method, as messages name it."""
        return self.settings.locations["method"][step.method]

    def landmarks(self, step: Any) -> dict[str, Any] | None:
        """Return what is done with more rows than a Gram matrix allows; None for nothing."""
        landmarks = self.settings.landmarks_of(step.experiment)
        return landmarks and {**landmarks, "seed": self.seed_of(step, "landmarks")}

    def components(self, step: Any) -> str | list[int]:
        """Return whether numbers of components are selected, or the fixed ones."""
        labels = self.settings.components_of(step.experiment, step.method)
        return labels[0] if labels == ("selected",) else [int(label) for label in labels]

    def predicts_scores(self, step: Any) -> bool:
        """Return whether a method predicts scores of the classes in an experiment."""
        return self.method_of(step).predicts_scores(self.settings.dataset_of(step.experiment).task)

    def class_vector_file(self, step: Any) -> str | list:
        """Return the dataset with the class vectors, where classes are predicted."""
        is_decoded = self.settings.task_of(step.experiment).decoder
        return self.dataset_file(step) if is_decoded else []

    def predicts_vectors(self, step: Any) -> bool:
        """Return whether a method predicts the vectors of classes, without scores of them."""
        return bool(self.class_vector_file(step)) and not self.predicts_scores(step)

    def preimages(self, step: Any) -> dict[str, Any]:
        """Return the settings of the stage that turns embeddings or vectors into outputs."""
        method = self.method_of(step)
        usual = self.settings.task_of(step.experiment).decoder
        return {
            "form": method.form,
            "covariance_block": method.covariance_block or "constrained",
            "preimage": method.preimage,
            "start": method.start,
            "distance": usual and (method.decoder or usual),
        }

    def scores_of_inputs(self, step: Any) -> dict[str, Any]:
        """Return the settings of the stage that turns the inputs of a method into scores."""
        space = self.method_of(step).score_space.model_dump(mode="json", exclude_none=True)
        del space["models"]
        return {
            "standardise": space.pop("standardise"),
            "space": space,
            "method_file": self.method_file(step),
        }

    def input_models(self, step: Any) -> dict[str, Any]:
        """Return the settings of the stage that fits a generative model of inputs."""
        keys = ("kind", "per_class", "settings", "grid")
        file = self.settings.locations["input_model"][step.input_model]
        return plain(self.settings.input_models[step.input_model], *keys) | {"model_file": file}

    def alignment_widths(self, step: Any) -> list[float]:
        """Return the output widths of all methods of the run with an alignment kernel."""
        return sorted(
            {
                width
                for method in self.settings.methods.values()
                if method.output_kernel == step.alignment
                for width in method.grid_values("output_width")
            }
        )

    # The answer on a user's table.

    def compared_methods(self, step: Any) -> dict[str, dict[str, Any]]:
        """Return what methods are compared by, and recognised as kernel ridge regression."""
        keys = ("label", "regressor", "penalty", "center", "form", "preimage", "weak")
        keys += ("weak_outputs", "members", "estimator", "plain_name")
        methods = self.method_fields(self.settings.methods_of(step.experiment), *keys)
        for method, values in methods.items():
            model = self.settings.model_of(method)
            values["model"] = model and plain(model, "kind", "covariance_type")
            values["grid"] = {
                "projection": list(self.settings.methods[method].grid_values("projection"))
            }
        return methods

    def data_profile(self, step: Any) -> dict[str, Any]:
        """Return the settings of the description of the table."""
        # The numbers depend on the name of the stream, which is therefore kept.
        dataset = self.experiment_of(step).dataset
        return {
            "options": dict(self.settings.dataset_of(step.experiment).options),
            "seed": derive_seed(self.settings.run.seed, "first-look", dataset),
        }

    def leaderboard(self, step: Any) -> dict[str, Any]:
        """Return the settings of the leaderboard."""
        return {
            "methods": self.compared_methods(step),
            "experiment_settings": {
                **plain(self.experiment_of(step), "title", "split"),
                "metric": self.settings.shown_metric_of(step.experiment),
            },
            "n_folds": self.settings.run.n_folds,
        }

    def calibration(self, step: Any) -> dict[str, Any]:
        """Return the settings of the calibration of intervals."""
        dataset = self.experiment_of(step).dataset
        return {
            "level": self.settings.run.interval_level,
            "seed": derive_seed(self.settings.run.seed, "calibration", dataset),
        }

    def saved_model(self, step: Any) -> dict[str, Any]:
        """Return the settings of the saved model."""
        dataset = self.settings.dataset_of(step.experiment)
        return {
            "methods": self.saved_methods(step),
            "options": dict(dataset.options),
            "title": dataset.title,
            "trusted": self.trusted_classes(step),
        }

    def trusted_classes(self, step: Any) -> list[str]:
        """Return the classes that methods of an experiment name, which a saved model may hold."""
        methods = (
            self.settings.methods[name] for name in self.settings.methods_of(step.experiment)
        )
        return sorted({path for method in methods for path in method.named_classes()})

    def importance(self, step: Any) -> dict[str, Any]:
        """Return the settings of the importance of inputs."""
        dataset = self.experiment_of(step).dataset
        splits = self.settings.splits_of(step.experiment)
        return {
            "methods": [self.saved_methods(step, split) for split in splits],
            "seed": derive_seed(self.settings.run.seed, "importance", dataset),
            "trusted": self.trusted_classes(step),
        }

    def saved_methods(self, step: Any, split: int | str = FINAL) -> dict[str, dict[str, Any]]:
        """Return what a saved model needs of each method of an experiment, by method."""
        keys = ("form", "covariance_block", "preimage", "start", "decoder", "weak_outputs")
        methods = self.settings.methods_of(step.experiment)
        parts = self.method_fields(methods, *keys, "estimator")
        for method, values in parts.items():
            last = SimpleNamespace(experiment=step.experiment, split=split, method=method)
            artifacts = {name: ARTIFACT_FILES[name](self, last) for name in self.artifacts_of(last)}
            values |= {
                "module": self.module_of(last).name,
                "settings": self.method_settings(last),
                "artifacts": {name: self.prefixed(paths) for name, paths in artifacts.items()},
                "members": list(self.settings.members_of(step.experiment, method)),
                "predicts_scores": self.predicts_scores(last),
                "seed": self.seed_of(last, "training", method),
                "regression": self.prefixed(self.regression_file(last)),
                "predictions": self.prefixed(self.prediction_file(last)),
            }
        return {
            method: {key: value for key, value in values.items() if value not in (None, [])}
            for method, values in parts.items()
        }

    def prefixed(self, paths: str | Sequence[str]) -> str | list[str]:
        """Return where files of the run lie."""
        if isinstance(paths, str):
            return f"{self.prefix}{paths}"
        return [f"{self.prefix}{path}" for path in paths]


ARTIFACT_FILES: dict[str, Callable[[Stages, Any], str | list[str]]] = {
    "dataset": Stages.dataset_file,
    "split": Stages.split_file,
    "features": Stages.feature_file,
    "models": Stages.model_file,
    "embeddings": Stages.embedding_file,
    "weak_labels": Stages.weak_label_file,
    "alignments": Stages.alignment_file,
    "input_scores": Stages.input_score_file,
    "regressions": lambda stages, step: [
        stages.regression_file(member) for member in stages._members(step)
    ],
    "predictions": lambda stages, step: [
        stages.prediction_file(member) for member in stages._members(step)
    ],
    "member_timings": lambda stages, step: [
        path(member)
        for member in stages._members(step)
        for path in (stages.regression_seconds, stages.preimage_seconds)
    ],
}
"""The paths of the artifacts that a method may read."""


SETTINGS_OF_METHODS: dict[str, Callable[[Stages, Any], Any]] = {
    "components": Stages.components,
    "kernel": lambda stages, step: stages.experiment_of(step).kernel,
    "kernels": lambda stages, step: stages.settings.kernels_of(step.experiment, step.method),
    "landmarks": Stages.landmarks,
    "members": lambda stages, step: list(stages.settings.members_of(step.experiment, step.method)),
    "metric": lambda stages, step: stages.settings.selection_metric_of(step.experiment),
    "method_file": Stages.method_file,
    "output_scale": lambda stages, step: stages.settings.dataset_of(step.experiment).outputs.scale,
    "precision": lambda stages, step: stages.settings.run.selection_precision,
    "projections": lambda stages, step: stages.settings.projections_of(
        step.experiment, step.method
    ),
    "seed": lambda stages, step: stages.seed_of(step, "training", step.method),
    "studies": lambda stages, step: stages.settings.studies_of(step.experiment, step.method),
}
"""The settings of a method's module that the method's file does not decide."""


def plain(values: Settings, *keys: str) -> dict[str, Any]:
    """Return these keys of a block of settings, as values that JSON can hold."""
    dumped = values.model_dump(mode="json")
    return {key: dumped[key] for key in keys}


def _folder(step: Any) -> str:
    return STEP_FOLDER.format(experiment=step.experiment, split=step.split)


def _attributes(step: Any) -> dict[str, Any]:
    """Return what a step names, of wildcards or of a namespace."""
    return dict(step.items()) if hasattr(step, "items") else vars(step)
