"""The alignments stage: which values it precomputes, of which series, and for which widths."""

import numpy as np
import pytest

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.protocol import alignments
from workflow_lib.solvers.alignment import (
    global_alignment_gram,
    lattice_sigma,
    squared_dtw_distances,
)
from workflow_lib.solvers.output_kernels import output_unit


def series_dataset(folder, n_series=15, length=4, channels=2, scale=1.0):
    """Write a dataset of series, and return its file and the series (N, T, p)."""
    pytest.importorskip("tslearn")
    series = scale * np.random.default_rng(0).normal(size=(n_series, length, channels))
    names = {"series_length": length, "series_channels": channels}
    tree = {"inputs": np.ones((n_series, 1)), "outputs": series.reshape(n_series, -1)}
    write_artifact(folder / "dataset.h5", tree | {"names": names}, "dataset")
    return folder / "dataset.h5", series


def test_distances_are_those_of_the_series(tmp_path, capsys):
    dataset, series = series_dataset(tmp_path)
    alignments.run(dataset, tmp_path / "dtw.h5", "dtw", [0.5])
    tree = read_artifact(tmp_path / "dtw.h5", "alignments")
    assert tree.keys() == {"kernel", "squared_distances"}
    assert tree["kernel"] == "dtw"
    np.testing.assert_array_equal(tree["squared_distances"], squared_dtw_distances(series))
    assert "15 series of 4 steps" in capsys.readouterr().out


@pytest.mark.parametrize("scale", [1.0, 37.0])
def test_kernels_are_those_of_the_series_on_the_lattice(tmp_path, capsys, scale):
    dataset, series = series_dataset(tmp_path, scale=scale)
    alignments.run(dataset, tmp_path / "gak.h5", "gak", [2.0, 0.5])
    tree = read_artifact(tmp_path / "gak.h5", "alignments")
    assert tree["kernel"] == "gak"
    assert tree["grams"].keys() == {f"sigma-{index}" for index in range(len(tree["sigmas"]))}
    for index, sigma in enumerate(tree["sigmas"]):
        np.testing.assert_array_equal(
            tree["grams"][f"sigma-{index}"], global_alignment_gram(series, sigma)
        )
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(tree["sigmas"])
    unit = output_unit(series.reshape(15, -1))
    # Units of training rows up to twice and down to half that of all rows find their value.
    requested = {lattice_sigma(w * unit * r) for w in (0.5, 2.0) for r in (0.5, 0.8, 1.0, 1.2, 2.0)}
    assert requested <= set(tree["sigmas"])
    assert tree["sigmas"].min() == min(requested)
    assert tree["sigmas"].max() == max(requested)


@pytest.mark.parametrize("kernel", ["dtw", "gak"])
def test_the_same_file_is_written_again(tmp_path, kernel):
    dataset, _ = series_dataset(tmp_path)
    for name in ("first.h5", "second.h5"):
        alignments.run(dataset, tmp_path / name, kernel, [1.0])
    assert (tmp_path / "first.h5").read_bytes() == (tmp_path / "second.h5").read_bytes()


@pytest.mark.parametrize("kernel", ["dtw", "gak"])
def test_outputs_that_are_no_series_are_refused(tmp_path, kernel):
    tree = {"inputs": np.ones((5, 1)), "outputs": np.ones((5, 4)), "names": {}}
    write_artifact(tmp_path / "dataset.h5", tree, "dataset")
    with pytest.raises(UserError, match="dataset.h5.*outputs that are no series.*dtw and gak out"):
        alignments.run(tmp_path / "dataset.h5", tmp_path / "out.h5", kernel, [1.0])
    assert not (tmp_path / "out.h5").exists()


@pytest.mark.parametrize("kernel", ["dtw", "gak"])
def test_series_with_missing_values_are_refused(tmp_path, kernel):
    outputs = np.ones((5, 4))
    outputs[3, 1] = np.nan
    names = {"series_length": 4, "series_channels": 1}
    tree = {"inputs": np.ones((5, 1)), "outputs": outputs, "names": names}
    write_artifact(tmp_path / "dataset.h5", tree, "dataset", allow_nan=("outputs",))
    with pytest.raises(UserError, match="1 series with missing values, the first in row 3"):
        alignments.run(tmp_path / "dataset.h5", tmp_path / "a.h5", kernel, [1.0])
