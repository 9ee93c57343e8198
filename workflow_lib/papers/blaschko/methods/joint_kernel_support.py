"""Joint kernel support estimation: the output whose pair with the input is most like those seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

from workflow_lib.fitting.class_selection import scaled_squared_error
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_ridge import kernel_arrays, kernel_in
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.output_decoding import OutputDecoder, OutputKernel
from workflow_lib.fitting.point_selection import (
    KernelFold,
    Point,
    chosen_gram,
    select_with_kernels,
    single_values,
)
from workflow_lib.measures.metrics import heldout_error
from workflow_lib.methods.contract import base
from workflow_lib.papers.blaschko.joint_support import fit_joint_support, weights_at
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.output_kernels import output_unit

REGRESSORS = ("joint_kernel_support",)
TASKS = ("classes", "regression", "series")
NEEDS = {"minutes": 3, "grams": 10, "cubic_minutes": 0.8}
READS = ("dataset", "split", "features")


@dataclass
class Method(base.Method):
    """Select and fit joint kernel support estimation (Blaschko 2014, section 3.1).

    The score of an output y for an input x is sum_i alpha_i k(x_i, x) l(y_i, y), with the weights
    of `workflow_lib.papers.blaschko.joint_support.fit_joint_support` and a Gaussian kernel l on the
    outputs, which for classes are their vectors. The scores of the classes are divided by their
    sum, which makes them the conditional probabilities of a joint density f(x, y); the grid point
    is that with the least `scaled_squared_error` of them. Of outputs that are numbers it is that
    with the least relative error after the pre-image; selection approximates the mean shift.

    A missing training output takes the mean of that output over the rows of the fit; errors count
    the observed outputs only. With one example per class a held-out class has no example left, and
    nothing can be selected: `one_example` is used instead, and the item has no score. It is also
    used where no grid point is better than equal scores of all classes, as with many wrong labels.

    The fields are keys of the YAML file, the `kernel` of the experiment, and the `metric`. A value
    that `one_example` lacks is the first of its list in `grid`; `preimage` is for outputs that are
    numbers, and `row_errors` is what the errors of held-out rows are averaged by.
    """

    kernel: str
    grid: Mapping[str, Sequence[float]]
    one_example: Mapping[str, float]
    preimage: str
    row_errors: str
    metric: str
    kernels: Sequence[str] | None = None

    def select(self, data: FitData) -> base.Selection:
        # They do not depend on the inputs, so that all input kernels and shares nu have the same.
        decoder_of = cache(lambda fold, width: _decoder(data, data.folds != fold, width))
        of_fold = partial(self._of_fold, decoder_of)
        if data.has_classes:
            error_of = partial(scaled_squared_error, labels=data.labels, row_errors=self.row_errors)
            selection = select_with_kernels(data, self, of_fold, error_of)
            if (selection.entries["score"] or 0.0) < 1.0:
                return selection
            return select_with_kernels(data, self._single(self.one_example), of_fold, error_of)
        how = {"folds": data.folds, "metric": self.metric, "row_errors": self.row_errors}
        error_of = partial(heldout_error, data.outputs, **how)
        quick = partial(of_fold, quick=True)
        selection = select_with_kernels(data, self, quick, error_of)
        # Searched to the end, where selection approximated the pre-image.
        single = self._single(selection.entries)
        heldout = select_with_kernels(data, single, of_fold, error_of).heldout
        return replace(selection, heldout=heldout)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        chosen = selection.entries
        kernel, K, _ = chosen_gram(data, self, chosen)
        decoder = _decoder(data, np.ones(data.size, dtype=bool), chosen["output_width"])
        alpha = fit_joint_support(K, decoder.gram, chosen["nu"])
        return Fitted(alpha, kernel, decoder, self.preimage)

    def _single(self, values: Mapping[str, Any]) -> Method:
        """Return the method with one kernel and one value of each list, as `single_values`."""
        grid = single_values({**self.grid, "kernel": self.kernels or [self.kernel]}, values)
        return replace(self, kernels=grid.pop("kernel"), grid=grid)

    def _of_fold(
        self, decoder_of: Callable, fold: KernelFold, quick: bool = False
    ) -> Iterator[Point]:
        """Yield the points of `select_with_kernels`."""
        for width, nu in product(fold.grid["output_width"], fold.grid["nu"]):
            decoder = decoder_of(fold.number, width)
            alpha = fit_joint_support(fold.gram, decoder.gram, nu)
            weights = weights_at(alpha, fold.heldout_gram)
            predicted = decoder.decode(weights, self.preimage, quick)
            yield {"output_width": width, "nu": nu}, predicted


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
    """The interface of `OutputDecoder` for classes."""

    to_classes: np.ndarray
    """Array (l, K): output kernel of the training rows against the classes."""

    gram: np.ndarray | None = None
    """Array (l, l) or None: the same between the training rows; None where the machine is fitted
    already."""

    def decode(self, weights: np.ndarray, preimage: str, quick: bool = False) -> np.ndarray:
        """Return the scores (m, K) of weights (m, l), divided by their sums; no other argument."""
        scores = weights @ self.to_classes
        return scores / scores.sum(axis=1, keepdims=True)


def _decoder(data: FitData, kept: np.ndarray, width: float) -> _ClassDecoder | OutputDecoder:
    """Return the decoder of the kept training rows, and their output kernel of a width."""
    if not data.has_classes:
        return OutputKernel("rbf", data.outputs).decoder(np.flatnonzero(kept), width)
    vectors, labels = data.split.vectors, data.labels[kept]
    to_classes = gram_matrix(vectors, None, "rbf", (width * output_unit(vectors)) ** -2)[labels]
    return _ClassDecoder(to_classes, to_classes[:, labels])
