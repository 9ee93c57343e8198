"""Joint kernel support estimation: the output whose pair with the input is most like those seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field

from workflow_lib.baselines.joint_support import fit_joint_support, weights_at
from workflow_lib.baselines.output_kernels import output_gram, output_unit
from workflow_lib.config.grids import AveragesRows, Grid, OneExample, Shares, SomePositive
from workflow_lib.config.method_file import MethodFile
from workflow_lib.config.requirement import Requirement
from workflow_lib.config.values import Fraction, Positive, without_repeats
from workflow_lib.fitting.class_selection import (
    least_error,
    scaled_squared_error,
    selected_point,
    single_values,
)
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_ridge import kernel_arrays, kernel_in
from workflow_lib.fitting.heldout_errors import heldout_error
from workflow_lib.fitting.input_kernels import InputKernel, KernelGrid, kernel_without_selection
from workflow_lib.fitting.output_decoding import OutputDecoder, OutputKernel
from workflow_lib.fitting.validation_curves import GridErrors
from workflow_lib.methods import base

REGRESSORS = ("joint_kernel_support",)
TASKS = ("classes", "regression", "series")
NEEDS = {"minutes": 3, "grams": 10, "cubic_minutes": 0.8}
READS = ("dataset", "split", "features")


class PairGrid(Grid):
    """Of joint kernel support estimation."""

    nu: Shares
    """Largest shares of training pairs that count as outliers, above 0 and at most 1. At 1 all
    pairs have the same weight: the kernel density estimate of the pairs."""

    width: SomePositive
    """Widths of the kernels on the inputs, as of kernel ridge regression."""

    output_width: SomePositive
    """Widths of the rbf kernel on the outputs (class vectors), in units of the root of the median
    squared distance of those that differ."""


class PairExample(OneExample):
    """Of joint kernel support estimation."""

    nu: Fraction | None = None
    """Used instead of `grid.nu`."""

    width: Positive | None = None
    """Used instead of `grid.width`."""

    output_width: Positive | None = None
    """Used instead of `grid.output_width`."""


class Parameters(MethodFile, AveragesRows):
    """Joint kernel support estimation."""

    regressor: Literal["joint_kernel_support"]
    """`joint_kernel_support`: of pairs of inputs and outputs, by a one-class support vector
    machine."""

    preimage: Literal["candidates", "mean_shift"]
    """How an output is found: `candidates` (the training output of the highest score) or
    `mean_shift` (the mode above the weighted mean of the training outputs). Classes are all
    compared, whatever it is."""

    kernel: Annotated[
        tuple[Literal["rbf", "laplacian"], ...],
        Field(min_length=1),
        AfterValidator(without_repeats),
    ] = ("rbf",)
    """Candidate kernels on the inputs, selected by cross-validation; each takes each of
    `grid.width`. They are not negative, as weights of outputs must be. For texts and inner products
    there is no `laplacian`; the kernel `tanimoto` of an experiment replaces both."""

    grid: PairGrid
    """Candidate hyper-parameters."""

    one_example: PairExample = PairExample()
    """Values used instead of the grid with one labelled example per class, or where no grid point
    is better than equal scores."""

    needs_of_data = (
        Requirement(
            {},
            {"kernel": {"rbf", "linear", "tanimoto"}},
            "joint kernel support estimation needs a kernel on the inputs that is not negative, "
            "which a Gram matrix of the inputs may be",
        ),
    )

    def predicts_scores(self, task: str) -> bool:
        return task == "classes"


@dataclass
class Method(base.Method):
    """Select and fit joint kernel support estimation (Blaschko 2014, section 3.1).

    The score of an output y for an input x is sum_i alpha_i k(x_i, x) l(y_i, y), with the weights
    of `workflow_lib.baselines.joint_support.fit_joint_support` and a Gaussian kernel l on the
    outputs, which for classes are their vectors. The scores of the classes are divided by their
    sum, which makes them the conditional probabilities of a joint density f(x, y); the grid point
    is that with the least `scaled_squared_error` of them. Of outputs that are numbers it is that
    with the least relative error after the pre-image; selection approximates the mean shift.

    A missing training output takes the mean of that output over the rows of the fit; errors count
    the observed outputs only. With one example per class a held-out class has no example left, and
    nothing can be selected: `one_example` is used instead, and the item has no score. It is also
    used where no grid point is better than equal scores of all classes, as with many wrong labels.

    Attributes
    ----------
    kernel, kernels : str, sequence of str
        That of the experiment, and those that compete.
    grid : mapping
        Lists ``nu``, ``width`` and ``output_width``.
    one_example : mapping
        One value of each with one example per class; the first of its list where one is missing.
    preimage : {"candidates", "mean_shift"}
        For outputs that are numbers.
    row_errors : {"mean", "median"}
        What the errors of held-out rows are averaged by.
    metric : {"arrmse", "rrmse"}
    """

    kernel: str
    grid: Mapping[str, Sequence[float]]
    one_example: Mapping[str, float]
    preimage: str
    row_errors: str
    metric: str
    kernels: Sequence[str] | None = None

    def select(self, data: FitData) -> base.Selection:
        names = self.kernels or [self.kernel]
        if not _has_classes(data):
            return self._select_outputs(data, names)
        error_of = partial(scaled_squared_error, row_errors=self.row_errors)
        has_one = data.has_one_example
        if not has_one:
            tried = self._tried(data, names, self.grid)
            entries, heldout = selected_point(tried, data.labels, error_of)
            if entries["score"] < 1.0:
                return base.Selection(heldout, entries)
        fixed = single_values(self.grid, self.one_example)
        tried = self._tried(data, [kernel_without_selection(names)], fixed)
        entries, heldout = selected_point(tried, data.labels, error_of)
        return base.Selection(heldout, entries | ({"score": None} if has_one else {}))

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        chosen = selection.entries
        kernel = InputKernel(str(chosen["kernel"]), chosen["width"])
        decoder = _decoder(data, np.ones(data.size, dtype=bool), chosen["output_width"])
        alpha = fit_joint_support(data.inputs.training_gram(*kernel), decoder.gram, chosen["nu"])
        return Fitted(alpha, kernel, decoder, self.preimage)

    def _select_outputs(self, data: FitData, names: Sequence[str]) -> base.Selection:
        """Return the selection of outputs that are numbers."""
        curves, points, errors = GridErrors(), [], []
        for point, predicted in self._tried(data, names, self.grid, quick=True):
            arguments = data.folds, self.metric, self.row_errors
            errors.append(heldout_error(data.outputs, predicted, *arguments))
            points.append(point)
            curves.add(point["kernel"], {key: [value] for key, value in point.items()}, errors[-1])
        best = least_error(errors)
        chosen = points[best]
        # Searched to the end, where selection approximated the pre-image.
        single = {name: [chosen[name]] for name in ("nu", "width", "output_width")}
        ((_, heldout),) = self._tried(data, [chosen["kernel"]], single)
        entries = {"score": errors[best]} | chosen | curves.entry(chosen["kernel"], chosen)
        return base.Selection(heldout, entries)

    def _tried(
        self, data: FitData, names: Sequence[str], grid: Mapping, quick: bool = False
    ) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
        """Yield each grid point with what is predicted for the training rows held out."""
        folds = data.folds
        # They do not depend on the inputs, so that all input kernels and shares nu have the same.
        decoders = {
            width: [_decoder(data, folds != fold, width) for fold in data.fold_numbers]
            for width in grid["output_width"]
        }
        n_predicted = data.n_classes if _has_classes(data) else data.outputs.shape[1]
        for kernel in KernelGrid(names, grid["width"], ()).kernels():
            grams = list(data.inputs.shared_fold_grams(*kernel))
            for output_width, nu in product(grid["output_width"], grid["nu"]):
                predicted = np.empty((data.size, n_predicted))
                for fold, (K, K_heldout) in enumerate(grams):
                    decoder = decoders[output_width][fold]
                    weights = weights_at(fit_joint_support(K, decoder.gram, nu), K_heldout)
                    predicted[folds == fold] = decoder.decode(weights, self.preimage, quick)
                point = {"kernel": kernel.name, "width": kernel.width}
                yield point | {"output_width": output_width, "nu": nu}, predicted


class Fitted(base.Fitted):
    """Weights alpha (n,) of the training pairs, and how weights of outputs are decoded."""

    def __init__(
        self,
        alpha: np.ndarray,
        kernel: InputKernel,
        decoder: _ClassDecoder | OutputDecoder,
        preimage: str,
    ) -> None:
        self._alpha, self._kernel = alpha, kernel
        self._decoder, self._preimage = decoder, preimage

    @property
    def has_training_error(self):
        """Not where a search for each row is the pre-image."""
        return isinstance(self._decoder, _ClassDecoder) or self._preimage == "candidates"

    def predict(self, rows):
        weights = weights_at(self._alpha, rows.test_gram(*self._kernel))
        return self._decoder.decode(weights, self._preimage)

    def to_arrays(self):
        arrays = {"alpha": self._alpha, "preimage": self._preimage} | kernel_arrays(self._kernel)
        if isinstance(self._decoder, _ClassDecoder):
            return arrays | {"to_classes": self._decoder.to_classes}
        arrays |= {"outputs": self._decoder.outputs, "gamma": float(self._decoder.gamma)}
        return arrays | ({"gram": self._decoder.gram} if self._preimage == "candidates" else {})

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        if "to_classes" in arrays:
            decoder: Any = _ClassDecoder(arrays["to_classes"])
        else:
            decoder = OutputDecoder(arrays["outputs"], arrays.get("gram"), arrays["gamma"])
        return cls(arrays["alpha"], kernel_in(arrays)[0], decoder, str(arrays["preimage"]))


@dataclass(frozen=True)
class _ClassDecoder:
    """The interface of `OutputDecoder` for classes.

    Attributes
    ----------
    to_classes : array (l, K)
        Output kernel of the training rows against the classes.
    gram : array (l, l) or None
        The same between the training rows; None where the machine is fitted already.
    """

    to_classes: np.ndarray
    gram: np.ndarray | None = None

    def decode(self, weights: np.ndarray, preimage: str, quick: bool = False) -> np.ndarray:
        """Return the scores (m, K) of weights (m, l), divided by their sums; no other argument."""
        scores = weights @ self.to_classes
        return scores / scores.sum(axis=1, keepdims=True)


def _has_classes(data: FitData) -> bool:
    return "classes" in data.split.dataset


def _decoder(data: FitData, kept: np.ndarray, width: float) -> _ClassDecoder | OutputDecoder:
    """Return the decoder of the kept training rows, and their output kernel of a width."""
    if not _has_classes(data):
        return OutputKernel("rbf", data.outputs).decoder(np.flatnonzero(kept), width)
    vectors, labels = data.split.vectors, data.labels[kept]
    to_classes = output_gram(vectors, None, "rbf", (width * output_unit(vectors)) ** -2)[labels]
    return _ClassDecoder(to_classes, to_classes[:, labels])
