"""The calibration artifact holds intervals, their coverage and novelty of the best method."""

import json

import numpy as np
import pytest
from small_data import regression_data, write_dataset
from small_pipeline import Stages

from workflow_lib.core.artifacts import artifact_digest, read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.seeds import derive_seed
from workflow_lib.fitting.prepared_inputs import prepared_inputs
from workflow_lib.measures.metrics import average_relative_error, means_of_observed
from workflow_lib.models.class_decoding import nearest_scores
from workflow_lib.protocol import features_stage, splitting
from workflow_lib.table import calibration_stage
from workflow_lib.uncertainty.conformal import coverage_by_thirds, half_widths, held_by_other_rows
from workflow_lib.uncertainty.joint_regions import JointRegions
from workflow_lib.uncertainty.novelty import (
    NoveltyScale,
    distances_of_test_rows,
    distances_of_training_rows,
)
from workflow_lib.uncertainty.output_ranges import OutputRanges
from workflow_lib.uncertainty.row_intervals import HeldOutRows, RowIntervals

N_SPLITS, N_TEST, SIZE = 3, 30, 50
METHODS = ("m-krr", "ofer-gmm")


class Experiment:
    """A dataset, splits and features, and predictions of two methods that miss by noise."""

    def __init__(self, folder, missing=0.0, n_rows=90, n_test=N_TEST, item=f"n-{SIZE}_w-0_C-4"):
        generator = np.random.default_rng(0)
        X, self.Y = regression_data(n_rows)
        self.Y[generator.random(self.Y.shape) < missing] = np.nan
        self.folder, self.item = folder, item
        self.dataset = write_dataset(folder / "data.h5", X, self.Y)
        self.splits, self.features, self.predictions = [], [], {name: [] for name in METHODS}
        self.answer = folder / "answer.json"
        self.answer.write_text(json.dumps({"winner": "ofer-gmm", "training_size": SIZE}))
        for number in range(N_SPLITS):
            split = folder / f"split-{number}.h5"
            splitting.run(self.dataset, split, [20, SIZE], [], n_test, 4, number, "small")
            features = folder / f"features-{number}.h5"
            features_stage.run(self.dataset, split, features, "standard", "rbf", "none")
            self.splits.append(split)
            self.features.append(features)
            for index, name in enumerate(METHODS):
                self.predict(name, number, index, {item: SIZE, "n-20_w-0_C-4": 20})

    def predict(self, method, number, seed, items):
        """Write the predictions of a method for a split."""
        test = read_artifact(self.splits[number], "split")["test"]
        truth = np.nan_to_num(self.Y[test])
        generator = np.random.default_rng([seed, number])
        tree = {
            name: {
                "training_size": size,
                "weak_size": int(name.split("_w-")[1].split("_")[0]),
                "components": name.split("_C-")[1],
                "outputs": truth + generator.normal(size=truth.shape) / size,
            }
            for name, size in items.items()
        }
        path = self.folder / f"{method}-{number}.h5"
        write_artifact(path, tree, "predictions")
        if path not in self.predictions[method]:
            self.predictions[method].append(path)

    def run(self, level=0.9, seed=5):
        """Run the stage; return what it wrote."""
        calibration_stage.run(
            self.answer,
            self.dataset,
            self.splits,
            self.features,
            self.predictions,
            self.folder / "calibration.h5",
            level,
            seed,
        )
        return read_artifact(self.folder / "calibration.h5", "calibration")


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_every_split_holds_its_test_rows_predictions_and_truth(tmp_path, missing):
    experiment = Experiment(tmp_path, missing)
    tree = experiment.run()
    assert (tree["method"], tree["level"], tree["training_size"]) == ("ofer-gmm", 0.9, SIZE)
    assert tree["item"] == experiment.item
    for number in range(N_SPLITS):
        part = tree[f"split-{number}"]
        split = read_artifact(experiment.splits[number], "split")
        items = read_artifact(experiment.predictions["ofer-gmm"][number], "predictions")
        np.testing.assert_array_equal(part["rows"], split["test"])
        np.testing.assert_array_equal(part["truth"], experiment.Y[split["test"]])
        np.testing.assert_array_equal(part["predicted"], items[experiment.item]["outputs"])
        # The relative errors of the scores can be computed from the stored values.
        mean = means_of_observed(experiment.Y[split["train"][:SIZE]])
        errors = np.nansum((part["truth"] - part["predicted"]) ** 2, axis=0)
        reference = np.nansum((part["truth"] - mean) ** 2, axis=0)
        assert average_relative_error(part["errors"], part["reference"]) == pytest.approx(
            np.sqrt(errors / reference).mean()
        )


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_intervals_are_of_all_splits_and_coverage_of_each_by_other_rows(tmp_path, missing):
    experiment = Experiment(tmp_path, missing)
    tree = experiment.run()
    parts = [tree[f"split-{number}"] for number in range(N_SPLITS)]
    names = ("predicted", "truth", "novelty", "rows")
    pooled = HeldOutRows(*(np.concatenate([part[name] for part in parts]) for name in names))
    weights = 1 / np.bincount(pooled.rows)[pooled.rows]
    expected = half_widths(pooled.truth - pooled.predicted, 0.9, weights)
    np.testing.assert_array_equal(tree["constant_half_widths"], expected)
    known = ~np.isnan(experiment.Y[np.unique(pooled.rows)])
    np.testing.assert_array_equal(tree["n_rows"], known.sum(axis=0))

    ranges, seed = OutputRanges.of([{}] * 3), derive_seed(5, "intervals")
    fitted = RowIntervals.fit(pooled, 0.9, ranges, seed)[0]
    widths = fitted.half_widths(pooled.predicted, pooled.novelty)
    np.testing.assert_allclose(tree["half_widths"], np.average(widths, axis=0, weights=weights))
    lower = np.concatenate([part["lower"] for part in parts])
    np.testing.assert_array_equal(lower, pooled.predicted - widths)
    stored = RowIntervals.from_tree(tree["intervals"])
    np.testing.assert_array_equal(stored.half_widths(pooled.predicted, pooled.novelty), widths)

    def held(calibrating, tried):
        own = RowIntervals.fit(pooled.part(calibrating), 0.9, ranges, seed)[0]
        return own.held(pooled.part(tried))

    seeds = [derive_seed(5, "coverage", number) for number in range(N_SPLITS)]
    of_splits = held_by_other_rows([part["rows"] for part in parts], held, seeds)
    for number, (part, expected) in enumerate(zip(parts, of_splits, strict=True)):
        np.testing.assert_array_equal(part["held"], expected)
        np.testing.assert_allclose(tree["coverage"][number], np.nanmean(expected, axis=0))
        known = ~np.isnan(expected)
        np.testing.assert_array_equal((part["levels_that_hold"] < 0.9)[known], expected[known])
    thirds = coverage_by_thirds(np.concatenate(of_splits), pooled.novelty, pooled.rows)
    np.testing.assert_array_equal(tree["thirds"]["of_novelty"], thirds)
    assert tree["thirds"]["of_predicted"].shape == tree["thirds"]["of_width"].shape == (3, 3)

    def jointly_held(calibrating, tried):
        rows = pooled.part(calibrating)
        own = JointRegions.fit(*RowIntervals.fit(rows, 0.9, ranges, seed), rows)
        return own.held(pooled.part(tried))

    joint = tree["joint"]
    of_splits = held_by_other_rows([part["rows"] for part in parts], jointly_held, seeds)
    expected = [np.nanmean(each, axis=0) for each in of_splits]
    np.testing.assert_allclose(joint["coverage"], expected)
    thirds = coverage_by_thirds(np.concatenate(of_splits), pooled.novelty, pooled.rows)
    np.testing.assert_array_equal(joint["of_novelty"], thirds)
    regions = JointRegions.from_tree(joint, fitted)
    sides = regions.log_sides(pooled.predicted, pooled.novelty)
    np.testing.assert_allclose(joint["log_sides"], np.average(sides, axis=0, weights=weights))


def test_intervals_end_where_the_outputs_of_the_dataset_do(tmp_path):
    experiment = Experiment(tmp_path)
    experiment.Y = np.abs(experiment.Y)
    tree = read_artifact(experiment.dataset, "dataset") | {"outputs": experiment.Y}
    tree["names"]["ranges"] = json.dumps([{"least": 0.0}, {}, {"least": 0.0, "largest": 0.5}])
    write_artifact(experiment.dataset, tree, "dataset")
    part = experiment.run()["split-0"]
    assert part["lower"][:, [0, 2]].min() == 0.0 and part["lower"][:, 1].min() < 0.0
    assert part["upper"][:, 2].max() == 0.5 and part["upper"][:, 0].max() > 0.5


def test_novelty_is_relative_to_the_training_rows_of_the_split(tmp_path):
    experiment = Experiment(tmp_path)
    tree = experiment.run()
    limits = []
    for number in range(N_SPLITS):
        split = read_artifact(experiment.splits[number], "split")
        features = read_artifact(experiment.features[number], "features")
        inputs = prepared_inputs(features, split["folds"][f"n-{SIZE}"], SIZE)
        scale = NoveltyScale.fit(distances_of_training_rows(inputs, "rbf", 0))
        expected = scale.novelty(distances_of_test_rows(inputs, "rbf"))
        np.testing.assert_array_equal(tree[f"split-{number}"]["novelty"], expected)
        limits.append(scale.limit)
    assert tree["novelty_limit"] == np.median(limits)


def test_too_few_test_rows_have_no_interval_and_say_how_many_are_needed(tmp_path, capsys):
    tree = Experiment(tmp_path, n_rows=54, n_test=4).run(level=0.95)
    assert np.isinf(tree["half_widths"]).all()
    assert np.isnan(tree["coverage"]).all()
    assert tree["rows_needed"] == 19
    assert "3 of 3 outputs have no interval" in capsys.readouterr().out


def test_the_same_inputs_give_the_same_bytes(tmp_path):
    experiment = Experiment(tmp_path)
    experiment.run()
    first = (tmp_path / "calibration.h5").read_bytes()
    experiment.run()
    assert (tmp_path / "calibration.h5").read_bytes() == first
    digest = artifact_digest(tmp_path / "calibration.h5")
    experiment.run(level=0.8)
    assert artifact_digest(tmp_path / "calibration.h5") != digest


def test_classes_have_novelty_and_no_interval(tmp_path):
    experiment = Experiment(tmp_path)
    labels = np.arange(len(experiment.Y)) % 3
    tree = read_artifact(experiment.dataset, "dataset") | {"classes": {"labels": labels}}
    write_artifact(experiment.dataset, tree, "dataset")
    for path, split in zip(experiment.predictions["ofer-gmm"], experiment.splits, strict=True):
        items = read_artifact(path, "predictions")
        test = read_artifact(split, "split")["test"]
        items[experiment.item]["classes"] = (labels[test] + 1) % 3
        write_artifact(path, items, "predictions")
    calibrated = experiment.run()
    assert calibrated["half_widths"].shape == (0,)
    # Vectors of the classes are unknown here, so that the predictions give no scores.
    assert "sets" not in calibrated
    assert calibrated["coverage"].shape == (N_SPLITS, 0)
    part = calibrated["split-1"]
    np.testing.assert_array_equal(part["true_classes"], labels[part["rows"]])
    np.testing.assert_array_equal(part["predicted_classes"], (labels[part["rows"]] + 1) % 3)
    assert part["novelty"].shape == (N_TEST,)


@pytest.mark.parametrize("decoder", ["scores", "euclidean", "cosine"])
def test_sets_of_classes_are_calibrated_by_the_scores_of_their_decoder(tmp_path, decoder, capsys):
    experiment = Experiment(tmp_path)
    labels = np.arange(len(experiment.Y)) % 3
    vectors = np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 0.0], [9.0, 9.0, 9.0]])
    tree = read_artifact(experiment.dataset, "dataset")
    tree["classes"] = {"labels": labels, "vectors": vectors}
    write_artifact(experiment.dataset, tree, "dataset")
    generator = np.random.default_rng(0)
    for path, split in zip(experiment.predictions["ofer-gmm"], experiment.splits, strict=True):
        items = read_artifact(path, "predictions")
        test = read_artifact(split, "split")["test"]
        noise = generator.normal(size=(N_TEST, 3))
        predicted = (np.eye(3) if decoder == "scores" else vectors)[labels[test]] + noise
        scores = predicted if decoder == "scores" else nearest_scores(predicted, vectors, decoder)
        items[experiment.item] |= {"outputs": predicted, "classes": scores.argmax(axis=1)}
        write_artifact(path, items, "predictions")
    calibrated = experiment.run(level=0.8)
    assert calibrated["sets"]["decoder"] == decoder
    assert calibrated["set_coverage"].shape == calibrated["set_size"].shape == (N_SPLITS,)
    assert 0.65 < calibrated["set_coverage"].mean() <= 1.0
    assert 1.0 <= calibrated["set_size"].mean() < 3.0
    assert "sets of 80 % held the class of" in capsys.readouterr().out


def test_the_item_is_the_only_the_usual_or_the_named_item(tmp_path):
    weak, usual, fixed = f"n-{SIZE}_w-40_C-4", f"n-{SIZE}_w-0_C-selected", f"n-{SIZE}_w-0_C-8"
    experiment = Experiment(tmp_path, item=weak)
    assert experiment.run()["item"] == weak
    for number in range(N_SPLITS):
        experiment.predict("ofer-gmm", number, 1, dict.fromkeys([weak, usual, fixed], SIZE))
    assert experiment.run()["item"] == usual
    named = {"winner": "ofer-gmm", "training_size": SIZE, "weak_size": 0, "components": "8"}
    experiment.answer.write_text(json.dumps(named))
    assert experiment.run()["item"] == fixed
    experiment.answer.write_text(json.dumps(named | {"components": "9"}))
    with pytest.raises(UserError, match=r"ofer-gmm-0\.h5: no predictions of ofer-gmm with 50"):
        experiment.run()


@pytest.mark.parametrize("kind", [None, "gaussian_mixture"])
def test_what_the_stages_of_a_method_write_is_calibrated(tmp_path, kind):
    X, Y = regression_data(60)
    folders = [tmp_path / str(number) for number in range(2)]
    stages = [
        Stages(folder, X, Y, scale="standard", kind=kind, seed=number).all()
        for number, folder in enumerate(folders)
    ]
    answer = tmp_path / "answer.json"
    answer.write_text(json.dumps({"winner": "method", "training_size": 30}))
    paths = {
        name: [stage.path(name) for stage in stages]
        for name in ("split", "features", "predictions")
    }
    calibration_stage.run(
        answer,
        stages[0].path("dataset"),
        paths["split"],
        paths["features"],
        {"method": paths["predictions"]},
        tmp_path / "calibration.h5",
        0.8,
        0,
    )
    tree = read_artifact(tmp_path / "calibration.h5", "calibration")
    for number, stage in enumerate(stages):
        outputs = stage.tree("predictions")["n-30_w-0_C-selected"]["outputs"]
        np.testing.assert_array_equal(tree[f"split-{number}"]["predicted"], outputs)
    assert np.isfinite(tree["half_widths"]).all()


def test_an_answer_that_names_no_method_is_reported(tmp_path):
    experiment = Experiment(tmp_path)
    experiment.answer.write_text(json.dumps({"winner": "m-rf", "training_size": SIZE}))
    with pytest.raises(UserError, match=r"the method m-rf. Expected one of m-krr, ofer-gmm"):
        experiment.run()
    for text in ("{", "[]", '{"winner": "m-krr"}', '{"winner": "m-krr", "training_size": null}'):
        experiment.answer.write_text(text)
        with pytest.raises(UserError, match=r"answer\.json: no answer can be read from it"):
            experiment.run()
