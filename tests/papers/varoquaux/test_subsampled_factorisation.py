"""Subsampled online matrix factorisation: against online dictionary learning, and resumed."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import MiniBatchDictionaryLearning
from sklearn.linear_model import Lasso

from workflow_lib import open_columns
from workflow_lib.papers.varoquaux import subsampled_factorisation
from workflow_lib.papers.varoquaux.sparse_codes import sparse_codes
from workflow_lib.papers.varoquaux.subsampled_factorisation import SubsampledFactorisation
from workflow_lib.solvers.stored.estimator import estimator_bytes, estimator_from_bytes

K = 4
NON_NEGATIVE = {"alpha": 0.0, "positive_code": True, "positive_dict": True}


def rows(n: int = 300, p: int = 12, seed: int = 0) -> np.ndarray:
    """Return rows of sparse sums of non-negative atoms, with noise."""
    random = np.random.default_rng(seed)
    atoms = random.gamma(0.3, size=(K, p))
    codes = random.gamma(1.0, size=(n, K)) * (random.random((n, K)) < 0.5)
    return np.maximum(codes @ atoms + 0.1 * random.normal(size=(n, p)), 0.0)


@pytest.mark.parametrize("positive", [False, True])
def test_codes_minimise_the_penalised_error(positive):
    X, V = rows(20), np.random.default_rng(1).normal(size=(K, 12))
    found = sparse_codes(V @ V.T, V @ X.T, 0.3, positive, tol=1e-12)
    model = Lasso(0.3 / 12, fit_intercept=False, tol=1e-14, max_iter=100000, positive=positive)
    expected = np.array([model.fit(V.T, row).coef_ for row in X]).T
    np.testing.assert_allclose(found, expected, atol=1e-8)
    np.testing.assert_array_equal((found == 0.0), (np.abs(expected) < 1e-10))


@pytest.mark.parametrize("reduction", [1, 3])
def test_it_is_online_dictionary_learning_step_by_step(reduction, monkeypatch):
    monkeypatch.setattr(subsampled_factorisation, "ATOMS_AT_A_TIME", 3)
    X, alpha, b = rows(), 0.2, 20
    settings = {"decay": 1.0, "batch_size": b, "tol": 1e-13, "reduction": reduction}
    model = SubsampledFactorisation(K, alpha, **settings)
    begun = SubsampledFactorisation(K, alpha)
    begun._begin(X[:b])
    V, A, B = begun.components_.copy(), np.zeros((K, K)), np.zeros((K, 12))
    lasso = Lasso(alpha / 12, fit_intercept=False, tol=1e-15, max_iter=100000)
    for step, begin in enumerate(range(0, 300, b)):
        model.partial_fit(X[begin : begin + b])
        # Mairal et al. (2010), algorithms 1 and 2, row by row; on a sample of the features.
        for row in X[begin : begin + b]:
            u = lasso.fit(V.T, row).coef_
            A += np.outer(u, u)
            B += np.outer(u, row)
        part, place = divmod(step, reduction)
        order = np.random.default_rng([0, 2, part]).permutation(12)
        P = order[place::reduction] if reduction > 1 else np.arange(12)
        for j in range(K):
            u = V[j, P] + (B[j, P] - A[j] @ V[:, P]) / A[j, j]
            left = np.sqrt(1.0 - np.square(np.delete(V[j], P)).sum())
            V[j, P] = u / max(1.0, np.linalg.norm(u) / left)
        np.testing.assert_allclose(model.components_, V, atol=1e-7)


def test_it_goes_on_where_scikit_learn_ends_and_its_objective_does_not_rise():
    X = rows(1000)
    peer = MiniBatchDictionaryLearning(
        K, alpha=0.2, batch_size=50, fit_algorithm="cd", random_state=0, max_iter=20
    ).fit(X)
    model = SubsampledFactorisation(K, 0.2, batch_size=1000).partial_fit(X)
    model._atoms = peer.components_.T.copy()
    model._gram = peer.components_ @ peer.components_.T
    codes = model.transform(X)
    parts = 0.5 * np.square(X - codes @ peer.components_).sum() + 0.2 * np.abs(codes).sum()
    assert model.objective(X) == pytest.approx(parts / 1000)
    ended = model.objective(X)
    model._A, model._B, model._weight = 0.0 * model._A, 0.0 * model._B, 0.0
    for _ in range(5):
        model.partial_fit(X)
        assert model.objective(X) <= (1.0 + 1e-4) * ended


@pytest.mark.parametrize(
    "settings",
    [{}, {"reduction": 3}, {"init": "singular", "reduction": 7}, NON_NEGATIVE | {"reduction": 2}],
)
def test_the_objective_decreases_and_atoms_stay_in_their_set(settings):
    X = rows(2000, 60)
    model = SubsampledFactorisation(K, **({"alpha": 0.2} | settings), batch_size=50)
    found = []
    for _ in range(5):
        model.partial_fit(X)
        found.append(model.objective(X))
        assert (np.linalg.norm(model.components_, axis=1) <= 1.0 + 1e-9).all()
        np.testing.assert_allclose(model._gram, model.components_ @ model.components_.T, atol=1e-9)
    begun = SubsampledFactorisation(K, **({"alpha": 0.2} | settings), batch_size=50)
    begun._begin(X)
    begun.n_features_in_ = X.shape[1]
    assert found[-1] < found[0] < begun.objective(X)
    if "positive_dict" in settings:
        assert model.components_.min() >= 0.0 and model.transform(X).min() >= 0.0


@pytest.mark.parametrize("store", [pickle.dumps, estimator_bytes])
def test_a_resumed_model_equals_an_uninterrupted_one(store):
    X = rows(600)
    load = {pickle.dumps: pickle.loads, estimator_bytes: estimator_from_bytes}[store]
    whole = SubsampledFactorisation(K, 0.1, reduction=5, batch_size=30)
    resumed = SubsampledFactorisation(K, 0.1, reduction=5, batch_size=30)
    for begin in range(0, 600, 100):
        whole.partial_fit(X[begin : begin + 100])
        resumed = load(store(resumed.partial_fit(X[begin : begin + 100])))
    np.testing.assert_allclose(resumed.components_, whole.components_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(resumed.transform(X), whole.transform(X), rtol=0, atol=1e-12)


def test_sparse_rows_give_the_same_as_dense_ones():
    X = rows()
    X[X < 1.0] = 0.0
    found = [
        SubsampledFactorisation(K, **NON_NEGATIVE, batch_size=40, reduction=2).fit(each)
        for each in (X, sparse.csr_matrix(X))
    ]
    np.testing.assert_allclose(*(model.components_ for model in found), atol=1e-10)
    assert found[1].objective(sparse.csr_matrix(X)) == pytest.approx(found[0].objective(X))


@pytest.mark.parametrize("ending", [".h5", ".parquet"])
def test_rows_of_a_file_are_read_in_blocks(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(subsampled_factorisation, "BLOCK_NUMBERS", 1200)
    X, path = rows(), tmp_path / f"rows{ending}"
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
        pd.DataFrame(X, columns=list("abcdefghijkl")).to_parquet(path)
    else:
        import h5py

        with h5py.File(path, "w") as file:
            for name, column in zip("abcdefghijkl", X.T, strict=True):
                file[name] = column
    stored = open_columns(path).columns(list("abcdefghijkl"))
    found = SubsampledFactorisation(K, 0.1, batch_size=50, max_iter=2).fit(stored)
    blocks = SubsampledFactorisation(K, 0.1, batch_size=50)
    for _ in range(2):
        for begin in range(0, 300, 100):
            blocks.partial_fit(X[begin : begin + 100])
    np.testing.assert_array_equal(found.components_, blocks.components_)


def test_settings_out_of_range_are_refused():
    with pytest.raises(ValueError, match="reduction=13"):
        SubsampledFactorisation(K, reduction=13).fit(rows())
    with pytest.raises(ValueError, match="n_components=4 atoms need as many rows"):
        SubsampledFactorisation(K).fit(rows(3))
