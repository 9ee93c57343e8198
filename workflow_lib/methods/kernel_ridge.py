"""Kernel ridge regression of the outputs or of their Fisher embedding, with weak rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec, counts_by_setting, fit_specs
from workflow_lib.fitting.fitted_features import FittedFeatureRidge
from workflow_lib.fitting.fitted_ridge import FittedAverage, FittedRidge
from workflow_lib.fitting.kernel_ridge_fit import KernelRidgeFit, KernelRidgeGrid
from workflow_lib.fitting.landmark_ridge_fit import LandmarkRidgeFit
from workflow_lib.items.group_names import SELECTED
from workflow_lib.methods.contract import base

REGRESSORS = ("kernel_ridge",)
TASKS = ("regression", "series", "classes")
NEEDS = {"minutes": 2, "grams": 14, "cubic_minutes": 0.2}
READS = ("dataset", "split", "features", "models", "embeddings", "weak_labels")


@dataclass
class Method(base.Method):
    """Select and fit kernel ridge regression.

    Without the artifact of embeddings the outputs themselves are regressed; with models and without
    embeddings the model gives the outputs of weak rows only.
    """

    components: str | Sequence[int]
    """SELECTED, or the fixed counts that are run one by one."""

    component_counts: Sequence[int]
    """Counts that compete where `components` is SELECTED."""

    combine: str
    """{"best", "average", "bootstrap"}: whether the selected component counts compete, or their
    predictions are averaged, or the fits chosen by bootstrap samples
    (`workflow_lib.fitting.bootstrap_choices`). With landmarks and with one example per class the
    last is the first."""

    kernel: str
    """That of the "features" artifact."""

    widths: Sequence[float]
    alphas: Sequence[float]

    penalty: str
    """{"shared", "per_block"}: whether the leading blocks and the others share one penalty."""

    weak: bool
    """Whether weak rows join."""

    weak_weights: Sequence[float]
    """Weights of a weak row relative to a labelled one."""

    weak_outputs: str | None
    """What replaces the outputs of weak rows where outputs are regressed; see
    `workflow_lib.fitting.kernel_ridge_fit`."""

    projections: Sequence[bool]
    """Whether predicted memberships are projected on the simplex; both compete if both are
    given."""

    studies: Mapping[str, Sequence[float]]
    """``weak_weight`` (values of lambda_2 of eq. (14)) and ``weak_noise`` (shares of wrong labels):
    each value is run on its own, at the largest training and weak size."""

    center: bool
    """Whether there is an unpenalised intercept."""

    metric: str
    """{"arrmse", "rrmse"}."""

    one_example: Mapping[str, object] | None = None
    """Values used instead of the grid with one labelled example per class: ``alpha``, ``width``,
    ``n_components``, ``weak_weight`` and ``projection``, as far as the method has them. Nothing can
    be selected there: without its example a class is never predicted."""

    landmarks: Mapping[str, int] | None = None
    """Of what is done where there are more training rows than a Gram matrix allows
    (`LandmarkRidgeFit`): ``max_gram_rows``, from which on; ``n_landmarks`` and ``seed``. None for
    never. Where it is done, inputs are read from their file as they are needed."""

    approximation: str = "landmarks"
    """{"landmarks", "random_features"}, default="landmarks": what is done there."""

    precision: str = "float64"
    """{"float64", "float32"}, default="float64": of the grid where all folds share one Gram matrix;
    the winner is fitted in float64."""

    kernels: Sequence[str] | None = None
    """Those that compete. Penalties are then relative to each, and a grid is extended where a
    chosen value lies on its edge; see `workflow_lib.fitting.input_kernels`. None for `kernel`
    alone, with penalties as they are."""

    seed: int | None = None
    """Of bootstrap samples."""

    def specs(self, split: SplitData) -> list[FitSpec]:
        """Return the fits of each size, of each fixed number of components, and of studies.

        Raises UserError if the true outputs of weak rows are asked for, and some have none.
        """
        if self.weak_outputs == "true":
            split.check_weak_outputs()
        counts = counts_by_setting(self.components, self.component_counts, split.models is not None)
        return fit_specs(split.sizes, split.weak_sizes if self.weak else [0], counts, self.studies)

    def select(self, data: FitData) -> base.Selection:
        return self._fit(data).selection(self.combine)

    def fit(self, data: FitData, selection: base.Selection) -> base.Fitted:
        fit, choice = selection.fitting
        return fit.fitted(choice)

    def restored(self, data: FitData, entries: Mapping) -> base.Fitted:
        if "weights" in entries:
            return FittedFeatureRidge.from_arrays({"kernel": self.kernel} | dict(entries))
        if "averaged" in entries:
            return FittedAverage.from_arrays(entries)
        return FittedRidge.from_entries(entries, data.size, self.kernel)

    def _fit(self, data: FitData) -> KernelRidgeFit:
        """Return the fit, on landmarks where a Gram matrix would be too large."""
        is_large = self.landmarks is not None and data.size > self.landmarks["max_gram_rows"]
        grid = KernelRidgeGrid.of_method(
            self,
            penalty=self.penalty,
            weak_weights=list(self.weak_weights),
            projections=list(self.projections),
            weak_outputs=self.weak_outputs,
        )
        if data.split.is_one_example_of_each(data.size):
            grid, spec = grid.single(self.one_example), data.spec
            if spec.components == SELECTED and "n_components" in self.one_example:
                spec = replace(spec, counts=(self.one_example["n_components"],))
            data = FitData(data.split, spec)
        elif self.combine == "bootstrap" and not is_large:
            grid = replace(grid, bootstrap_seed=self.seed)
        if not is_large:
            return KernelRidgeFit(data, grid)
        is_random = self.approximation == "random_features"
        settings = self.landmarks["n_landmarks"], self.landmarks["seed"], is_random
        return LandmarkRidgeFit(data, grid, *settings)


class Fitted(base.Fitted):
    """Dual coefficients, those of several kernels, or weights of features of too many rows."""

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> base.Fitted:
        """Return the regression that the arrays are of."""
        kinds = {"weights": FittedFeatureRidge, "averaged": FittedAverage}
        kind = next((kinds[name] for name in kinds if name in arrays), FittedRidge)
        return kind.from_arrays(arrays)
