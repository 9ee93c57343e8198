"""Questions that are answered by the comparison of two methods, with both tests."""

import numpy as np
import pytest
from report_samples import (
    base_accuracy,
    better_accuracy,
    noisy_error,
    table_cells,
    write_accuracies,
    write_table,
)

from workflow_lib.core.errors import UserError
from workflow_lib.protocol.statistics import corrected_resampled_t_test, paired_t_test
from workflow_lib.report.results import read_scores
from workflow_lib.report.table_kinds.comparisons import NOTE

ASKED = [
    {"question": "Does training help?", "method": "wofer-gmm", "against": "class-krr"},
    {"question": "Do weak rows help?", "method": "wofer-gmm", "against": "wofer-gmm"},
    {"question": "Is it better?", "method": "class-krr", "against": "wofer-gmm"},
]
METHODS = {"wofer-gmm": {"label": "wOFER"}, "class-krr": {"label": "KRR"}}


def answers(scores, requested):
    options = {"methods": METHODS, "metric": "accuracy", "comparisons": requested}
    return list(table_cells("comparisons", scores, **options).itertuples())


@pytest.fixture
def scores(tmp_path):
    rows = [("class-krr", "selected", 0, base_accuracy)]
    rows += [("wofer-gmm", "selected", 0, lambda size, split: 0.5 + 0.1 * noisy_error(size, split))]
    rows += [("wofer-gmm", "selected", 300, better_accuracy)]
    return write_accuracies(tmp_path / "scores.csv", rows)


def test_answers_are_those_of_both_tests(scores):
    cells = answers(read_scores(scores), ASKED)
    assert [(cell.training_size, cell.question) for cell in cells] == [
        (size, requested["question"]) for size in (1, 5) for requested in ASKED
    ]
    first, itself, reverse = cells[3:]
    assert (first.weak_size, first.against_weak_size) == (300, 0)
    assert (itself.weak_size, itself.against_weak_size) == (300, 0)
    assert [cell.answer for cell in (first, reverse)] == ["yes", "no, worse"]
    ours, theirs = (
        [1.0 - accuracy(5, split) for split in range(5)]
        for accuracy in (better_accuracy, base_accuracy)
    )
    assert first.difference == pytest.approx(100 * np.mean(np.subtract(theirs, ours)))
    assert first.deviation == pytest.approx(100 * np.std(np.subtract(theirs, ours), ddof=1))
    assert first.p_student == pytest.approx(paired_t_test(ours, theirs).p_value)
    corrected = corrected_resampled_t_test(ours, theirs, 50, 100).p_value
    assert first.p_corrected == reverse.p_corrected == pytest.approx(corrected)


def test_the_table_is_written_with_its_questions(scores, tmp_path):
    options = {"methods": METHODS, "metric": "accuracy", "comparisons": ASKED}
    rows, latex = write_table(scores, "comparisons", tmp_path, **options)
    assert rows[0]["question"] == "Does training help?" and rows[0]["answer"] == "yes"
    assert "Does training help? wOFER" in latex and "against KRR" in latex and "yes" in latex
    assert NOTE.split(",")[0].split("±")[0] in latex


def test_questions_without_scores_are_refused(scores):
    requested = [{"question": "?", "method": "class-krr", "against": "class-krr"}]
    with pytest.raises(UserError, match="no training size at which both methods"):
        answers(read_scores(scores), requested)


def test_fixed_numbers_of_components_are_compared_one_by_one(tmp_path):
    rows = [
        ("wofer-gmm", components, weak, better_accuracy if weak else base_accuracy)
        for components in ("8", "16")
        for weak in (0, 100, 300)
    ]
    scores = read_scores(write_accuracies(tmp_path / "scores.csv", rows, sizes=(5,)))
    cells = answers(scores, ASKED[1:2])
    found = [(c.components, c.against_components, c.weak_size, c.against_weak_size) for c in cells]
    assert found == [("8", "8", 300, 0), ("16", "16", 300, 0)]
