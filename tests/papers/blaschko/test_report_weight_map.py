"""Maps of weights: each at the place of its input, and those of ridge from its dual solution."""

import json

import numpy as np
import pytest

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.papers.blaschko.figures.weight_map import draw

METHODS = {"first": {"label": "First"}, "second": {"label": "Second"}}
N_ROWS = 6


def write_sample(folder, *, with_places=True, second_kernel="linear"):
    """Write a dataset of four inputs, the last constant, and two fits of two outputs."""
    random = np.random.default_rng(0)
    X = random.normal(size=(N_ROWS + 2, 4))
    X[:, 3] = 1.0
    tree = {"inputs": X, "outputs": random.normal(size=(len(X), 2))}
    tree["names"] = {"outputs": json.dumps(["face", "house"])}
    if with_places:
        tree["places"] = {"row": np.array([0, 0, 1, 1]), "column": np.array([0, 2, 1, 2])}
    write_artifact(folder / "data.h5", tree, "dataset")
    preparation = fit_preparation(X[:N_ROWS], "standard")
    features = {"inputs": {"train": X[:N_ROWS], "weak": X[N_ROWS:]}, "kernel": "rbf"}
    features[f"n-{N_ROWS}"] = {"all": preparation.tree()}
    write_artifact(folder / "features.h5", features, "features")
    weights = np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, 0.0]])
    dual = random.normal(size=(N_ROWS + 2, 2))
    entries = {
        "first": {"weights": weights, "weak_size": 0},
        "second": {"dual_coefficients": dual, "kernel": second_kernel, "weak_size": 2},
    }
    paths = {}
    for method, values in entries.items():
        item = {"training_size": N_ROWS, "components": "selected"} | values
        paths[method] = [folder / method / "regression.h5"]
        write_artifact(paths[method][0], {"item": item}, "regression")
    files = paths, folder / "data.h5", folder / "features.h5"
    return files, weights, preparation.apply(X).T @ dual


def draw_sample(files):
    return draw(*files, shown_methods=METHODS, title="Toy (a stand-in)", training_size=N_ROWS)


def test_weights_are_at_the_places_of_their_inputs(tmp_path):
    files, weights, of_second = write_sample(tmp_path)
    figure = draw_sample(files)
    titles = [part.get_suptitle() for part in figure.subfigs]
    assert titles == ["First: 2 of 4 inputs", "Second: 3 of 4 inputs"]
    for part, expected in zip(figure.subfigs, (weights, of_second), strict=True):
        panels = [axis for axis in part.axes if axis.get_title("left")]
        assert [axis.get_title("left") for axis in panels] == ["face", "house"]
        for axis, column in zip(panels, expected.T, strict=True):
            (image,) = axis.images
            shown = np.ma.filled(image.get_array(), np.nan)
            # The last input is constant, so that no fit uses it.
            nothing = np.nan
            places = [[column[0], nothing, column[1]], [nothing, column[2], 0.0]]
            np.testing.assert_allclose(shown, places)
            assert image.get_clim() == pytest.approx((-abs(expected).max(), abs(expected).max()))


def test_what_has_no_weights_or_places_is_refused(tmp_path):
    files, *_ = write_sample(tmp_path / "kernel", second_kernel="rbf")
    with pytest.raises(UserError, match="second.*no weights of single inputs"):
        draw_sample(files)
    files, *_ = write_sample(tmp_path / "places", with_places=False)
    with pytest.raises(UserError, match="have no places"):
        draw_sample(files)


def test_parts_of_nodes_are_at_their_places(tmp_path):
    files, *_ = write_sample(tmp_path)
    item = {"training_size": N_ROWS, "weak_size": 0, "selected": np.array([0, 2])}
    item["node_values"] = np.array([[1.0, 3.0], [2.0, 4.0]])
    write_artifact(files[0]["second"][0], {"item": item}, "regression")
    part = draw_sample(files).subfigs[1]
    assert part.get_suptitle() == "Second: 2 of 4 inputs"
    shown = np.ma.filled(part.axes[1].images[0].get_array(), np.nan)
    np.testing.assert_array_equal(shown, [[3.0, np.nan, 0.0], [np.nan, 4.0, 0.0]])
