"""Inputs known by their inner products give the same Gram matrices as the rows themselves."""

import numpy as np
import pytest
from small_data import regression_data

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.prepared_inputs import prepared_inputs
from workflow_lib.protocol import features_stage
from workflow_lib.protocol.splitting import split_rows

SIZES, WEAK_SIZE = (12, 20), 7


def features_of(tmp_path, inputs, scale):
    dataset, split = tmp_path / "dataset.h5", tmp_path / "split.h5"
    write_artifact(dataset, {"inputs": inputs, "outputs": np.ones((len(inputs), 1))}, "dataset")
    partition = split_rows(len(inputs), SIZES, [WEAK_SIZE], 0.2, 3, 1)
    write_artifact(split, partition, "split")
    features_stage.run(dataset, split, tmp_path / "features.h5", scale, "rbf", "none")
    return read_artifact(tmp_path / "features.h5", "features"), partition


@pytest.mark.parametrize("size", SIZES)
def test_gram_matrices_are_those_of_the_rows(tmp_path, size):
    rows, _ = regression_data(40)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    products, partition = features_of(tmp_path, rows @ rows.T, "products")
    folds = partition["folds"][f"n-{size}"]
    inputs = prepared_inputs(products, folds, size)
    train = rows[partition["train"][:size]]
    weak = rows[partition["weak"][:WEAK_SIZE]]
    test = rows[partition["test"]]

    def gram(A, B):
        return np.exp(-1.5 * (1.0 - A @ B.T))

    known = np.vstack([train, weak])
    np.testing.assert_allclose(inputs.training_gram("rbf", 1.5, WEAK_SIZE), gram(known, known))
    np.testing.assert_allclose(inputs.test_gram("rbf", 1.5, WEAK_SIZE), gram(test, known))
    np.testing.assert_allclose(inputs.training_gram("linear", None), train @ train.T, atol=1e-12)
    for fold, (K, K_heldout) in enumerate(inputs.fold_grams("rbf", 1.5, WEAK_SIZE)):
        kept = np.vstack([train[folds != fold], weak])
        np.testing.assert_allclose(K, gram(kept, kept))
        np.testing.assert_allclose(K_heldout, gram(train[folds == fold], kept))


def test_feature_vectors_have_the_same_inner_products(tmp_path):
    rows, _ = regression_data(40)
    products, partition = features_of(tmp_path, rows @ rows.T, "products")
    inputs = prepared_inputs(products, partition["folds"]["n-20"], 20)
    train, test = inputs.refit_rows()
    given = rows[partition["train"]], rows[partition["test"]]
    np.testing.assert_allclose(train @ train.T, given[0] @ given[0].T, atol=1e-8)
    np.testing.assert_allclose(test @ train.T, given[1] @ given[0].T, atol=1e-8)


def test_products_must_be_a_symmetric_matrix(tmp_path):
    rows, _ = regression_data(40)
    with pytest.raises(UserError, match="not a symmetric matrix"):
        features_of(tmp_path, rows, "products")
