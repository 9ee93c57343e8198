"""Checks on the data of which methods are kernel ridge regression by algebra.

With one penalty and an intercept, a linear embedding is undone by its pre-image: the regression of
the embedding, followed by the pre-image, is multi-output kernel ridge regression. That holds for
one component, for mixtures whose components share their variance, and for state-space models; it
does not hold with a penalty per block, nor with variances of their own. Each statement is tried on
the training rows of the first split: two fits on the same Gram matrix, compared on the test rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.fitting.items import size_group
from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.fitting.prepared_inputs import prepared_inputs
from workflow_lib.generative.gaussian import GaussianModel
from workflow_lib.generative.mixture import GaussianMixtureModel
from workflow_lib.generative.state_space import StateSpaceModel
from workflow_lib.ofer import OutputFisherRegressor
from workflow_lib.regression.kernel_ridge import KernelRidgeRegressor
from workflow_lib.whole_files import write_text

MOST_ROWS = 300
"""Training rows of the trial, the first of the split: it is to take seconds."""

PENALTY = 0.01
"""lambda_0 of eq. (13) where there is one penalty."""

TOLERANCE = 1e-8
"""Largest difference, in parts of the largest prediction, of what is the same by algebra."""


class Statement(NamedTuple):
    """Something that is or is not kernel ridge regression, and the estimator that shows it."""

    name: str
    is_kernel_ridge: bool
    estimator: Callable[[], OutputFisherRegressor]


def run(dataset: Path, split: Path, features: Path, output: Path, kernel: str, seed: int) -> None:
    """Write as JSON how far each statement's predictions are from those of kernel ridge regression.

    Parameters
    ----------
    dataset, split, features : paths
        Artifacts of one split of an experiment. A missing output takes the mean of the others.
    output : path
        Holds ``n_training``, ``n_test``, ``tolerance`` and ``statements``: a list of ``name``,
        ``is_kernel_ridge`` (what theory says), ``difference`` (the largest over all test rows and
        outputs, in parts of the largest distance of a prediction from the training mean) and
        ``holds`` (whether the difference is below the tolerance exactly where theory says so).
    kernel : str
        That of the experiment; of the rbf kernel the width is 1.
    seed : int
        Of the starts of the mixtures.
    """
    data, partition = read_artifact(dataset, "dataset"), read_artifact(split, "split")
    size = int(max(partition["sizes"]))
    folds = partition["folds"][size_group(size)]
    inputs = prepared_inputs(read_artifact(features, "features"), folds, size)
    width = 1.0 if kernel == "rbf" else None
    training, test = inputs.refit_grams(kernel, width)
    outputs = data["outputs"][partition["train"]][:size][:MOST_ROWS]
    training, test = training[: len(outputs), : len(outputs)], test[:, : len(outputs)]
    # An output that no training row has is as good as a constant one.
    Y = standardised(np.nan_to_num(impute_mean(outputs)))
    theirs = KernelRidgeRegressor(alpha=PENALTY, kernel="precomputed").fit(training, Y)
    reference = theirs.predict(test)
    found = []
    for statement in statements(Y, int(data["names"].get("series_channels", 0)), seed):
        ours = statement.estimator().fit(training, Y).predict(test)
        difference = relative_difference(ours.reshape(len(test), -1), reference)
        found.append(
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
        "statements": found,
    }
    write_text(output, json.dumps(content, indent=2) + "\n")


def statements(Y: np.ndarray, n_channels: int, seed: int) -> Iterator[Statement]:
    """Yield what is tried on these outputs; with `n_channels` they are series of so many channels.

    Mixtures are tried where there are more distinct outputs than components.
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
    """Return the largest absolute difference, in parts of the largest absolute value."""
    return float(np.abs(first - second).max() / max(np.abs(second).max(), np.finfo(float).tiny))
