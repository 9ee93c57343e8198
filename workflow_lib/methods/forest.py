"""Forests of regression trees that predict all outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_forest import FittedForest as Fitted
from workflow_lib.fitting.validation_curves import NO_KERNEL, GridErrors
from workflow_lib.measures.metrics import reference_errors
from workflow_lib.methods.contract import base

REGRESSORS = ("random_forest", "extra_trees")
TASKS = ("regression", "series")
NEEDS = {"minutes": 5, "cubic_minutes": 0.2, "more_mb": 200}
READS = ("dataset", "split", "features")


@dataclass
class Method(base.Method):
    """Select the share of the inputs that compete at a cut, and fit a forest."""

    max_features: Sequence[float]
    """The shares that compete."""

    n_trees: int

    metric: str
    """{"arrmse", "rrmse"}: the error that is minimised."""

    seed: int

    regressor: str = "random_forest"
    """A key of `workflow_lib.solvers.forest.FORESTS`."""

    output_scale: str = "none"
    """{"none", "center", "standard"}, default="none": the units in which a cut compares outputs."""

    def select(self, data: FitData) -> base.Selection:
        """Return the best share; held-out rows are predicted by the forests of the folds."""
        from workflow_lib.solvers.forest import select_max_features

        choice = select_max_features(
            self.regressor,
            list(data.inputs.fold_rows()),
            data.folds,
            data.outputs,
            [data.targets(fold) for fold in data.fold_numbers],
            reference_errors(data.outputs, data.folds),
            self.max_features,
            self.n_trees,
            self.seed,
            self.metric,
            self.output_scale,
        )
        entries = {"score": choice.score, "max_features": choice.max_features}
        curves = GridErrors()
        curves.add(NO_KERNEL, {"max_features": self.max_features}, choice.scores)
        return base.Selection(choice.heldout_outputs, entries | curves.entry(NO_KERNEL, entries))

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        """Seed and rows are the same in every job, and so are the trees."""
        from workflow_lib.solvers.forest import fitted_forest

        share = float(selection.entries["max_features"])
        settings = self.n_trees, share, self.seed, self.output_scale
        forest = fitted_forest(self.regressor, data.vectors[0], data.targets(), *settings)
        return Fitted(forest, data.directions)
