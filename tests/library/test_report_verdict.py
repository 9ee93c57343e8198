"""The sentences agree with the numbers and claim no more."""

import pandas as pd
from each_case import each_case
from report_samples import (
    METHODS,
    base_error,
    better_error,
    noisy_error,
    worse_error,
    write_accuracies,
    write_scores,
)

from workflow_lib.page.assembly import comparison_rows
from workflow_lib.report.results import read_scores
from workflow_lib.table.verdict import count_sentences, unbeaten_sizes, verdict


def verdict_of(tmp_path, rows, **options):
    scores = read_scores(write_scores(tmp_path / "scores.csv", rows, **options))
    return verdict(scores, methods=METHODS)


def with_ofer(error):
    return [("m-krr", "selected", 0, base_error), ("ofer-gmm", "selected", 0, error)]


def test_a_method_that_is_better(tmp_path):
    result = verdict_of(tmp_path, with_ofer(better_error))
    assert result.judgements == ["OFER-GMM against m-KRR is better at n = 20 and 50."]
    assert result.best == (
        "Lowest mean aRRMSE: OFER-GMM at n = 20 (0.701 ± 0.010) and n = 50 (0.601 ± 0.010)."
    )
    row = comparison_rows(result)[0]
    assert row[:3] == ["OFER-GMM", "20", "−0.300"]
    assert row[5].startswith("p = ") and row[-1] == "5 of 5"


def better_at_20(size, split):
    return (better_error if size == 20 else worse_error)(size, split)


@each_case(
    ("error", "n_splits", "outcome", "best"),
    [
        (worse_error, 5, "is worse at n = 20 and 50.", "aRRMSE: m-KRR at n = 20"),
        (noisy_error, 5, "is not distinguishable at n = 20 and 50.", "OFER-GMM at n"),
        (better_at_20, 5, "is better at n = 20; is worse at n = 50.", "OFER-GMM at n = 20"),
        (better_at_20, 5, "is better at n = 20; is worse at n = 50.", "m-KRR at n = 50"),
        (better_error, 1, "is not tested (one split) at n = 20 and 50.", "OFER-GMM at n = 20"),
        (
            base_error,
            1,
            "is equal up to rounding at n = 20 and 50 (largest relative difference in a split: 0).",
            "m-KRR and OFER-GMM (equal up to rounding) at n = 20",
        ),
    ],
)
def test_the_judgement_follows_the_test(tmp_path, error, n_splits, outcome, best):
    result = verdict_of(tmp_path, with_ofer(error), n_splits=n_splits)
    assert result.judgements == [f"OFER-GMM against m-KRR {outcome}"]
    assert best in result.best
    has_test = any("p = " in text for row in comparison_rows(result) for text in row)
    assert has_test == (n_splits > 1)


def test_a_ceiling_is_never_the_best(tmp_path):
    rows = [*with_ofer(worse_error), ("m-krr-full", "selected", 0, better_error)]
    scores = read_scores(write_scores(tmp_path / "scores.csv", rows))
    methods = {**METHODS, "m-krr-full": {"label": "full labels", "weak_outputs": "true"}}
    best = verdict(scores, methods=methods).best
    assert best.startswith("Lowest mean aRRMSE: m-KRR at n = 20")
    assert best.endswith(
        "full labels learns from the true outputs of weak rows, which are not known in use: a "
        "ceiling that cannot win."
    )
    alone = scores[scores["method"] == "m-krr-full"]
    assert verdict(alone, methods=methods).best.startswith("full labels learns")
    methods["m-krr-full"]["weak_outputs"] = None
    assert "Lowest mean aRRMSE: full labels" in verdict(scores, methods=methods).best


def test_a_method_that_is_equal(tmp_path):
    result = verdict_of(tmp_path, with_ofer(lambda n, s: base_error(n, s) * (1 + 1e-14)))
    assert result.judgements == [
        "OFER-GMM against m-KRR is equal up to rounding at n = 20 and 50 "
        "(largest relative difference in a split: 1e-14)."
    ]
    assert "m-KRR and OFER-GMM (equal up to rounding) at n = 20" in result.best
    assert [row[1:3] for row in comparison_rows(result)] == [["20", "0"], ["50", "0"]]


def test_the_largest_difference_of_equal_methods_is_measured(tmp_path):
    def nearly(size, split):
        return base_error(size, split) * (1 - 6e-10 * (size == 50 and split == 3))

    result = verdict_of(tmp_path, with_ofer(nearly))
    assert result.judgements[0].endswith(
        "is equal up to rounding at n = 20 and 50 (largest relative difference in a split: 6e-10)."
    )
    exact = verdict_of(tmp_path, with_ofer(base_error))
    assert exact.judgements[0].endswith("(largest relative difference in a split: 0).")
    result = verdict_of(tmp_path, with_ofer(lambda n, s: base_error(n, s) * (1 - 2e-9 * (s == 3))))
    assert "equal" not in result.judgements[0]


def test_other_methods_that_equal_the_reference_are_reported(tmp_path):
    rows = with_ofer(better_error)
    rows += [("m-rf", "selected", 0, lambda n, s: base_error(n, s) + 0.1 * (n == 20))]
    result = verdict_of(tmp_path, rows)
    assert result.judgements == ["OFER-GMM against m-KRR is better at n = 20 and 50."]
    assert result.equalities == [
        "m-RF against m-KRR is equal up to rounding at n = 50 "
        "(largest relative difference in a split: 0)."
    ]
    assert set(result.comparisons["method"]) == {"ofer-gmm"}


def test_studies_of_weak_labels_are_left_out(tmp_path):
    rows = [*with_ofer(noisy_error), ("wofer-gmm", "selected", 100, worse_error)]
    without = verdict_of(tmp_path, rows)
    study = ("wofer-gmm", "selected", 100, lambda n, s: 0.1 + base_error(n, s) / 9, "weak_weight=1")
    found = verdict_of(tmp_path, [*rows, study])
    assert (found.best, found.judgements) == (without.best, without.judgements)
    assert found.equalities == without.equalities
    pd.testing.assert_frame_equal(found.comparisons, without.comparisons)


def test_without_the_reference_nothing_is_compared(tmp_path):
    result = verdict_of(tmp_path, [("ofer-gmm", "selected", 0, base_error)])
    assert result.comparisons.empty
    assert not result.judgements and not result.equalities


def test_fixed_components_and_weak_rows_are_named(tmp_path):
    rows = [
        ("m-krr", "selected", 0, base_error),
        ("ofer-gmm", "4", 0, better_error),
        ("wofer-gmm", "selected", 100, worse_error),
    ]
    result = verdict_of(tmp_path, rows)
    assert [judgement.split(" against")[0] for judgement in result.judgements] == [
        "OFER-GMM, C = 4",
        "wOFER-GMM, 100 weak rows",
    ]


def test_only_the_subjects_are_compared(tmp_path):
    rows = with_ofer(better_error) + [("m-rf", "selected", 0, worse_error)]
    scores = read_scores(write_scores(tmp_path / "scores.csv", rows))
    result = verdict(scores, methods=METHODS, subjects=["m-rf"])
    assert result.judgements == ["m-RF against m-KRR is worse at n = 20 and 50."]


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


def test_counts_over_experiments(tmp_path):
    first = verdict_of(tmp_path, with_ofer(better_error))
    second = verdict_of(tmp_path, with_ofer(base_error))
    third = verdict_of(tmp_path, with_ofer(worse_error))
    assert count_sentences([first, second, third], METHODS) == [
        "OFER-GMM against m-KRR is better in 2, is worse in 2 and is equal up to rounding in 2 of "
        "6 comparisons (mean lower in 2, higher in 2)."
    ]
