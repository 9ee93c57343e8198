"""Kernel ridge regression whose predictions are corrected by a density of all known outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec, unpaired_specs
from workflow_lib.fitting.fitted_ridge import FittedRidge
from workflow_lib.fitting.kernel_ridge_fit import ridge_of_outputs, shared_selection
from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.measures.metrics import MIN_GAIN, heldout_error
from workflow_lib.methods.contract import base
from workflow_lib.models.output_density import OutputDensity, fit_output_density
from workflow_lib.models.output_scaling import OutputScaling, fit_output_scaling
from workflow_lib.models.posterior import GaussianPosterior
from workflow_lib.models.posterior_noise import choose_noise

REGRESSORS = ("posterior_ridge",)
TASKS = ("regression", "series", "classes")
NEEDS = {"minutes": 3, "grams": 14, "cubic_minutes": 0.2}
READS = ("dataset", "split", "features")


class Prior(NamedTuple):
    """A density of outputs that competes."""

    kind: str
    setting: float | None

    @property
    def name(self) -> str:
        """The kind and its setting, as in the artifact."""
        return self.kind if self.setting is None else f"{self.kind} {self.setting:g}"

    @classmethod
    def from_name(cls, name: str) -> Prior:
        """Return the prior of a name."""
        kind, _, setting = name.partition(" ")
        return cls(kind, float(setting) if setting else None)


class FittedPrior(NamedTuple):
    """A density of outputs in units of their own, and those units."""

    density: OutputDensity
    scaling: OutputScaling

    def posterior_means(self, predicted: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return the posterior means (n, d) of predictions, for noise of variances (d,)."""
        posterior = GaussianPosterior(*self.density[:4], noise / self.scaling.scale**2)
        means = posterior.means(self.scaling.apply(predicted))
        return self.scaling.inverse_transform(means)


@dataclass
class Method(base.Method):
    """Select kernel ridge regression, then a prior of the outputs and the noise.

    Attributes
    ----------
    kernel, kernels, widths, alphas
        As of `workflow_lib.fitting.input_kernels.KernelGrid.of_method`.
    center : bool
        Fit an unpenalised intercept.
    metric : {"arrmse", "rrmse"}
    grid : mapping
        Lists of ``prior``, ``prior_components``, ``prior_width`` and ``noise``.
    seed : int
        Of the starts of mixtures.
    precision : {"float64", "float32"}, default="float64"
        Of the grid, as of `workflow_lib.methods.kernel_ridge.Method`.
    one_example : mapping or None, default=None
        ``alpha`` and ``width`` with one labelled example per class, where nothing can be selected.
    """

    kernel: str
    widths: Sequence[float]
    alphas: Sequence[float]
    center: bool
    metric: str
    grid: Mapping[str, Sequence]
    seed: int
    precision: str = "float64"
    kernels: Sequence[str] | None = None
    one_example: Mapping[str, object] | None = None

    def specs(self, split: SplitData) -> list[FitSpec]:
        """Return the fits of each size with all unpaired outputs, and with fewer as a study."""
        return unpaired_specs(split.sizes, split.unpaired_sizes)

    def select(self, data: FitData) -> base.Selection:
        return shared_selection(data, self._select)

    def _select(self, data: FitData) -> base.Selection:
        (fit, choice), seconds = ridge_of_outputs(data, self)
        more = {"selection_seconds": seconds}
        outputs, best, factors = data.outputs, None, self.grid["noise"]
        if data.split.is_one_example_of_each(data.size):
            factors = [0.0]
        mixtures: dict[int, dict] = {fold: {} for fold in data.fold_numbers}
        for prior in self._priors():
            by_fold = [self._fitted(prior, data, fold, known) for fold, known in mixtures.items()]
            noise = choose_noise(
                outputs,
                choice.heldout_outputs,
                data.folds,
                [fitted.posterior_means for fitted in by_fold],
                factors,
                lambda predicted: heldout_error(outputs, predicted, data.folds, self.metric),
            )
            if best is None or noise.error < best[1].error * (1.0 - MIN_GAIN):
                best = prior, noise
        prior, noise = best
        fitted = self._fitted(prior, data, None) if noise.factor else None
        entries = fit.entries_of(choice) | {
            "edges": fit.edges_of(choice) or None,
            "score": noise.error,
            "prior": prior.name if fitted else "none",
            # Of a singular covariance of the outputs, which no posterior could be formed with.
            "prior_shrinkage": fitted.density.shrinkage if fitted else None,
            "noise_factor": noise.factor,
            "unpaired_size": len(data.unpaired_outputs),
            "noise_variances": noise.variances,
        }
        return base.Selection(
            noise.means, entries, more_seconds=more, fitting=(fit.fitted(choice), fitted)
        )

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        ridge, prior = selection.fitting
        return Fitted(ridge, prior, selection.entries["noise_variances"])

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        name = str(entries["prior"])
        prior = None if name == "none" else self._fitted(Prior.from_name(name), data, None)
        ridge = FittedRidge.from_entries(entries, data.size, self.kernel)
        return Fitted(ridge, prior, entries["noise_variances"])

    def _priors(self) -> Iterator[Prior]:
        settings = {
            "gaussian": [None],
            "mixture": self.grid.get("prior_components", ()),
            "mixture_full": self.grid.get("prior_components", ()),
            "kernel": self.grid.get("prior_width", ()),
        }
        for kind in self.grid["prior"]:
            for setting in settings[kind]:
                yield Prior(kind, setting)

    def _fitted(
        self, prior: Prior, data: FitData, fold: int | None, mixtures: dict | None = None
    ) -> FittedPrior:
        """Return a prior of the outputs of a fold's training rows, and of unpaired ones. `mixtures`
        are those of `fit_output_density`."""
        rows = slice(None) if fold is None else data.folds != fold
        known = impute_mean(np.vstack([data.outputs[rows], data.unpaired_outputs]))
        scaling = fit_output_scaling(known, "standard")
        density = fit_output_density(scaling.apply(known), *prior, self.seed, mixtures)
        return FittedPrior(density, scaling)


class Fitted(base.Fitted):
    """A kernel ridge regression and a prior of its outputs; no prior where none helped.

    Parameters
    ----------
    ridge : FittedRidge
    prior : FittedPrior or None
    noise : array (d,)
        Variances of the noise.
    """

    def __init__(self, ridge: FittedRidge, prior: FittedPrior | None, noise: np.ndarray) -> None:
        self._ridge, self._prior, self._noise = ridge, prior, noise

    def predict(self, rows):
        predicted = self._ridge.predict(rows)
        if self._prior is None:
            return predicted
        return self._prior.posterior_means(predicted, self._noise)

    def entries(self):
        return self._ridge.entries()

    def to_arrays(self):
        arrays = self._ridge.to_arrays() | {"noise_variances": self._noise}
        if self._prior is None:
            return arrays
        density, scaling = self._prior
        return arrays | {
            "prior": density._asdict(),
            "output_offset": scaling.offset,
            "output_scale": scaling.scale,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        ridge, prior = FittedRidge.from_arrays(arrays), None
        if "prior" in arrays:
            density = OutputDensity(**arrays["prior"])
            scaling = OutputScaling(arrays["output_offset"], arrays["output_scale"])
            prior = FittedPrior(density, scaling)
        return cls(ridge, prior, arrays["noise_variances"])
