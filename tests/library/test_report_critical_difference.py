"""Methods are ranked over datasets without a gap, and the diagram shows the ranks it is given."""

import csv

import numpy as np
import pytest
from overlaps import overlaps
from report_samples import METHODS, write_accuracies, write_scores

from workflow_lib.core.errors import UserError
from workflow_lib.report.rank_sentences import NOTHING_RANKED, data_sentences, rank_sentences
from workflow_lib.report.ranks import rank_methods
from workflow_lib.report.results import read_scores
from workflow_lib.report.run_figures import critical_difference
from workflow_lib.report.run_figures.critical_difference import draw_critical_difference
from workflow_lib.tasks.found import measures_of


def constant(value):
    """Return errors that are the same in every split, and twice that at the smaller size."""
    return lambda size, split: value if size == 50 else 2 * value


def rows_of(by_method):
    return [(method, "selected", 0, constant(value)) for method, value in by_method.items()]


def write(folder, name, rows):
    return write_scores(folder / f"{name}.csv", rows)


def rank(tmp_path, errors, order=tuple(METHODS), experiments=None, **settings):
    """Return the ranking of experiments: name -> method -> error at the largest training size."""
    scores, merged = {}, {}
    for name, by_method in errors.items():
        scores[name] = read_scores(write(tmp_path, name, rows_of(by_method)))
        merged[name] = settings_of(name) | settings | (experiments or {}).get(name, {})
    return rank_methods(scores, merged, order)


def settings_of(name):
    settings = {"title": f"Title of {name}", "dataset": name, "stand_in_for": None}
    return settings | {"is_made": False, "metric": "arrmse"}


def three(m_krr, m_rf, ofer):
    return {"m-krr": m_krr, "m-rf": m_rf, "ofer-gmm": ofer}


SIX = {name: three(0.5 + 0.01 * i, 0.8, 0.3) for i, name in enumerate("abcdef")}


def test_ranks_follow_the_errors_of_each_dataset(tmp_path):
    errors = {"a": three(0.5, 0.4, 0.3), "b": three(0.5, 0.6, 0.7), "c": three(0.5, 0.6, 0.4)}
    found = rank(tmp_path, errors)
    assert found.methods == ("ofer-gmm", "m-krr", "m-rf")
    np.testing.assert_array_equal(found.ranks, [[1, 3, 2], [3, 1, 2], [1, 2, 3]])
    np.testing.assert_allclose(found.average_ranks, [5 / 3, 2, 7 / 3])
    assert [dataset.training_size for dataset in found.datasets] == [50, 50, 50]
    assert [dataset.n_splits for dataset in found.datasets] == [5, 5, 5]
    assert found.datasets[1].errors["ofer-gmm"] == pytest.approx(0.7)


def test_methods_of_equal_rank_keep_the_order_of_the_run(tmp_path):
    errors = {"a": three(0.3, 0.3, 0.3), "b": three(0.5, 0.5, 0.5)}
    assert rank(tmp_path, errors).methods == ("m-krr", "m-rf", "ofer-gmm")
    order = ("ofer-gmm", "m-rf", "m-krr")
    assert rank(tmp_path, errors, order).methods == order


def test_the_largest_block_without_a_gap_is_ranked(tmp_path):
    # Four methods on two datasets are 8 cells, three of them on three datasets 9.
    errors = {name: three(0.5, 0.4, 0.3) for name in "abc"}
    errors["a"]["wofer-gmm"] = errors["b"]["wofer-gmm"] = 0.2
    errors["d"] = {"m-krr": 0.1, "m-rf": 0.2}
    found = rank(tmp_path, errors)
    assert set(found.methods) == {"m-krr", "m-rf", "ofer-gmm"}
    assert [dataset.experiment for dataset in found.datasets] == ["a", "b", "c"]
    assert found.left_out == ("wofer-gmm",)
    assert found.unranked == ("Title of d",)


def test_five_datasets_take_precedence_over_more_cells(tmp_path):
    # Nine methods on two datasets are 18 cells, three of them on five datasets 15.
    errors = {name: three(0.5, 0.4, 0.3) for name in "abcde"}
    for name in "ab":
        errors[name] |= {f"x-{number}": 0.1 * number for number in range(1, 7)}
    assert len(rank(tmp_path, errors).datasets) == 5
    del errors["e"]
    assert len(rank(tmp_path, errors).datasets) == 2


def test_a_dataset_of_several_experiments_counts_once(tmp_path):
    errors = {"a": {"m-krr": 0.5, "m-rf": 0.4}} | {name: three(0.5, 0.4, 0.3) for name in "bcd"}
    shared = {"a": {"dataset": "same"}, "b": {"dataset": "same"}, "c": {"dataset": "same"}}
    found = rank(tmp_path, errors, experiments=shared)
    assert [dataset.experiment for dataset in found.datasets] == ["b", "d"]
    assert found.unranked == ()


def test_weak_rows_and_studies_are_left_out(tmp_path):
    rows = rows_of(SIX["a"])
    rows += [("wofer-gmm", "selected", 100, constant(0.1))]
    rows += [("ofer-gmm", "selected", 0, constant(9.0), "weak_noise=0.2")]
    scores = {name: read_scores(write_scores(tmp_path / f"{name}.csv", rows)) for name in "ab"}
    found = rank_methods(scores, {name: settings_of(name) for name in "ab"})
    assert found.methods == ("ofer-gmm", "m-krr", "m-rf")
    assert found.datasets[0].errors["ofer-gmm"] == pytest.approx(0.3)
    assert found.left_out == ()


def test_several_fixed_numbers_of_components_count_with_their_mean(tmp_path):
    rows = [("m-krr", "selected", 0, constant(0.5)), ("m-rf", "selected", 0, constant(0.6))]
    fixed = [("ofer-gmm", "2", 0, constant(0.1)), ("ofer-gmm", "4", 0, constant(0.5))]
    selected = [("ofer-gmm", "selected", 0, constant(0.9))]
    for extra, error, averaged in (
        (fixed, 0.3, ("ofer-gmm",)),
        (fixed + selected, 0.9, ()),
        (fixed[:1], 0.1, ()),
    ):
        scores = {n: read_scores(write_scores(tmp_path / "s.csv", rows + extra)) for n in "ab"}
        found = rank_methods(scores, {name: settings_of(name) for name in "ab"})
        assert found.datasets[0].errors["ofer-gmm"] == pytest.approx(error)
        assert found.averaged == averaged


def test_a_method_that_lacks_a_split_is_not_ranked_there(tmp_path):
    path = write(tmp_path, "a", rows_of(SIX["a"] | {"wofer-gmm": 0.1}))
    lines = path.read_text().splitlines(keepends=True)
    whole = read_scores(path)
    path.write_text("".join(line for line in lines if ",wofer-gmm,selected,50,0,,4," not in line))
    damaged = read_scores(path)
    assert len(damaged) == len(whole) - len(measures_of("numbers"))
    run_settings = {name: settings_of(name) for name in "ab"}
    # At the smaller size all four methods have every split.
    found = rank_methods({"a": damaged, "b": whole}, run_settings)
    assert [dataset.training_size for dataset in found.datasets] == [20, 50]
    at_largest = damaged[damaged["training_size"] == 50]
    assert len(rank_methods({"a": at_largest, "b": whole}, run_settings).methods) == 3


def test_numbers_and_classes_are_not_mixed(tmp_path):
    rows = [(m, "selected", 0, lambda n, s, e=e: 1 - e) for m, e in SIX["a"].items()]
    classes = read_scores(write_accuracies(tmp_path / "classes.csv", rows))
    numbers = read_scores(write(tmp_path, "n", rows_of(SIX["b"])))
    accuracy = {"metric": "accuracy"}
    run_settings = {name: settings_of(name) | accuracy for name in "abc"} | {"d": settings_of("d")}
    found = rank_methods({"a": classes, "b": classes, "c": classes, "d": numbers}, run_settings)
    assert found.is_accuracy
    assert found.methods[0] == "ofer-gmm"
    assert (len(found.datasets), found.n_other_kind) == (3, 1)
    run_settings |= {name: settings_of(name) for name in "ab"}
    found = rank_methods({"a": numbers, "b": numbers, "c": classes, "d": numbers}, run_settings)
    assert not found.is_accuracy
    with pytest.raises(UserError, match="its outputs are not classes"):
        rank_methods({"a": numbers}, {"a": settings_of("a") | accuracy})


@pytest.mark.parametrize(
    "errors",
    [
        {"a": three(0.5, 0.4, 0.3)},
        {"a": three(0.5, 0.4, 0.3), "b": {"m-krr": 0.5, "m-rf": 0.4, "x": 0.2}},
        {},
    ],
    ids=["one dataset", "two methods in common", "nothing"],
)
def test_too_few_results_are_reported_without_an_error(tmp_path, errors):
    found = rank(tmp_path, errors)
    assert found is None
    assert rank_sentences(found, METHODS) == [NOTHING_RANKED]
    assert NOTHING_RANKED in " ".join(texts_of(draw_critical_difference(found, METHODS)))


def test_sentences_state_whether_ofer_ranks_before_behind_or_equal(tmp_path):
    equal = three(0.3, 0.5, 0.3 * (1 + 1e-13))
    for errors, words in (
        (SIX, "rank 2.00): OFER-GMM (1.00) ranks before it, not distinguishable."),
        (dict.fromkeys("abcdefghijkl", three(0.3, 0.5, 0.8)), "(3.00) ranks behind it, disting"),
        (dict.fromkeys("abcdef", equal), "(1.50) is equal up to rounding on every dataset."),
        (
            {"a": three(0.3, 0.5, 0.4), "b": three(0.4, 0.5, 0.3)},
            "OFER-GMM (1.50) has the same rank, not distinguishable",
        ),
    ):
        against = rank_sentences(rank(tmp_path, errors), METHODS)[-1]
        assert against.startswith("Against m-KRR (average rank ") and words in against


def test_where_the_test_of_all_finds_nothing_no_pair_is_distinguished(tmp_path):
    errors = {"a": three(0.5, 0.4, 0.3), "b": three(0.3, 0.4, 0.5), "c": three(0.5, 0.4, 0.3)}
    found = rank(tmp_path, errors)
    assert not found.has_differences
    assert found.groups == [(0, 1, 2)]
    assert "does not distinguish the methods" in rank_sentences(found, METHODS)[1]


def test_few_datasets_are_only_described(tmp_path):
    few = "With fewer than 5 datasets the ranks describe these datasets"
    errors = {name: SIX[name] for name in "abcd"}
    ranked = rank(tmp_path, errors)
    assert any(sentence.startswith(few) for sentence in rank_sentences(ranked, METHODS))
    texts = texts_of(draw_critical_difference(ranked, METHODS))
    assert any("too few for more than a description" in text for text in texts)
    assert few not in " ".join(rank_sentences(rank(tmp_path, SIX), METHODS))


def test_stand_ins_and_recipes_are_named_as_such(tmp_path):
    run_settings = {"a": {"stand_in_for": "the paper's data"}, "b": {"is_made": True}}
    ranked = rank(tmp_path, SIX, experiments=run_settings)
    sentence = data_sentences(ranked, METHODS)[0].replace("\u00a0", " ")
    assert "Title of a (n = 50, a stand-in); Title of b (n = 50, simulated);" in sentence
    assert "Title of c (n = 50);" in sentence
    titles = texts_of(draw_critical_difference(ranked, METHODS))
    assert "Average ranks of 3 methods over 6 datasets, 1 of them a stand-in" in titles
    ranked = rank(tmp_path, SIX, stand_in_for="the paper's data")
    assert texts_of(draw_critical_difference(ranked, METHODS))[0].endswith("all of them stand-ins")


def texts_of(figure):
    labels = [text for axis in figure.axes for text in [*axis.texts, *axis.get_yticklabels()]]
    return [*figure.get_suptitle().splitlines(), *(text.get_text() for text in labels)]


def lines_of(figure, width):
    """Return the lines of one width."""
    return [line for line in figure.axes[0].lines if line.get_linewidth() == width]


def test_the_bar_is_as_long_on_the_axis_as_the_critical_difference(tmp_path):
    ranked = rank(tmp_path, SIX)
    figure = draw_critical_difference(ranked, METHODS)
    (bar,) = lines_of(figure, 1.6)
    assert np.ptp(bar.get_xdata()) == pytest.approx(ranked.critical_difference)
    assert f"critical difference {ranked.critical_difference:.2f}" in texts_of(figure)


def test_thick_lines_join_what_is_not_distinguishable(tmp_path):
    ranked = rank(tmp_path, SIX)
    np.testing.assert_array_equal(ranked.average_ranks, [1, 2, 3])
    assert 1 < ranked.critical_difference < 2
    assert ranked.groups == [(0, 1), (1, 2)]
    first, second = lines_of(draw_critical_difference(ranked, METHODS), 4.5)
    assert list(first.get_ydata()) == pytest.approx([-0.3, 1.3])
    assert list(second.get_ydata()) == pytest.approx([0.7, 2.3])
    assert first.get_window_extent().x1 < second.get_window_extent().x0


def test_a_critical_difference_beyond_the_axis_is_written(tmp_path):
    ranked = rank(tmp_path, {"a": SIX["a"], "b": SIX["b"]})
    figure = draw_critical_difference(ranked, METHODS)
    assert lines_of(figure, 1.6) == []
    text = f"critical difference {ranked.critical_difference:.2f}, longer than the axis"
    assert text in texts_of(figure)


def test_methods_have_their_colors_markers_and_ranks(tmp_path):
    figure = draw_critical_difference(rank(tmp_path, SIX), METHODS)
    marked = [line for line in figure.axes[0].lines if line.get_marker() in "^vo"]
    assert {(line.get_color(), line.get_marker()) for line in marked} == {
        (style["color"], style["marker"]) for style in METHODS.values() if style["marker"] != "D"
    }
    assert texts_of(figure)[-3:] == ["OFER-GMM", "m-KRR", "m-RF"]
    assert {"1.00", "2.00", "3.00"} <= set(texts_of(figure))


def many_methods(n_methods):
    style = {"color": "#222222", "marker": "o"}
    return {
        f"method-{number}": style | {"label": f"OFER-GMM, with a label of many words {number}"}
        for number in range(n_methods)
    }


@pytest.mark.parametrize(
    ("n_methods", "n_datasets", "spread"),
    [(3, 2, 20), (4, 5, 20), (15, 9, 20), (16, 40, 20), (16, 5, 1), (2, 9, 1)],
)
def test_no_text_overlaps_another_or_leaves_the_page(tmp_path, n_methods, n_datasets, spread):
    styles = many_methods(n_methods)
    random = np.random.default_rng(n_methods)
    errors = random.uniform(0.2, 1, (n_datasets, n_methods)) + np.arange(n_methods) / spread
    errors = {f"dataset-{k}": dict(zip(styles, row)) for k, row in enumerate(errors)}
    ranked = rank(tmp_path, errors, tuple(styles), stand_in_for="data of the paper")
    figure = draw_critical_difference(ranked, styles)
    assert overlaps(figure) == []


def test_the_csv_holds_every_rank_and_error(tmp_path):
    paths = {name: write(tmp_path, name, rows_of(errors)) for name, errors in SIX.items()}
    run_settings = {name: settings_of(name) for name in SIX} | {
        "b": settings_of("b") | {"stand_in_for": "others", "metric": "rrmse", "is_made": True}
    }
    outputs = [tmp_path / f"ranks.{suffix}" for suffix in ("svg", "png", "csv", "tex")]
    critical_difference.run(paths, run_settings, METHODS, *outputs)
    with open(outputs[2], newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 6
    assert [row["method"] for row in rows[::6]] == ["ofer-gmm", "m-krr", "m-rf"]
    for row in rows:
        error = SIX[row["experiment"]][row["method"]]
        assert float(row["mean_error"]) == pytest.approx(
            2 * error if row["experiment"] == "b" else error
        )
        assert row["label"] == METHODS[row["method"]]["label"]
        assert float(row["average_rank"]) == float(row["rank"])
    assert [row["stand_in_for"] for row in rows[:3]] == ["", "others", ""]
    assert [row["is_made"] for row in rows[:3]] == ["0", "1", "0"]
    assert [row["metric"] for row in rows[:3]] == ["arrmse", "rrmse", "arrmse"]
    assert b"<svg" in outputs[0].read_bytes()
    latex = outputs[3].read_text()
    assert latex.count(r"\\") == 1 + 3
    ours = METHODS["ofer-gmm"]["label"]
    assert f"{ours} & 1.00 & {' & '.join('1' * 6)} " in latex
    assert "Data that are stand-ins: b." in latex
    critical_difference.run({"a": paths["a"]}, run_settings, METHODS, *outputs)
    assert outputs[2].read_text().count("\n") == 1
    assert "there are no ranks" in outputs[3].read_text()
