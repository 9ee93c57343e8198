"""The benchmark of coverage runs all stages of a table, and counts what it documents."""

import csv
import json
import shutil
from contextlib import contextmanager

import numpy as np
import pytest
import yaml
from each_case import each_case

from benchmarks import __main__ as command
from benchmarks import interval_coverage, measuring, page, table_laws
from benchmarks.table_laws import LAWS, METHODS, REAL_TABLES, Law, Rows
from workflow_lib.core.artifacts import read_artifact
from workflow_lib.table.saved_model import load_model

ROOT = interval_coverage.ROOT
N_ROWS, N_SPLITS = 100, 3


def draw_line(n, generator):
    """Return rows of two numbers; one has the effect, and the noise grows with the other."""
    x = generator.standard_normal((n, 2))
    means = np.column_stack([2.0 * x[:, 0], np.tanh(x[:, 0])])
    noise = (0.3 + 0.3 * np.abs(x[:, 1:])) * generator.standard_normal((n, 2))
    return Rows({"x1": x[:, 0].tolist(), "x2": x[:, 1].tolist()}, means, means + noise)


def draw_noise(n, generator):
    """Return rows whose uniform outputs have nothing to do with the inputs."""
    x = generator.standard_normal(n)
    return Rows({"x1": x.tolist()}, np.zeros((n, 2)), generator.uniform(-1.0, 1.0, (n, 2)))


@pytest.fixture(scope="module")
def small_config(tmp_path_factory):
    """A folder of the configuration with tiny grids, and mixtures fitted from one start."""
    folder = tmp_path_factory.mktemp("configuration")
    for kind in ("models", "methods"):
        shutil.copytree(ROOT / "config" / kind, folder / kind)
    small = {"alpha": [1e-3, 1e-1], "width": [1.0], "n_components": [2, 3]}
    for name in METHODS:
        with edited(folder / "methods" / f"{name}.yaml") as settings:
            settings["grid"] = {key: small[key] for key in settings.get("grid", {})}
            settings.pop("one_example", None)
    with edited(folder / "models" / "mixture-tied.yaml") as settings:
        settings["n_init"] = 1
    return folder


@contextmanager
def edited(path):
    """Yield the settings in a file, and write them after their changes."""
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    yield settings
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")


def simulated(draw, tmp_path, config, seed):
    folder = tmp_path / str(seed)
    folder.mkdir()
    law = Law(draw, N_ROWS, N_SPLITS)
    return interval_coverage.simulated(law, folder, seed, config)


def test_intervals_of_small_tables_have_about_their_level(tmp_path, small_config):
    rows = [row for seed in range(3) for row in simulated(draw_line, tmp_path, small_config, seed)]
    assert [row["output"] for row in rows] == ["y1", "y2"] * 3
    assert {row["level"] for row in rows} == {0.9}
    assert 0.80 < np.mean([row["coverage"] for row in rows]) < 0.98
    assert 0.80 < np.mean([row["measured_by_product"] for row in rows]) < 0.98
    # No method is better than the true function, except by chance on a few hundred rows.
    assert min(row["half_width_over_ideal"] for row in rows) > 0.8
    # The synthetic outputs can be predicted, so that the winner is not the mean.
    assert {row["winner"] for row in rows} <= {"m-krr", "ofer-gmm"}
    # Coverage is counted from the predictions of the saved model.
    generator = np.random.default_rng(2)
    draw_line(N_ROWS, generator)
    fresh = draw_line(table_laws.N_FRESH, generator)
    results = tmp_path / "2" / "results" / "simulated"
    predicted = load_model(results / "model.h5").predict(fresh.inputs)
    calibration = read_artifact(results / "calibration.h5", "calibration")
    held = np.abs(fresh.outputs - predicted.outputs) <= calibration["half_widths"]
    np.testing.assert_allclose([row["coverage"] for row in rows[4:]], held.mean(axis=0))
    answer = json.loads((results / "answer.json").read_text(encoding="utf-8"))
    assert {entry["method"] for entry in answer["leaderboard"]} == set(METHODS)
    assert (answer["training_size"], answer["n_splits"]) == (0.8 * N_ROWS, N_SPLITS)


def test_where_nothing_can_be_learned_half_widths_are_the_ideal_ones(tmp_path, small_config):
    rows = [row for seed in range(2) for row in simulated(draw_noise, tmp_path, small_config, seed)]
    ratios = [row["half_width_over_ideal"] for row in rows]
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.15)
    # Of uniform noise an interval of r times the ideal half width, which is 0.9, holds 0.9 r.
    for row, ratio in zip(rows, ratios):
        assert row["coverage"] == pytest.approx(min(0.9 * ratio, 1.0), abs=0.06)


# --- laws ----------------------------------------------------------------------------------------


@each_case("name", LAWS)
def test_a_law_draws_the_same_rows_for_the_same_seed_and_noise_without_a_mean(name):
    if LAWS[name].package:
        pytest.importorskip(LAWS[name].package)
    first, again, other = (LAWS[name].draw(400, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.outputs, again.outputs)
    assert first.inputs == again.inputs and first.inputs != other.inputs
    assert {len(column) for column in first.inputs.values()} == {400}
    noise = first.outputs - first.means
    error = noise.std(axis=0) / np.sqrt(len(noise))
    assert (np.abs(noise.mean(axis=0)) < 4.0 * error).all()
    # The outputs have a part that can be predicted, and noise.
    share = noise.var(axis=0) / first.outputs.var(axis=0)
    if name == "noise":
        np.testing.assert_allclose(share, 1.0)
    else:
        assert (share > 0.02).all() and (share < 0.7).all()


KINDS = {
    "numbers": ({"numbers"}, "standard", "rbf", "none"),
    "texts": ({"numbers", "text"}, "tf-idf", "rbf", "added"),
    "molecules": ({"smiles"}, "none", "tanimoto", "none"),
}


@each_case("name", KINDS)
def test_the_kinds_of_the_columns_of_a_law_are_recognised(tmp_path, name):
    if LAWS[name].package:
        pytest.importorskip(LAWS[name].package)
    rows = LAWS[name].draw(60, np.random.default_rng(0))
    columns = rows.inputs | {"y1": rows.outputs[:, 0].tolist()}
    law = Law(LAWS[name].draw, 60, 2)
    settings = interval_coverage.configured(tmp_path, columns, ["y1"], law, 1).settings
    dataset, experiment = settings.datasets["simulated"], settings.experiments["simulated"]
    used = set(dataset.options) & {"numbers", "categories", "strings", "text", "smiles"}
    assert (used, dataset.inputs.scale, experiment.kernel, experiment.lagged_values) == KINDS[name]
    assert set(settings.methods_of("simulated")) == set(METHODS)


def test_the_skewed_laws_have_the_documented_means_and_spread():
    rows = LAWS["skewed"].draw(40_000, np.random.default_rng(0))
    assert (rows.outputs > 0).all()
    ratio = rows.outputs / rows.means
    np.testing.assert_allclose(ratio.mean(axis=0), 1.0, atol=0.03)
    np.testing.assert_allclose(np.log(ratio).std(axis=0), [0.4, 0.3, 0.6], rtol=0.02)
    rows = LAWS["counts"].draw(40_000, np.random.default_rng(0))
    assert (rows.outputs >= 0).all() and (rows.outputs == np.rint(rows.outputs)).all()
    noise = rows.outputs - rows.means
    variances = rows.means + np.array([0.0, 0.25, 0.0]) * rows.means**2
    np.testing.assert_allclose((noise**2).sum(axis=0) / variances.sum(axis=0), 1.0, rtol=0.05)
    np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=0.08)


def test_the_rows_of_a_real_table_are_known_or_fresh(monkeypatch, tmp_path):
    table = REAL_TABLES["slump"]
    monkeypatch.setenv("OFER_MIRROR", str(tmp_path))
    assert not table.is_here()
    (tmp_path / "mulan-mtr").mkdir()
    inputs = [f"@attribute a{column} numeric" for column in range(7)]
    outputs = [f"@attribute b{column} numeric" for column in range(3)]
    rows = [",".join([str(row)] * 7 + [str(row % 5), str(row), "1"]) for row in range(103)]
    (tmp_path / "mulan-mtr" / "slump.arff").write_text(
        "\n".join(["@relation slump", *inputs, *outputs, "@data", *rows[:-1], rows[-1][:-1] + "2"])
    )
    assert table.is_here()
    known, fresh = table.tables(np.random.default_rng(0))
    assert (len(known.outputs), len(fresh.outputs)) == (72, 31) and known.means is None
    assert sorted(known.inputs["x1"] + fresh.inputs["x1"]) == list(range(103))
    # The last output is constant but for one row.
    assert known.outputs.shape[1] == fresh.outputs.shape[1] in (2, 3)
    np.testing.assert_array_equal(known.outputs[:, 1], known.inputs["x1"])


def test_the_noise_of_the_numbers_is_as_large_as_documented():
    rows = LAWS["numbers"].draw(20_000, np.random.default_rng(0))
    noise = rows.outputs - rows.means
    third = np.array(rows.inputs["x3"])
    assert noise[third > 0, 2].std() == pytest.approx(0.8, rel=0.03)
    assert noise[third <= 0, 2].std() == pytest.approx(0.3, rel=0.03)
    first = np.array(rows.inputs["x1"])
    scaled = noise[:, 0] / (0.2 + 0.4 * np.abs(first))
    assert scaled.std() == pytest.approx(1.0, rel=0.03)


def test_the_molecules_are_real_and_their_means_are_their_descriptors():
    chemistry = pytest.importorskip("rdkit.Chem")
    descriptors = pytest.importorskip("rdkit.Chem.Descriptors")
    rows = LAWS["molecules"].draw(200, np.random.default_rng(0))
    names = rows.inputs["smiles"]
    assert len(set(names)) > 190
    for name, means in zip(names, rows.means):
        molecule = chemistry.MolFromSmiles(name)
        assert molecule is not None and "*" not in name and "." not in name
        assert means[0] == pytest.approx(descriptors.MolLogP(molecule) / 1.5)
        assert means[1] == pytest.approx(descriptors.TPSA(molecule) / 25.0)


# --- tables and page -----------------------------------------------------------------------------


def example_rows(law, coverages):
    return [
        dict.fromkeys(interval_coverage.COLUMNS, value)
        | {"law": law, "simulation": simulation, "output": f"y{output}", "level": 0.9}
        | {"winner": "m-krr" if simulation == 1 else "ofer-gmm"}
        | {"half_width_over_ideal": 1.0 + 0.1 * output, "fresh_error": 0.4}
        | {"claimed_error": 0.3 + 0.1 * simulation, "lowest_error": 0.3}
        for simulation, values in enumerate(coverages, start=1)
        for output, value in enumerate(values, start=1)
    ]


def test_the_row_of_a_law_is_over_tables_and_not_over_outputs():
    found = interval_coverage.summary(example_rows("numbers", [(0.80, 0.98), (0.90, 0.96)]))
    # The tables have 0.89 and 0.93.
    assert found["coverage"] == pytest.approx(0.91)
    assert found["deviation"] == pytest.approx(0.04 / np.sqrt(2))
    assert (found["simulations"], found["outputs"]) == (2, 2)
    assert found["share_in_band"] == 1.0 and found["share_of_outputs_in_band"] == 0.25
    assert found["met"] == "yes" and found["winners"] == "1 ofer-gmm, 1 m-krr"
    assert found["half_width_over_ideal"] == pytest.approx(1.15)
    assert found["claimed_over_fresh"] == pytest.approx(0.45 / 0.4)
    assert found["lowest_over_fresh"] == pytest.approx(0.75)
    assert interval_coverage.summary(example_rows("numbers", [(0.80, 0.85)]))["met"] == "no"
    # Every method of a law is counted.
    weak = [row | {"winner": "wofer-gmm"} for row in example_rows("weak", [(0.9, 0.9)])]
    assert interval_coverage.summary(weak)["winners"] == "1 wofer-gmm"


def test_a_claim_is_compared_with_the_errors_of_new_rows():
    # Squared errors are 4 for the mean of the known rows, and ours 1, in the last three rows 9.
    truth, known = np.full((9, 1), 3.0), np.array([[0.0], [2.0]])
    predicted = truth - np.repeat([1.0, 3.0], (6, 3))[:, None]
    answer = {
        "range_of_new_rows": [0.4, 0.6],
        "n_test": 3,
        "mean": 0.55,
        "leaderboard": [{"mean": 0.5}, {"mean": 0.7}],
    }
    found = interval_coverage._claim(answer, predicted, truth, known)
    assert found["fresh_error"] == pytest.approx(np.sqrt((6 + 27) / 36))
    assert (found["claimed_error"], found["lowest_error"]) == (0.55, 0.5)
    assert found["share_in_claimed_range"] == pytest.approx(2 / 3)


def test_the_command_writes_both_tables_and_the_page(tmp_path, monkeypatch, capsys):
    coverages = {"numbers": [(0.9, 0.92)] * 2, "texts": [(0.7, 0.72)] * 2}

    def found(name, measurement):
        assert name == "interval_coverage"
        law = measurement.arguments["law"]
        return example_rows(law, coverages[law]) if law in coverages else None

    monkeypatch.setattr(measuring, "in_own_process", found)
    monkeypatch.setattr(table_laws, "is_installed", lambda package: True)
    assert command.main(["interval_coverage", "--folder", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert "91.0% of fresh outputs in intervals of 90%" in printed.out
    (failures,) = [line for line in printed.err.splitlines() if line.startswith("failed:")]
    assert "law=texts" in failures and "71.0% of fresh outputs" in failures
    assert "law=molecules" in failures and "law=numbers" not in failures
    with (tmp_path / "interval_coverage.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == interval_coverage.COLUMNS and len(rows) == 8
    with (tmp_path / "interval_coverage_by_law.csv").open(encoding="utf-8") as file:
        laws = {row["law"]: row for row in csv.DictReader(file)}
    assert (laws["numbers"]["met"], laws["texts"]["met"]) == ("yes", "no")
    text = (tmp_path / page.PAGE_NAME).read_text(encoding="utf-8")
    assert 'href="#interval_coverage"' in text and 'id="interval_coverage"' in text
    assert "<td>0.91</td>" in text and text.count("<svg") == 1
    # A few tables are too few to fail a law.
    assert (
        interval_coverage.write(tmp_path, [example_rows("texts", coverages["texts"])], True)[1]
        == []
    )


def test_a_law_whose_package_is_missing_is_left_out_with_a_message(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(table_laws, "is_installed", lambda package: False)
    monkeypatch.delenv("OFER_MIRROR", raising=False)
    monkeypatch.setattr(measuring, "in_own_process", lambda name, measurement: None)
    measured = [each.arguments["law"] for each in interval_coverage.measurements(False)]
    assert measured == [name for name in table_laws.LAWS if name != "molecules"]
    measuring.run("interval_coverage", False, tmp_path)
    printed = capsys.readouterr().out
    assert "molecules left out, rdkit is not installed" in printed
    assert "wq left out, its data are in no mirror" in printed


@pytest.mark.parametrize(
    "name, request_keys", [("weak", {"same_group": "group"}), ("unpaired", {})]
)
def test_as_many_more_rows_lack_their_outputs_or_inputs(name, request_keys):
    law = LAWS[name]
    known, fresh = law.tables(np.random.default_rng(2))
    assert law.request == request_keys
    assert len(known.outputs) == 2 * law.n_rows and len(fresh.outputs) == table_laws.N_FRESH
    no_outputs = np.isnan(known.outputs).all(axis=1)
    no_inputs = np.array([value is None for value in known.inputs["x1"]])
    lacks = np.arange(2 * law.n_rows) >= law.n_rows
    expected = (lacks, ~lacks & False) if name == "weak" else (lacks & False, lacks)
    np.testing.assert_array_equal((no_outputs, no_inputs), expected)
