"""Weak rows without outputs: the weak pool, the memberships by groups, and that nothing leaks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from fit_methods import run_method
from small_data import regression_data, write_dataset
from small_pipeline import Stages, assert_same_tree

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.kernel_ridge_fit import KernelRidgeTargets, embedding_of
from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.models.storage import model_from_tree, scaling_from_tree
from workflow_lib.protocol import features_stage, splitting
from workflow_lib.protocol.annotation import memberships_of_groups
from workflow_lib.protocol.splitting import split_all_rows, split_labelled_rows, split_rows

N_LABELLED, N_WEAK = 60, 40
SIZES, WEAK_SIZES = (10, 23, 40), (5, 20)


def labelled_mask(seed=0):
    """Return which of the rows are labelled, in no order."""
    return np.random.default_rng(seed).permutation(np.arange(N_LABELLED + N_WEAK) < N_LABELLED)


def split(is_labelled, weak_groups=None, sizes=SIZES, weak_sizes=WEAK_SIZES, seed=1, **options):
    return split_labelled_rows(
        is_labelled, sizes, weak_sizes, 0.25, 5, seed, weak_groups=weak_groups, **options
    )


def values_by_row(seed=3):
    n_rows = N_LABELLED + N_WEAK
    generator = np.random.default_rng(seed)
    time = generator.integers(0, 300, size=n_rows)
    return {
        "order": {
            "time": time,
            "begin": time - 5,
            "end": time + 10,
            "company": generator.integers(0, 6, size=n_rows),
        },
        "groups": generator.integers(0, 20, size=n_rows),
        "roles": generator.integers(0, 3, size=n_rows),
    }


class TestSplits:
    @pytest.mark.parametrize("basis", [None, "order", "groups", "roles"])
    def test_labelled_rows_are_split_as_if_they_were_alone(self, basis):
        is_labelled = labelled_mask()
        labelled = np.flatnonzero(is_labelled)
        values = {} if basis is None else {basis: values_by_row()[basis]}
        alone = {
            name: {key: column[labelled] for key, column in value.items()}
            if isinstance(value, dict)
            else value[labelled]
            for name, value in values.items()
        }
        sizes = (5, 10)
        tree = split(is_labelled, sizes=sizes, **values)
        expected = split_rows(N_LABELLED, sizes, WEAK_SIZES, 0.25, 5, 1, **alone)
        for name in ("train", "test"):
            np.testing.assert_array_equal(tree[name], labelled[expected[name]])
        first = tree["weak"][: len(expected["weak"])]
        np.testing.assert_array_equal(first, labelled[expected["weak"]])
        assert not is_labelled[tree["weak"][len(expected["weak"]) :]].any()
        assert_same_tree(tree["folds"], expected["folds"])
        np.testing.assert_array_equal(tree["sizes"], expected["sizes"])

    def test_rows_without_outputs_join_the_end_of_the_weak_pool(self):
        is_labelled = labelled_mask()
        tree = split(is_labelled, weak_sizes=(5, 45, 46))
        # 15 of 60 labelled rows are test rows and 40 training rows.
        assert is_labelled[tree["weak"][:5]].all() and len(tree["weak"]) == 45
        np.testing.assert_array_equal(np.sort(tree["weak"][5:]), np.flatnonzero(~is_labelled))
        assert (np.diff(tree["weak"][5:]) < 0).any()
        np.testing.assert_array_equal(tree["weak_sizes"], [5, 45])
        assert tree["n_weak_left_out"] == 0

    def test_with_groups_the_pool_is_rows_whose_group_trains(self):
        is_labelled = labelled_mask()
        weak_groups = np.random.default_rng(4).integers(-9, 60, size=len(is_labelled)).clip(-1)
        tree = split(is_labelled, weak_groups, sizes=(10, 23), weak_sizes=(2, 1000))
        trained = set(weak_groups[tree["train"]]) - {-1}
        expected = [
            row for row in range(100) if not is_labelled[row] and weak_groups[row] in trained
        ]
        np.testing.assert_array_equal(np.sort(tree["weak"]), expected)
        assert 2 < len(expected) < N_WEAK
        assert tree["n_weak_left_out"] == N_WEAK - len(expected)
        # A size larger than the pool is the whole pool; a smaller one is its beginning.
        np.testing.assert_array_equal(tree["weak_sizes"], [2, len(expected)])
        np.testing.assert_array_equal(tree["weak_sizes_asked"], [2, 1000])
        fewer = split(is_labelled, weak_groups, sizes=(10, 23), weak_sizes=(2,))
        np.testing.assert_array_equal(fewer["weak"], tree["weak"])
        np.testing.assert_array_equal(fewer["weak_sizes"], [2])
        several = split(is_labelled, weak_groups, sizes=(10, 23), weak_sizes=(0, 900, 1000))
        np.testing.assert_array_equal(several["weak_sizes"], [len(expected)])
        np.testing.assert_array_equal(several["weak_sizes_asked"], [1000])

    def test_labelled_rows_that_are_left_over_are_no_weak_rows_of_a_dataset_with_groups(self):
        everything = np.ones(60, dtype=bool)
        tree = split(everything, np.zeros(60, dtype=int), sizes=(10,), weak_sizes=(5,))
        assert len(tree["weak"]) == len(tree["weak_sizes"]) == len(tree["weak_sizes_asked"]) == 0

    def test_weak_rows_of_tested_groups_are_excluded(self):
        is_labelled, groups = labelled_mask(), values_by_row()["groups"]
        tree = split(is_labelled, groups=groups)
        assert not set(groups[tree["test"]]) & set(groups[tree["weak"]])
        left_out = np.setdiff1d(np.flatnonzero(~is_labelled), tree["weak"])
        assert len(left_out) == tree["n_weak_left_out"] > 0
        assert np.isin(groups[left_out], groups[tree["test"]]).all()

    def test_weak_rows_that_were_not_known_before_the_test_rows_are_excluded(self):
        is_labelled, order = labelled_mask(), values_by_row()["order"]
        tree = split(is_labelled, sizes=(5, 10), order=order)
        first = order["time"][tree["test"]].min()
        assert (order["end"][tree["weak"]] < first).all()
        left_out = np.setdiff1d(np.flatnonzero(~is_labelled), tree["weak"])
        assert len(left_out) == tree["n_weak_left_out"] > 0
        for row in left_out:
            same = tree["test"][order["company"][tree["test"]] == order["company"][row]]
            overlaps = order["begin"][same] <= order["end"][row]
            assert order["end"][row] >= first or overlaps.any()

    def test_weak_rows_that_are_given_as_test_rows_are_excluded(self):
        is_labelled, roles = labelled_mask(), values_by_row()["roles"]
        tree = split(is_labelled, sizes=(5, 10), roles=roles)
        assert is_labelled[tree["test"]].all()
        assert (roles[tree["weak"]] != splitting.TEST).all()

    def test_classes_of_labelled_rows_are_split_with_rows_without_a_class(self):
        is_labelled = labelled_mask()
        labels = np.where(is_labelled, np.arange(100) % 3, -1)
        tree = split(is_labelled, sizes=(2, 4), labels=labels)
        assert np.bincount(labels[tree["train"]], minlength=3).tolist() == [4, 4, 4]
        assert is_labelled[tree["test"]].all()
        assert set(np.flatnonzero(~is_labelled)) <= set(tree["weak"])

    def test_the_order_of_weak_rows_is_seeded(self):
        is_labelled = labelled_mask()
        assert_same_tree(split(is_labelled), split(is_labelled))
        first, second = (split(is_labelled, seed=seed)["weak"][5:] for seed in (1, 2))
        assert (first != second).any()


class TestAllRows:
    def test_all_labelled_rows_train_and_are_predicted(self):
        is_labelled = labelled_mask()
        tree = split(is_labelled, kind="all", weak_sizes=(5, 45))
        np.testing.assert_array_equal(np.sort(tree["train"]), np.flatnonzero(is_labelled))
        np.testing.assert_array_equal(tree["test"], tree["train"])
        assert (np.diff(tree["train"]) < 0).any()
        np.testing.assert_array_equal(tree["sizes"], [N_LABELLED])
        np.testing.assert_array_equal(np.bincount(tree["folds"]["n-60"]), [12] * 5)
        np.testing.assert_array_equal(np.sort(tree["weak"]), np.flatnonzero(~is_labelled))
        np.testing.assert_array_equal(tree["weak_sizes"], [5])

    def test_with_groups_a_larger_weak_size_is_the_whole_pool(self):
        is_labelled = labelled_mask()
        weak_groups = np.arange(100) % 7
        tree = split(is_labelled, weak_groups, kind="all", weak_sizes=(45,))
        np.testing.assert_array_equal(tree["weak_sizes"], [N_WEAK])

    def test_weak_rows_count_whatever_the_splits_rest_on(self):
        is_labelled = labelled_mask()
        first, second = (split(is_labelled, kind="all", seed=seed) for seed in (1, 2))
        assert len(first["weak"]) == N_WEAK
        assert (first["train"] != second["train"]).any()

    def test_folds_hold_out_about_as_many_rows_of_each_class(self):
        labels = np.random.default_rng(0).permutation(np.repeat(np.arange(4), [3, 12, 20, 26]))
        tree = split_all_rows(61, 5, seed=2, labels=labels)
        folds, drawn = tree["folds"]["n-61"], labels[tree["train"]]
        assert np.ptp(np.bincount(folds, minlength=5)) <= 1
        for label in range(4):
            assert np.ptp(np.bincount(folds[drawn == label], minlength=5)) <= 1
        np.testing.assert_array_equal(tree["examples"], [26])

    def test_fewer_rows_than_folds_are_refused(self):
        with pytest.raises(ValueError, match="4 training rows cannot fill 5 folds"):
            split_all_rows(4, 5, seed=0)


def write_groups(path: Path, X, Y, codes) -> Path:
    """Write a "dataset" artifact with groups of similar outputs."""
    tree = {"inputs": X, "outputs": Y, "weak_groups": {"codes": codes}}
    tree["names"] = {"series_channels": 1}
    write_artifact(path, tree, "dataset", allow_nan=("inputs", "outputs"))
    return path


class TestStage:
    def run(self, tmp_path, is_labelled, codes=None, sizes=(10, 20), weak_sizes=(5,), kind="all"):
        X, Y = regression_data(len(is_labelled))
        Y[~is_labelled] = np.nan
        path = tmp_path / "dataset.h5"
        if codes is None:
            write_dataset(path, X, Y)
        else:
            write_groups(path, X, Y, codes)
        output = tmp_path / "split.h5"
        splitting.run(path, output, sizes, weak_sizes, 0.25, 5, 3, "assay", kind)
        return read_artifact(output, "split")

    def test_it_finds_the_rows_without_outputs_and_reports_what_it_did(self, tmp_path, capsys):
        is_labelled = labelled_mask()
        codes = np.where(np.arange(100) < 50, np.arange(100) % 4, np.arange(100))
        tree = self.run(tmp_path, is_labelled, codes, weak_sizes=(5, 1000), kind="random")
        expected = split_labelled_rows(is_labelled, (10, 20), (5, 1000), 0.25, 5, 3, codes)
        assert_same_tree(tree, expected)
        printed = capsys.readouterr().out
        assert f"weak size 1000: all {len(tree['weak'])} rows of the weak pool instead" in printed
        assert f"{N_WEAK - len(tree['weak'])} rows without outputs left out" in printed
        assert "weak size 5" not in printed

    def test_training_sizes_and_test_size_do_not_count_for_all_rows(self, tmp_path, capsys):
        tree = self.run(tmp_path, np.ones(40, dtype=bool), sizes=(500,))
        np.testing.assert_array_equal(tree["sizes"], [40])
        assert "training size" not in capsys.readouterr().out

    def test_a_dataset_without_groups_can_have_rows_without_outputs(self, tmp_path):
        tree = self.run(tmp_path, labelled_mask(), sizes=(10, 45), kind="random")
        assert len(tree["weak"]) == N_WEAK

    def test_too_few_labelled_rows_are_counted(self, tmp_path):
        is_labelled = np.arange(50) < 8
        with pytest.raises(UserError, match="the dataset has 8 rows with a known output"):
            self.run(tmp_path, is_labelled, kind="random")


class TestMembershipsOfGroups:
    def test_they_are_means_over_the_labelled_rows_of_the_group(self):
        responsibilities = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.0, 1.0]])
        found, which = memberships_of_groups(
            responsibilities,
            np.array([7, 2, 7, -1]),
            np.array([2, 7, 5, -1]),
            np.array([0.25, 0.75]),
        )
        np.testing.assert_allclose(found, [[0.5, 0.5], [0.55, 0.45], [0.25, 0.75], [0.25, 0.75]])
        np.testing.assert_array_equal(which, [True, True, False, False])

    def test_noise_is_refused(self):
        split = split_of({"all": {"memberships": np.eye(2)}})
        np.testing.assert_array_equal(split.memberships(9, 2, 2), np.eye(2))
        with pytest.raises(UserError, match=r"studies\.weak_noise.*come from groups"):
            split.memberships(9, 2, 2, 0.1)

    def test_an_annotator_labels_every_row_and_the_same_in_every_fold(self):
        mistake = np.zeros(2, dtype=int)
        split = split_of({"memberships": np.eye(2), "draw": np.ones(2), "mistake": mistake})
        assert split.has_weak_label(9, 2, 2, fold=1) is None
        np.testing.assert_array_equal(split.memberships(9, 2, 1, fold=1), np.eye(2)[:1])


def split_of(labels) -> SplitData:
    """Return a split with these labels of 9 training rows and 2 components."""
    trees = {"split": {"sizes": [], "weak_sizes": []}, "weak_labels": {"n-9": {"C-2": labels}}}
    return SplitData({}, trees=trees)


def grouped_data(n_labelled=36, n_weak=160, seed=0, noise=0.5, n_groups=16):
    """Return inputs, outputs (NaN for weak rows), true outputs and groups of similar outputs.

    Every group lies in one of three clusters of outputs; inputs are a bent image of the outputs.
    """
    generator = np.random.default_rng(seed)
    centres = 4.0 * np.array([[1.0, 0.0, 0.5], [-0.5, 0.9, 0.0], [-0.5, -0.9, 1.0]])
    codes = generator.integers(0, n_groups, size=n_labelled + n_weak)
    truth = centres[codes % 3] + 0.5 * generator.normal(size=(len(codes), 3))
    X = np.sin(truth @ generator.normal(size=(3, 4)) / 3)
    X = X + noise * generator.normal(size=X.shape)
    Y = truth.copy()
    Y[generator.permutation(len(Y))[:n_weak]] = np.nan
    return X, Y, truth, codes


@dataclass
class GroupStages(Stages):
    """The stages of a dataset with groups; the outputs of weak rows are NaN."""

    codes: np.ndarray = field(default_factory=lambda: np.array([], dtype=int))
    split_kind: str = "random"

    def prepare(self) -> GroupStages:
        """Run the dataset, split and features stages."""
        write_groups(self.path("dataset"), self.X, self.Y, self.codes)
        paths = self.path("dataset"), self.path("split")
        sizes = (self.sizes, self.weak_sizes, 12, 4, self.seed, "small", self.split_kind)
        splitting.run(*paths, *sizes)
        features = self.path("features"), self.scale, self.kernel, self.lagged_values
        features_stage.run(*paths, *features)
        return self


SETTINGS = {
    "sizes": [16, 24],
    "weak_sizes": [1000],
    "counts": [3],
    "penalty": "per_block",
    "weak_weights": [0.01, 0.1, 1.0],
    "alphas": [1e-4, 1e-3, 1e-2, 1e-1],
    "scale": "standard",
}


def stages_of(folder, data=None, **options) -> GroupStages:
    X, Y, _, codes = grouped_data() if data is None else data
    return GroupStages(folder, X, Y, codes=codes, **SETTINGS | options)


def test_memberships_of_every_fold_are_those_of_its_own_rows(tmp_path):
    X, Y, truth, codes = grouped_data(n_groups=30)
    Y[np.flatnonzero(~np.isnan(Y[:, 0]))[::5], 1] = np.nan
    stages = stages_of(tmp_path, (X, Y, truth, codes), counts=[2, 3]).prepare().model()
    partition, models = stages.tree("split"), stages.tree("annotated")
    assert_same_tree(models, stages.tree("models"))
    n_neutral = 0
    for size in (16, 24):
        folds = partition["folds"][f"n-{size}"]
        rows = partition["train"][:size]
        for count in (2, 3):
            labels = stages.tree("weak_labels")[f"n-{size}"][f"C-{count}"]
            assert len(labels) == 5
            for fold in [None, 0, 1, 2, 3]:
                name = "all" if fold is None else f"fold-{fold}"
                stored = models[f"n-{size}"][f"C-{count}"][name]
                model, scaling = model_from_tree(stored), scaling_from_tree(stored)
                known = rows[np.ones(size, dtype=bool) if fold is None else folds != fold]
                mean = np.nanmean(Y[known], axis=0)
                for index, row in enumerate(partition["weak"]):
                    same = [other for other in known if codes[other] == codes[row]]
                    assert labels[name]["is_labelled"][index] == bool(same)
                    expected = model.weights_
                    if same:
                        outputs = np.array([np.where(np.isnan(Y[o]), mean, Y[o]) for o in same])
                        each = model.responsibilities(scaling.apply(outputs))
                        expected = sum(each) / len(same)
                    n_neutral += not same
                    found = labels[name]["memberships"][index]
                    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert n_neutral > 0
    # Every group of the pool has a row in the largest training set.
    assert stages.tree("weak_labels")["n-24"]["C-3"]["all"]["is_labelled"].all()


def test_held_out_outputs_do_not_change_the_weak_labels_of_their_fold(tmp_path):
    data = grouped_data()
    first = stages_of(tmp_path / "first", data).all()
    partition = first.tree("split")
    heldout = partition["train"][:24][partition["folds"]["n-24"] == 2]
    data[1][heldout] = 100 * np.random.default_rng(5).normal(size=(len(heldout), 3))
    second = stages_of(tmp_path / "second", data).all()
    assert_same_tree(partition, second.tree("split"))
    before, after = (stages.tree("weak_labels")["n-24"]["C-3"] for stages in (first, second))
    assert_same_tree(before["fold-2"], after["fold-2"])
    for name in ("fold-0", "all"):
        assert (before[name]["memberships"] != after[name]["memberships"]).any()
    for name in ("annotated", "embeddings"):
        before, after = (stages.tree(name)["n-24"]["C-3"] for stages in (first, second))
        assert_same_tree(before["fold-2"], after["fold-2"])


def test_outputs_of_test_rows_change_nothing_at_all(tmp_path):
    data = grouped_data()
    first = stages_of(tmp_path / "first", data).all()
    data[1][first.tree("split")["test"]] = 50.0
    second = stages_of(tmp_path / "second", data).all()
    for name in ("split", "models", "annotated", "weak_labels", "regression", "predictions"):
        assert_same_tree(first.tree(name), second.tree(name))


def heldout_and_test_errors(stages, truth) -> tuple[float, float]:
    """Return the selection's error and the squared test error at the largest training size."""
    tree, split = stages.tree("predictions"), stages.tree("split")
    (name,) = [name for name in tree if name.startswith("n-24_")]
    error = ((tree[name]["outputs"] - truth[split["test"]]) ** 2).mean()
    return stages.tree("regression")[name]["score"], error


def test_groups_help_where_they_are_informative_of_the_outputs(tmp_path):
    errors = []
    for seed in range(4):
        data = grouped_data(seed=seed)
        pair = []
        for name, weak_sizes in (("without", []), ("with", [1000])):
            settings = {"sizes": [24], "weak_sizes": weak_sizes, "seed": seed}
            stages = stages_of(tmp_path / f"{seed}-{name}", data, **settings).all()
            pair.append(heldout_and_test_errors(stages, data[2]))
        errors.append(pair)
    without, with_groups = np.array(errors).mean(axis=0)
    assert with_groups[0] < without[0]
    assert with_groups[1] < without[1]


def targets_of(stages, weak_outputs=None) -> KernelRidgeTargets:
    """Return the targets of the largest item, as the regression stage makes them."""
    names = ("dataset", "split", "features", "embeddings", "weak_labels")
    split = SplitData(
        {name: stages.path(name) for name in names} | {"models": stages.path("annotated")}
    )
    spec = FitSpec(split.sizes[-1], split.weak_sizes[-1], 3, (3,))
    return KernelRidgeTargets(FitData(split, spec), weak_outputs, InputKernel("rbf", 1.0))


@pytest.mark.parametrize("weak_outputs", [None, "component_mean", "neighbours"])
def test_targets_of_weak_rows_do_not_depend_on_held_out_outputs(tmp_path, weak_outputs):
    data = grouped_data()
    first = stages_of(tmp_path / "first", data).prepare().model()
    partition = first.tree("split")
    heldout = partition["train"][:24][partition["folds"]["n-24"] == 2]
    data[1][heldout] += 30.0
    second = stages_of(tmp_path / "second", data).prepare().model()
    found = []
    for stages in (first, second):
        targets = targets_of(stages, weak_outputs)
        folds = (2, 1, None)
        embeddings = [embedding_of(targets._split, 24, 3, fold) for fold in folds]
        pairs = zip(folds, embeddings, strict=True)
        found.append([targets.of_weak_rows(3, fold, embedding) for fold, embedding in pairs])
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert (found[0][1] != found[1][1]).any() and (found[0][2] != found[1][2]).any()


@pytest.mark.parametrize("weak_outputs", [None, "component_mean", "neighbours"])
def test_rows_without_a_label_have_the_mean_of_the_block(tmp_path, weak_outputs):
    stages = stages_of(tmp_path, grouped_data(n_groups=30)).prepare().model()
    targets = targets_of(stages, weak_outputs)
    labels = stages.tree("weak_labels")["n-24"]["C-3"]
    partition, folds = stages.tree("split"), stages.tree("split")["folds"]["n-24"]
    for fold in range(4):
        neutral = ~labels[f"fold-{fold}"]["is_labelled"]
        assert neutral.any() and not neutral.all()
        embedding = embedding_of(targets._split, 24, 3, fold)
        found = targets.of_weak_rows(3, fold, embedding)
        block = stages.Y[partition["train"][:24][folds != fold]]
        if weak_outputs is None:
            block = targets._split.embedded(24, 3, fold)[:, embedding.leading_columns]
        expected = block.mean(axis=0)
        np.testing.assert_allclose(found[neutral] - expected, 0.0, atol=1e-3)
        assert np.abs(found[~neutral] - expected).max() > 0.5


@pytest.mark.parametrize("weak_outputs", ["component_mean", "neighbours"])
def test_baselines_learn_from_groups_as_well(tmp_path, weak_outputs):
    data = grouped_data()
    stages = stages_of(tmp_path / "rival", data, weak_outputs=weak_outputs, sizes=[24]).all()
    alone = stages_of(tmp_path / "alone", data, kind=None, weak_sizes=[], sizes=[24]).all()
    rival, without = (heldout_and_test_errors(each, data[2])[1] for each in (stages, alone))
    assert rival < without


def test_true_outputs_of_weak_rows_that_have_none_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"weak_outputs: true: \d+ weak rows without any known"):
        stages_of(tmp_path, kind=None, weak_outputs="true").all()


def test_a_study_of_noise_is_refused(tmp_path):
    with pytest.raises(UserError, match="weak_noise"):
        stages_of(tmp_path, studies={"weak_noise": [0.2]}).all()


def test_memberships_of_weak_rows_do_not_depend_on_the_kind_of_labels(tmp_path):
    trees = [
        stages_of(tmp_path / kind, label_kind=kind).prepare().model().tree("weak_labels")
        for kind in ("one-hot", "soft")
    ]
    assert_same_tree(*trees)


def test_an_annotation_cannot_be_simulated_without_outputs(tmp_path):
    X, Y, _, _ = grouped_data()
    stages = Stages(tmp_path, X, Y, **SETTINGS | {"weak_sizes": [30]}).prepare()
    with pytest.raises(
        UserError, match="weak rows have no known output, and no groups.*same_group"
    ):
        stages.model()


def test_the_split_of_all_rows_goes_through_every_stage(tmp_path):
    X, Y, truth, codes = grouped_data()
    stages = stages_of(tmp_path, (X, Y, truth, codes), split_kind="all").all()
    split = stages.tree("split")
    (weak_size,) = split["weak_sizes"]
    item = stages.tree("predictions")[f"n-36_w-{weak_size}_C-selected"]
    expected = impute_mean(Y[split["train"]])
    assert item["outputs"].shape == (36, 3)
    # The predicted rows are training rows: their error is less than that of their mean.
    assert ((item["outputs"] - expected) ** 2).sum() < ((expected - expected.mean(0)) ** 2).sum()


def test_weak_rows_are_unlabelled_inputs_for_the_graph(tmp_path):
    X, Y, _, codes = grouped_data()
    stages = stages_of(tmp_path, (X, Y, None, codes), kind=None).prepare()
    items = run_method(
        "laplacian_ridge",
        stages.path,
        kernel="rbf",
        widths=[1.0],
        alphas=[1e-3, 1e-1],
        laplacian_weights=[0.3],
        neighbours=[4],
        center=True,
        metric="arrmse",
    )
    (weak_size,) = stages.tree("split")["weak_sizes"]
    item = items[f"n-24_w-{weak_size}_C-selected"]
    assert weak_size > 100 and np.isfinite(item["score"]) and item["score"] < 1
    assert len(item["dual_coefficients"]) == 24 + weak_size
