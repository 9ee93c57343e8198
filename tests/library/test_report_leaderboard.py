"""The leaderboard ranks and tests by the definitions, and its sentences claim no more."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from each_case import each_case
from report_samples import (
    CLASS_METHODS,
    METHODS,
    NOISE,
    base_accuracy,
    base_error,
    better_accuracy,
    better_error,
    noisy_error,
    worse_error,
    write_accuracies,
    write_choices,
    write_scores,
    write_timings,
)
from small_data import regression_data

from workflow_lib import (
    GaussianMixtureModel,
    GaussianModel,
    KernelRidgeRegressor,
    OutputFisherRegressor,
)
from workflow_lib.core.errors import UserError
from workflow_lib.methods.contract.saving import why_not_saved
from workflow_lib.models.state_spaces.state_space import StateSpaceModel
from workflow_lib.protocol.statistics import mean_and_deviation
from workflow_lib.report.results import read_choices, read_scores, read_timings
from workflow_lib.report.tables import error_table
from workflow_lib.run.named_settings import SettingsFolder
from workflow_lib.table.answer_sentences import answer_notes, answer_sentences, headline
from workflow_lib.table.leaderboard import (
    answer_tree,
    chosen_on_other_splits,
    is_kernel_ridge_by_theory,
    leaderboard,
    run,
)
from workflow_lib.table.leaderboard_records import expected_error

CONFIG = Path(__file__).parents[2] / "config"
DEFAULTS = {"regressor": "kernel_ridge", "penalty": "shared", "center": True}
"""Of the files of methods, which leave them out."""

MIXTURE = {"kind": "gaussian_mixture", "covariance_type": "tied_spherical"}
REDUCED = DEFAULTS | {"form": "reduced", "preimage": "closed_form", "model": MIXTURE}
CLASS_ROWS = [
    ("m-svm", "selected", 0, better_accuracy),
    ("class-krr", "selected", 0, base_accuracy),
]


def mean_error(size, split):
    """Return the relative error of the training mean."""
    return 1.0


def board_of(tmp_path, rows, methods=METHODS, timings=None, **options):
    scores = read_scores(write_scores(tmp_path / "scores.csv", rows, **options))
    times = read_timings(timings) if timings else None
    return leaderboard(scores, methods=methods, timings=times)


def rows_of(**errors):
    """Return rows of methods whose names have - for _."""
    return [(name.replace("_", "-"), "selected", 0, error) for name, error in errors.items()]


def shifted(by, error=base_error):
    """Return an error that is `by` above another, by an amount that varies a little."""
    return lambda size, split: error(size, split) + by * (1 + 2 * NOISE[(split + 3) % 10])


def write_timings_of(tmp_path, selection_seconds):
    """Write timings of five splits whose selection takes these seconds in each."""
    path = tmp_path / "timings.csv"
    write_timings(path, list(selection_seconds), n_splits=5)
    header, *lines = path.read_text().splitlines()
    position = header.split(",").index("selection_seconds")
    rows = [line.split(",") for line in lines]
    for row in rows:
        row[position] = str(selection_seconds[row[2]])
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")
    return path


def with_noise(of_split, error=base_error):
    return lambda size, split: error(size, split) + of_split[split]


def test_the_lowest_mean_wins_and_rows_are_sorted(tmp_path):
    board = board_of(tmp_path, rows_of(m_krr=base_error, m_rf=worse_error, ofer_gmm=better_error))
    assert [row.variant.method for row in board.rows] == ["ofer-gmm", "m-krr", "m-rf"]
    assert (board.training_size, board.n_train, board.n_test, board.n_splits) == (50, 50, 10, 5)
    means = [np.mean([error(50, s) for s in range(5)]) for error in (better_error, base_error)]
    assert [row.mean for row in board.rows[:2]] == pytest.approx(means)


def test_differences_are_those_of_textbook_tests(tmp_path):
    from scipy.stats import t, ttest_rel

    board = board_of(tmp_path, rows_of(m_krr=base_error, ofer_gmm=better_error), n_splits=7)
    ours = np.array([base_error(50, split) for split in range(7)])
    best = np.array([better_error(50, split) for split in range(7)])
    for difference, other in (
        (board.rows[1].versus_best, best),
        (board.rows[1].versus_mean, np.ones(7)),
    ):
        gaps = ours - other
        assert difference.difference == pytest.approx(gaps.mean())
        assert difference.relative == pytest.approx(gaps.mean() / other.mean())
        assert difference.effect == pytest.approx(gaps.mean() / gaps.std(ddof=1))
        assert difference.p_student == pytest.approx(ttest_rel(ours, other).pvalue)
        statistic = gaps.mean() / (gaps.std(ddof=1) * np.sqrt(1 / 7 + 10 / 50))
        assert difference.p_corrected == pytest.approx(2 * t.sf(abs(statistic), 6))


def test_means_and_bold_agree_with_the_error_table(tmp_path):
    rows = rows_of(m_krr=base_error, m_rf=worse_error, ofer_gmm=better_error)
    board = board_of(tmp_path, rows)
    cells = error_table(
        read_scores(tmp_path / "scores.csv"), reference="ofer-gmm", errors=["arrmse"]
    )
    by_variant = {cell.variant: cell for cell in cells if cell.training_size == 50}
    assert any(cell.bold for cell in by_variant.values())
    for row in board.rows:
        cell = by_variant[row.variant]
        assert (row.mean, row.deviation) == (cell.mean, cell.deviation)
        assert row.is_bold == cell.bold
        if row.versus_best is not None:
            assert row.versus_best.p_corrected == cell.p_reference_corrected
            assert row.versus_best.p_student == cell.p_reference_student


def test_the_headline_names_the_winner_and_both_gains(tmp_path):
    board = board_of(tmp_path, rows_of(m_krr=base_error, ofer_gmm=better_error, m_mean=mean_error))
    nearest = board.rows[1].versus_best
    assert board.beats_mean is True
    text = headline(board)
    assert text.startswith(
        "Use OFER-GMM: its relative error is 0.601 ± 0.010 (5 splits, 50 training rows). "
        "It beats the training mean by 40 % (p = "
    )
    assert "and the next best method, m-KRR, by 33 % (p = " in text
    assert nearest.outcome == "higher"
    assert "chance" not in text


def test_a_lead_that_may_be_chance_is_reported(tmp_path):
    board = board_of(tmp_path, rows_of(m_krr=base_error, ofer_gmm=shifted(-0.001, noisy_error)))
    assert board.winner.variant.method == "ofer-gmm"
    assert headline(board).endswith(": the difference may be chance).")


def test_gains_are_parts_of_the_error_of_the_other_method(tmp_path):
    board = board_of(
        tmp_path,
        rows_of(m_krr=lambda n, s: 0.5 + NOISE[s], m_rf=lambda n, s: 0.4 + 0.9 * NOISE[s]),
        n_splits=10,
    )
    first, second = board.rows
    gain = (second.mean - first.mean) / second.mean
    assert f"m-KRR, by {100 * gain:.0f} %" in headline(board)


def test_no_method_beats_the_mean(tmp_path):
    rows = rows_of(m_krr=shifted(0.3), ofer_gmm=shifted(0.5), m_mean=mean_error)
    board = board_of(tmp_path, rows)
    assert board.winner.variant.method == "m-mean"
    assert board.beats_mean is False
    text = headline(board)
    assert text.startswith(
        "No method beats the training mean on this table: the best, m-KRR, has a relative error of "
        "1.202 ± "
    )
    assert "(5 splits, 50 training rows, p = " in text
    worse = next(s for s in answer_sentences(board) if s.startswith("Worse than the training mean"))
    assert "m-KRR (1.202" in worse and "OFER-GMM" in worse


def test_a_lower_mean_alone_does_not_beat_the_mean(tmp_path):
    spread = [0.2, -0.25, 0.22, -0.2, -0.02]
    board = board_of(tmp_path, rows_of(m_krr=with_noise(spread, mean_error)))
    assert board.winner.mean < 1
    assert board.beats_mean is False
    assert "a lead that may be chance" in headline(board)


def test_where_no_method_is_shown_to_beat_it_the_mean_predicts(tmp_path):
    rows = rows_of(
        m_krr=with_noise([0.2, -0.25, 0.22, -0.2, -0.02], mean_error),
        m_rf=with_noise([-0.3, 0.2, -0.2, 0.22, -0.05], mean_error),
        m_mean=mean_error,
    )
    board = board_of(tmp_path, rows)
    assert board.winner.variant.method == "m-mean" and board.winner.mean > board.rows[1].mean
    assert (board.expected.mean, board.expected.deviation) == (1.0, 0.0)
    # m-RF has .974, but without split 0, which is its best one, m-KRR is chosen, and so on.
    honest = np.mean(board.choice.errors)
    assert honest > 1 > board.choice.winner_error
    assert headline(board).startswith(
        f"No method beats the training mean on this table: the best, m-RF, has a relative error of "
        f"{honest:.3f} ± "
    )
    assert headline(board).endswith("Predictions are the training mean.")


def test_the_stated_range_holds_new_errors():
    # Losses of single rows; a split tests a fifth of the rows, and nothing is learned.
    random, held = np.random.default_rng(0), []
    for _ in range(1000):
        losses, new = random.exponential(size=100), random.exponential(size=20)
        errors = [random.permutation(losses)[:20].mean() for _ in range(10)]
        low, high = expected_error(errors, 80, 20).ends
        held.append(low <= new.mean() <= high)
    assert np.mean(held) == pytest.approx(0.9, abs=0.03)
    assert np.isnan(expected_error([0.5], 80, 20).ends).all()


@pytest.mark.parametrize(("n_splits", "is_warned"), [(2, True), (4, True), (5, False)])
def test_of_few_splits_it_is_reported_that_they_prove_little(tmp_path, n_splits, is_warned):
    rows = rows_of(m_krr=with_noise([0.1, -0.5, 0.1, -0.5, 0.1], mean_error))
    board = board_of(tmp_path, rows, n_splits=n_splits)
    assert board.beats_mean is False and board.winner.mean < 1
    assert (
        "few splits give the test little power, so raise n_splits" in headline(board)
    ) == is_warned
    assert headline(board).startswith(f"No method {'is shown to beat' if is_warned else 'beats'} ")


def test_another_method_may_be_shown_to_beat_the_mean(tmp_path):
    spread = [0.3, -0.6, 0.2, -0.6, 0.1]
    rows = rows_of(m_rf=with_noise(spread, mean_error), m_krr=lambda n, s: 0.95 + 0.1 * NOISE[s])
    board = board_of(tmp_path, rows)
    assert board.winner.variant.method == "m-rf"
    assert board.beats_mean is False
    text = headline(board)
    # The first method is saved and used to predict.
    assert text.startswith("m-RF has the lowest relative error, ") and "may be chance" in text
    assert "significantly beats the training mean is m-KRR, with 0.950" in text


def test_the_mean_need_not_be_run(tmp_path):
    rows = rows_of(m_krr=base_error, ofer_gmm=better_error)
    without = board_of(tmp_path, rows)
    with_mean = board_of(tmp_path, rows + rows_of(m_mean=mean_error))
    assert without.winner == with_mean.winner
    assert without.baseline.variant is None and without.baseline.error == 1.0
    # Another name for the same regressor is the training mean too.
    named = board_of(
        tmp_path,
        rows + rows_of(simplest=mean_error),
        methods=METHODS | {"simplest": {"label": "simplest", "regressor": "training_mean"}},
    )
    assert named.baseline.variant.method == "simplest"
    assert named.winner == without.winner


def test_methods_that_are_not_distinguishable_are_named_with_the_cheapest(tmp_path):
    rows = rows_of(ofer_gmm=shifted(-0.001), m_krr=with_noise([0.02, -0.02, 0.02, -0.02, 0.01]))
    rows += rows_of(m_rf=worse_error)
    timings = write_timings_of(tmp_path, {"ofer-gmm": 10, "m-krr": 10.5, "m-rf": 0.1})
    board = board_of(tmp_path, rows, timings=timings)
    assert [row.variant.method for row in board.tied] == ["m-krr"]
    sentence = answer_sentences(board)[2]
    assert sentence.startswith("Not distinguishable from OFER-GMM: m-KRR (0.90")
    # The forest is cheaper, but worse.
    assert "m-RF" not in sentence
    assert sentence.endswith("OFER-GMM is the cheapest of these.")


def test_the_cheapest_is_the_one_with_the_fewest_seconds(tmp_path):
    timings = write_timings_of(tmp_path, {"ofer-gmm": 30, "m-krr": 0.25})
    rows = rows_of(ofer_gmm=shifted(-0.001), m_krr=with_noise([0.02, -0.02, 0.02, -0.02, 0.01]))
    board = board_of(tmp_path, rows, timings=timings)
    # Fit 0.5 (s + 1), prediction 0.003 (s + 1), over five splits.
    expected = 0.25 + 3 * 0.503
    assert board.cheapest.variant.method == "m-krr"
    assert board.cheapest.total_seconds == pytest.approx(expected)
    assert board.winner.seconds["training"] == pytest.approx(30 + 3 * 0.5)
    assert "The cheapest of these is m-KRR: 1.76 s of training" in answer_sentences(board)[2]
    cost = answer_sentences(board)[-1]
    assert "Training on 50 rows" in cost and "31.5 s for OFER-GMM and 1.75 s for m-KRR" in cost
    assert "predicting 10 rows took 9.00 ms for OFER-GMM" in cost


def test_without_timings_no_cost_is_reported(tmp_path):
    board = board_of(tmp_path, rows_of(m_krr=base_error, ofer_gmm=noisy_error))
    assert board.cheapest is None
    text = " ".join(answer_sentences(board))
    assert "cheapest" not in text and "Training on" not in text


def test_every_other_method_may_be_worse(tmp_path):
    board = board_of(tmp_path, rows_of(m_krr=base_error, ofer_gmm=better_error))
    assert answer_sentences(board)[2] == (
        "Every other method is worse than OFER-GMM (corrected test, p < 0.05)."
    )


@pytest.mark.parametrize("rounding", [1e-13, -1e-13])
def test_of_methods_equal_up_to_rounding_the_reference_wins(tmp_path, rounding):
    rows = rows_of(
        ofer_gmm=lambda n, s: base_error(n, s) * (1 + rounding), m_krr=base_error, m_rf=worse_error
    )
    board = board_of(tmp_path, rows)
    assert board.winner.variant.method == "m-krr"
    assert board.next_best.variant.method == "m-rf"
    text = " ".join(answer_sentences(board))
    assert "OFER-GMM equals m-KRR up to rounding." in text
    assert text.count("up to rounding") == 1


def test_methods_equal_to_a_reference_that_did_not_win_are_reported(tmp_path):
    rows = rows_of(ofer_gmm=base_error, m_krr=base_error, m_rf=better_error)
    text = " ".join(answer_sentences(board_of(tmp_path, rows)))
    assert "OFER-GMM and m-KRR are equal up to rounding in every split" in text


def test_theory_is_shown_with_the_measured_equality(tmp_path):
    methods = METHODS | {"ofer-gmm": REDUCED | {"label": "OFER-GMM"}}
    equal = board_of(tmp_path, rows_of(ofer_gmm=base_error, m_krr=base_error), methods)
    assert equal.equivalences[0].by_theory and equal.equivalences[0].measured
    assert "By theory OFER-GMM is m-KRR" in " ".join(answer_sentences(equal))
    assert "measured, they are equal up to rounding" in " ".join(answer_sentences(equal))
    once = with_noise([0, 0, 0.001, 0, 0])
    differing = board_of(tmp_path, rows_of(ofer_gmm=once, m_krr=base_error), methods)
    assert not differing.equivalences[0].measured
    assert "they differ in 1 of 5 splits" in " ".join(answer_sentences(differing))


def model_of(kind, covariance_type):
    if kind == "gaussian":
        return GaussianModel(covariance_type)
    if kind == "state_space":
        return StateSpaceModel(2)
    return GaussianMixtureModel(4, covariance_type, n_init=1)


@each_case(
    ("kind", "covariance_type", "changes"),
    [
        ("gaussian", "spherical", {}),
        ("gaussian", "full", {}),
        ("gaussian", "spherical", {"center": False}),
        ("state_space", "spherical", {}),
        ("state_space", "spherical", {"center": False}),
        ("gaussian_mixture", "tied_spherical", {}),
        ("gaussian_mixture", "spherical", {}),
        ("gaussian_mixture", "diag", {}),
        ("gaussian_mixture", "tied_spherical", {"preimage": "projected"}),
        ("gaussian_mixture", "tied_spherical", {"penalty": "per_block"}),
        ("gaussian_mixture", "tied_spherical", {"center": False}),
    ],
)
def test_what_is_kernel_ridge_by_theory_is_so_in_numbers(kind, covariance_type, changes):
    settings = REDUCED | {"model": {"kind": kind, "covariance_type": covariance_type}} | changes
    X, Y = regression_data(45, n_clusters=4)
    X, X_test, Y = X[:35], X[35:], Y[:35]
    ours = OutputFisherRegressor(
        model_of(kind, covariance_type),
        alpha={"pi": 1e-3, "mu": 0.1} if settings["penalty"] == "per_block" else 0.01,
        preimage=settings["preimage"],
        center=settings["center"],
    )
    theirs = KernelRidgeRegressor(alpha=0.01)
    gap = np.abs(ours.fit(X, Y).predict(X_test) - theirs.fit(X, Y).predict(X_test)).max()
    assert is_kernel_ridge_by_theory(settings) == (gap < 1e-9)


def test_which_configured_methods_are_kernel_ridge_by_theory():
    found = set()
    methods = SettingsFolder(CONFIG / "methods")
    for name in methods.names:
        settings = DEFAULTS | methods.keys(name)
        if settings.get("model"):
            model = CONFIG / "models" / f"{settings['model']}.yaml"
            settings["model"] = yaml.safe_load(model.read_text(encoding="utf-8"))
        if is_kernel_ridge_by_theory(settings):
            found.add(name)
    assert found == {"ofer-gaussian", "ofer-gssm-paper"}


def test_a_raw_projection_is_the_closed_form():
    settings = REDUCED | {"preimage": "projected", "grid": {"projection": ["raw"]}}
    assert is_kernel_ridge_by_theory(settings)
    assert not is_kernel_ridge_by_theory(settings | {"grid": {"projection": ["raw", "simplex"]}})
    assert not is_kernel_ridge_by_theory(settings | {"weak": True})
    assert not is_kernel_ridge_by_theory({"label": "nothing is known"})


def test_the_choice_on_other_splits_by_hand():
    errors = [[1.0, 2.0, 3.0], [2.0, 2.0, 1.5]]
    # Without split 0: 5 against 3.5; without 1: 4 against 3.5; without 2: 3 against 4.
    assert chosen_on_other_splits(errors) == [2.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="two splits"):
        chosen_on_other_splits([[1.0]])


def test_the_choice_on_other_splits_is_never_below_the_best_mean():
    random = np.random.default_rng(0)
    for _ in range(200):
        errors = random.normal(size=(random.integers(1, 7), random.integers(2, 12)))
        best = errors.mean(axis=1).min()
        assert np.mean(chosen_on_other_splits(errors.tolist())) >= best - 1e-12


def test_the_choice_on_other_splits_removes_the_selection_bias_of_the_winner():
    # Seven equally good methods: the lowest mean is too low, the choice on other splits is not.
    random = np.random.default_rng(1)
    errors = 1.0 + 0.1 * random.normal(size=(2000, 7, 10))
    lowest = errors.mean(axis=2).min(axis=1).mean()
    honest = np.mean([chosen_on_other_splits(row.tolist()) for row in errors])
    assert lowest < 0.965
    assert honest == pytest.approx(1.0, abs=0.003)


def test_the_note_states_the_selection_bias_of_the_winner(tmp_path):
    spread = [0.03, -0.03, 0.02, -0.03, 0.008]
    board = board_of(tmp_path, rows_of(m_krr=base_error, m_rf=with_noise(spread)))
    errors = [
        [base_error(50, split) for split in range(5)],
        [base_error(50, split) + spread[split] for split in range(5)],
    ]
    chosen = np.mean(chosen_on_other_splits(errors))
    assert board.choice.mean == board.expected.mean == pytest.approx(chosen)
    assert chosen > board.choice.winner_error + 0.001
    note = next(note for note in answer_notes(board, {}, 5) if note.startswith("The lowest of"))
    assert "lowest of 2" in note
    assert f"it is {chosen:.3f} instead of {board.winner.mean:.3f}" in note
    assert (
        f"The {board.winner.mean:.3f} in the table is slightly too good, because m-RF was chosen"
        in answer_sentences(board)[1]
    )
    assert note.endswith("the next best is less than 0.001 behind.")


def curve(before, after):
    """Return an error of two sizes: the mean of each, with a little noise that differs."""
    return lambda size, split: (
        before + NOISE[split] if size == 20 else after + NOISE[split] + NOISE[(split + 3) % 10] / 50
    )


def unsteady(size, split):
    return 0.8 + (0.1 if (split + (size == 50)) % 3 else -0.3)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (curve(0.8, 0.6), "fell by 25 % (p = 5e-08): more rows would probably help."),
        (curve(0.6, 0.599), ": the curve is flat, more rows of the same kind would hardly help."),
        (curve(0.6, 0.7), "rose by 17 % (p = "),
        (curve(0.6, 0.7), ": more rows did not help."),
        (unsteady, "which may be chance: whether more rows would help is open"),
    ],
)
def test_what_the_learning_curve_says(tmp_path, error, expected):
    board = board_of(tmp_path, rows_of(m_krr=error))
    sentence = next(s for s in answer_sentences(board) if s.startswith("From 20 to 50"))
    assert sentence.startswith("From 20 to 50 training rows the relative error of m-KRR ")
    assert expected.replace("5e-08", f"{board.learning.difference.p_corrected:.0e}") in sentence


def test_one_training_size_cannot_show_whether_more_rows_would_help(tmp_path):
    board = board_of(tmp_path, rows_of(m_krr=base_error), sizes=(20,))
    assert board.learning is None
    assert "The run does not show whether more rows would help" in " ".join(answer_sentences(board))


def test_the_learning_curve_is_not_that_of_the_training_mean(tmp_path):
    board = board_of(tmp_path, rows_of(m_krr=shifted(0.3), m_mean=mean_error))
    assert board.learning.row.variant.method == "m-krr"


def test_one_split_is_not_tested(tmp_path):
    rows = rows_of(m_krr=base_error, ofer_gmm=better_error)
    board = board_of(tmp_path, rows, n_splits=1)
    assert board.beats_mean is None
    text = headline(board)
    assert text.startswith("Use OFER-GMM: its relative error is 0.612 (1 split, 50 training rows).")
    assert text.endswith("one split cannot be tested, so that this may be chance.")
    assert "p = " not in " ".join(answer_sentences(board))
    assert not board.tied and board.choice is None
    worse = board_of(tmp_path, rows_of(m_krr=shifted(0.3)), n_splits=1)
    assert worse.beats_mean is False
    assert headline(worse).startswith("No method beats the training mean")


def test_what_cannot_be_saved_cannot_win_and_is_marked_with_the_reason(tmp_path):
    rows = rows_of(m_krr=base_error, m_rf=worse_error, odd=better_error, pair=better_error)
    kinds = {"m-krr": "kernel_ridge", "m-rf": "random_forest", "odd": "estimator"}
    methods = {name: {"label": name.upper(), "regressor": kind} for name, kind in kinds.items()}
    methods["odd"]["estimator"] = "crystal.Ball"
    methods["pair"] = {"label": "PAIR", "regressor": "stack", "members": ("m-krr", "odd")}
    board = board_of(tmp_path, rows, methods)
    assert board.winner.variant.method == "m-krr"
    assert [row.variant.method for row in board.rows] == ["m-krr", "m-rf", "odd", "pair"]
    assert [row.can_win for row in board.rows] == [True, True, False, False]
    sentences, notes = answer_sentences(board), " ".join(answer_notes(board, {}, 5))
    assert "ODD" not in " ".join(sentences) and "PAIR" not in " ".join(sentences)
    reason = why_not_saved("odd", methods)
    assert "the package crystal is not saved in a file" in reason
    assert f"ODD cannot be saved for predictions of new rows, and so cannot win: {reason}." in notes
    assert f"cannot win: its member odd cannot be saved: {reason}." in notes


def test_without_a_method_that_can_win_there_is_no_answer(tmp_path):
    odd = {"label": "odd", "regressor": "estimator", "estimator": "crystal.Ball"}
    methods = {"odd": odd}
    with pytest.raises(UserError, match="none of them can win: odd"):
        board_of(tmp_path, rows_of(odd=better_error), methods)


def test_ceilings_and_methods_without_all_splits_cannot_win(tmp_path):
    path = write_scores(
        tmp_path / "scores.csv",
        rows_of(m_krr=base_error, ofer_gmm=better_error) + [("full", "selected", 9, better_error)],
    )
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(
        "".join(line for line in lines if not ("ofer-gmm" in line and ",,3,50" in line))
    )
    methods = METHODS | {"full": {"label": "full labels", "weak_outputs": "true"}}
    board = leaderboard(read_scores(path), methods=methods)
    assert board.winner.variant.method == "m-krr"
    assert [row.variant.method for row in board.rows] == ["m-krr", "full", "ofer-gmm"]
    assert board.next_best is None and not board.tied
    notes = " ".join(answer_notes(board, {}, 5))
    assert "OFER-GMM lacks some of the splits and cannot win." in notes
    assert "full labels, 9 weak rows learns from the true outputs" in notes


def test_the_best_ofer_method_is_compared_with_kernel_ridge_even_if_it_loses(tmp_path):
    rows = rows_of(m_krr=base_error, m_rf=better_error, ofer_gmm=worse_error)
    text = " ".join(answer_sentences(board_of(tmp_path, rows)))
    assert "The best OFER method, OFER-GMM, is 22 % worse than m-KRR (p = " in text


def test_only_a_few_of_many_tied_methods_are_named(tmp_path):
    rows = rows_of(m_krr=base_error)
    for number in range(8):
        spread = 0.02 * np.roll([1, -1, 1, -1, 0.5], number)
        rows += [(f"rival-{number}", "selected", 0, with_noise(spread))]
    sentence = answer_sentences(board_of(tmp_path, rows))[2]
    assert sentence.count("p = ") == 5
    assert "and 3 more." in sentence


def test_studies_of_weak_labels_are_left_out(tmp_path):
    rows = rows_of(m_krr=base_error)
    without = board_of(tmp_path, rows)
    study = ("wofer-gmm", "selected", 100, better_error, "weak_weight=1")
    assert board_of(tmp_path, [*rows, study]) == without


def sentence_on_rows(tmp_path, rows, methods=METHODS):
    sentences = answer_sentences(board_of(tmp_path, rows, methods))
    (found,) = [text for text in sentences if "Without" in text or "Whether the" in text]
    return found


def unpaired_rows(without):
    """Return rows of a method that learns from outputs without inputs, and its error without."""
    method = ("ofer-unpaired", "selected", 0)
    studied = [(*method, without, "unpaired_size=0"), (*method, base_error, "unpaired_size=300")]
    return [*rows_of(m_krr=worse_error), (*method, base_error), *studied]


TEST_OF_ROWS = r"\(p = \S+, corrected resampled t-test over 5 splits\)"


@pytest.mark.parametrize(
    ("without", "words"),
    [
        (
            shifted(0.2),
            rf"Without (rows) the (error) of (name) would be 22 % higher {TEST_OF_ROWS}\.",
        ),
        (
            shifted(-0.2),
            rf"Without (rows) the (error) of (name) would be 22 % lower {TEST_OF_ROWS}: they do "
            r"harm\.",
        ),
        (
            noisy_error,
            r"Whether (rows) help (name) is open: without them its (error) would be \S+ % lower "
            rf"{TEST_OF_ROWS}, which may be chance\.",
        ),
        (base_error, r"Without (rows) the (error) of (name) would be the same\."),
    ],
)
def test_the_worth_of_outputs_without_inputs_is_claimed_only_if_significant(
    tmp_path, without, words
):
    rows = unpaired_rows(without)
    words = words.replace("(rows)", "the 300 outputs that lack inputs")
    words = words.replace("(error)", "relative error").replace("(name)", "ofer-unpaired")
    text = sentence_on_rows(tmp_path, rows)
    assert re.fullmatch(words, text), text


@pytest.mark.parametrize(
    ("in_splits", "start"),
    [
        (150, "Without the 300 outputs that lack inputs (on average 150 of them in a split) the "),
        (0, "What the 300 outputs that lack inputs are worth is unknown: none could be used in a"),
    ],
)
def test_outputs_that_were_left_out_of_the_splits_are_not_counted(tmp_path, in_splits, start):
    rows = unpaired_rows(shifted(0.2))
    scores = read_scores(write_scores(tmp_path / "scores.csv", rows))
    path = write_choices(tmp_path / "choices.csv", rows[1:2], unpaired_size=in_splits)
    board = leaderboard(scores, methods=METHODS, choices=read_choices(path))
    assert any(text.startswith(start) for text in answer_sentences(board))


def test_the_worth_of_weak_rows_is_that_for_the_best_method_with_them(tmp_path):
    rows = rows_of(m_krr=worse_error)
    rows += [
        ("wofer-gmm", "selected", 20, base_error),
        ("wofer-gmm", "selected", 20, shifted(0.2), "weak_weight=0"),
        ("m-krr-imputed", "selected", 20, worse_error),
        ("m-krr-imputed", "selected", 20, worse_error, "weak_weight=0"),
    ]
    text = sentence_on_rows(tmp_path, rows)
    assert text.startswith(
        "Without the 20 weak rows the relative error of wOFER-GMM would be 22 % h"
    )


def test_the_worth_of_unlabelled_rows_is_stated(tmp_path):
    rows = rows_of(m_krr=worse_error)
    rows += [
        ("m-krr-laplacian", "selected", 10, worse_error),
        ("m-krr-laplacian", "selected", 20, base_error),
        ("m-krr-laplacian", "selected", 0, shifted(-0.2)),
    ]
    methods = METHODS | {"m-krr-laplacian": {"regressor": "laplacian_ridge"}}
    text = sentence_on_rows(tmp_path, rows, methods)
    assert text.startswith("Without the 20 rows that lack outputs the relative error of m-krr-lap")
    assert text.endswith("they do harm.")


def test_splits_that_are_not_drawn_are_reported(tmp_path):
    board = board_of(tmp_path, rows_of(m_krr=base_error))
    chronological = " ".join(answer_notes(board, {"split": "chronological"}, 7))
    assert "the latest rows are the test rows of every split" in chronological
    assert "7-fold cross-validation" in chronological
    assert "p values that are too small" not in " ".join(
        answer_notes(board, {"split": "random"}, 7)
    )


def accuracy_board(tmp_path, rows, **options):
    path = write_accuracies(tmp_path / "scores.csv", rows, **options)
    return leaderboard(read_scores(path), methods=CLASS_METHODS, metric="accuracy")


def test_equal_accuracies_are_reported_once(tmp_path):
    rows = [("m-svm", "selected", 0, base_accuracy), ("class-krr", "selected", 0, base_accuracy)]
    board = accuracy_board(tmp_path, rows)
    text = " ".join(answer_sentences(board))
    assert board.equivalences and text.count("up to rounding") == 1


def test_the_highest_accuracy_wins_against_a_guess(tmp_path):
    board = accuracy_board(tmp_path, CLASS_ROWS)
    assert [row.variant.method for row in board.rows] == ["m-svm", "class-krr"]
    assert board.baseline.error == pytest.approx(0.9)
    text = headline(board)
    assert text.startswith(
        "Use m-SVM: its accuracy is 80.1 ± 1.0 % (5 splits, 5 examples per class)"
    )
    assert "It beats a guess among the classes by 70.1 percentage points (p = " in text
    assert "one-hot KRR, by 20.0 percentage points (p = " in text
    learned = next(s for s in answer_sentences(board) if s.startswith("From 1 to 5"))
    assert "From 1 to 5 examples per class the accuracy of m-SVM rose by 10.0 percentage" in learned


def refuse(constant):
    raise AssertionError(f"{constant} is no JSON")


def answer_of(
    tmp_path, scores, metric="arrmse", timings=None, methods=METHODS, chosen=(), **settings
):
    """Return the answer with seconds, after a check of the answer without."""
    output, with_seconds = tmp_path / "answer.json", tmp_path / "answer-with-seconds.json"
    files = [timings] if timings else []
    choices = write_choices(tmp_path / "choices.csv", chosen, edges="lowest alpha")
    run(scores, choices, files, methods, {"metric": metric} | settings, 5, output, with_seconds)
    plain, answer = (
        json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
        for path in (output, with_seconds)
    )
    assert all(row.pop("seconds") is None for row in plain["leaderboard"])
    assert plain["cheapest"] is None
    for row in plain["leaderboard"]:
        (same,) = (entry for entry in answer["leaderboard"] if entry["label"] == row["label"])
        assert row == {key: value for key, value in same.items() if key != "seconds"}
    return answer


def test_values_on_the_edge_of_their_grid_are_reported(tmp_path):
    rows = rows_of(m_krr=base_error)
    scores = write_scores(tmp_path / "scores.csv", rows)
    edge_notes = [note for note in answer_of(tmp_path, scores)["notes"] if "edge" in note]
    assert edge_notes == []
    notes = answer_of(tmp_path, scores, chosen=rows)["notes"]
    (edge_notes,) = [note for note in notes if "edge" in note]
    assert "m-KRR (lowest alpha) in 5 of 5 fits" in edge_notes


def test_the_file_holds_numbers_sentences_and_no_nan(tmp_path, capsys):
    rows = rows_of(m_krr=base_error, ofer_gmm=better_error, m_mean=mean_error)
    # Equal differences have an infinite effect, and no test.
    rows += rows_of(m_rf=lambda n, s: better_error(n, s) + 0.25)
    scores = write_scores(tmp_path / "scores.csv", rows)
    timings = tmp_path / "timings.csv"
    write_timings(timings, ["ofer-gmm"])
    answer = answer_of(tmp_path, scores, timings=timings, title="A table")
    assert answer["winner"] == "ofer-gmm" and answer["label"] == "OFER-GMM"
    assert answer["beats_mean"] is True
    assert (answer["training_size"], answer["n_splits"], answer["n_test"]) == (50, 5, 10)
    assert (answer["components"], answer["weak_size"]) == ("selected", 0)
    assert answer["experiment"] == "toy" and answer["title"] == "A table"
    assert answer["sentences"][0].startswith("Use OFER-GMM")
    by_method = {row["method"]: row for row in answer["leaderboard"]}
    assert by_method["ofer-gmm"]["seconds"] == pytest.approx(
        {"training": 21.0, "prediction": 0.006}
    )
    assert by_method["m-krr"]["seconds"] is None
    assert by_method["ofer-gmm"]["versus_best"] is None
    assert by_method["m-rf"]["versus_best"]["effect"] is None
    assert by_method["m-rf"]["versus_best"]["p_corrected"] is None
    assert by_method["m-rf"]["versus_best"]["outcome"] == "open"
    assert by_method["m-rf"]["versus_best"]["note"] == "all differences are equal and not zero"
    assert "p = \u2013: the difference may be chance" in answer["sentences"][0]
    assert by_method["m-krr"]["versus_mean"]["outcome"] == "better"
    mean, deviation = mean_and_deviation([base_error(50, split) for split in range(5)])
    assert by_method["m-krr"]["mean"] == mean
    assert by_method["m-krr"]["deviation"] == deviation
    assert answer["sentences"][0] in capsys.readouterr().out


def test_the_file_of_one_split_has_null_for_what_is_undefined(tmp_path):
    rows = rows_of(m_krr=base_error, ofer_gmm=better_error)
    answer = answer_of(tmp_path, write_scores(tmp_path / "scores.csv", rows, n_splits=1))
    assert answer["beats_mean"] is None and answer["deviation"] is None
    assert answer["leaderboard"][1]["versus_best"]["p_corrected"] is None
    assert answer["leaderboard"][1]["versus_best"]["outcome"] == "untested"


def test_the_range_of_an_accuracy_ends_at_none_and_all_of_the_rows(tmp_path):
    rows = [("m-svm", "selected", 0, lambda size, split: [0.9, 0.2, 0.7, 0.3, 0.95][split])]
    board = accuracy_board(tmp_path, rows)
    assert board.expected.ends == (0.0, 1.0)
    assert "the accuracy lies between 0.0 % and 100.0 % in 90 % of all cases." in " ".join(
        answer_sentences(board)
    )


@pytest.mark.parametrize("split", ["chronological", "given"])
def test_splits_with_the_same_test_rows_state_no_range(tmp_path, split):
    board = board_of(tmp_path, rows_of(m_krr=base_error, ofer_gmm=better_error))
    tree = answer_tree(board, {"split": split}, 5)
    assert tree["range_of_new_rows"] is None
    assert not any("lies between" in sentence for sentence in tree["sentences"])
    assert any("lies between" in sentence for sentence in answer_tree(board, {}, 5)["sentences"])


def test_the_file_of_classes_is_in_percent(tmp_path):
    scores = write_accuracies(tmp_path / "scores.csv", CLASS_ROWS)
    answer = answer_of(tmp_path, scores, metric="accuracy", methods=CLASS_METHODS)
    assert answer["winner"] == "m-svm" and answer["better"] == "higher"
    assert (answer["training_size"], answer["examples_per_class"]) == (50, 5)
    first, second = answer["leaderboard"]
    assert first["mean"] == pytest.approx(
        100 * np.mean([better_accuracy(5, split) for split in range(5)])
    )
    assert second["versus_best"]["difference"] == pytest.approx(second["mean"] - first["mean"])
    assert second["versus_best"]["effect"] < 0
    assert second["versus_best"]["outcome"] == "worse"
    assert answer["baseline"]["mean"] == pytest.approx(10.0)


def test_the_wrong_metric_and_missing_files_are_reported(tmp_path):
    scores = write_scores(tmp_path / "scores.csv", rows_of(m_krr=base_error))
    with pytest.raises(UserError, match="accuracy is to be shown"):
        answer_of(tmp_path, scores, metric="accuracy")
    with pytest.raises(UserError, match=r"none\.csv"):
        answer_of(tmp_path, tmp_path / "none.csv")
    assert not (tmp_path / "answer.json").exists()
