"""OFER with mixtures whose memberships are learned together with their regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec, counts_by_setting, fit_specs
from workflow_lib.fitting.joint_ridge_fit import FittedJointRidge as Fitted
from workflow_lib.fitting.joint_ridge_fit import JointRidgeFit
from workflow_lib.fitting.kernel_ridge_fit import KernelRidgeGrid
from workflow_lib.methods.contract import base

REGRESSORS = ("joint_ridge",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 10, "grams": 20, "cubic_minutes": 1}
READS = ("dataset", "split", "features", "models", "weak_labels")


@dataclass
class Method(base.Method):
    """Select a mixture and kernel ridge regression for each component count.

    Attributes
    ----------
    components, component_counts, combine, kernel, widths, alphas, weak, weak_weights, projections,
    center, metric, precision, kernels
        As of `workflow_lib.methods.kernel_ridge.Method`.
    grid : mapping
        Lists of ``joint_alpha`` and ``variance_floor``.
    """

    components: str | Sequence[int]
    component_counts: Sequence[int]
    combine: str
    kernel: str
    widths: Sequence[float]
    alphas: Sequence[float]
    weak: bool
    weak_weights: Sequence[float]
    projections: Sequence[bool]
    grid: Mapping[str, Sequence]
    center: bool
    metric: str
    precision: str = "float64"
    kernels: Sequence[str] | None = None

    def specs(self, split: SplitData) -> list[FitSpec]:
        """Return the fits of each size, and of each fixed number of components."""
        counts = counts_by_setting(self.components, self.component_counts, has_model=True)
        return fit_specs(split.sizes, split.weak_sizes if self.weak else [0], counts)

    def select(self, data: FitData) -> base.Selection:
        grid = KernelRidgeGrid.of_method(
            self,
            penalty="per_block",
            weak_weights=list(self.weak_weights),
            projections=list(self.projections),
        )
        fit = JointRidgeFit(data, grid, self.grid["joint_alpha"], self.grid["variance_floor"])
        return fit.selection(self.combine)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        fit, choice = selection.fitting
        return fit.fitted(choice)

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        return Fitted.from_entries(entries, data.size, self.kernel)
