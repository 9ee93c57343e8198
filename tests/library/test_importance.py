"""The importance of inputs is that of scikit-learn, and its test is the corrected one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression

from workflow_lib.core.errors import UserError
from workflow_lib.data.table_encoding import EncodedRows
from workflow_lib.protocol.importance_table import COLUMNS, importance_frame, main_rows, matters
from workflow_lib.protocol.statistics import corrected_resampled_t_test
from workflow_lib.table.importance import (
    MAX_PREDICTIONS,
    MAX_REPEATS,
    holm,
    importance_tree,
    permuted_errors,
    planned,
)
from workflow_lib.table.input_groups import Grouping, column_groups

N_REPEATS = 3000


@pytest.fixture(scope="module")
def fitted():
    """Return rows, their outputs, and a method that was fitted to other rows."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(70, 4))
    Y = X @ generator.normal(size=(4, 2)) + 0.1 * generator.normal(size=(70, 2))
    model = LinearRegression().fit(X[:40], Y[:40])
    return X[40:], Y[40:], model


def relative_errors(truth, predicted):
    return np.sqrt(((truth - predicted) ** 2).sum(axis=0) / (truth**2).sum(axis=0))


def measured(fitted, groups, n_repeats=N_REPEATS, seed=0):
    X, Y, model = fitted
    rows = EncodedRows(X, [], None, [], [""] * len(X))
    errors = lambda predicted: relative_errors(Y, predicted)  # noqa: E731
    predict = lambda rows: model.predict(rows.inputs)  # noqa: E731
    return permuted_errors(predict, rows, errors, groups, n_repeats, seed)


def test_single_columns_have_the_importance_of_scikit_learn(fitted):
    X, Y, model = fitted
    groups = column_groups({f"x{index}": ([index], []) for index in range(4)})
    found = measured(fitted, groups)
    assert found.shape == (4, N_REPEATS, 2)
    plain = relative_errors(Y, model.predict(X))
    for output in range(2):
        theirs = permutation_importance(
            model,
            X,
            Y,
            scoring=lambda model, X, Y, output=output: (
                -relative_errors(Y, model.predict(X))[output]
            ),
            n_repeats=N_REPEATS,
            random_state=1,
        ).importances
        ours = found[:, :, output] - plain[output]
        error = np.sqrt((ours.var(axis=1) + theirs.var(axis=1)) / N_REPEATS)
        assert (np.abs(ours.mean(axis=1) - theirs.mean(axis=1)) < 4 * error + 1e-12).all()


def test_columns_of_a_group_are_permuted_together(fitted):
    X, Y, model = fitted
    (group,) = column_groups({"pair": ([1, 3], [])})
    found = measured(fitted, [group], 5, seed=7)
    generator = np.random.default_rng(7)
    for repeat in range(5):
        mixed = X.copy()
        mixed[:, [1, 3]] = X[generator.permutation(len(X))][:, [1, 3]]
        np.testing.assert_allclose(found[0, repeat], relative_errors(Y, model.predict(mixed)))


def test_batches_change_nothing(fitted, monkeypatch):
    groups = column_groups({f"x{index}": ([index], []) for index in range(4)})
    expected = measured(fitted, groups, 3)
    monkeypatch.setattr("workflow_lib.table.importance.BATCH_NUMBERS", 1)
    np.testing.assert_array_equal(measured(fitted, groups, 3), expected)


@pytest.mark.parametrize("n_groups", [1, 10, 300])
@pytest.mark.parametrize("n_rows", [5, 40, 5000])
def test_predictions_are_bounded(n_groups, n_rows):
    n_repeats, kept = planned(n_groups, n_rows)
    assert 1 <= n_repeats <= MAX_REPEATS and 1 <= kept <= n_rows
    assert n_groups * kept * n_repeats <= MAX_PREDICTIONS


def test_holm_is_the_step_down_of_bonferroni():
    found = holm(np.array([0.01, np.nan, 0.04, 0.03, 0.9]))
    np.testing.assert_allclose(found, [0.04, np.nan, 0.09, 0.09, 0.9])


def tree_of(plain, permuted, outputs=("y",)):
    groups = column_groups({f"x{index}": ([index], []) for index in range(permuted.shape[1])})
    return importance_tree(plain, permuted, Grouping(groups, 0.7, 0.7), outputs, 80, 20)


def test_the_table_holds_means_deviations_and_the_corrected_test():
    generator = np.random.default_rng(0)
    plain = 0.2 + 0.01 * generator.random((6, 2))
    permuted = plain[:, None] + np.array([0.0, 0.3, 0.1])[None, :, None]
    permuted = permuted + 0.02 * generator.normal(size=permuted.shape)
    frame = importance_frame(tree_of(plain, permuted, ("y", "z")), "here")
    assert tuple(frame.columns) == COLUMNS and len(frame) == 6
    assert list(frame["input"][:2]) == ["x1", "x2"]
    first = frame.iloc[0]
    increase = permuted[:, 1, 0] - plain[:, 0]
    assert first["importance"] == pytest.approx(increase.mean())
    assert first["deviation"] == pytest.approx(increase.std(ddof=1))
    tested = corrected_resampled_t_test(permuted[:, 1, 0], plain[:, 0], 80, 20)
    assert first["p_value"] == tested.p_value
    assert first["p_adjusted"] == pytest.approx(3 * tested.p_value)
    assert list(matters(main_rows(frame))) == [True, True, False]


def test_outputs_that_are_constant_in_a_split_are_left_out_of_it():
    plain = np.array([[0.2], [np.nan], [0.3]])
    permuted = np.array([[[0.4]], [[np.nan]], [[0.6]]])
    (row,) = importance_frame(tree_of(plain, permuted), "here").itertuples()
    assert row.importance == pytest.approx(0.25) and row.n_splits == 2


def test_a_single_split_has_no_test():
    (row,) = importance_frame(tree_of(np.array([[0.2]]), np.array([[[0.4]]])), "here").itertuples()
    assert row.importance == pytest.approx(0.2)
    assert np.isnan([row.deviation, row.p_value, row.p_adjusted]).all()


def test_a_table_without_importance_says_why():
    with pytest.raises(UserError, match="its inputs are values of a kernel"):
        importance_frame({"reason": "its inputs are values of a kernel between rows"}, "here")
