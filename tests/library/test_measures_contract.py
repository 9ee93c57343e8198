"""Properties of every measure, as written to the file of scores.

A new measure needs its formula in a file of its own in the folder ``formulas``, here or of a
paper: a second way to compute it from true and predicted outputs.
"""

import numpy as np
import pytest
from each_case import each_case
from measure_samples import Rows, formulas, sample, scores_of, with_gaps

from workflow_lib.measures.base import Measure
from workflow_lib.measures.metrics import METRICS
from workflow_lib.report.quantities import QUANTITIES, Quantity
from workflow_lib.tasks.found import all_measures, measures_of, tasks


def test_every_measure_has_a_second_formula_and_no_formula_is_left():
    assert set(formulas()) == set(all_measures())


@each_case("name", all_measures())
def test_a_measure_is_described(name):
    measure = all_measures()[name]
    assert measure.name == name
    for text in (measure.title, measure.heading):
        assert text.strip() == text != ""
    assert measure.description.endswith(".")
    if measure.selects_by:
        assert measure.selects_by in METRICS
        assert measure.plain_name and measure.scale.endswith(".")


@each_case("name", all_measures())
def test_a_measure_is_its_formula(score, name):
    assert score(name, sample(name)) == pytest.approx(
        formulas()[name].FORMULAS[name](sample(name)), rel=1e-12
    )


@each_case("name", all_measures())
def test_perfect_predictions(score, name):
    rows = sample(name)
    assert score(name, rows._replace(predictions=rows.truth)) == pytest.approx(
        float(all_measures()[name].higher_is_better)
    )


@each_case("name", all_measures())
def test_the_order_of_rows_and_outputs_does_not_matter(score, name):
    rows = sample(name)
    order = np.random.default_rng(0).permutation(len(rows.truth))
    other = Rows(rows.truth[order], rows.predictions[order], rows.train[::-1])
    if all_measures()[name].outputs == "numbers":
        other = Rows(*(values[:, ::-1] for values in other))
    assert score(name, other) == pytest.approx(score(name, rows), rel=1e-12)


@each_case("name", measures_of("numbers"))
def test_missing_outputs_count_nowhere(score, name):
    rows = with_gaps(sample(name))
    expected = score(name, rows)
    assert expected == pytest.approx(formulas()[name].FORMULAS[name](rows), rel=1e-12)
    wild = np.where(np.isnan(rows.truth), 1e9, rows.predictions)
    assert score(name, rows._replace(predictions=wild)) == expected
    without = Rows(*(np.delete(values, 3, axis=0) for values in rows[:2]), rows.train)
    assert score(name, without) == pytest.approx(expected, rel=1e-12)


@each_case("name", all_measures())
def test_only_measures_that_may_be_absent_are_absent(tmp_path, name):
    measure, rows = all_measures()[name], sample(name)
    single = Rows(rows.truth[:1], rows.predictions[:1], rows.train)
    found = scores_of(tmp_path, measure.outputs, single)
    assert measure.may_be_absent or name in found
    if measure.is_share and name in found:
        assert 0 <= found[name] <= 1


def test_a_score_in_per_cent_is_shown_so_wherever_it_is_shown():
    measure = Measure("hits", "hit rate", "Hits", "Hits.", higher_is_better=True, is_percent=True)
    quantity = Quantity(measure, tasks()["regression"], better="higher")
    assert quantity.axis == "Hit rate on test rows (%)" and quantity.column == "hit rate (%)"
    assert quantity.error_name == "1 \u2212 hit rate"
    assert quantity.shown(0.25) == 75.0 and quantity.shown_spread(0.01) == 1.0
    assert quantity.write(0.25, 0.01) == QUANTITIES["accuracy"].write(0.25, 0.01)
    assert quantity.difference_name == "hit rate (percentage points)"
    assert all(each.higher_is_better for each in all_measures().values() if each.is_percent)
