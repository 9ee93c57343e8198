"""Outputs without inputs: what selection with them costs, and the posterior pre-image.

Back-translation selects kernel ridge regression of the labelled rows and then the weight of outputs
without inputs; it is compared with the first step alone, on the digits of scikit-learn (the lower
half of an image from the upper half). The posterior pre-image is measured by the row: the time does
not depend on the regression, so that there is no peer.
"""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measuring import Measurement, at_most, interleaved, row
from benchmarks.problems import N_OUTPUTS, smooth_problem
from workflow_lib.core.artifacts import write_artifact
from workflow_lib.data.readers import digits_halves
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec
from workflow_lib.fitting.kernel_ridge_fit import ridge_of_outputs
from workflow_lib.methods.back_translation import Method
from workflow_lib.models.fisher import FisherEmbedding
from workflow_lib.models.mixtures.gaussian import GaussianModel
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.protocol import features_stage
from workflow_lib.protocol.splitting import split_rows

TITLE = "Outputs without inputs"

SIZES = (20, 50, 100, 200)
QUICK_SIZES = (20, 50)
UNPAIRED = 1000
N_FOLDS = 5
KERNELS = ("linear", "rbf", "laplacian")
ALPHAS = (*np.logspace(-6.0, 0.0, 10).tolist(), float("inf"))
WIDTHS = (1e-4, 0.01, 0.1, 1.0, 10.0)
WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)

PREIMAGE_ROWS = 10_000
QUICK_PREIMAGE_ROWS = 1000
MODEL_ROWS = 2000
COMPONENTS = 10
NOISE = 0.3

SELECTION_COST = 3
MICROSECONDS = {1: 3, COMPONENTS: 50}
"""Most microseconds of the pre-image of a row, by the number of components."""

OWN, PEER = "back-translation", "m-KRR selection"

FIGURES = {"Selection with outputs without inputs": (OWN, PEER)}
"""Methods and peers that are drawn together."""


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: selections by labelled rows, pre-images by components."""
    sizes = QUICK_SIZES if quick else SIZES
    rows = QUICK_PREIMAGE_ROWS if quick else PREIMAGE_ROWS
    selections = [Measurement("selection", {"n": n, "n_unpaired": UNPAIRED}) for n in sizes]
    return selections + [
        Measurement("preimage", {"n": rows, "n_components": count}) for count in MICROSECONDS
    ]


def digits(n: int, n_unpaired: int) -> FitData:
    """Return `n` labelled rows of the digits and outputs of others, read as the workflow reads."""
    tree = digits_halves.read(digits_halves.Options(), [], 0)
    split = split_rows(len(tree["outputs"]), [n], [], 0.25, N_FOLDS, 0, unpaired_sizes=[n_unpaired])
    with tempfile.TemporaryDirectory() as folder:
        names = ("dataset", "split", "features")
        paths = {name: Path(folder, f"{name}.h5") for name in names}
        write_artifact(paths["dataset"], tree, "dataset")
        write_artifact(paths["split"], split, "split")
        features_stage.run(*paths.values(), "none", "rbf", "none")
        data = SplitData(paths)
        # Everything is read before its file is gone.
        assert data.dataset and data.features
    return FitData(data, FitSpec(n, unpaired_size=n_unpaired))


def selections(data: FitData) -> dict:
    """Return both selections as functions without arguments; neither reuses an earlier one."""
    method = Method("rbf", WIDTHS, ALPHAS, True, "rrmse", {"unpaired_weight": WEIGHTS}, 0)
    method.kernels = KERNELS

    def fresh() -> FitData:
        split = copy.copy(data.split)
        split._made, split._inputs = {}, {}
        return FitData(split, data.spec)

    return {
        "ours": lambda: method.select(fresh()),
        "peer": lambda: ridge_of_outputs(fresh(), method)[0][1],
    }


def selection(n: int, n_unpaired: int) -> list[dict[str, str]]:
    """Time the selection for `n` labelled rows."""
    data, warming = digits(n, n_unpaired), digits(15, 20)
    for call in selections(warming).values():
        call()
    timings = interleaved(selections(data))
    chosen = timings["ours"].result.entries
    return [
        row(
            n,
            data.outputs.shape[1],
            OWN,
            timings["ours"],
            PEER,
            timings["peer"],
            at_most(SELECTION_COST),
            note=f"n is labelled rows; {n_unpaired} outputs without inputs; weight "
            f"{chosen['unpaired_weight']:g}, held-out error {chosen['score']:.3f}, of m-KRR "
            f"{timings['peer'].result.score:.3f}",
        )
    ]


def preimage_problem(n: int, n_components: int):
    """Return an embedding of one Gaussian or a mixture with full covariances, and embeddings."""
    outputs = smooth_problem(MODEL_ROWS).outputs
    model = GaussianModel("full")
    if n_components > 1:
        model = GaussianMixtureModel(n_components, "full", random_state=0)
    embedding = FisherEmbedding(model.fit(outputs), "reduced")
    exact = embedding.transform(smooth_problem(n, seed=1).outputs)
    generator = np.random.default_rng(2)
    return embedding, exact + 0.1 * exact.std(axis=0) * generator.standard_normal(exact.shape)


def preimage(n: int, n_components: int) -> list[dict[str, str]]:
    """Time the posterior pre-image of `n` predicted embeddings."""
    embedding, predicted = preimage_problem(n, n_components)

    def call():
        return embedding.inverse_transform(predicted, "posterior", noise_covariance=NOISE)

    call()
    timing = interleaved({"ours": call})["ours"]
    name = "one Gaussian" if n_components == 1 else f"a mixture of {n_components}"
    return [
        row(
            n,
            N_OUTPUTS,
            f"posterior pre-image of {name}",
            timing,
            "a microsecond a row",
            goal=at_most(MICROSECONDS[n_components]),
            ratio=1e6 * timing.median / n,
            note="n is rows; the ratio is microseconds a row; reduced form, full covariances",
        )
    ]
