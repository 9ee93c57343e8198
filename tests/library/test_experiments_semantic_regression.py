"""Classes by regression of their vectors: one example without selection, and the nearest class."""

import json

import numpy as np
import pytest
from fit_methods import run_method
from scipy.spatial.distance import cdist

from workflow_lib import KernelRidgeRegressor
from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.protocol import features_stage, output_predictions, preimages, splitting

N_CLASSES, ALPHAS, ONE_EXAMPLE = 6, [1e-4, 1e-2], {"alpha": 3e-3, "width": 0.7}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The artifacts up to the regression of class vectors."""
    folder = tmp_path_factory.mktemp("classes")
    generator = np.random.default_rng(3)
    labels = generator.permutation(np.repeat(np.arange(N_CLASSES), 12))
    centres, vectors = generator.normal(size=(2, N_CLASSES, 4))
    X = centres[labels] + 0.7 * generator.normal(size=(len(labels), 4))
    tree = {
        "inputs": X,
        "outputs": vectors[labels],
        "classes": {"labels": labels, "vectors": vectors},
        "names": {"classes": json.dumps([f"class {k}" for k in range(N_CLASSES)])},
    }
    write_artifact(folder / "dataset.h5", tree, "dataset")
    source = (folder / "dataset.h5", folder / "split.h5")
    splitting.run(*source, [1, 4], [], 0.4, 4, 1, "small", "per_class")
    features_stage.run(*source, folder / "features.h5", "none", "rbf", "none")
    run_method(
        "kernel_ridge",
        lambda name: folder / f"{name}.h5",
        components="selected",
        component_counts=[],
        combine="best",
        kernel="rbf",
        widths=[0.3, 3.0],
        alphas=ALPHAS,
        penalty="shared",
        weak=False,
        weak_weights=[],
        weak_outputs=None,
        projections=[True],
        studies={},
        center=True,
        metric="rrmse",
        one_example=ONE_EXAMPLE,
    )
    return folder


def test_one_example_per_class_takes_the_given_values_and_more_select(folder):
    items = read_artifact(folder / "regression.h5", "regression")
    one, four = items["n-6_w-0_C-selected"], items["n-24_w-0_C-selected"]
    assert (one["alpha_rest"], one["width"]) == (3e-3, 0.7)
    assert four["alpha_rest"] in ALPHAS
    assert four["width"] in (0.3, 3.0)


@pytest.mark.parametrize("distance", ["euclidean", "cosine"])
def test_the_class_is_the_one_with_the_nearest_vector(folder, distance):
    preimages.run(
        folder / "regression.h5",
        None,
        folder / "predictions.h5",
        folder / "preimages.json",
        None,
        None,
        None,
        None,
        folder / "dataset.h5",
        distance,
    )
    data = read_artifact(folder / "dataset.h5", "dataset")
    vectors = data["classes"]["vectors"]
    centre = vectors.mean(axis=0) if distance == "cosine" else 0.0
    for item in read_artifact(folder / "predictions.h5", "predictions").values():
        distances = cdist(item["outputs"] - centre, vectors - centre, distance)
        np.testing.assert_array_equal(item["classes"], distances.argmin(axis=1))
        order = np.argsort(item["class_scores"], axis=1)
        np.testing.assert_array_equal(order, np.argsort(-distances, axis=1))


def test_highest_scores_are_the_class_where_scores_are_predicted(folder):
    scores = np.random.default_rng(0).normal(size=(9, N_CLASSES))
    item = {"training_size": 6, "weak_size": 0, "components": "selected", "test_targets": scores}
    write_artifact(folder / "scores.h5", {"n-6_w-0_C-selected": item}, "regression")
    files = (folder / "scores.h5", folder / "decoded.h5", folder / "decoded.json")
    output_predictions.run(*files, of_classes=True)
    (decoded,) = read_artifact(folder / "decoded.h5", "predictions").values()
    np.testing.assert_array_equal(decoded["classes"], scores.argmax(axis=1))
    np.testing.assert_array_equal(decoded["outputs"], scores)
    np.testing.assert_array_equal(decoded["class_scores"], scores)
    assert json.loads((folder / "decoded.json").read_text()).keys() == {"n-6_w-0_C-selected"}


def test_predicted_vectors_are_the_scores_of_the_indicators_times_the_class_vectors(folder):
    data = read_artifact(folder / "dataset.h5", "dataset")
    partition = read_artifact(folder / "split.h5", "split")
    item = read_artifact(folder / "regression.h5", "regression")["n-6_w-0_C-selected"]
    labels, vectors = data["classes"]["labels"], data["classes"]["vectors"]
    rows, test = partition["train"][:6], partition["test"]
    gamma = item["width"] / (2.0 * data["inputs"].shape[1])
    regressor = KernelRidgeRegressor(kernel="rbf", gamma=gamma, alpha=item["alpha_rest"])
    scores = regressor.fit(data["inputs"][rows], np.eye(N_CLASSES)[labels[rows]]).predict(
        data["inputs"][test]
    )
    np.testing.assert_allclose(item["test_targets"], scores @ vectors, atol=1e-10)
