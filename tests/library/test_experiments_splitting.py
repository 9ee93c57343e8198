"""Splits: disjoint, nested, seeded, and refused where the rows do not suffice."""

import numpy as np
import pytest
from small_data import regression_data, write_dataset
from small_pipeline import assert_same_tree

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.protocol.splitting import partition_rows, run, split_rows


def split(n_rows=100, sizes=(10, 23, 40), weak_sizes=(0, 5, 20), test_size=0.3, folds=5, seed=1):
    return split_rows(n_rows, sizes, weak_sizes, test_size, folds, seed)


def test_sets_are_disjoint_and_use_every_row_once():
    tree = split()
    rows = np.concatenate([tree["test"], tree["train"], tree["weak"]])
    np.testing.assert_array_equal(np.sort(rows), np.arange(100))
    assert (len(tree["test"]), len(tree["train"]), len(tree["weak"])) == (30, 40, 30)


@pytest.mark.parametrize(
    ("test_size", "expected"), [(0.3, 30), (0.305, 30), (1, 1), (25, 25), (25.0, 25)]
)
def test_test_size_is_a_fraction_below_one_and_else_a_number(test_size, expected):
    assert len(split(test_size=test_size)["test"]) == expected


def test_folds_are_balanced_and_cover_all_rows():
    tree = split(sizes=(5, 23, 40))
    for size in (5, 23, 40):
        folds = tree["folds"][f"n-{size}"]
        counts = np.bincount(folds, minlength=5)
        assert len(folds) == size
        assert counts.max() - counts.min() <= 1
        assert counts.min() >= 1


def test_sizes_that_do_not_fit_are_left_out():
    tree = split(sizes=(10, 40, 70, 71, 500))
    np.testing.assert_array_equal(tree["sizes"], [10, 40, 70])
    assert sorted(tree["folds"]) == ["n-10", "n-40", "n-70"]
    assert len(tree["weak"]) == 0
    assert tree["weak_sizes"].shape == (0,)
    tree = split(weak_sizes=(0, 5, 30, 31))
    np.testing.assert_array_equal(tree["weak_sizes"], [5, 30])


def test_same_seed_same_split_and_other_seeds_others():
    assert_same_tree(split(), split())
    assert (split(seed=1)["test"] != split(seed=2)["test"]).any()
    assert (split(seed=1)["folds"]["n-40"] != split(seed=2)["folds"]["n-40"]).any()


def test_adding_a_size_changes_nothing_else():
    few, many = split(sizes=(10, 40)), split(sizes=(10, 23, 40))
    for name in ("test", "train", "weak"):
        np.testing.assert_array_equal(few[name], many[name])
    for size in (10, 40):
        np.testing.assert_array_equal(few["folds"][f"n-{size}"], many["folds"][f"n-{size}"])
    longer = split(sizes=(10, 40, 55))
    np.testing.assert_array_equal(longer["test"], few["test"])
    np.testing.assert_array_equal(longer["train"][:40], few["train"])
    np.testing.assert_array_equal(longer["folds"]["n-10"], few["folds"]["n-10"])
    # The weak pool begins after the largest training set.
    np.testing.assert_array_equal(longer["weak"], few["weak"][15:])
    weaker = split(weak_sizes=(3,))
    for name in ("test", "train", "weak"):
        np.testing.assert_array_equal(weaker[name], few[name])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test_size": 0.0}, "0 test rows of 100"),
        ({"test_size": 0.999}, "100 test rows of 100 leave 0 for training"),
        ({"test_size": 100}, "100 test rows of 100 leave 0 for training"),
        ({"sizes": (4, 40)}, "4 training rows cannot fill 5 folds"),
        ({"sizes": (90,)}, "smallest training size is 90, but 70 rows are left after 30"),
    ],
)
def test_what_cannot_be_split_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        split(**change)


def test_stage_writes_the_split_and_reports_what_it_left_out(tmp_path, capsys):
    dataset = write_dataset(tmp_path / "dataset.h5", *regression_data(50))
    output = tmp_path / "split.h5"
    run(dataset, output, [10, 20, 60], [0, 5, 50], 0.4, 5, seed=3, experiment="small")
    tree = read_artifact(output, "split")
    assert_same_tree(tree, split_rows(50, [10, 20, 60], [0, 5, 50], 0.4, 5, 3))
    printed = capsys.readouterr().out
    assert "training size 60 left out: the dataset has only 50 rows" in printed
    assert "weak size 50 left out: 10 rows are in the weak pool" in printed
    assert "training size 20" not in printed


def test_stage_names_the_keys_to_change(tmp_path):
    dataset = write_dataset(tmp_path / "dataset.h5", *regression_data(20))
    with pytest.raises(UserError) as caught:
        run(dataset, tmp_path / "split.h5", [50], [], 0.4, 5, seed=3, experiment="small")
    message = str(caught.value)
    for part in ("experiment small", "training_sizes", "20 rows", "of small in config/experiments"):
        assert part in message
    assert not (tmp_path / "split.h5").exists()


def order(n_rows=60, n_companies=5, seed=0):
    """Return times, windows of 20 days after and 10 before, and companies, in no order."""
    generator = np.random.default_rng(seed)
    time = generator.integers(0, 400, size=n_rows)
    company = generator.integers(0, n_companies, size=n_rows)
    return {"time": time, "begin": time - 10, "end": time + 20, "company": company}


def test_chronological_training_rows_ended_before_the_first_test_row():
    days = order()
    tree = split_rows(60, (5, 10, 20), (), 15, 5, seed=3, order=days)
    first = days["time"][tree["test"]].min()
    assert len(tree["test"]) == 15
    assert (days["end"][np.concatenate([tree["train"], tree["weak"]])] < first).all()
    others = np.setdiff1d(np.arange(60), tree["test"])
    assert (days["time"][others] <= days["time"][tree["test"]].min()).all()
    # What is left out overlaps in time, and nothing else is.
    used = np.concatenate([tree["train"], tree["weak"], tree["test"]])
    left_out = np.setdiff1d(np.arange(60), used)
    assert len(left_out) == tree["n_left_out"] > 0
    starts = days["begin"][tree["test"]]
    for row in left_out:
        same = days["company"][tree["test"]] == days["company"][row]
        assert days["end"][row] >= first or (starts[same] <= days["end"][row]).any()


def test_windows_of_one_company_never_overlap():
    days = {
        "time": np.array([0, 50, 100, 110]),
        "begin": np.array([-10, 40, 60, 70]),
        "end": np.array([20, 70, 130, 140]),
        "company": np.array([0, 0, 0, 1]),
    }
    tree = split_rows(4, (1,), (), 2, 1, seed=0, order=days)
    # Row 1 ended before the first test row, whose window of the past reaches into it.
    np.testing.assert_array_equal(tree["train"], [0])
    assert tree["n_left_out"] == 1


def test_chronological_splits_share_test_rows_and_draw_different_training_rows():
    days = order()
    first, second = (split_rows(60, (10,), (), 15, 5, seed=seed, order=days) for seed in (1, 2))
    np.testing.assert_array_equal(first["test"], second["test"])
    assert set(first["train"]) != set(second["train"])


def test_test_sets_consist_of_whole_groups():
    groups = np.random.default_rng(0).integers(0, 20, size=100)
    trees = [split_rows(100, (10, 40), (5,), 0.3, 5, seed, groups=groups) for seed in range(20)]
    for tree in trees:
        others = np.concatenate([tree["train"], tree["weak"]])
        assert not set(groups[tree["test"]]) & set(groups[others])
        assert 20 <= len(tree["test"]) <= 30
        rows = np.sort(np.concatenate([tree["test"], others]))
        np.testing.assert_array_equal(rows, np.arange(100))
    assert len({tuple(np.unique(groups[tree["test"]])) for tree in trees}) > 10


@pytest.mark.parametrize("whole_groups", ["test", "folds", "training"])
def test_folds_and_training_sets_may_consist_of_whole_groups(whole_groups):
    groups = np.repeat(np.arange(12), 8)[np.random.default_rng(0).permutation(96)]
    for seed in range(5):
        tree = split_rows(
            96, (16, 24, 48), (20,), 0.33, 5, seed, groups=groups, whole_groups=whole_groups
        )
        usual = split_rows(96, (16, 24, 48), (20,), 0.33, 5, seed, groups=groups)
        np.testing.assert_array_equal(tree["test"], usual["test"])
        for size in (16, 24, 48):
            rows, folds = tree["train"][:size], tree["folds"][f"n-{size}"]
            in_folds = [set(groups[rows[folds == fold]]) for fold in range(folds.max() + 1)]
            assert all(in_folds)
            is_divided = sum(map(len, in_folds)) > len(set.union(*in_folds))
            assert is_divided == (whole_groups == "test")
            if whole_groups == "training":
                np.testing.assert_array_equal(np.unique(groups[rows], return_counts=True)[1], 8)
                # Two runs of eight blocks are two folds.
                assert folds.max() + 1 == min(5, size // 8)
        if whole_groups == "training":
            assert not set(groups[tree["train"]]) & set(groups[tree["weak"]])
        else:
            np.testing.assert_array_equal(tree["train"], usual["train"])


def test_rows_of_a_single_group_are_divided_into_folds():
    groups = np.repeat([0, 1], [10, 5])
    tree = split_rows(15, (10,), (), 5, 5, 0, groups=groups, whole_groups="training")
    np.testing.assert_array_equal(np.bincount(tree["folds"]["n-10"]), 2)


def test_a_group_larger_than_the_test_set_can_still_be_a_test_set():
    tree = split_rows(20, (5,), (), 2, 5, seed=0, groups=np.repeat([0, 1], [15, 5]))
    assert len(tree["test"]) == 5


def test_a_given_split_is_followed():
    roles = np.repeat([0, 1, 2], [30, 10, 20])
    first, second = (
        split_rows(60, (10, 25), (5, 25, 26), 0.9, 5, seed, roles=roles) for seed in (1, 2)
    )
    for tree in (first, second):
        np.testing.assert_array_equal(tree["test"], np.arange(30, 40))
        assert tree["train"].max() < 30
        # The weak rows that are given come first, then what is left of the training pool.
        assert set(tree["weak"][:20]) == set(range(40, 60)) and len(tree["weak"]) == 25
        np.testing.assert_array_equal(tree["weak_sizes"], [5, 25])
    assert set(first["train"]) != set(second["train"])


def test_folds_and_training_sets_of_a_given_split_have_their_share_of_every_class():
    roles, classes = np.repeat([0, 1], [60, 12]), np.arange(72) % 12 // 11
    tree = split_rows(72, (24, "all"), (), 0.9, 5, 1, roles=roles, strata=classes)
    np.testing.assert_array_equal(tree["test"], np.arange(60, 72))
    np.testing.assert_array_equal(tree["sizes"], [24, 60])
    for size, most in ((24, 1), (60, 1)):
        rows = tree["train"][:size]
        assert abs(classes[rows].sum() - size / 12) <= 1
        in_folds = np.bincount(tree["folds"][f"n-{size}"], classes[rows])
        assert in_folds.max() <= most


def test_a_class_smaller_than_the_folds_is_counted_or_refused(tmp_path, capsys):
    labels = np.repeat([0, 1], [20, 4])
    tree = {"inputs": np.arange(24.0)[:, None], "outputs": np.eye(2)[labels]}
    tree |= {"classes": {"labels": labels, "vectors": np.eye(2)}}
    tree |= {"fixed": {"role": np.tile([0, 0, 0, 1], 6)}}
    dataset = tmp_path / "dataset.h5"
    write_artifact(dataset, tree, "dataset")
    run(dataset, tmp_path / "s.h5", ["all"], [], 0.3, 5, 1, "calls", "given")
    assert (
        "classes with fewer than 5 of the 18 training rows, of which some folds of the selection "
        "hold out no row: 1\n"
    ) in capsys.readouterr().out
    folds = {"outer_folds": 5, "fold": (0, 0), "partition_seeds": [1]}
    with pytest.raises(UserError) as caught:
        run(dataset, tmp_path / "s.h5", ["all"], [], 0.3, 5, 1, "calls", "k_fold", **folds)
    assert str(caught.value) == (
        "experiment calls, key outer_folds: 5 folds, but a class of 4 rows; at most 4 are "
        "possible, or 24 for leave-one-out, one of the rows at a time (the dataset has 24 rows "
        "with a known output). Expected no more folds than rows or groups, and rows of every class "
        "outside each fold. To fix it: change outer_folds of calls in config/experiments, and "
        "n_splits to a multiple of it."
    )


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("chronological", "times"),
        ("grouped", "groups"),
        ("given", "roles"),
        ("per_class", "classes"),
    ],
)
def test_other_kinds_need_their_basis(tmp_path, kind, what):
    dataset = write_dataset(tmp_path / "dataset.h5", *regression_data(30))
    with pytest.raises(UserError, match=f"calls, key split.*whose rows have no {what}"):
        run(dataset, tmp_path / "s.h5", [10], [], 0.3, 5, 1, "calls", kind)


def split_of_classes(labels, examples=(1, 2, 5), weak_sizes=(4,), test_size=0.3, folds=5, seed=1):
    return split_rows(len(labels), examples, weak_sizes, test_size, folds, seed, labels=labels)


def test_a_split_per_class_is_disjoint_and_has_equally_many_examples_of_every_class():
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(6), [12, 20, 15, 30, 12, 18]))
    tree = split_of_classes(labels)
    rows = np.concatenate([tree["test"], tree["train"], tree["weak"]])
    np.testing.assert_array_equal(np.sort(rows), np.arange(len(labels)))
    np.testing.assert_array_equal(tree["examples"], [1, 2, 5])
    np.testing.assert_array_equal(tree["sizes"], [6, 12, 30])
    for count, size in zip(tree["examples"], tree["sizes"], strict=True):
        drawn = np.bincount(labels[tree["train"][:size]], minlength=6)
        np.testing.assert_array_equal(drawn, count)
    tested = np.bincount(labels[tree["test"]], minlength=6)
    np.testing.assert_array_equal(tested, np.round(0.3 * np.bincount(labels)))


def test_folds_of_a_split_per_class_hold_out_about_as_many_of_each_class():
    labels = np.repeat(np.arange(7), 20)
    tree = split_of_classes(labels, examples=(1, 3, 7, 10))
    for size in tree["sizes"]:
        folds, drawn = tree["folds"][f"n-{size}"], labels[tree["train"][:size]]
        assert set(folds) == set(range(folds.max() + 1))
        table = np.array([np.bincount(folds[drawn == label], minlength=5) for label in range(7)])
        assert table.max() - table.min() <= 1


def test_examples_that_a_class_cannot_fill_are_left_out():
    labels = np.repeat(np.arange(3), [10, 6, 10])
    np.testing.assert_array_equal(split_of_classes(labels, (2, 4, 5))["examples"], [2, 4])
    with pytest.raises(ValueError, match="5, but 4 rows of one class are left"):
        split_of_classes(labels, (5,))
    # A class of two rows has a test row and a training row.
    small = split_of_classes(np.repeat(np.arange(3), [10, 2, 10]), (1, 2))
    np.testing.assert_array_equal(small["examples"], [1])


def test_a_split_per_class_is_seeded_and_nested():
    labels = np.repeat(np.arange(4), 15)
    assert_same_tree(split_of_classes(labels), split_of_classes(labels))
    fewer, more = split_of_classes(labels, (1, 2)), split_of_classes(labels, (1, 2), seed=2)
    assert not np.array_equal(fewer["train"], more["train"])


CLASS_COUNTS = (60, 25, 6, 2, 1)


def stratified(counts=CLASS_COUNTS, sizes=(10, 20, 50, 75), seed=3, test_size=0.2):
    """Return a stratified split of rows of classes with these counts, and their classes."""
    strata = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    return split_rows(len(strata), sizes, [], test_size, 5, seed, strata=strata), strata


def test_each_class_has_its_share_of_the_test_and_of_every_training_set():
    for seed in range(5):
        tree, strata = stratified(seed=seed)
        n_rows, everywhere = len(strata), np.concatenate([tree["test"], tree["train"]])
        assert len(np.unique(everywhere)) == n_rows
        assert len(tree["test"]) == 19
        tested = np.bincount(strata[tree["test"]], minlength=5)
        # The only row of a class is a training row.
        assert tested[4] == 0 and tested[3] <= 1
        expected = len(tree["test"]) * np.array(CLASS_COUNTS) / n_rows
        assert (np.abs(tested - expected) <= 1.0 + 1e-9).all()
        left = np.array(CLASS_COUNTS) - tested
        for size in (10, 20, 50, 75):
            found = np.bincount(strata[tree["train"][:size]], minlength=5)
            assert (found >= 1).all()
            # One row of each class comes first, the others in proportion.
            assert (np.abs(found - size * left / left.sum()) <= 5).all()


def test_folds_of_a_stratified_split_hold_out_about_as_many_of_each_class():
    tree, strata = stratified()
    for size in (20, 75):
        folds, drawn = tree["folds"][f"n-{size}"], strata[tree["train"][:size]]
        assert np.ptp(np.bincount(folds, minlength=5)) <= 1
        for label in range(5):
            assert np.ptp(np.bincount(folds[drawn == label], minlength=5)) <= 1


def test_a_stratified_split_is_seeded_and_nested():
    first, second, other = stratified()[0], stratified()[0], stratified(seed=4)[0]
    np.testing.assert_array_equal(first["train"], second["train"])
    assert (first["train"] != other["train"]).any()
    fewer = stratified(sizes=(10, 20))[0]
    np.testing.assert_array_equal(fewer["train"], first["train"][:20])
    assert "examples" not in first


def test_every_class_keeps_a_training_row_however_large_the_test_set():
    tree, strata = stratified(counts=(3, 2, 2, 1, 4), sizes=(5,), test_size=0.58)
    assert set(strata[tree["train"]]) == set(range(5))


def test_unpaired_rows_are_a_pool_of_their_own_and_change_no_other():
    arguments = (100, [10, 40], [5, 20], 0.3, 5, 1)
    plain, tree = split_rows(*arguments), split_rows(*arguments, unpaired_sizes=[3, 500])
    for name in ("test", "train", "sizes", "weak_sizes"):
        np.testing.assert_array_equal(tree[name], plain[name])
    np.testing.assert_array_equal(tree["weak"], plain["weak"][:20])
    np.testing.assert_array_equal(tree["unpaired"], plain["weak"][20:])
    assert list(tree["unpaired_sizes"]) == [3, 10]
    rows = np.concatenate([tree[name] for name in ("test", "train", "weak", "unpaired")])
    assert sorted(rows) == list(range(100))
    assert "unpaired" not in plain


# Rows without inputs


def write_with_unpaired(path, n_copies=0, **groups):
    """Write a dataset of 40 rows with inputs and of 12 without, copies of the first rows."""
    X, Y = regression_data(52)
    unpaired = {"outputs": Y[40:].copy()}
    unpaired["outputs"][:n_copies] = Y[:n_copies]
    unpaired |= {name: values[40:] for group in groups.values() for name, values in group.items()}
    kept = {
        name: {key: values[:40] for key, values in group.items()} for name, group in groups.items()
    }
    return write_dataset(path, X[:40], Y[:40], unpaired=unpaired, **kept)


def stage(folder, dataset, kind="random", unpaired_sizes=(5, 12, 99)):
    output = folder / f"{kind}.h5"
    sizes = ([10, 20], [], 0.4, 5)
    run(dataset, output, *sizes, 3, "small", kind, unpaired_sizes=unpaired_sizes)
    return read_artifact(output, "split")


@pytest.mark.parametrize("kind", ["random", "all"])
def test_rows_without_inputs_are_the_unpaired_pool_and_change_no_other(tmp_path, kind):
    plain = write_dataset(tmp_path / "plain.h5", *(rows[:40] for rows in regression_data(52)))
    without = stage(tmp_path, plain, kind, ())
    tree = stage(tmp_path, write_with_unpaired(tmp_path / "dataset.h5"), kind)
    assert sorted(tree.pop("unpaired")) == list(range(12))
    assert tree.pop("unpaired_sizes").tolist() == [5, 12]
    assert_same_tree(tree, without)


def test_copies_of_test_rows_are_left_out_but_of_the_final_split(tmp_path, capsys):
    dataset = write_with_unpaired(tmp_path / "dataset.h5", n_copies=12)
    tree = stage(tmp_path, dataset)
    tested = {row for row in tree["test"] if row < 12}
    assert tested and sorted(tree["unpaired"]) == sorted({*range(12)} - tested)
    assert tree["unpaired_sizes"].tolist() == [5, 12]
    assert f"{len(tested)} rows left out of the pool of outputs without" in capsys.readouterr().out
    assert len(stage(tmp_path, dataset, "all")["unpaired"]) == 12


def test_simulated_rows_that_repeat_test_rows_are_left_out(tmp_path):
    X, Y = regression_data(25)
    dataset = write_dataset(tmp_path / "dataset.h5", np.vstack([X, X]), np.vstack([Y, Y]))
    tree = stage(tmp_path, dataset, unpaired_sizes=(10,))
    repeated = set(tree["unpaired"] % 25) & set(tree["test"] % 25)
    assert 0 < len(tree["unpaired"]) < 10 and not repeated


def test_rows_without_inputs_of_test_groups_and_later_times_are_left_out(tmp_path):
    codes, days = np.arange(52) % 5, np.arange(52.0)
    dataset = write_with_unpaired(tmp_path / "groups.h5", groups={"group": codes})
    tree = stage(tmp_path, dataset, "grouped")
    tested = set(codes[tree["test"]])
    assert {*codes[40:][tree["unpaired"]]} == {*codes} - tested
    order = {"time": (days * 7) % 52}
    order |= {"begin": order["time"], "end": order["time"], "company": np.arange(52)}
    tree = stage(tmp_path, write_with_unpaired(tmp_path / "o.h5", order=order), "chronological")
    first = order["time"][tree["test"]].min()
    expected = np.flatnonzero(order["time"][40:] < first)
    assert sorted(tree["unpaired"]) == expected.tolist() and 0 < len(expected) < 12


def classes_and_groups(seed=0):
    """Return the classes of 106 rows, and groups of one to four rows of one class."""
    generator = np.random.default_rng(seed)
    strata = generator.permutation(np.repeat([0, 1], 53))
    groups, number = np.empty(106, dtype=int), 0
    for label in (0, 1):
        rows = generator.permutation(np.flatnonzero(strata == label))
        while len(rows):
            size = generator.integers(1, 5)
            groups[rows[:size]], rows, number = number, rows[size:], number + 1
    return strata, groups


def test_folds_of_a_partition_have_nearly_equal_sizes_and_shares_of_each_class():
    strata, _ = classes_and_groups()
    for of_class in (None, strata):
        folds = partition_rows(106, 10, 3, of_class)
        assert np.ptp(np.bincount(folds, minlength=10)) == 1
        if of_class is not None:
            for label in (0, 1):
                assert np.ptp(np.bincount(folds[strata == label], minlength=10)) <= 1
        np.testing.assert_array_equal(folds, partition_rows(106, 10, 3, of_class))
        assert (folds != partition_rows(106, 10, 4, of_class)).any()


@pytest.mark.parametrize("n_folds", [2, 5, 10])
def test_groups_share_a_fold_and_classes_are_spread_over_the_folds(n_folds):
    for seed in range(5):
        strata, groups = classes_and_groups(seed)
        folds = partition_rows(106, n_folds, seed, strata, groups)
        for group in np.unique(groups):
            assert len(set(folds[groups == group])) == 1
        assert set(folds) == set(range(n_folds))
        for label in (0, 1):
            # A fold has its share of a class up to the rows of a group.
            counts = np.bincount(folds[strata == label], minlength=n_folds)
            assert (np.abs(counts - 53 / n_folds) <= 4).all()
        folds = partition_rows(106, n_folds, seed, None, groups)
        assert np.ptp(np.bincount(folds)) <= 4


def test_as_many_folds_as_rows_or_groups_leave_one_out():
    strata, groups = classes_and_groups()
    for of_class in (None, strata):
        assert sorted(partition_rows(106, 106, 0, of_class)) == list(range(106))
        n_groups = len(set(groups))
        folds = partition_rows(106, n_groups, 0, of_class, groups)
        assert all(len(set(groups[folds == fold])) == 1 for fold in range(n_groups))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_rows": 6, "n_folds": 7}, "7 folds, but 6 rows; at most 6 are possible"),
        (
            {"n_rows": 6, "n_folds": 4, "groups": np.array([0, 0, 1, 1, 2, 2])},
            "4 folds, but 3 groups of rows; at most 3",
        ),
        (
            {"n_rows": 6, "n_folds": 3, "strata": np.array([0, 0, 0, 0, 1, 1])},
            "a class of 2 rows; at most 2 are possible, or 6 for leave-one-out",
        ),
        (
            {"n_rows": 3, "n_folds": 3, "strata": np.array([0, 0, 1])},
            "all 1 rows of class number 1 are in one fold",
        ),
        (
            {
                "n_rows": 6,
                "n_folds": 2,
                "strata": np.array([0, 0, 0, 0, 1, 1]),
                "groups": np.array([0, 1, 2, 3, 4, 4]),
            },
            "all 2 rows of class number 1 are in one fold",
        ),
    ],
)
def test_partitions_that_are_impossible_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        partition_rows(**{"seed": 0} | arguments)


def k_fold_splits(folder, n_folds, n_repetitions=1, sizes=(20, "all"), data=None, **options):
    """Return the split artifacts of all folds of all repetitions."""
    trees = []
    for number in range(n_folds * n_repetitions):
        run(
            folder / "dataset.h5",
            folder / "split.h5",
            list(sizes),
            [],
            0.4,
            5,
            100 + number,
            "e",
            "k_fold",
            outer_folds=n_folds,
            fold=divmod(number, n_folds),
            partition_seeds=list(range(n_repetitions)),
            **options,
        )
        trees.append(read_artifact(folder / "split.h5", "split"))
    return trees


def test_the_test_sets_of_each_repetition_are_a_partition(tmp_path):
    X, Y = regression_data(47)
    write_dataset(tmp_path / "dataset.h5", X, Y)
    trees = k_fold_splits(tmp_path, 5, 3, (10, 20, "all"))
    for repetition in range(3):
        tests = [tree["test"] for tree in trees[5 * repetition : 5 * repetition + 5]]
        np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(47))
        assert sorted(map(len, tests)) == [9, 9, 9, 10, 10]
    assert {tuple(tree["test"]) for tree in trees[:5]}.isdisjoint(
        tuple(tree["test"]) for tree in trees[5:]
    )
    for tree in trees:
        # The smallest number over the folds, so that a size means the same in every split.
        np.testing.assert_array_equal(tree["sizes"], [10, 20, 37])
        assert len(tree["train"]) == 37
        assert not set(tree["train"]) & set(tree["test"])
    shorter = k_fold_splits(tmp_path, 5, 1, (10, 20))
    for few, all_rows in zip(shorter, trees[:5], strict=True):
        np.testing.assert_array_equal(few["train"], all_rows["train"][:20])
        np.testing.assert_array_equal(few["folds"]["n-20"], all_rows["folds"]["n-20"])


def test_a_size_that_fits_only_some_folds_is_left_out_of_all(tmp_path):
    X, Y = regression_data(47)
    write_dataset(tmp_path / "dataset.h5", X, Y)
    assert {tuple(tree["sizes"]) for tree in k_fold_splits(tmp_path, 5, 1, (20, 38))} == {(20,)}


@pytest.mark.parametrize("whole_groups", ["test", "training"])
def test_k_fold_splits_of_classes_and_groups(tmp_path, whole_groups):
    strata, groups = classes_and_groups()
    X, Y = regression_data(106)
    more = {"classes": {"labels": strata}, "groups": {"group": groups}}
    write_dataset(tmp_path / "dataset.h5", X, Y, **more)
    trees = k_fold_splits(tmp_path, 5, whole_groups=whole_groups)
    assert len({tuple(tree["sizes"]) for tree in trees}) == 1
    for tree in trees:
        assert not set(groups[tree["train"]]) & set(groups[tree["test"]])
        assert "examples" not in tree
        for size in tree["sizes"]:
            train, folds = tree["train"][:size], tree["folds"][f"n-{size}"]
            for group in np.unique(groups[train]):
                assert len(set(folds[groups[train] == group])) == 1
            counts = [np.bincount(folds[strata[train] == label], minlength=5) for label in (0, 1)]
            if whole_groups == "test":
                assert np.min(counts) >= 1
    in_training = [np.bincount(groups[tree["train"][:20]]).max() for tree in trees]
    assert max(in_training) <= 4


def test_leave_one_out_tests_every_row_once_and_trains_on_all_others(tmp_path):
    strata, _ = classes_and_groups()
    X, Y = regression_data(106)
    write_dataset(tmp_path / "dataset.h5", X, Y, classes={"labels": strata})
    trees = k_fold_splits(tmp_path, 106, sizes=["all"])
    assert sorted(int(row) for tree in trees for row in tree["test"]) == list(range(106))
    for tree in trees:
        everywhere = np.concatenate([tree["test"], tree["train"]])
        np.testing.assert_array_equal(np.sort(everywhere), np.arange(106))


def test_folds_of_one_row_need_classes(tmp_path):
    X, Y = regression_data(30)
    write_dataset(tmp_path / "dataset.h5", X, Y)
    with pytest.raises(UserError, match="a fold of one row .*set outer_folds to 15 at most"):
        k_fold_splits(tmp_path, 30)


def test_rows_without_outputs_are_in_no_fold(tmp_path):
    X, Y = regression_data(40)
    Y[30:] = np.nan
    write_dataset(tmp_path / "dataset.h5", X, Y)
    trees = k_fold_splits(tmp_path, 3, sizes=(10, "all"))
    np.testing.assert_array_equal(
        np.sort(np.concatenate([tree["test"] for tree in trees])), np.arange(30)
    )
    assert all(set(range(30, 40)) <= set(tree["weak"]) for tree in trees)


@pytest.mark.parametrize("kind", ["random", "chronological"])
def test_all_rows_that_are_left_are_a_training_size_of_other_splits(kind):
    order = {name: np.arange(50) for name in ("time", "begin", "end")}
    order["company"] = np.arange(50)
    basis = {} if kind == "random" else {"order": order}
    tree = split_rows(50, (10, "all"), (), 0.4, 5, 0, **basis)
    np.testing.assert_array_equal(tree["sizes"], [10, 30])
    np.testing.assert_array_equal(split_rows(50, (30, "all"), (), 0.4, 5, 0)["sizes"], [30])
