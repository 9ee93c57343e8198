"""Calls of the public classes of this paper that those of no other module are like."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from test_calls import CASES, SERIES, assert_other_columns_are_refused, assert_searched
from test_public_names import defaults

from workflow_lib import HiddenMarkovModel, ScoreSpace, TopicModel


def test_masked_letters_are_unknown():
    hidden = np.random.default_rng(1).random(SERIES.shape) < 0.1
    letters = np.array([[0, 1, 1], [1, 0, 1]])
    unknown = np.where(hidden[:2, :3], -1, letters)
    given = np.ma.masked_array(letters, hidden[:2, :3])
    model = HiddenMarkovModel(2, n_symbols=2, max_iter=2)
    np.testing.assert_array_equal(
        clone(model).fit(given).initial_, clone(model).fit(unknown).initial_
    )


def test_a_column_that_may_be_one_sequence_is_refused():
    column = np.array([0, 1] * 5)[:, None]
    for emission in ("categorical", "gaussian"):
        model = HiddenMarkovModel(2, emission, max_iter=2)
        with pytest.raises(ValueError, match="may be one sequence"):
            model.fit(column)
        assert model.fit([column[:, 0]]).score_samples([column[:, 0]]).shape == (1,)


def test_counts_in_other_columns_are_refused():
    counts = pd.DataFrame(CASES["topics"][1], columns=["a", "b", "c"])
    assert_other_columns_are_refused(TopicModel(2, max_iter=2), "proportions", counts)


def test_searches_of_models_of_inputs():
    model = HiddenMarkovModel(n_init=1, n_symbols=9, max_iter=2)
    assert_searched(model, {"n_states": [1, 2]}, CASES["letters"][1])
    nested = ScoreSpace(TopicModel(2)).set_params(models__n_topics=3)
    assert nested.get_params()["models__n_topics"] == 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "HiddenMarkovModel",
            {
                "n_states": 4,
                "emission": "categorical",
                "n_symbols": None,
                "prior": 0.5,
                "variance_floor": 0.05,
                "n_init": 3,
                "random_state": 0,
            },
        ),
        ("TopicModel", {"n_topics": 40, "alpha": 0.5, "random_state": 0}),
        ("ScoreSpace", {"kind": "free_energy", "level": "state", "posterior": "exact"}),
    ],
)
def test_defaults(name, expected):
    found = defaults(name)
    assert {key: found[key] for key in expected} == expected
