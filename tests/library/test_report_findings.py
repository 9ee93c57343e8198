"""Comparisons in words agree with the verdicts, and a guess that nothing beats is found."""

from report_samples import (
    CLASS_METHODS,
    METHODS,
    base_accuracy,
    base_error,
    better_accuracy,
    better_error,
    write_accuracies,
    write_scores,
)

from workflow_lib.page.gains import data_words, where_words
from workflow_lib.report.labels import format_p_value
from workflow_lib.report.results import read_scores
from workflow_lib.table.verdict import unbeaten_sizes, verdict

SECTION = {"name": "toy", "is_made": False, "stand_in_for": None}


def best_of(path, methods, **options):
    """Return the comparison with the largest effect in the scores of a file."""
    result = verdict(read_scores(path), methods=methods, **options)
    rows = result.comparisons.assign(metric=result.metric).itertuples()
    return min(rows, key=lambda row: row.effect)


def test_a_comparison_in_words_has_its_data_difference_effect_and_test(tmp_path):
    rows = [("m-krr", "selected", 0, base_error), ("ofer-gmm", "selected", 0, better_error)]
    found = best_of(write_scores(tmp_path / "scores.csv", rows), METHODS)
    assert where_words(found, SECTION) == (
        f"OFER-GMM on toy (real data) at n = {found.training_size}: \u22120.300 in aRRMSE, "
        f"\u2212{abs(found.effect):.1f} in units of its spread "
        f"(corrected {format_p_value(found.p_reference_corrected)})"
    )


def test_accuracies_have_the_other_sign(tmp_path):
    rows = [("class-krr", "selected", 0, base_accuracy)]
    rows.append(("ofer-gmm", "selected", 0, better_accuracy))
    path = write_accuracies(tmp_path / "scores.csv", rows)
    words = where_words(best_of(path, CLASS_METHODS, metric="accuracy"), SECTION)
    assert "+20.0 in accuracy (percentage points), +" in words


def test_the_kind_of_the_data_is_named():
    stand_in, made = {"stand_in_for": "videos"}, {"is_made": True}
    assert data_words(SECTION | stand_in) == "toy (a stand-in)"
    assert data_words(SECTION | made) == "toy (simulated data)"


def test_sizes_at_which_nothing_beats_a_guess(tmp_path):
    def error(size, split):
        return 1.2 if size == 20 else base_error(size, split)

    rows = [("m-krr", "selected", 0, error), ("m-rf", "selected", 0, lambda n, s: 1.0)]
    scores = read_scores(write_scores(tmp_path / "scores.csv", rows))
    assert unbeaten_sizes(scores, "arrmse", {}) == [20]
    ceiling = {"m-krr": {"weak_outputs": "true"}}
    assert unbeaten_sizes(scores, "arrmse", ceiling) == [20, 50]
    rows = [("class-krr", "selected", 0, lambda n, s: 0.1 if n == 1 else 0.11)]
    scores = read_scores(write_accuracies(tmp_path / "accuracies.csv", rows))
    assert unbeaten_sizes(scores, "accuracy", {}) == [1]  # ten classes: chance is 0.1
