"""All stages of a user's table in one process, with the arguments of the rules."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.measuring import ROOT
from workflow_lib.core.seeds import derive_seed
from workflow_lib.methods.contract.base import method_modules

METHODS = ("ofer-gmm", "m-krr", "m-mean")

FINAL = "final"


@dataclass(frozen=True)
class OwnTable:
    """An experiment on a user's table, all its artifacts in a folder.

    The stages of the workflow are called with the arguments that the rules give them.
    """

    folder: Path
    name: str
    settings: Any

    @classmethod
    def new(
        cls,
        folder: Path,
        name: str,
        columns: Mapping[str, Sequence],
        outputs: Sequence[str],
        n_splits: int,
        seed: int,
        config: Path = ROOT / "config",
        methods: Sequence[str] = METHODS,
        more: Mapping[str, str] | None = None,
    ) -> OwnTable:
        """Write a table and its configuration.

        Parameters
        ----------
        folder : path
        name : str
        columns : mapping of str to sequence
        outputs : sequence of str
        n_splits, seed : int
        config : path
            The folder with ``methods/`` and ``models/``.
        methods : sequence of str, default=`METHODS`
            Of the regressors training_mean and kernel_ridge.
        more : mapping or None, default=None
            Further keys of the request, as for `snakemake new`.
        """
        from workflow_lib.run.loading import load_configuration
        from workflow_lib.table.proposal_text import dataset_text, experiment_text
        from workflow_lib.table.table_proposal import propose
        from workflow_lib.tabular.table_file import read_table

        for kind in ("methods", "models"):
            shutil.copytree(config / kind, folder / "config" / kind)
        table = folder / f"{name}.csv"
        with table.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        request = {"name": name, "data": str(table), "outputs": list(outputs), **(more or {})}
        proposal = propose(request, read_table(str(table)), folder / "config")
        summaries = dict(proposal.methods)
        proposal.methods = [(method, summaries[method]) for method in methods]
        proposal.training_sizes = proposal.training_sizes[-1:]
        proposal.n_splits = n_splits
        texts = {"datasets": dataset_text, "experiments": experiment_text}
        for kind, text in texts.items():
            (folder / "config" / kind).mkdir()
            written = yaml.safe_load(text(proposal))
            # Nothing is plotted here, and some result tables need methods that are left out.
            for part in ("tables", "figures"):
                written.pop(part, None)
            (folder / "config" / kind / f"{name}.yaml").write_text(
                yaml.safe_dump(written), encoding="utf-8"
            )
        settings = load_configuration(folder / "config", {"name": name, "seed": seed})
        return cls(folder, name, settings)

    def answer(self) -> None:
        """Run all stages up to the saved model."""
        from workflow_lib.protocol import evaluation
        from workflow_lib.table import calibration_stage, leaderboard, saved_model_stage

        self._read()
        splits = [str(split) for split in self.settings.splits_of(self.name)]
        methods = self.settings.methods_of(self.name)
        for split in splits:
            self._prepare(split)
            for method in methods:
                self._predict(split, method)
        predictions = {
            method: [self._file(split, f"{method}-predictions") for split in splits]
            for method in methods
        }
        partitions = [self._file(split, "split") for split in splits]
        scores = self.folder / "scores.csv"
        evaluation.run_scores(
            dataset=self._dataset,
            splits=partitions,
            predictions=predictions,
            output=scores,
            choices=self.folder / "choices.csv",
            coordinates=self.folder / "coordinates.csv",
            experiment=self.name,
            dataset_name=self.name,
        )
        experiment = self.settings.experiments[self.name]
        leaderboard.run(
            scores=scores,
            choices=self.folder / "choices.csv",
            timings=[],
            methods={method: self._compared(method) for method in methods},
            experiment_settings={
                "title": self.name,
                "metric": experiment.metric,
                "split": experiment.split,
            },
            n_folds=self.settings.run.n_folds,
            output=self._answer,
            output_with_seconds=self.folder / "answer-with-seconds.json",
        )
        calibration_stage.run(
            answer=self._answer,
            dataset=self._dataset,
            splits=partitions,
            features=[self._file(split, "features") for split in splits],
            predictions=predictions,
            output=self.folder / "calibration.h5",
            level=self.settings.run.interval_level,
            seed=derive_seed(self.settings.run.seed, "calibration", self.name),
        )
        winner = self.answered()["winner"]
        self._prepare(FINAL)
        self._predict(FINAL, winner)
        dataset = self.settings.datasets[self.name]
        saved_model_stage.run(
            answer=self._answer,
            dataset=self._dataset,
            split=self._file(FINAL, "split"),
            features=self._file(FINAL, "features"),
            calibration=self.folder / "calibration.h5",
            methods={winner: self._saved_parts(winner)},
            output=self.folder / "model.h5",
            title=dataset.title,
            options=dict(dataset.options),
        )

    def answered(self) -> dict[str, Any]:
        """Return the answer."""
        return json.loads(self._answer.read_text(encoding="utf-8"))

    def measured_coverage(self) -> np.ndarray:
        """Return the coverage (d,) that the report states: the mean over splits.

        NaN where the test rows of all splits are too few to measure any.
        """
        from workflow_lib.core.artifacts import read_artifact

        measured = read_artifact(self.folder / "calibration.h5", "calibration")["coverage"]
        known = (~np.isnan(measured)).sum(axis=0)
        return np.where(known > 0, np.nansum(measured, axis=0) / np.maximum(known, 1), np.nan)

    def constant_half_widths(self) -> np.ndarray:
        """Return the half-widths (d,) that the same residuals give where all rows share one."""
        from workflow_lib.core.artifacts import read_artifact

        return read_artifact(self.folder / "calibration.h5", "calibration")["constant_half_widths"]

    def intervals(self) -> Any:
        """Return the intervals that were calibrated."""
        from workflow_lib.core.artifacts import read_artifact
        from workflow_lib.uncertainty.row_intervals import RowIntervals

        tree = read_artifact(self.folder / "calibration.h5", "calibration")
        return RowIntervals.from_tree(tree["intervals"])

    def predict(self, columns: Mapping[str, Sequence]) -> Any:
        """Return the predictions of the saved model for new rows, with regions if it has them."""
        from workflow_lib.table.saved_model import load_model

        model = load_model(self.folder / "model.h5")
        return model.predict(columns, joint=model.joint_regions is not None)

    @property
    def _dataset(self) -> Path:
        return self.folder / "dataset.h5"

    @property
    def _answer(self) -> Path:
        return self.folder / "answer.json"

    def _file(self, split: str, name: str) -> Path:
        return self.folder / f"split-{split}" / f"{name}.h5"

    def _seed(self, axis: str, split: str, *more: str) -> int:
        return derive_seed(self.settings.run.seed, axis, self.name, split, *more)

    def _read(self) -> None:
        from workflow_lib.core.artifacts import write_artifact
        from workflow_lib.data.reading import read_dataset

        dataset = self.settings.datasets[self.name]
        seed = derive_seed(self.settings.run.seed, "dataset", self.name)
        tree = read_dataset(dataset.reader, dataset.options, [], seed)
        allowed = ("inputs", "outputs", "lagged_values/values")
        write_artifact(self._dataset, tree, "dataset", seed=seed, allow_nan=allowed)

    def _prepare(self, split: str) -> None:
        """Split the rows and fit the preparation of the inputs."""
        from workflow_lib.protocol import features_stage, splitting

        experiment = self.settings.experiments[self.name]
        self._file(split, "split").parent.mkdir()
        splitting.run(
            dataset=self._dataset,
            output=self._file(split, "split"),
            training_sizes=list(experiment.training_sizes),
            weak_sizes=list(experiment.weak_sizes),
            test_size=experiment.test_size,
            n_folds=self.settings.run.n_folds,
            seed=self._seed("split", split),
            experiment=self.name,
            kind="all" if split == FINAL else experiment.split,
        )
        features_stage.run(
            dataset=self._dataset,
            split=self._file(split, "split"),
            output=self._file(split, "features"),
            scale=self.settings.datasets[self.name].inputs.scale,
            kernel=experiment.kernel,
            lagged_values=experiment.lagged_values,
        )

    def _predict(self, split: str, method: str) -> None:
        """Fit a method on a split and predict its test rows."""
        from workflow_lib.protocol import output_predictions, preimages, regression

        settings = self.settings.methods[method]
        written = self._file(split, f"{method}-regression")
        predictions = self._file(split, f"{method}-predictions")
        seconds = self._file(split, method).with_suffix(".json")
        self._embed(split, method)
        chosen = self._settings_of(split, method)
        module = method_modules()[settings.regressor].name
        regression.run(module, self._artifacts(split, method), chosen, written, seconds)
        if settings.form is None:
            output_predictions.run(written, predictions, seconds)
            return
        preimages.run(
            regression=written,
            models=self._models(split, method),
            output=predictions,
            timings=seconds,
            form=settings.form,
            covariance_block=settings.covariance_block or "constrained",
            preimage=settings.preimage,
            start=settings.start,
        )

    def _artifacts(self, split: str, method: str) -> dict[str, Path]:
        """Return the files that a method reads."""
        settings = self.settings.methods[method]
        found = {"dataset": self._dataset}
        found |= {kind: self._file(split, kind) for kind in ("split", "features")}
        if settings.model is not None:
            found["models"] = self._models(split, method)
            found["embeddings"] = self._file(split, f"{method}-embeddings")
        if settings.weak:
            found["weak_labels"] = self._file(split, f"{method}-weak_labels")
        return found

    def _settings_of(self, split: str, method: str) -> dict[str, Any]:
        """Return the settings of a method: of the mean or of kernel ridge regression."""
        settings, run = self.settings.methods[method], self.settings.run
        if settings.regressor == "training_mean":
            return {"metric": self.settings.experiments[self.name].metric}
        metric = self.settings.selection_metric_of(self.name)
        landmarks = self.settings.landmarks_of(self.name)
        return {
            "components": self.settings.components_of(self.name, method)[0],
            "component_counts": list(self.settings.component_candidates(method, "selected")),
            "combine": settings.combine,
            "kernel": self.settings.experiments[self.name].kernel,
            "widths": list(settings.grid_values("width")),
            "alphas": list(settings.grid_values("alpha")),
            "penalty": settings.penalty,
            "weak": settings.weak,
            "weak_weights": list(settings.grid_values("weak_weight")),
            "weak_outputs": settings.weak_outputs,
            "projections": self.settings.projections_of(self.name, method),
            "studies": self.settings.studies_of(self.name, method),
            "center": settings.center,
            "metric": metric,
            "one_example": self.settings.one_example_of(method),
            "landmarks": landmarks and {**landmarks, "seed": self._seed("landmarks", split)},
            "precision": run.selection_precision,
        }

    def _models(self, split: str, method: str) -> Path | None:
        has_model = self.settings.methods[method].model is not None
        return self._file(split, f"{method}-models") if has_model else None

    def _embed(self, split: str, method: str) -> None:
        from workflow_lib.protocol import annotation, embedding, generative_models

        settings, model = self.settings.methods[method], self.settings.model_of(method)
        if model is None:
            return
        rows = (self._dataset, self._file(split, "split"))
        models = self._models(split, method)
        generative_models.run(
            *rows,
            models,
            kind=model.kind,
            covariance_type=model.covariance_type,
            variance_floor=model.variance_floor,
            n_init=model.n_init,
            component_counts=list(self.settings.component_counts(self.name, settings.model)),
            output_scale=self.settings.datasets[self.name].outputs.scale,
            seed=self._seed("training", split, settings.model),
        )
        if settings.weak:
            annotation.run(
                *rows,
                models,
                output_models=models,
                output_labels=self._file(split, f"{method}-weak_labels"),
                label_kind=self.settings.experiments[self.name].weak_labels,
                seed=self._seed("annotation", split, settings.model),
            )
        block = settings.covariance_block or "constrained"
        embeddings = self._file(split, f"{method}-embeddings")
        embedding.run(*rows, models, embeddings, settings.form, block)

    def _compared(self, method: str) -> dict[str, Any]:
        """Return the facts on a method that the leaderboard needs."""
        keys = ("label", "regressor", "penalty", "center", "form", "preimage", "weak")
        settings, model = self.settings.methods[method], self.settings.model_of(method)
        return {key: getattr(settings, key) for key in (*keys, "weak_outputs")} | {
            "model": model and {"kind": model.kind, "covariance_type": model.covariance_type},
            "grid": {"projection": list(settings.grid_values("projection"))},
        }

    def _saved_parts(self, method: str) -> dict[str, Any]:
        """Return the facts on a method that a saved model needs."""
        settings = self.settings.methods[method]
        keys = ("form", "covariance_block", "preimage", "start", "decoder", "weak_outputs")
        return {key: getattr(settings, key) for key in keys} | {
            "module": method_modules()[settings.regressor].name,
            "settings": self._settings_of(FINAL, method),
            "artifacts": self._artifacts(FINAL, method),
            "seed": self._seed("training", FINAL, method),
            "regression": self._file(FINAL, f"{method}-regression"),
            "predictions": self._file(FINAL, f"{method}-predictions"),
        }
