"""A user's table of a law, and the saved model that a comparison of methods makes of it."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.measuring import ROOT
from workflow_lib.table.in_process import TableRun, run_table

METHODS = ("ofer-gmm", "m-krr", "m-mean")


@dataclass(frozen=True)
class OwnTable:
    """An experiment on a user's table, all its artifacts in a folder."""

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
        for _ in run_table(self._run):
            pass

    def answered(self) -> dict[str, Any]:
        """Return the answer."""
        return self._run.answer()

    def measured_coverage(self) -> np.ndarray:
        """Return the coverage (d,) that the report states: the mean over splits.

        NaN where the test rows of all splits are too few to measure any.
        """
        measured = self._calibration()["coverage"]
        known = (~np.isnan(measured)).sum(axis=0)
        return np.where(known > 0, np.nansum(measured, axis=0) / np.maximum(known, 1), np.nan)

    def constant_half_widths(self) -> np.ndarray:
        """Return the half-widths (d,) that the same residuals give where all rows share one."""
        return self._calibration()["constant_half_widths"]

    def intervals(self) -> Any:
        """Return the intervals that were calibrated."""
        from workflow_lib.uncertainty.row_intervals import RowIntervals

        return RowIntervals.from_tree(self._calibration()["intervals"])

    def predict(self, columns: Mapping[str, Sequence]) -> Any:
        """Return the predictions of the saved model for new rows, with regions if it has them."""
        from workflow_lib.table.saved_model import load_model

        model = load_model(self._run.file(f"results/{self.name}/model.h5"))
        return model.predict(columns, joint=model.joint_regions is not None)

    @property
    def _run(self) -> TableRun:
        return TableRun(self.settings, self.name, self.folder)

    def _calibration(self) -> dict[str, Any]:
        from workflow_lib.core.artifacts import read_artifact

        return read_artifact(self._run.file(f"results/{self.name}/calibration.h5"), "calibration")
