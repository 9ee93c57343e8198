"""Texts: term weights, products of every fold, and the Gram matrices and vectors made of them."""

import numpy as np
import pytest
from reader_samples import stored_terms
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.prepared_inputs import prepared_inputs
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.inputs.principal_coordinates import N_COORDINATES, principal_coordinates
from workflow_lib.inputs.term_scores import MIN_TEXTS, fit_term_weights
from workflow_lib.items.sparse_inputs import inputs_of
from workflow_lib.protocol import features_stage, splitting
from workflow_lib.solvers.gram import gram_from_products, gram_matrix
from workflow_lib.tabular.tables import dataset_tree

LAGGED = np.random.default_rng(3).normal(size=(40, 3)) * [1.0, 10.0, 100.0] + 5.0


def counts(n_rows=40, n_terms=30, seed=0) -> csr_array:
    """Return term counts with rare terms, common terms and one empty text."""
    generator = np.random.default_rng(seed)
    dense = generator.poisson(generator.gamma(0.3, 2.0, size=n_terms), size=(n_rows, n_terms))
    dense[3] = 0
    dense[:, 5] = 0
    dense[7, 5] = 2
    return csr_array(dense.astype(float))


def outputs(n_rows=40):
    return np.random.default_rng(1).normal(size=(n_rows, 2))


def write_texts(path, texts=None, **groups):
    texts = counts() if texts is None else texts
    names = [f"term{i}" for i in range(texts.shape[1])]
    tree = dataset_tree(texts, outputs(texts.shape[0]), names, ["a", "b"], "here", **groups)
    write_artifact(path, tree, "dataset")
    return path


def write_split(folder, weak_sizes=()):
    splitting.run(
        folder / "dataset.h5", folder / "split.h5", [12, 20], weak_sizes, 10, 4, 1, "small"
    )
    return read_artifact(folder / "split.h5", "split")


def features_of(folder, lagged_values="none", weak_sizes=(), texts=None, with_lagged_values=False):
    groups = {"lagged_values": {"values": LAGGED}} if with_lagged_values else {}
    write_texts(folder / "dataset.h5", texts, **groups)
    partition = write_split(folder, weak_sizes)
    features_stage.run(
        folder / "dataset.h5",
        folder / "split.h5",
        folder / "f.h5",
        "tf-idf",
        "linear",
        lagged_values,
    )
    return read_artifact(folder / "f.h5", "features"), partition


class TestDatasets:
    def test_sparse_inputs_are_read_unchanged(self, tmp_path):
        tree = read_artifact(write_texts(tmp_path / "d.h5"), "dataset")
        np.testing.assert_array_equal(inputs_of(tree).toarray(), counts().toarray())
        assert stored_terms(tree) == [f"term{i}" for i in range(30)]
        assert tree["report"]["rows_read"] == 40

    def test_many_long_names_fit_an_artifact(self, tmp_path):
        texts = csr_array((np.ones(1), ([0], [69_999])), shape=(3, 70_000))
        names = [f"a-rather-long-name-of-a-term-{i}" for i in range(70_000)]
        tree = dataset_tree(texts, np.arange(6.0).reshape(3, 2), names, ["a", "b"], "here")
        write_artifact(tmp_path / "d.h5", tree, "dataset")
        assert stored_terms(read_artifact(tmp_path / "d.h5", "dataset")) == names

    @pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
    def test_what_is_no_count_is_refused(self, value):
        texts = counts()
        texts.data[0] = value
        row = np.flatnonzero(np.diff(texts.indptr))[0]
        with pytest.raises(UserError, match=rf"rows {row} .*negative or not finite"):
            dataset_tree(texts, outputs(), ["x"] * 30, ["a", "b"], "here")

    def test_groups_must_fit_the_rows(self):
        with pytest.raises(ValueError, match="'values' has 3 entries for 40 rows"):
            dataset_tree(
                counts(),
                outputs(),
                ["x"] * 30,
                ["a", "b"],
                "here",
                lagged_values={"values": np.ones(3)},
            )


class TestTermWeights:
    def test_equal_those_of_scikit_learn(self):
        train, test = counts(), counts(seed=2)
        # scikit-learn keeps terms of a single text; the comparison is on terms of several texts.
        kept = np.bincount(train.indices, minlength=30) >= MIN_TEXTS
        peer = TfidfTransformer(sublinear_tf=True).fit(train[:, kept])
        weights = fit_term_weights(train)
        for texts in (train, test):
            found = weights.apply(texts).toarray()
            np.testing.assert_allclose(
                found[:, kept], peer.transform(texts[:, kept]).toarray(), atol=1e-14
            )
            assert (found[:, ~kept] == 0).all()

    def test_an_empty_text_stays_empty_and_the_others_have_unit_length(self):
        lengths = np.linalg.norm(fit_term_weights(counts()).apply(counts()).toarray(), axis=1)
        assert lengths[3] == 0
        np.testing.assert_allclose(np.delete(lengths, 3), 1.0)


class TestProducts:
    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_give_the_kernels_of_the_vectors(self, kernel):
        X, Z = (np.random.default_rng(seed).normal(size=(6, 4)) for seed in (0, 1))
        found = gram_from_products(X @ Z.T, (X**2).sum(axis=1), (Z**2).sum(axis=1), kernel, 0.3)
        np.testing.assert_allclose(found, gram_matrix(X, Z, kernel, 0.3), atol=1e-13)

    def test_other_kernels_and_widths_are_refused(self):
        with pytest.raises(ValueError, match="'linear' or 'rbf'.*found 'tanimoto'"):
            gram_from_products(np.ones((1, 1)), np.ones(1), np.ones(1), "tanimoto")
        with pytest.raises(ValueError, match="gamma must be positive"):
            gram_from_products(np.ones((1, 1)), np.ones(1), np.ones(1), "rbf", None)


class TestPrincipalCoordinates:
    def test_are_those_of_the_truncated_decomposition(self):
        X = np.random.default_rng(0).normal(size=(80, 70))
        Z = np.random.default_rng(1).normal(size=(5, 70))
        rows, others = principal_coordinates(X @ X.T, Z @ X.T)
        peer = TruncatedSVD(N_COORDINATES, algorithm="arpack").fit(X)
        assert rows.shape == (80, N_COORDINATES)
        np.testing.assert_allclose(np.abs(rows), np.abs(peer.transform(X)), atol=1e-8)
        np.testing.assert_allclose(rows @ others.T, peer.transform(X) @ peer.transform(Z).T)

    def test_directions_that_are_rounding_are_left_out(self):
        X = np.random.default_rng(0).normal(size=(20, 3))
        (rows,) = principal_coordinates(X @ X.T)
        assert rows.shape == (20, 3)
        (nothing,) = principal_coordinates(np.zeros((4, 4)))
        np.testing.assert_array_equal(nothing, np.zeros((4, 1)))


class TestStage:
    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    @pytest.mark.parametrize("weak_size", [0, 4])
    def test_every_fold_has_its_own_weights(self, tmp_path, kernel, weak_size):
        features, split = features_of(tmp_path, weak_sizes=[4])
        folds = split["folds"]["n-12"]
        inputs = prepared_inputs(features, folds, 12)
        width = 0.7 if kernel == "rbf" else None
        gamma = width and width / 2
        train, texts = split["train"][:12], counts()
        weak = split["weak"][:weak_size]
        for fold, (K, K_heldout) in enumerate(inputs.fold_grams(kernel, width, weak_size)):
            weights = fit_term_weights(texts[train[folds != fold]])
            rows = np.concatenate([train[folds != fold], weak])
            X = weights.apply(texts[rows]).toarray()
            Z = weights.apply(texts[train[folds == fold]]).toarray()
            np.testing.assert_allclose(K, gram_matrix(X, X, kernel, gamma), atol=1e-13)
            np.testing.assert_allclose(K_heldout, gram_matrix(Z, X, kernel, gamma), atol=1e-13)
        weights = fit_term_weights(texts[train])
        X = weights.apply(texts[np.concatenate([train, weak])]).toarray()
        Z = weights.apply(texts[split["test"]]).toarray()
        K, K_test = inputs.refit_grams(kernel, width, weak_size)
        np.testing.assert_allclose(K, gram_matrix(X, X, kernel, gamma), atol=1e-13)
        np.testing.assert_allclose(K_test, gram_matrix(Z, X, kernel, gamma), atol=1e-13)
        assert K.shape == (12 + weak_size, 12 + weak_size)

    def test_feature_vectors_give_back_the_products(self, tmp_path):
        features, split = features_of(tmp_path)
        inputs = prepared_inputs(features, split["folds"]["n-20"], 20)
        grams = [*inputs.fold_grams("linear", None), inputs.refit_grams("linear", None)]
        rows = [*inputs.fold_rows(), inputs.refit_rows()]
        for (K, K_others), (known, others) in zip(grams, rows, strict=True):
            np.testing.assert_allclose(known @ known.T, K, atol=1e-10)
            np.testing.assert_allclose(others @ known.T, K_others, atol=1e-10)

    def test_texts_held_out_or_tested_do_not_touch_a_fold(self, tmp_path):
        for folder in ("first", "second"):
            (tmp_path / folder).mkdir()
        features, split = features_of(tmp_path / "first")
        folds = split["folds"]["n-20"]
        changed = counts().toarray()
        heldout = split["train"][:20][folds == 0]
        changed[np.concatenate([heldout, split["test"]])] = 9.0
        others, _ = features_of(tmp_path / "second", texts=csr_array(changed))
        before, after = (prepared_inputs(tree, folds, 20) for tree in (features, others))
        K_before, K_after = (
            next(inputs.fold_grams("linear", None))[0] for inputs in (before, after)
        )
        np.testing.assert_array_equal(K_before, K_after)
        second = [list(inputs.fold_grams("linear", None))[1][0] for inputs in (before, after)]
        assert (second[0] != second[1]).any()

    def test_lagged_values_weigh_as_much_as_the_text(self, tmp_path):
        features, split = features_of(tmp_path, lagged_values="added", with_lagged_values=True)
        inputs = prepared_inputs(features, split["folds"]["n-20"], 20)
        train = split["train"][:20]
        K, K_test = inputs.refit_grams("linear", None)
        texts = fit_term_weights(counts()[train])
        values = fit_preparation(LAGGED[train], "standard")
        for found, rows in ((K, train), (K_test, split["test"])):
            expected = (texts.apply(counts()[rows]) @ texts.apply(counts()[train]).T).toarray()
            expected += values.apply(LAGGED[rows]) @ values.apply(LAGGED[train]).T / LAGGED.shape[1]
            np.testing.assert_allclose(found, expected, atol=1e-12)

    def test_lagged_values_can_be_kept_separate(self, tmp_path):
        features, split = features_of(tmp_path, lagged_values="separate", with_lagged_values=True)
        np.testing.assert_array_equal(features["lagged_values"]["test"], LAGGED[split["test"]])
        alone, _ = features_of(tmp_path)
        np.testing.assert_array_equal(
            alone["n-20"]["all"]["products"], features["n-20"]["all"]["products"]
        )
        assert "lagged_values" not in alone

    def test_rows_of_numbers_take_lagged_values_as_columns(self, tmp_path):
        X = np.random.default_rng(5).normal(size=(40, 2))
        tree = dataset_tree(
            X, outputs(), ["p", "q"], ["a", "b"], "here", lagged_values={"values": LAGGED}
        )
        write_artifact(tmp_path / "dataset.h5", tree, "dataset")
        split = write_split(tmp_path)
        paths = tmp_path / "dataset.h5", tmp_path / "split.h5", tmp_path / "f.h5"
        features_stage.run(*paths, "standard", "rbf", "added")
        features = read_artifact(paths[2], "features")
        rows, _ = prepared_inputs(features, split["folds"]["n-20"], 20).refit_rows()
        both = np.hstack([X, LAGGED])[split["train"][:20]]
        np.testing.assert_allclose(rows, (both - both.mean(axis=0)) / both.std(axis=0))

    def test_scale_and_inputs_must_agree(self, tmp_path):
        write_texts(tmp_path / "dataset.h5")
        write_split(tmp_path)
        paths = tmp_path / "dataset.h5", tmp_path / "split.h5", tmp_path / "f.h5"
        with pytest.raises(UserError, match="inputs that are counts of terms"):
            features_stage.run(*paths, "standard", "linear", "none")
        with pytest.raises(UserError, match="counts of terms that do not lead from one state"):
            features_stage.run(*paths, "markov", "linear", "none")
        with pytest.raises(UserError, match="without lagged values"):
            features_stage.run(*paths, "tf-idf", "linear", "added")
