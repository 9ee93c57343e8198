"""The comparison with other libraries: its tables, the data that peers use, and its counts."""

import json
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from each_case import each_case
from paper_folders import needs_paper

from benchmarks.compare import cells, chart, own, page, peers, summary, tables
from benchmarks.compare.cells import Cell
from benchmarks.compare.peers import PEERS, Bench, Candidate, Rows, tune
from workflow_lib.core.artifacts import write_artifact
from workflow_lib.protocol.splitting import split_rows
from workflow_lib.run.named_settings import SettingsFolder

ROOT = Path(__file__).resolve().parents[2]
STACK = PEERS[peers.STACK]


@pytest.fixture(autouse=True)
def small_forests(monkeypatch):
    """Forests of few trees."""
    monkeypatch.setattr(peers, "N_TREES", 4)
    monkeypatch.setattr(peers, "N_TREES_OF_TUNING", 3)
    yield
    # A digest holds the number of trees.
    peers.fingerprint.cache_clear()


def some_rows(n: int = 20) -> Rows:
    """Return rows with a missing input, a constant input and a constant output."""
    generator = np.random.default_rng(3)
    inputs = generator.standard_normal((n, 4))
    outputs = inputs[:, :3] ** 2 + 0.1 * generator.standard_normal((n, 3))
    inputs[0, 1], inputs[:, 3], outputs[:, 2] = np.nan, 7.0, 5.0
    return Rows(inputs, outputs, np.arange(n) % 5, "standard")


# --- tables --------------------------------------------------------------------------------------


def test_every_dataset_is_a_table_of_the_comparison_or_has_a_reason():
    chosen, left_out = tables.study_tables(ROOT / "config")
    every = set(SettingsFolder(ROOT / "config" / "datasets").names)
    assert set(chosen) | set(left_out) == every and not set(chosen) & set(left_out)
    mulan = {"atp1d", "oes97", "edm", "jura", "wq", "enb", "slump", "sf1", "sf2"}
    assert mulan | {"linnerud", "digits-completion", "d2", "monthly-stocks"} <= set(chosen)
    assert set(tables.LEFT_OUT) & every <= set(left_out)
    assert left_out["earnings-calls"] == "its inputs are texts"
    assert chosen["d2"].is_made and not chosen["edm"].is_made
    assert chosen["air-quality"].experiment["split"] == "grouped"
    assert "split" not in chosen["edm"].experiment
    assert set(tables.EARLIER) <= set(chosen)
    assert chosen["us-crimes"].is_new and not chosen["edm"].is_new


@needs_paper("blaschko")
def test_every_reason_is_that_of_a_dataset():
    assert set(tables.LEFT_OUT) <= set(SettingsFolder(ROOT / "config" / "datasets").names)


# --- peers ---------------------------------------------------------------------------------------


@each_case("name", PEERS)
def test_every_peer_learns_from_gaps_and_constants(name):
    if not PEERS[name].is_installed:
        pytest.skip(f"{PEERS[name].package} is not installed")
    rows, new = some_rows(), np.random.default_rng(4).standard_normal((6, 4))
    new[0, 0] = np.nan
    predictions = Bench(rows, 1).predict(name, new)
    assert predictions.shape == (6, 3) and np.isfinite(predictions).all()
    np.testing.assert_allclose(predictions[:, 2], 5.0, rtol=1e-12)
    np.testing.assert_array_equal(Bench(rows, 1).predict(name, new), predictions)
    assert len(PEERS[name].summary) > 20


class PredictorDouble:
    """The interface of AutoGluon's `TabularPredictor` that the peer uses; predicts the mean."""

    limits: list[float] = []

    def __init__(self, label, problem_type=None, eval_metric=None, path=None, verbosity=2):
        assert problem_type == "regression" and not Path(path).exists()
        self.label, self.path = label, Path(path)

    def fit(self, train_data, tuning_data=None, time_limit=None, num_cpus="auto", num_gpus="auto"):
        self.limits.append(time_limit)
        self.columns = list(train_data.columns.drop(self.label))
        self.path.mkdir()
        (self.path / "model").write_text(str(train_data[self.label].mean()))
        return self

    def predict(self, data):
        assert list(data.columns) == self.columns
        return pd.Series(float((self.path / "model").read_text()), data.index)


def test_autogluon_has_the_same_time_for_each_output_that_varies(monkeypatch):
    package = ModuleType("autogluon.tabular")
    package.TabularPredictor, package.__version__ = PredictorDouble, "1"
    package.__spec__ = ModuleSpec("autogluon.tabular", None)
    monkeypatch.setitem(sys.modules, "autogluon", ModuleType("autogluon"))
    monkeypatch.setitem(sys.modules, "autogluon.tabular", package)
    monkeypatch.setattr(PredictorDouble, "limits", [])
    assert PEERS["autogluon"].is_installed and peers.fingerprint("autogluon")
    rows, limit = some_rows(), peers.AutoGluonOutputs.TIME_LIMIT
    bench = Bench(rows, 1)
    means = np.tile(rows.outputs.mean(axis=0), (6, 1))
    np.testing.assert_allclose(bench.predict("autogluon", np.zeros((6, 4))), means)
    assert PredictorDouble.limits == [limit] * 2
    assert bench.tuned("autogluon").settings == {"time_limit": limit}
    assert f"{limit} seconds" in PEERS["autogluon"].summary


def ridges(*alphas):
    from sklearn.linear_model import Ridge

    return lambda *sizes: [Candidate({"alpha": alpha}, Ridge(alpha=alpha)) for alpha in alphas]


def test_heldout_predictions_do_not_depend_on_the_outputs_of_their_fold():
    rows = some_rows()
    out = rows.folds == 2
    changed = rows._replace(outputs=np.where(out[:, None], rows.outputs + 9.0, rows.outputs))
    first, second = (tune(ridges(1.0, 1.0), each, 1).heldout for each in (rows, changed))
    np.testing.assert_array_equal(first[out], second[out])
    assert not np.allclose(first[~out][:, :2], second[~out][:, :2])


def test_the_chosen_settings_are_those_with_the_lowest_heldout_error():
    generator = np.random.default_rng(5)
    inputs = generator.standard_normal((30, 2))
    rows = Rows(inputs, inputs @ [[1.0, 2.0], [0.5, -1.0]], np.arange(30) % 5, "none")
    assert tune(ridges(1e6, 1e-3), rows, 1).settings == {"alpha": 1e-3}


def test_the_weights_of_the_stack_are_convex_and_combine_its_members():
    rows, bench = some_rows(), Bench(some_rows(), 1)
    weights = np.array(list(bench.tuned(peers.STACK).settings.values()))
    assert len(weights) == len(STACK.members) and (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=2e-4)
    members = [bench.predict(name, rows.inputs) for name in STACK.members]
    expected = sum(weight * each for weight, each in zip(weights, members))
    np.testing.assert_allclose(bench.predict(peers.STACK, rows.inputs), expected, atol=1e-3)
    assert bench.tuned(peers.STACK).seconds > bench.tuned(STACK.members[0]).seconds


# --- cells ---------------------------------------------------------------------------------------


def write_cell(folder: Path, change=lambda inputs, outputs, partition: None) -> Cell:
    """Write the artifacts of a table of 40 rows and a split of it."""
    generator = np.random.default_rng(8)
    inputs = generator.standard_normal((40, 3))
    outputs = inputs[:, :2] + 0.1 * generator.standard_normal((40, 2))
    partition = split_rows(40, [10, 20], [], 10, 5, 1)
    change(inputs, outputs, partition)
    names = {"inputs": json.dumps(list("abc")), "outputs": json.dumps(list("yz"))}
    tree = {"inputs": inputs, "outputs": outputs, "names": names, "report": {}}
    dataset, split = folder / "dataset.h5", folder / "split.h5"
    write_artifact(dataset, tree, "dataset", allow_nan=("inputs", "outputs"))
    write_artifact(split, partition, "split")
    return Cell("table", "standard", 0, 20, dataset, split, folder / "peers", 1)


def test_a_result_is_kept_until_its_rows_or_its_peer_change(tmp_path, monkeypatch):
    names = ["sklearn-ridge", "sklearn-neighbours"]
    cell = write_cell(tmp_path)
    assert cells.run_cell(cell, names) == names
    assert cells.run_cell(cell, names) == []
    first = {row["method"]: row["error"] for row in cells.peer_scores([cell], names)}
    assert list(first) == names and all(0 < error < 1 for error in first.values())

    monkeypatch.setattr(cells, "fingerprint", lambda name: f"another {name == names[0]}")
    assert cells.run_cell(cell, names) == names
    assert {row["method"]: row["error"] for row in cells.peer_scores([cell], names)} == first

    def other_test_row(inputs, outputs, partition):
        outputs[partition["test"][0]] += 1.0

    other = write_cell(tmp_path, other_test_row)
    assert cells.peer_scores([other], names) == []
    assert cells.run_cell(other, names) == names


def test_tuning_uses_training_rows_only(tmp_path):
    names = ["sklearn-ridge", "sklearn-forest", "sklearn-kernel-ridge"]

    def spoil_all_others(inputs, outputs, partition):
        others = np.setdiff1d(np.arange(len(inputs)), partition["train"][:20])
        inputs[others], outputs[others] = 1e3, -1e3

    chosen, heldout = [], []
    for number, change in enumerate((lambda *all_rows: None, spoil_all_others)):
        folder = tmp_path / str(number)
        folder.mkdir()
        bench = Bench(cells.read_cell(write_cell(folder, change)).training, 1)
        chosen.append([bench.tuned(name).settings for name in names])
        heldout.append([bench.tuned(name).heldout for name in names])
    assert chosen[0] == chosen[1]
    np.testing.assert_array_equal(heldout[0], heldout[1])


def test_missing_outputs_are_refused(tmp_path):
    def without_an_output(inputs, outputs, partition):
        outputs[partition["train"][0], 0] = np.nan

    with pytest.raises(cells.UserError, match="training outputs that are missing"):
        cells.read_cell(write_cell(tmp_path, without_an_output))


def test_peers_that_are_not_installed_or_take_fewer_inputs_are_left_out(tmp_path, monkeypatch):
    data = cells.read_cell(write_cell(tmp_path))
    few = {
        "few": peers.Peer("Few", "#000000", "o", peers.ridge, most_inputs=2),
        "absent": peers.Peer("Absent", "#000000", "o", peers.ridge, package="no_such_package"),
        "ridge": peers.Peer("Ridge", "#000000", "o", peers.ridge, most_inputs=3),
    }
    monkeypatch.setattr(cells, "PEERS", few)
    assert data.peers(list(few)) == ["ridge"]


# --- summary and page ----------------------------------------------------------------------------


def some_scores() -> pd.DataFrame:
    """Return scores of two tables at two sizes and two splits, with numbers that can be checked."""
    errors = {
        # table, size: the method's errors, the same in both splits but for +- 0.1
        ("edm", 20): {"ofer-stack": 0.9, "m-krr": 1.0, "sklearn-ridge": 0.8},
        ("edm", 50): {"ofer-stack": 0.5, "m-krr": 0.6, "sklearn-ridge": 0.7},
        ("jura", 20): {"ofer-stack": 0.6, "m-krr": 0.6, "sklearn-ridge": 0.9},
        ("linnerud", 10): {"ofer-stack": 5.0, "m-krr": 1.0, "sklearn-ridge": 1.0},
    }
    rows = [
        (table, size, split, method, error + 0.1 * (2 * split - 1), size / 10)
        for (table, size), methods in errors.items()
        for method, error in methods.items()
        for split in (0, 1)
    ]
    found = pd.DataFrame(rows, columns=["table", "size", "split", "method", "error", "seconds"])
    return found.assign(source=np.where(found["method"].isin(list(PEERS)), "peer", "own"))


def test_the_summary_counts_ratios_wins_and_losses_from_twenty_rows_on():
    errors = summary.of_enough_rows(summary.cell_errors(some_scores()))
    assert list(errors.index) == [("edm", 20), ("edm", 50), ("jura", 20)]
    best = summary.best_single(errors, {"ofer-stack"})
    assert best["method"].tolist() == ["sklearn-ridge", "m-krr", "m-krr"]
    found = summary.method_summary(errors, {"ofer-stack"})
    stack, ridge = found.loc["ofer-stack"], found.loc["sklearn-ridge"]
    assert stack["mean_ratio"] == pytest.approx((0.9 / 0.8 + 0.5 / 0.6 + 1.0) / 3)
    assert stack["worst_ratio"] == pytest.approx(0.9 / 0.8) and stack["worst_cell"] == "edm, 20"
    assert (ridge["wins"], ridge["losses"]) == (2, 1)
    assert found.loc["m-krr", ["wins", "losses"]].tolist() == [2, 0]
    assert ridge["gain"] == pytest.approx(1 - 2.0 / 2.4)
    assert summary.ratios_by_size(errors, {"ofer-stack"}).loc["m-krr", 50] == pytest.approx(1.0)


def test_the_best_method_of_a_table_and_that_of_other_splits():
    scores = some_scores()
    errors = summary.of_enough_rows(summary.cell_errors(scores))
    of_tables = summary.best_of_tables(errors, {"ofer-stack"})
    means = errors.drop(columns="ofer-stack").loc["edm"].mean()
    assert set(of_tables.loc["edm", "method"]) == {means.idxmin()}
    assert of_tables.loc[("edm", 50), "error"] == errors.loc[("edm", 50), means.idxmin()]
    # Two splits: on each the method that is best on the other.
    rows = [("a", 20, split, method) for split in (0, 1) for method in ("one", "two", "stack")]
    values = [0.1, 0.2, 0.0, 0.9, 0.3, 0.0]
    columns = ["table", "size", "split", "method"]
    few = pd.DataFrame(rows, columns=columns).assign(error=values)
    chosen = summary.error_chosen_elsewhere(few, summary.cell_errors(few), {"stack"})
    assert chosen.tolist() == pytest.approx([(0.2 + 0.9) / 2])
    alone = few[few["split"] == 0]
    assert summary.error_chosen_elsewhere(alone, summary.cell_errors(alone), set()).isna().all()


def test_the_goals_say_what_is_reached():
    scores = some_scores()
    errors = summary.of_enough_rows(summary.cell_errors(scores))
    goals = summary.goals(scores, errors, {"ofer-stack"}, ["sklearn-ridge"])
    by_goal = {goal: (measured, reached) for goal, measured, reached in goals}
    cell = "in no cell more than 1.03 times that of the best single method of each cell"
    assert by_goal[cell] == ("1.125 times (edm, 20 rows); above in 1 of 3 cells", False)
    assert len(goals) == 7 and goals[-1][1:] == ("lower than all", True)
    cheap = errors.assign(**{"sklearn-ridge": 0.1})
    behind = summary.goals(scores, cheap, {"ofer-stack"}, ["sklearn-ridge"])
    assert not any(reached for goal, _, reached in behind if "other splits" not in goal)
    assert summary.goals(scores, errors.drop(columns="ofer-stack"), set(), []) == []


def test_the_cells_above_the_limit_are_listed_with_their_best_member():
    scores = some_scores()
    errors = summary.of_enough_rows(summary.cell_errors(scores))
    found = summary.cells_above(scores, errors, {"ofer-stack"}, ["m-krr", "m-rf"])
    assert list(found.index) == [("edm", 20)]
    row = found.loc[("edm", 20)]
    assert row[["method", "member"]].tolist() == ["sklearn-ridge", "m-krr"]
    assert row[["ratio", "member_ratio"]].tolist() == pytest.approx([0.9 / 0.8, 0.9])
    assert row["by_split"] == pytest.approx([0.8 / 0.7, 1.0 / 0.9])
    without = summary.cells_above(scores, errors, {"ofer-stack"}, [])
    assert without.loc[("edm", 20), "member"] == ""
    near = errors.assign(**{"sklearn-ridge": 0.9})
    assert summary.cells_above(scores, near, {"ofer-stack"}, ["m-krr"]).empty


def test_a_method_without_all_splits_of_a_cell_has_no_error_there():
    scores = some_scores()
    lacking = (scores["method"] == "m-krr") & (scores["size"] == 50) & (scores["split"] == 1)
    errors = summary.cell_errors(scores[~lacking])
    assert np.isnan(errors.loc[("edm", 50), "m-krr"])
    assert errors.loc[("edm", 20), "m-krr"] == pytest.approx(1.0)
    assert np.isnan(summary.method_summary(errors, {"ofer-stack"}).loc["m-krr", "mean_error"])


OURS = {
    "ofer-stack": {
        **{"label": "OFER-stack", "color": "#EE3377", "regressor": "stack", "members": ["m-krr"]},
    },
    "m-krr": {"label": "m-KRR", "color": "#E69F00", "regressor": "kernel_ridge"},
}


def page_of(folder: Path, scores: pd.DataFrame, methods=OURS, machine=None) -> str:
    chosen, left_out = tables.study_tables(ROOT / "config")
    page.write_page(folder, scores, chosen, left_out, methods, machine or {})
    return (folder / page.PAGE_NAME).read_text(encoding="utf-8")


def test_the_page_names_every_method_table_and_reason(tmp_path):
    text = page_of(tmp_path, some_scores(), machine={"date": "2031-02-03", "system": "x"})
    assert "measured on 2031-02-03: on 3\ntables" in text and "4 cells in\nall" in text
    for words in ("OFER-stack", "m-KRR", "Ridge (scikit-learn)", "`awa`", "| jura | 20 |"):
        assert words in text
    assert "| edm | 20 | Ridge (scikit-learn) | 1.125 | 1.14, 1.11 | m-KRR | 0.900 |" in text
    assert "new tables |" not in text and "## New tables" not in text
    assert (tmp_path / page.FIGURE_NAME).read_text(encoding="utf-8").startswith("<?xml")


def test_new_tables_have_their_own_goals_and_summary(tmp_path):
    scores = some_scores().replace({"table": {"edm": "us-crimes"}})
    # A peer that ran on no new table.
    elsewhere = scores[(scores["table"] == "jura") & (scores["method"] == "sklearn-ridge")]
    text = page_of(tmp_path, pd.concat([scores, elsewhere.assign(method="catboost")]))
    assert "| goal | all cells | new tables |" in text
    assert "Tables that came after our methods were fixed: `us-crimes`." in text
    assert "| us-crimes (new) | 20 |" in text
    first = text[text.index("## New tables") : text.index("## Goals")]
    assert "| m-KRR | 2 | 0.8000 |" in first
    text = page_of(tmp_path, scores[scores["table"] == "us-crimes"])
    assert "| goal | all cells |\n" in text and "All these tables are new" in text


def test_tables_are_ranked_at_their_largest_size():
    chosen, _ = tables.study_tables(ROOT / "config")
    scores = some_scores()
    names = ["ofer-stack", "m-krr", "sklearn-ridge"]
    extra = scores[scores["size"] == 20].assign(method="catboost")
    extra = extra.drop_duplicates(["table", "split"])
    ranking = page.ranking_of(pd.concat([scores, extra]), chosen, names)
    assert {dataset.experiment: dataset.training_size for dataset in ranking.datasets} == {
        "edm": 50,
        "jura": 20,
        "linnerud": 10,
    }


def test_a_method_with_the_name_of_a_peer_is_shown_once(tmp_path):
    own_catboost = {"label": "Ours", "color": "#355C7D", "regressor": "estimator"}
    scores = some_scores().replace({"method": {"sklearn-ridge": "catboost"}})
    for found, label in ((scores, "CatBoost"), (scores.assign(source="own"), "Ours")):
        text = page_of(tmp_path, found, OURS | {"catboost": own_catboost})
        assert f"| table | rows | best single method | OFER-stack | m-KRR | {label} |" in text


# --- our methods ---------------------------------------------------------------------------------


def test_the_copied_workflow_has_an_experiment_for_each_table_and_nothing_else(tmp_path):
    from workflow_lib.run.loading import load_configuration

    chosen, _ = tables.study_tables(ROOT / "config")
    some = {name: chosen[name] for name in ("linnerud", "edm")}
    own.write_workflow(tmp_path, some, ["m-krr", "m-mean"], 2, 1)
    (tmp_path / "workflow_lib" / "left.py").touch()
    own.write_workflow(tmp_path, some, ["m-krr", "m-mean"], 2, 1)
    assert not (tmp_path / "workflow_lib" / "left.py").exists()
    run = own.yaml.safe_load((tmp_path / own.RUN_FILE).read_text(encoding="utf-8"))
    settings = load_configuration(tmp_path / "config", run)
    assert list(settings.experiments) == ["linnerud", "edm"]
    edm = settings.experiments["edm"]
    assert tuple(edm.training_sizes) == tables.TRAINING_SIZES and edm.n_splits == 2
    assert settings.methods_of("linnerud") == ("m-krr", "m-mean")


def test_the_numbers_of_the_readme_are_those_of_the_page():
    errors = chart.recorded_errors((ROOT / "docs" / "comparison.md").read_text(encoding="utf-8"))
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    for label in ("OFER-stack", "Stack of four (scikit-learn)", "CatBoost"):
        assert f" {errors[label].mean():.3f}" in readme, label
