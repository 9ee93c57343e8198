"""The findings that open the report agree with the verdicts, and state what is missing."""

from __future__ import annotations

from report_samples import (
    CLASS_METHODS,
    METHODS,
    base_accuracy,
    base_error,
    better_accuracy,
    better_error,
    noisy_error,
    worse_error,
    write_accuracies,
    write_scores,
)

from workflow_lib.report.findings import effect_words, three_findings, unbeaten_sizes
from workflow_lib.report.results import read_scores
from workflow_lib.report.verdict import verdict


def section_of(name="toy", is_made=False, stand_in_for=None, unbeaten=()):
    facts = {"name": name, "is_made": is_made, "stand_in_for": stand_in_for}
    return {**facts, "unbeaten": list(unbeaten)}


def findings_of(tmp_path, errors, section=None, **options):
    """Return the findings of one experiment in which ofer-gmm and wofer-gmm have these errors."""
    rows = [("m-krr", "selected", 0, base_error)]
    rows += [(name, "selected", 0, error) for name, error in errors.items()]
    scores = read_scores(write_scores(tmp_path / "scores.csv", rows, **options))
    result = verdict(scores, methods=METHODS)
    return three_findings([result], [section or section_of()], METHODS)


def test_the_method_that_is_most_often_better_is_named_with_its_largest_effect(tmp_path):
    errors = {"ofer-gmm": better_error, "wofer-gmm": noisy_error}
    helps, _, loses = findings_of(tmp_path, errors, section_of(stand_in_for="videos"))
    assert helps.startswith("OFER-GMM is most often better than m-KRR: in 2 of 2 comparisons;")
    assert "of all OFER methods together that is 2 of 4." in helps
    assert "OFER-GMM on toy (a stand-in) at n = " in helps
    assert "−0.300 in aRRMSE" in helps and "(corrected p = " in helps
    assert loses == (
        "OFER is significantly worse than its reference in no comparison; 2 of 4 are not "
        "distinguishable, which does not mean equal."
    )


def test_the_largest_effect_is_the_largest_of_the_verdict(tmp_path):
    rows = [("m-krr", "selected", 0, base_error), ("ofer-gmm", "selected", 0, better_error)]
    result = verdict(read_scores(write_scores(tmp_path / "scores.csv", rows)), methods=METHODS)
    helps = three_findings([result], [section_of()], METHODS)[0]
    effects = {c.training_size: c.cell.effect for c in result.comparisons}
    size = min(effects, key=effects.get)
    assert f"at n = {size}:" in helps
    assert f"−{abs(effects[size]):.1f} in units of its spread" in helps


def test_where_it_equals_the_reference_is_reported_with_the_largest_difference(tmp_path):
    errors = {"ofer-gmm": lambda n, s: base_error(n, s) * (1 + 1e-14), "wofer-gmm": worse_error}
    helps, equals, loses = findings_of(tmp_path, errors, section_of(is_made=True))
    assert (
        helps
        == "No OFER method is significantly better than its reference in any of the 4 comparisons."
    )
    assert equals == (
        "OFER equals m-KRR up to rounding in 2 of 4 comparisons (largest relative difference in a "
        "split: 1e-14), most often OFER-GMM: 2, on toy (data made by a recipe)."
    )
    assert loses.startswith("OFER is worse than its reference in 2 of 4 comparisons. The largest")
    assert "against m-KRR: wOFER-GMM on toy (data made by a recipe) at n = " in loses


def test_nothing_equal_is_said(tmp_path):
    _, equals, _ = findings_of(tmp_path, {"ofer-gmm": noisy_error})
    assert equals == "OFER equals its reference up to rounding in none of the 2 comparisons."


def test_one_split_tests_nothing(tmp_path):
    first = findings_of(tmp_path, {"ofer-gmm": better_error}, n_splits=1)[0]
    assert first.startswith("None of the 2 comparisons of OFER with a reference could be tested")


def test_without_a_comparison_it_says_so(tmp_path):
    only = section_of(unbeaten=[20])
    assert findings_of(tmp_path, {}, only) == [
        "No OFER method was compared with a reference, so that there are no findings but the best "
        "means below.",
        "No method at all beats the training mean on toy (real data) at n = 20.",
    ]
    assert len(findings_of(tmp_path, {})) == 1


def test_where_nothing_beats_a_guess_is_reported(tmp_path):
    loses = findings_of(tmp_path, {"ofer-gmm": noisy_error}, section_of(unbeaten=[20, 50]))[2]
    assert loses.endswith(
        "No method at all beats the training mean on toy (real data) at n = 20 and 50."
    )


def test_accuracies_have_the_other_sign(tmp_path):
    rows = [("class-krr", "selected", 0, base_accuracy)]
    rows.append(("ofer-gmm", "selected", 0, better_accuracy))
    scores = read_scores(write_accuracies(tmp_path / "scores.csv", rows))
    result = verdict(scores, methods=CLASS_METHODS, metric="accuracy")
    helps = three_findings([result], [section_of()], CLASS_METHODS)[0]
    assert "OFER-GMM is most often better than one-hot KRR" in helps
    assert "+20.0 in accuracy (percentage points), +" in helps


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


def test_effects_have_a_true_minus_and_zero_no_sign():
    assert [effect_words(x) for x in (-2.06, 0.04, -0.04, 3.0)] == ["−2.1", "0.0", "0.0", "+3.0"]
