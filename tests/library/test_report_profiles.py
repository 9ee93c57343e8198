"""Heat maps of profiles show the true and the predicted outputs of rows chosen by a fixed rule."""

import json

import numpy as np
import pytest
from overlaps import overlaps
from report_samples import METHODS

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.report.figures import profiles
from workflow_lib.report.figures.profiles import N_ROWS, shown_methods

TRAIN = [20, 21, 22, 23, 24, 25]
TEST = list(range(10, 0, -1))


def write_inputs(folder, names=("m-krr", "ofer-gmm", "m-rf"), n_outputs=3):
    """Write a dataset of 26 rows, a split and predictions; return the paths and the outputs."""
    outputs = 5.0 + np.random.default_rng(0).normal(size=(26, n_outputs))
    outputs[3, 1] = outputs[21, 0] = np.nan
    folder.mkdir(parents=True, exist_ok=True)
    labels = json.dumps([f"cell_line_{number}" for number in range(n_outputs)])
    tree = {"inputs": np.zeros((26, 1)), "outputs": outputs, "names": {"outputs": labels}}
    write_artifact(folder / "data.h5", tree, "dataset", allow_nan=("outputs",))
    split = {"train": np.array(TRAIN), "test": np.array(TEST), "sizes": np.array([4, 6])}
    write_artifact(folder / "split.h5", split, "split")
    predictions = {}
    for index, name in enumerate(names):
        # The error of a row grows with its number.
        shift = (1 + index) * np.array(TEST)[:, None] / 10
        predicted = np.nan_to_num(outputs[TEST], nan=4.0) + shift
        items = {"n-6_w-0_C-selected": {"outputs": predicted}}
        predictions[name] = folder / f"{name}.h5"
        write_artifact(predictions[name], items, "predictions")
    return (folder / "data.h5", folder / "split.h5", predictions), outputs


def draw(arguments, output_scale="standard", **options):
    options |= {"title": "Toy", "methods": METHODS, "output_scale": output_scale}
    return profiles.draw(*arguments, **options)


def blocks_of(figure):
    """Return the axes of the rows and, for each, its values."""
    axes = [axis for axis in figure.axes if axis.images]
    return axes, [np.ma.filled(axis.images[0].get_array(), np.nan) for axis in axes]


def test_stripes_are_differences_from_the_training_mean(tmp_path):
    arguments, outputs = write_inputs(tmp_path)
    axes, values = blocks_of(draw(arguments, output_scale="center"))
    assert len(axes) == N_ROWS == 8
    mean = np.nanmean(outputs[TRAIN], axis=0)
    # Ten test rows with errors that grow with their number: at even steps 1, 2, 4, 5, 6, 7, 9, 10.
    rows = [1, 2, 4, 5, 6, 7, 9, 10]
    for row, axis, stripes in zip(rows, axes, values, strict=True):
        assert f"row {row}" in axis.texts[0].get_text()
        np.testing.assert_allclose(stripes[0], outputs[row] - mean)
        for index in (1, 2, 3):
            np.testing.assert_allclose(stripes[index], outputs[row] + index * row / 10 - mean)
        labels = [text.get_text() for text in axis.get_yticklabels()]
        assert labels == ["true", "m-KRR", "OFER-GMM", "m-RF"]
    assert axes[0].texts[0].get_text().startswith("lowest error")
    assert axes[1].texts[0].get_text().startswith("quantile 0.14")
    assert axes[-1].texts[0].get_text().startswith("highest error")
    assert axes[0].figure.get_suptitle() == (
        "Toy\n6 training rows, first split; test rows by rising error of m-KRR"
    )


def test_outputs_of_different_units_are_in_standard_deviations(tmp_path):
    arguments, outputs = write_inputs(tmp_path)
    figure = draw(arguments, output_scale="standard")
    _, values = blocks_of(figure)
    mean, deviation = np.nanmean(outputs[TRAIN], axis=0), np.nanstd(outputs[TRAIN], axis=0)
    np.testing.assert_allclose(values[0][0], (outputs[1] - mean) / deviation)
    bar = figure.axes[-1]
    assert bar.get_xlabel() == "difference from the training mean (standard deviations)"
    bar = draw(arguments, output_scale="none").axes[-1]
    assert bar.get_xlabel() == "difference from the training mean (unit of the outputs)"


def test_colors_are_centred_and_the_same_for_all(tmp_path):
    arguments, outputs = write_inputs(tmp_path)
    axes, values = blocks_of(draw(arguments, output_scale="center"))
    limits = {axis.images[0].get_clim() for axis in axes}
    ((lowest, highest),) = limits
    assert lowest == -highest
    true = np.abs([stripes[0] for stripes in values])
    assert np.nanquantile(true, 0.95) < highest < 1.3 * np.nanmax(true)


def test_missing_outputs_show_the_hatched_background(tmp_path):
    arguments, _ = write_inputs(tmp_path)
    figure = draw(arguments, output_scale="center")
    assert "Hatched: not observed" not in figure.get_suptitle()
    assert not any(np.isnan(values).any() for values in blocks_of(figure)[1])
    # With ten rows the one that misses an output is not among the eight; without two others it is.
    split = {"train": np.array(TRAIN), "test": np.array(TEST[2:]), "sizes": np.array([6])}
    write_artifact(tmp_path / "split.h5", split, "split")
    for name in arguments[2]:
        items = {"n-6_w-0_C-selected": {"outputs": np.full((8, 3), 5.0)}}
        write_artifact(arguments[2][name], items, "predictions")
    figure = draw(arguments, output_scale="center")
    assert figure.get_suptitle().endswith("Hatched: not observed")
    axes, values = blocks_of(figure)
    ((index, stripe, output),) = np.argwhere(np.isnan(values))
    assert (stripe, output) == (0, 1)
    assert "row 3" in axes[index].texts[0].get_text()
    assert axes[index].patch.get_hatch()


def test_the_reference_the_first_of_ofer_and_the_forest_are_drawn():
    names = ["extra-trees", "ofer-stack", "ofer-gmm", "m-krr", "m-rf"]
    assert shown_methods(names, "m-krr") == ["m-krr", "ofer-stack", "m-rf"]
    assert shown_methods(["wofer-gmm", "m-krr"], "m-krr") == ["m-krr"]
    assert shown_methods(["iokr", "iokr-dtw"], "m-krr") == ["iokr"]


def test_a_method_without_predictions_is_reported(tmp_path):
    arguments, _ = write_inputs(tmp_path)
    items = {"n-6_w-0_C-2": {"outputs": np.ones((10, 3))}}
    write_artifact(arguments[2]["m-rf"], items, "predictions")
    with pytest.raises(UserError, match=r"m-rf\.h5: no predictions of m-rf with 6 training rows"):
        draw(arguments)


def test_every_output_is_named_but_for_very_many(tmp_path):
    arguments, _ = write_inputs(tmp_path, n_outputs=59)
    axis = blocks_of(draw(arguments))[0][-1]
    labels = [text.get_text() for text in axis.get_xticklabels()]
    assert labels == [f"cell line {number}" for number in range(59)]
    arguments, _ = write_inputs(tmp_path / "many", n_outputs=200)
    axis = blocks_of(draw(arguments))[0][-1]
    assert [text.get_text() for text in axis.get_xticklabels()][:2] == [
        "cell line 0",
        "cell line 3",
    ]


@pytest.mark.parametrize("n_outputs", [2, 59, 200])
def test_no_text_overlaps(tmp_path, n_outputs):
    arguments, _ = write_inputs(tmp_path, n_outputs=n_outputs)
    assert overlaps(draw(arguments)) == []
