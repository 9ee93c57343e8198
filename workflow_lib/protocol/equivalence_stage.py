"""Numerical checks of which methods are algebraically equal to kernel ridge regression.

With one penalty and an intercept, a linear embedding is undone by its pre-image: the regression of
the embedding, followed by the pre-image, is multi-output kernel ridge regression. That holds for
one component, for mixtures whose components share their variance, and for state-space models; it
does not hold with a penalty per block, nor with a variance per component. Each statement is tested
on the training rows of the first split: two fits on the same Gram matrix, compared on the test
rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.whole_files import write_text
from workflow_lib.estimators.output_fisher import OutputFisherRegressor
from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.fitting.prepared_inputs import prepared_inputs
from workflow_lib.fitting.wrong_labels import training_output_rows
from workflow_lib.items.group_names import size_group
from workflow_lib.models.mixtures.gaussian import GaussianModel
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.state_spaces.state_space import StateSpaceModel
from workflow_lib.solvers.kernel_ridge import KernelRidgeRegressor

MAX_ROWS = 300
"""Most training rows that are used, the first of the split, so that the check takes seconds."""

PENALTY = 0.01
"""lambda_0 of eq. (13) where there is one penalty."""

TOLERANCE = 1e-8
"""Largest difference of algebraically equal predictions, relative to the largest prediction."""


class Statement(NamedTuple):
    """The statement that an estimator is, or is not, kernel ridge regression."""

    name: str
    is_kernel_ridge: bool
    estimator: Callable[[], OutputFisherRegressor]


def run(dataset: Path, split: Path, features: Path, output: Path, kernel: str, seed: int) -> None:
    """Write as JSON how far each statement's predictions are from those of kernel ridge regression.

    Parameters
    ----------
    dataset, split, features : paths
        Artifacts of one split of an experiment. Missing outputs are replaced by the mean.
    output : path
        Holds ``n_training``, ``n_test``, ``tolerance`` and ``statements``: a list of ``name``,
        ``is_kernel_ridge`` (according to theory), ``difference`` (the largest over all test rows
        and outputs, relative to the largest distance of a prediction from the training mean) and
        ``holds`` (whether the difference is below the tolerance exactly if theory says so).
    kernel : str
        The kernel of the experiment; the width of an rbf kernel is 1.
    seed : int
        Seeds the starts of the mixtures.
    """
    data, partition = read_artifact(dataset, "dataset"), read_artifact(split, "split")
    size = int(max(partition["sizes"]))
    folds = partition["folds"][size_group(size)]
    inputs = prepared_inputs(read_artifact(features, "features"), folds, size)
    width = 1.0 if kernel == "rbf" else None
    training, test = inputs.refit_grams(kernel, width)
    outputs = data["outputs"][training_output_rows(partition)][:size][:MAX_ROWS]
    training, test = training[: len(outputs), : len(outputs)], test[:, : len(outputs)]
    # An output without any known value in the training rows counts as constant.
    Y = standardised(np.nan_to_num(impute_mean(outputs)))
    ridge = KernelRidgeRegressor(alpha=PENALTY, kernel="precomputed").fit(training, Y)
    reference = ridge.predict(test)
    results = []
    for statement in statements(Y, int(data["names"].get("series_channels", 0)), seed):
        predictions = statement.estimator().fit(training, Y).predict(test)
        difference = relative_difference(predictions.reshape(len(test), -1), reference)
        results.append(
            {
                "name": statement.name,
                "is_kernel_ridge": statement.is_kernel_ridge,
                "difference": difference,
                "holds": (difference < TOLERANCE) == statement.is_kernel_ridge,
            }
        )
    content = {
        "n_training": len(outputs),
        "n_test": len(test),
        "tolerance": TOLERANCE,
        "statements": results,
    }
    write_text(output, json.dumps(content, indent=2) + "\n")


def statements(Y: np.ndarray, n_channels: int, seed: int) -> Iterator[Statement]:
    """Yield the statements to test on these outputs.

    With `n_channels` the outputs are series of this number of channels. Mixtures are tested where
    there are more distinct outputs than components.
    """

    def ofer(model, alpha=PENALTY, preimage="closed_form"):
        return lambda: OutputFisherRegressor(
            model, kernel="precomputed", alpha=alpha, preimage=preimage
        )

    def mixture(covariance_type):
        return GaussianMixtureModel(3, covariance_type, n_init=1, random_state=seed)

    yield Statement("one Gaussian, one penalty", True, ofer(GaussianModel("spherical")))
    if len(Y) >= 6 and len(np.unique(Y, axis=0)) > 3:
        tied = mixture("tied_spherical")
        yield Statement("a mixture of 3 with a shared variance, one penalty", True, ofer(tied))
        blocks = {"pi": PENALTY, "mu": 10 * PENALTY}
        yield Statement("the same mixture, a penalty per block", False, ofer(tied, blocks))
        own = mixture("spherical")
        yield Statement("a mixture of 3 with variances of their own", False, ofer(own))
    if n_channels and Y.shape[1] > n_channels:
        series = StateSpaceModel(2, observation_dim=n_channels, n_iter=10, n_init=1)
        yield Statement("a state-space model, one penalty", True, ofer(series))
        blocks = {"initial": PENALTY, "state": 10 * PENALTY, "observation": 1.0}
        yield Statement("the same model, a penalty per block", False, ofer(series, blocks))


def standardised(Y: np.ndarray) -> np.ndarray:
    """Return outputs (n, d) of mean 0 and deviation 1; constant ones are 0."""
    deviation = Y.std(axis=0)
    return (Y - Y.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def relative_difference(first: np.ndarray, second: np.ndarray) -> float:
    """Return the largest absolute difference, relative to the largest absolute value."""
    return float(np.abs(first - second).max() / max(np.abs(second).max(), np.finfo(float).tiny))
