"""Methods that are kernel ridge regression by algebra are so on given rows; others differ."""

import json

import numpy as np
import pytest
from small_data import regression_data
from small_pipeline import Stages
from test_methods_class_ridge import Classes

from workflow_lib.protocol import equivalence_stage
from workflow_lib.protocol.equivalence_stage import relative_difference, standardised

MIXTURES = [
    ("one Gaussian, one penalty", True),
    ("a mixture of 3 with a shared variance, one penalty", True),
    ("the same mixture, a penalty per block", False),
    ("a mixture of 3 with variances of their own", False),
]
SERIES = [
    ("a state-space model, one penalty", True),
    ("the same model, a penalty per block", False),
]


def tried(stages, kernel="rbf", name="equivalence_checks"):
    """Return the output of the stage for the artifacts of some stages."""
    output = stages.folder / f"{name}.json"
    source = (stages.path(part) for part in ("dataset", "split", "features"))
    equivalence_stage.run(*source, output, kernel, 7)
    return json.loads(output.read_text())


def small_stages(folder, Y=None, n_channels=0, **options):
    X, outputs = regression_data(70)
    Y = outputs if Y is None else Y
    return Stages(folder, X, Y, n_channels=n_channels, **options).prepare()


def assert_as_theory_says(found, statements):
    listed = [
        (statement["name"], statement["is_kernel_ridge"]) for statement in found["statements"]
    ]
    assert listed == statements
    assert all(statement["holds"] for statement in found["statements"])
    for statement in found["statements"]:
        assert (statement["difference"] < 1e-10) == statement["is_kernel_ridge"]
        assert statement["is_kernel_ridge"] or statement["difference"] > 1e-4


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_every_statement_holds_on_given_rows(tmp_path, kernel):
    found = tried(small_stages(tmp_path, kernel=kernel), kernel)
    assert (found["n_training"], found["n_test"], found["tolerance"]) == (30, 12, 1e-8)
    assert_as_theory_says(found, MIXTURES)


def test_with_a_tolerance_that_is_too_small_nothing_is_the_same(tmp_path, monkeypatch):
    stages = small_stages(tmp_path)
    monkeypatch.setattr(equivalence_stage, "TOLERANCE", 0.0)
    assert [statement["holds"] for statement in tried(stages)["statements"]] == [
        False,
        False,
        True,
        True,
    ]
    monkeypatch.setattr(equivalence_stage, "TOLERANCE", np.inf)
    assert [statement["holds"] for statement in tried(stages)["statements"]] == [
        True,
        True,
        False,
        False,
    ]


def test_series_are_tried_with_a_state_space_model(tmp_path):
    walk = np.cumsum(np.random.default_rng(0).normal(size=(70, 6)), axis=1)
    Y = walk + regression_data(70)[0][:, :1]
    assert_as_theory_says(tried(small_stages(tmp_path, Y, n_channels=1)), MIXTURES + SERIES)


def test_missing_outputs_take_the_mean(tmp_path):
    Y = regression_data(70)[1]
    Y[np.random.default_rng(4).random(Y.shape) < 0.4] = np.nan
    found = tried(small_stages(tmp_path, Y))
    assert found["n_training"] == 30
    assert_as_theory_says(found, MIXTURES)


def test_classes_are_tried_on_their_vectors(tmp_path):
    classes = Classes(tmp_path, examples=[3, 5])
    found = tried(classes)
    assert found["n_training"] == classes.split["sizes"][-1]
    # A mixture may find clusters so well that its own variances are near the shared one.
    assert [statement["holds"] for statement in found["statements"]][:3] == [True, True, True]


@pytest.mark.parametrize("n_kinds", [1, 3])
def test_no_mixture_is_tried_on_outputs_of_few_kinds(tmp_path, n_kinds):
    Y = np.arange(70)[:, None] % n_kinds * np.ones((1, 3))
    assert_as_theory_says(tried(small_stages(tmp_path, Y)), MIXTURES[:1])


def test_a_second_run_gives_the_same_bytes(tmp_path):
    stages = small_stages(tmp_path)
    tried(stages, name="first"), tried(stages, name="second")
    assert (tmp_path / "first.json").read_bytes() == (tmp_path / "second.json").read_bytes()


def test_no_more_rows_are_tried_than_take_seconds(tmp_path, monkeypatch):
    monkeypatch.setattr(equivalence_stage, "MAX_ROWS", 11)
    found = tried(small_stages(tmp_path))
    assert found["n_training"] == 11
    assert [statement["holds"] for statement in found["statements"]] == [True] * 4


def test_outputs_are_standardised_and_constants_stay_zero():
    Y = np.column_stack([np.arange(5.0), np.full(5, 3.0)])
    np.testing.assert_allclose(standardised(Y).mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(standardised(Y).std(axis=0), [1, 0])


def test_a_difference_is_relative_to_the_largest_value():
    assert relative_difference(np.array([1.0, 4.5]), np.array([1.0, -5.0])) == 9.5 / 5
    assert relative_difference(np.zeros(2), np.zeros(2)) == 0
