"""Prediction: the cost of the embedding above kernel ridge regression, and the two pre-images.

`OutputFisherRegressor` predicts more columns than `KernelRidgeRegressor` and maps them to outputs
by the projected closed-form pre-image. The pre-images are compared on the same predicted
embeddings: the closed form of eq. (10) with the local search of eq. (3).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.measuring import (
    Measurement,
    at_least,
    at_most,
    compared,
    each,
    largest_difference,
)
from benchmarks.problems import N_INPUTS, N_OUTPUTS, smooth_problem
from workflow_lib.estimators.output_fisher import OutputFisherRegressor
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.solvers.kernel_ridge import KernelRidgeRegressor

TITLE = "Prediction and pre-images"

SIZES = (200, 500, 1000, 2000)
QUICK_SIZES = (200, 500)
TEST_ROWS = 1000

PREIMAGE_SIZES = (100, 300)
PREIMAGE_TRAINING_ROWS = 500

COMPONENTS = 10
# The search of the full form handles C + C d + C numbers per row; the default mixture has four.
PREIMAGE_COMPONENTS = 4
GAMMA = 1.0 / (2.0 * N_INPUTS)
ALPHA = 1e-3

PREDICTION_COST = 1.1
PREIMAGE_GAIN = 500
EQUAL = 1e-9

FORMS = ("reduced", "full")
OWN_PREDICTION, PEER_PREDICTION = "OFER-GMM predict, pre-image included", "m-KRR predict"
OWN_PREIMAGE, PEER_PREIMAGE = "closed-form pre-image", "gradient pre-image"

FIGURES = {
    "Predictions of 1000 rows": (OWN_PREDICTION, PEER_PREDICTION),
    "Pre-images": tuple(
        f"{name}, {form} form" for form in FORMS for name in (OWN_PREIMAGE, PEER_PREIMAGE)
    ),
}
"""Methods and peers that are drawn together."""


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: predictions by training rows, pre-images by rows."""
    return each("predict", n=QUICK_SIZES if quick else SIZES) + each(
        "preimage", form=FORMS, n=PREIMAGE_SIZES[:1] if quick else PREIMAGE_SIZES
    )


def fitted(n: int, test_rows: int, form: str = "reduced", n_components: int = COMPONENTS):
    """Return both regressors fitted to `n` rows, and inputs and outputs of test rows."""
    inputs, outputs, _, _ = smooth_problem(n + test_rows)
    mixture = GaussianMixtureModel(n_components, "tied_spherical", random_state=0)
    embedding = OutputFisherRegressor(mixture, form, "rbf", GAMMA, ALPHA, preimage="projected")
    plain = KernelRidgeRegressor("rbf", GAMMA, ALPHA)
    for regressor in (embedding, plain):
        regressor.fit(inputs[:n], outputs[:n])
    return embedding, plain, inputs[n:], outputs[n:]


def predict(n: int, test_rows: int = TEST_ROWS) -> list[dict[str, str]]:
    """Time the predictions of regressors fitted to `n` rows."""
    embedding, plain, inputs, _ = fitted(n, test_rows)
    # With a tied variance, one penalty and no projection, both are the same function.
    unprojected = embedding.embedding_.inverse_transform(embedding.predict_embedding(inputs))
    return compared(
        n,
        N_OUTPUTS,
        {
            OWN_PREDICTION: lambda: embedding.predict(inputs),
            PEER_PREDICTION: lambda: plain.predict(inputs),
        },
        at_most(PREDICTION_COST, EQUAL),
        agreement=lambda ours, theirs: largest_difference(unprojected, theirs),
        note=f"n is training rows; {test_rows} test rows, {COMPONENTS} components; "
        "agreement without the projection",
    )


def preimage(n: int, form: str) -> list[dict[str, str]]:
    """Time both pre-images of `n` predicted embeddings."""
    embedding, inputs, outputs = preimage_problem(n, form)
    predicted = embedding.predict_embedding(inputs)
    for call in preimage_calls(embedding, predicted[:3]).values():
        call()
    # Embeddings of outputs have one pre-image, which both must find; predicted embeddings need not.
    exact = preimage_calls(embedding, embedding.embedding_.transform(outputs))
    return compared(
        n,
        N_OUTPUTS,
        {
            f"{name}, {form} form": call
            for name, call in preimage_calls(embedding, predicted).items()
        },
        at_least(PREIMAGE_GAIN, 1e-6),
        agreement=lambda ours, theirs: largest_difference(*(call() for call in exact.values())),
        note=f"n is rows; {PREIMAGE_COMPONENTS} components; agreement on exact embeddings",
    )


def preimage_problem(n: int, form: str, training_rows: int = PREIMAGE_TRAINING_ROWS):
    """Return a fitted regressor, and inputs and outputs of `n` other rows."""
    embedding, _, inputs, outputs = fitted(training_rows, n, form, PREIMAGE_COMPONENTS)
    return embedding, inputs, outputs


def preimage_calls(regressor: OutputFisherRegressor, H: np.ndarray) -> dict[str, Callable]:
    """Return both pre-images of embeddings `H` as functions without arguments."""
    inverse = regressor.embedding_.inverse_transform
    return {
        OWN_PREIMAGE: lambda: inverse(H, "closed_form"),
        PEER_PREIMAGE: lambda: inverse(H, "gradient"),
    }
