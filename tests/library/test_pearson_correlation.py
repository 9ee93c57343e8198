"""The correlation of numbers: of deviations in any units, and 0 for constant predictions."""

import numpy as np
import pytest
from measure_samples import Rows, sample


def test_a_correlation_is_that_of_deviations_in_any_units(score):
    rows = sample("correlation")
    for name, factor in (("twice", 2.0), ("turned", -0.5)):
        changed = rows._replace(predictions=factor * rows.predictions + 7.0)
        expected = np.sign(factor) * score("correlation", rows)
        assert score("correlation", changed) == pytest.approx(expected, rel=1e-12), name


def test_constant_predictions_have_no_correlation_and_constant_outputs_do_not_count(score):
    rows = sample("correlation")
    constant = rows._replace(predictions=np.full_like(rows.predictions, 0.1))
    assert score("correlation", constant) == 0.0
    wider = Rows(*(np.column_stack([values, np.full(len(values), 0.1)]) for values in rows))
    assert score("correlation", wider) == pytest.approx(score("correlation", rows), rel=1e-12)
    nothing = Rows(*(np.full_like(values, 0.1) for values in rows))
    assert np.isnan(score("correlation", nothing))
