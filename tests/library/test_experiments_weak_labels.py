"""Weak labels: those of the annotator, their errors, and other methods that use them."""

import numpy as np
import pytest
from small_data import regression_data
from small_pipeline import Stages

from workflow_lib.fitting.fit_data import SplitData
from workflow_lib.fitting.kernel_ridge_fit import N_NEIGHBOURS, weak_outputs_of
from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.measures.metrics import means_of_observed
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.output_scaling import OutputScaling

MEMBERSHIPS = np.array([[0.2, 0.5, 0.3], [0.9, 0.05, 0.05], [0.1, 0.1, 0.8]])
LABELS = {
    "n-20": {
        "C-3": {
            "memberships": MEMBERSHIPS,
            "draw": np.array([0.05, 0.15, 0.95]),
            "mistake": np.array([2, 1, 0]),
        }
    }
}

SPLIT = SplitData({}, trees={"split": {"sizes": [], "weak_sizes": []}, "weak_labels": LABELS})


class TestMemberships:
    def test_without_noise_they_are_the_labels(self):
        np.testing.assert_array_equal(SPLIT.memberships(20, 3, 3), MEMBERSHIPS)

    def test_one_hot_labels_name_the_most_likely_component(self, tmp_path):
        X, Y = regression_data(70)
        by_kind = {}
        for kind in ("soft", "one-hot"):
            settings = {"weak_sizes": [12], "counts": [3], "label_kind": kind}
            stages = Stages(tmp_path / kind, X, Y, **settings).prepare().model()
            by_kind[kind] = stages.tree("weak_labels")["n-30"]["C-3"]["memberships"]
        np.testing.assert_allclose(by_kind["soft"].sum(axis=1), 1.0)
        np.testing.assert_array_equal(by_kind["one-hot"], np.eye(3)[by_kind["soft"].argmax(axis=1)])

    def test_rows_mistaken_at_one_noise_are_mistaken_at_a_higher_one(self):
        first, second, both = (SPLIT.memberships(20, 3, 3, noise) for noise in (0.1, 0.2, 1))
        np.testing.assert_array_equal(first, [[0, 0, 1], MEMBERSHIPS[1], MEMBERSHIPS[2]])
        np.testing.assert_array_equal(second, [[0, 0, 1], [0, 1, 0], MEMBERSHIPS[2]])
        np.testing.assert_array_equal(both, [[0, 0, 1], [0, 1, 0], [1, 0, 0]])

    def test_mistakes_name_another_component_and_the_draw_is_even(self, tmp_path):
        X, Y = regression_data(400)
        stages = Stages(tmp_path, X, Y, weak_sizes=[300], counts=[1, 3]).prepare().model()
        labels = stages.tree("weak_labels")["n-30"]
        many = labels["C-3"]
        assert (many["mistake"] != many["memberships"].argmax(axis=1)).all()
        assert set(many["mistake"]) == {0, 1, 2}
        assert 0.4 < many["draw"].mean() < 0.6
        # There is no other component to name.
        np.testing.assert_array_equal(labels["C-1"]["mistake"], 0)


class TestWeakOutputs:
    def setup_method(self):
        self.X, self.Y = regression_data(30)
        self.scaling = OutputScaling(self.Y.mean(axis=0), self.Y.std(axis=0))
        self.model = GaussianMixtureModel(3).fit(self.scaling.apply(self.Y[:20]))
        memberships = self.model.responsibilities(self.scaling.apply(self.Y[20:])).argmax(axis=1)
        self.memberships = np.eye(3)[memberships]

    def outputs(self, kind):
        gram = self.X @ self.X.T
        return weak_outputs_of(
            kind, self.Y[:20], self.Y[20:], self.model, self.scaling, self.memberships, gram
        )

    def test_component_means_are_in_units_of_the_outputs(self):
        means = self.scaling.inverse_transform(self.model.means_)
        np.testing.assert_allclose(
            self.outputs("component_mean"), means[self.memberships.argmax(axis=1)], atol=1e-12
        )

    def test_neighbours_are_of_the_same_component(self):
        known = self.model.responsibilities(self.scaling.apply(self.Y[:20])).argmax(axis=1)
        found = self.outputs("neighbours")
        for row, component in enumerate(self.memberships.argmax(axis=1)):
            same = np.flatnonzero(known == component)
            distances = np.linalg.norm(self.X[same] - self.X[20 + row], axis=1)
            nearest = same[np.argsort(distances)[:N_NEIGHBOURS]]
            np.testing.assert_allclose(found[row], self.Y[nearest].mean(axis=0))

    def test_a_component_without_training_rows_has_its_mean(self):
        self.memberships = np.eye(3)[[0] * 10]
        self.Y[:20] = self.scaling.inverse_transform(self.model.means_)[1]
        means = self.scaling.inverse_transform(self.model.means_)
        np.testing.assert_allclose(self.outputs("neighbours"), np.tile(means[0], (10, 1)))

    def test_true_outputs_are_the_ceiling(self):
        np.testing.assert_array_equal(self.outputs("true"), self.Y[20:])


class TestMissingOutputs:
    def test_they_take_the_mean_of_the_known_rows(self):
        Y = np.array([[1.0, np.nan], [3.0, 4.0], [np.nan, 8.0]])
        np.testing.assert_array_equal(impute_mean(Y), [[1, 6], [3, 4], [2, 8]])
        known = np.array([True, True, False])
        np.testing.assert_array_equal(impute_mean(Y, known), [[1, 4], [3, 4], [2, 8]])

    def test_nothing_is_copied_where_nothing_is_missing(self):
        Y = np.ones((3, 2))
        assert impute_mean(Y) is Y

    def test_a_coordinate_without_values_takes_the_overall_mean(self):
        Y = np.array([[1.0, np.nan], [3.0, np.nan]])
        np.testing.assert_array_equal(means_of_observed(Y), [2.0, 2.0])
        np.testing.assert_array_equal(means_of_observed(np.full((2, 1), np.nan)), [0.0])


def rows_of(stages):
    tree = stages.tree("regression")
    return tree, stages.tree("predictions")


class TestBaselines:
    def test_full_labels_are_kernel_ridge_on_all_rows(self, tmp_path):
        X, Y = regression_data(70)
        settings = {"kind": None, "alphas": [1e-2], "widths": [1.0], "weak_weights": [1.0]}
        weak = Stages(
            tmp_path / "weak", X, Y, sizes=[20], weak_sizes=[15], weak_outputs="true", **settings
        ).all()
        split = weak.tree("split")
        prediction = weak.tree("predictions")["n-20_w-15_C-selected"]["outputs"]
        rows = np.concatenate([split["train"], split["weak"][:15]])
        gram = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 8)
        # The penalty of the labelled rows alone: a weak row of weight one counts like one of them.
        K = gram[np.ix_(rows, rows)] + 2 * 20 * 1e-2 * np.eye(35)
        inverse = np.linalg.inv(K)
        ones = np.ones(35)
        intercept = (ones @ inverse @ Y[rows]) / (ones @ inverse @ ones)
        expected = gram[np.ix_(split["test"], rows)] @ inverse @ (Y[rows] - intercept) + intercept
        np.testing.assert_allclose(prediction, expected, atol=1e-8)

    @pytest.mark.parametrize("kind", ["component_mean", "neighbours"])
    def test_outputs_made_of_labels_help_where_clusters_are_far_apart(self, tmp_path, kind):
        X, Y = regression_data(120, spread=30.0)
        settings = {"sizes": [8], "weak_sizes": [60], "counts": [3], "alphas": [1e-4, 1e-2]}
        stages = Stages(tmp_path, X, Y, weak_outputs=kind, **settings).all()
        item = stages.tree("predictions")["n-8_w-60_C-selected"]
        split = stages.tree("split")
        error = ((item["outputs"] - Y[split["test"]]) ** 2).sum()
        alone = Stages(tmp_path / "alone", X, Y, kind=None, sizes=[8], alphas=[1e-4, 1e-2])
        before = alone.all().tree("predictions")["n-8_w-0_C-selected"]["outputs"]
        assert error < 0.5 * ((before - Y[split["test"]]) ** 2).sum()

    @pytest.mark.parametrize("kind", ["component_mean", "neighbours"])
    def test_the_count_of_components_with_the_least_error_is_chosen(self, tmp_path, kind):
        X, Y = regression_data(70)
        settings = {"sizes": [20], "weak_sizes": [15], "alphas": [1e-2], "weak_outputs": kind}

        def found(counts):
            stages = Stages(tmp_path / str(counts), X, Y, counts=counts, **settings).all()
            name = "n-20_w-15_C-selected"
            return stages.tree("regression")[name], stages.tree("predictions")[name]["outputs"]

        alone = {count: found([count]) for count in (1, 3)}
        best = min(alone, key=lambda count: alone[count][0]["score"])
        item, outputs = found([1, 3])
        assert item["n_components"] == best
        assert item["score"] == pytest.approx(alone[best][0]["score"], rel=1e-9)
        np.testing.assert_allclose(outputs, alone[best][1], atol=1e-9)


class TestStudies:
    def stages(self, tmp_path, **options):
        X, Y = regression_data(90, spread=4.0)
        return Stages(tmp_path, X, Y, sizes=[20], weak_sizes=[15, 30], counts=[3], **options).all()

    def test_a_fixed_weight_is_lambda_2(self, tmp_path):
        stages = self.stages(tmp_path, studies={"weak_weight": [0, 0.01, 1]})
        tree = stages.tree("regression")
        item = tree["n-20_w-30_C-selected_weak_weight=0.01"]
        assert item["weak_weight"] == pytest.approx(2 * 20 * 0.01)
        assert item["setting"] == "weak_weight=0.01"
        assert "weak_weight" not in tree["n-20_w-30_C-selected_weak_weight=0"]
        assert not [name for name in tree if "w-15" in name and "=" in name]

    def test_without_weight_the_weak_rows_are_ignored(self, tmp_path):
        without = self.stages(tmp_path / "a", studies={"weak_weight": [0]}).tree("predictions")
        item = without["n-20_w-30_C-selected_weak_weight=0"]
        almost = self.stages(tmp_path / "b", studies={"weak_weight": [1e-9]}).tree("predictions")
        other = almost["n-20_w-30_C-selected_weak_weight=1e-09"]
        np.testing.assert_allclose(item["outputs"], other["outputs"], atol=1e-4)

    def test_noise_makes_weak_labels_worse(self, tmp_path):
        stages = self.stages(tmp_path, studies={"weak_noise": [0, 0.9]})
        tree, predictions = rows_of(stages)
        clean = predictions["n-20_w-30_C-selected_weak_noise=0"]
        np.testing.assert_allclose(
            clean["outputs"], predictions["n-20_w-30_C-selected"]["outputs"], atol=1e-12
        )
        assert tree["n-20_w-30_C-selected_weak_noise=0.9"]["score"] > clean["score"]


class TestAverages:
    def test_the_prediction_is_the_mean_of_those_of_all_component_counts(self, tmp_path):
        X, Y = regression_data(70)
        settings = {"counts": [1, 3, 5], "penalty": "per_block", "sizes": [20]}
        averaged = Stages(tmp_path / "a", X, Y, combine="average", **settings).all()
        item = averaged.tree("predictions")["n-20_w-0_C-selected"]
        fixed = Stages(tmp_path / "f", X, Y, components=[1, 3, 5], **settings).all()
        alone = [fixed.tree("predictions")[f"n-20_w-0_C-{count}"]["outputs"] for count in (1, 3, 5)]
        np.testing.assert_allclose(item["outputs"], np.mean(alone, axis=0), atol=1e-12)
        assert "n_components" not in item

    def test_large_counts_are_left_out_of_small_samples(self, tmp_path):
        X, Y = regression_data(70)
        stages = Stages(tmp_path, X, Y, combine="average", counts=[3, 6, 20], sizes=[20]).all()
        assert sorted(stages.tree("regression")["n-20_w-0_C-selected"]["members"]) == ["C-3", "C-6"]


class TestHeldoutOutputs:
    @pytest.mark.parametrize(
        "settings",
        [
            {"kind": None},
            {"kind": "gaussian", "preimage": "closed_form"},
            {"penalty": "per_block"},
            {"penalty": "shared"},
            {"penalty": "per_block", "weak_sizes": [12]},
            {"penalty": "shared", "weak_sizes": [12]},
        ],
    )
    def test_they_have_the_error_of_the_choice(self, tmp_path, settings):
        X, Y = regression_data(70)
        stages = Stages(tmp_path, X, Y, sizes=[20], scale="standard", **settings).all()
        (item,) = stages.tree("regression").values()
        split = stages.tree("split")
        truth, folds = Y[split["train"]], split["folds"]["n-20"]
        errors = ((truth - item["heldout_outputs"]) ** 2).sum(axis=0)
        means = np.stack([truth[folds != fold].mean(axis=0) for fold in folds])
        reference = ((truth - means) ** 2).sum(axis=0)
        assert np.sqrt(errors / reference).mean() == pytest.approx(item["score"], rel=1e-8)


@pytest.mark.parametrize("weak_sizes", [[], [15]])
def test_missing_outputs_train_as_means_and_are_not_scored(tmp_path, weak_sizes):
    X, Y = regression_data(70)
    Y[np.random.default_rng(1).random(Y.shape) < 0.1] = np.nan
    stages = Stages(tmp_path, X, Y, sizes=[20], penalty="per_block", weak_sizes=weak_sizes).all()
    (item,) = stages.tree("regression").values()
    split = stages.tree("split")
    truth, folds = Y[split["train"]], split["folds"]["n-20"]
    errors = np.nansum((truth - item["heldout_outputs"]) ** 2, axis=0)
    means = np.stack([np.nanmean(truth[folds != fold], axis=0) for fold in folds])
    reference = np.nansum((truth - means) ** 2, axis=0)
    assert np.sqrt(errors / reference).mean() == pytest.approx(item["score"], rel=1e-8)
    (predicted,) = stages.tree("predictions").values()
    assert np.isfinite(predicted["outputs"]).all()


def test_raw_and_projected_memberships_can_compete(tmp_path):
    X, Y = regression_data(70)
    settings = {"sizes": [20], "penalty": "per_block", "counts": [3]}
    both = Stages(tmp_path / "both", X, Y, projections=[False, True], **settings).all()
    (item,) = both.tree("regression").values()
    scores = {}
    for projected, preimage in ((False, "closed_form"), (True, "projected")):
        stages = Stages(tmp_path / preimage, X, Y, preimage=preimage, **settings).all()
        (alone,) = stages.tree("regression").values()
        scores[projected] = alone["score"]
        if projected == item["projected"]:
            (expected,) = stages.tree("predictions").values()
    assert item["score"] == min(scores.values())
    (found,) = both.tree("predictions").values()
    np.testing.assert_allclose(found["outputs"], expected["outputs"], atol=1e-12)
