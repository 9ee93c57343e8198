"""Novelty is the distance to the nearest training row, in units of that among training rows."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from small_data import regression_data, write_dataset

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.fitting.prepared_inputs import prepared_inputs
from workflow_lib.protocol import features_stage, splitting
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.tabular.tables import dataset_tree
from workflow_lib.uncertainty import novelty
from workflow_lib.uncertainty.novelty import (
    NoveltyScale,
    distances_of_test_rows,
    distances_of_training_rows,
    nearest_by_products,
    nearest_by_rows,
)

SIZE = 30


def prepared(folder, X, scale="none", kernel="rbf", dataset=None):
    """Return the prepared inputs of a split, its row numbers, and its features."""
    paths = {name: folder / f"{name}.h5" for name in ("dataset", "split", "features")}
    if dataset is None:
        write_dataset(paths["dataset"], X, np.arange(2.0 * len(X)).reshape(-1, 2))
    else:
        write_artifact(paths["dataset"], dataset, "dataset")
    splitting.run(paths["dataset"], paths["split"], [20, SIZE], [], 10, 4, 0, "small")
    features_stage.run(paths["dataset"], paths["split"], paths["features"], scale, kernel, "none")
    features = read_artifact(paths["features"], "features")
    split = read_artifact(paths["split"], "split")
    return prepared_inputs(features, split["folds"][f"n-{SIZE}"], SIZE), split


def expected_distances(distances):
    """Return the nearest distances of test and of training rows from all distances (n + m, n)."""
    of_training = distances[:SIZE] + np.diag(np.full(SIZE, np.inf))
    return distances[SIZE:].min(axis=1), of_training.min(axis=1)


def assert_distances(inputs, kernel, all_distances, **options):
    of_test, of_training = expected_distances(all_distances)
    np.testing.assert_allclose(distances_of_test_rows(inputs, kernel), of_test, **options)
    np.testing.assert_allclose(
        distances_of_training_rows(inputs, kernel, 0), of_training, **options
    )


def with_reproductions(X):
    """Return the rows with a few of them equal to others."""
    return np.vstack([X[:-6], X[:6]])


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_rows_are_compared_as_the_refit_prepares_them(tmp_path, scale):
    X = with_reproductions(regression_data(60)[0] * [1.0, 100.0, 1e-3, 1.0])
    X[3, 1] = np.nan
    inputs, split = prepared(tmp_path, X, scale)
    train, test = X[split["train"][:SIZE]], X[split["test"]]
    filled = [np.where(np.isnan(rows), np.nanmean(train, axis=0), rows) for rows in (train, test)]
    if scale == "standard":
        offset, unit = filled[0].mean(axis=0), filled[0].std(axis=0)
        filled = [(rows - offset) / unit for rows in filled]
    assert_distances(inputs, "rbf", cdist(np.vstack(filled), filled[0]), atol=1e-12)


def test_fingerprints_are_compared_by_their_similarity(tmp_path):
    bits = np.random.default_rng(0).integers(0, 2, size=(60, 16)).astype(float)
    inputs, split = prepared(tmp_path, bits, kernel="tanimoto")
    rows = bits[np.concatenate([split["train"][:SIZE], split["test"]])].astype(bool)
    assert_distances(inputs, "tanimoto", cdist(rows, rows[:SIZE], "jaccard"), atol=1e-12)


def test_texts_are_compared_by_their_weighted_terms(tmp_path):
    generator = np.random.default_rng(0)
    counts = with_reproductions(generator.poisson(0.7, size=(60, 25)).astype(float))
    names = [f"term-{number}" for number in range(25)]
    outputs = generator.normal(size=(60, 2))
    tree = dataset_tree(csr_array(counts), outputs, names, ["a", "b"], "made")
    inputs, split = prepared(tmp_path, None, "tf-idf", dataset=tree)
    train = counts[split["train"][:SIZE]]
    weights = np.log((1 + SIZE) / (1 + (train > 0).sum(axis=0))) + 1
    counts = counts[np.concatenate([split["train"][:SIZE], split["test"]])]
    rows = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * weights
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    assert_distances(inputs, "rbf", cdist(rows, rows[:SIZE]), atol=1e-7)


def test_products_give_the_distances_of_the_rows(tmp_path):
    X = with_reproductions(regression_data(60)[0])
    inputs, split = prepared(tmp_path, X @ X.T, "products")
    rows = X[np.concatenate([split["train"][:SIZE], split["test"]])]
    assert_distances(inputs, "rbf", cdist(rows, rows[:SIZE]), atol=1e-7)


def test_a_gram_matrix_gives_the_distances_of_its_kernel(tmp_path):
    X = with_reproductions(regression_data(60)[0])
    K = gram_matrix(X, None, "rbf", 0.3)
    inputs, split = prepared(tmp_path, K, kernel="precomputed")
    order = np.concatenate([split["train"][:SIZE], split["test"]])
    distances = np.sqrt(2 - 2 * K[np.ix_(order, order[:SIZE])])
    distances[distances < 1e-6] = 0.0
    assert_distances(inputs, "precomputed", distances, atol=1e-7)


def test_the_own_value_of_a_row_of_a_gram_matrix_is_the_median(tmp_path):
    X = regression_data(60)[0]
    K = X @ X.T + 10.0
    inputs, split = prepared(tmp_path, K, kernel="precomputed")
    order = np.concatenate([split["train"][:SIZE], split["test"]])
    own = np.diag(K)[order[:SIZE]]
    squared = np.median(own) + own - 2 * K[np.ix_(order, order[:SIZE])]
    assert_distances(inputs, "precomputed", np.sqrt(np.maximum(squared, 0.0)), atol=1e-7)


def test_equal_rows_are_exactly_at_no_distance():
    X = 1e6 + np.random.default_rng(0).normal(size=(50, 4))
    assert (nearest_by_rows(X, X, "rbf") == 0.0).all()
    K = X @ X.T
    assert (nearest_by_products(K, np.diag(K), np.diag(K)) == 0.0).all()
    others = nearest_by_rows(X, X, "rbf", np.arange(50))
    brute = cdist(X, X) + np.diag(np.full(50, np.inf))
    np.testing.assert_allclose(others, brute.min(axis=1))


def test_blocks_change_nothing(monkeypatch):
    generator = np.random.default_rng(0)
    X, Z = generator.random((23, 3)), generator.random((40, 3))
    left_out = generator.integers(40, size=23)
    for kernel in ("rbf", "tanimoto"):
        whole = nearest_by_rows(X, Z, kernel, left_out)
        monkeypatch.setattr(novelty, "BLOCK_NUMBERS", 200)
        np.testing.assert_allclose(nearest_by_rows(X, Z, kernel, left_out), whole, rtol=1e-12)
        monkeypatch.undo()


def test_of_many_rows_a_sample_is_measured_against_all(tmp_path, monkeypatch):
    inputs, _ = prepared(tmp_path, regression_data(60)[0])
    everyone = distances_of_training_rows(inputs, "rbf", 0)
    monkeypatch.setattr(novelty, "MAX_LEFT_OUT", 12)
    some = distances_of_training_rows(inputs, "rbf", 0)
    assert len(some) == 12
    assert set(some) <= set(everyone)
    np.testing.assert_array_equal(some, distances_of_training_rows(inputs, "rbf", 0))
    assert set(some) != set(distances_of_training_rows(inputs, "rbf", 1))


def test_the_limit_is_that_of_ninety_nine_in_a_hundred_rows():
    distances = np.random.default_rng(0).permutation(np.arange(1.0, 402.0))
    scale = NoveltyScale.fit(distances)
    assert scale == NoveltyScale(201.0, 397.0 / 201.0)
    assert np.mean(scale.novelty(distances) <= scale.limit) >= 0.99
    # Few rows do not determine such a quantile.
    few = NoveltyScale.fit(distances[:99])
    assert few.novelty(distances[:99]).max() == few.limit


def test_twins_do_not_make_everything_else_novel():
    scale = NoveltyScale.fit(np.array([0.0, 0.0, 0.0, 2.0, 4.0]))
    assert scale == NoveltyScale(3.0, 4.0 / 3.0)
    assert NoveltyScale.fit(np.zeros(5)) == NoveltyScale(1.0, 0.0)


def test_few_new_rows_of_the_same_kind_are_beyond_the_limit_and_others_are(tmp_path):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1200, 3))
    X[::40] += 50.0
    paths = [tmp_path / f"{name}.h5" for name in ("dataset", "split", "features")]
    write_dataset(paths[0], X, np.arange(2.0 * len(X)).reshape(-1, 2))
    write_artifact(
        paths[1],
        {
            "train": np.setdiff1d(np.arange(0, 800), np.arange(0, 1200, 40)),
            "weak": np.array([], dtype=int),
            "test": np.arange(800, 1200),
            "sizes": np.array([780]),
            "weak_sizes": np.array([], dtype=int),
            "folds": {"n-780": np.arange(780) % 4},
        },
        "split",
    )
    features_stage.run(*paths, "standard", "rbf", "none")
    features = read_artifact(paths[2], "features")
    inputs = prepared_inputs(features, np.arange(780) % 4, 780)
    scale = NoveltyScale.fit(distances_of_training_rows(inputs, "rbf", 0))
    is_beyond = scale.novelty(distances_of_test_rows(inputs, "rbf")) > scale.limit
    is_strange = np.arange(800, 1200) % 40 == 0
    assert is_beyond[is_strange].all()
    assert is_beyond[~is_strange].mean() < 0.04


def test_a_single_row_has_no_scale(tmp_path):
    with pytest.raises(ValueError, match="at least one training row"):
        NoveltyScale.fit(np.array([]))
    inputs, _ = prepared(tmp_path, regression_data(60)[0])
    inputs.folds = inputs.folds[:1]
    with pytest.raises(ValueError, match="at least two training rows; found 1"):
        distances_of_training_rows(inputs, "rbf", 0)
