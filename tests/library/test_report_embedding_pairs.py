"""Embedding or raw outputs: the pairs that are found, their differences, and the figure."""

import numpy as np
import pandas as pd
import pytest
from report_samples import base_error, better_error, write_scores

from workflow_lib.page.cross_dataset import embedding_section
from workflow_lib.protocol.statistics import corrected_resampled_t_test, paired_t_test
from workflow_lib.report.embedding_pairs import in_words, relative_differences
from workflow_lib.report.regressor_pairs import pairs_of
from workflow_lib.report.results import read_scores
from workflow_lib.report.run_figures import embedding_or_raw

TREES, PLS = "sklearn.ensemble.ExtraTreesRegressor", "sklearn.cross_decomposition.PLSRegression"
PLAIN = {"regressor": "kernel_ridge", "estimator": None, "form": None, "weak": False}
PLAIN |= {"weak_outputs": None, "decoder": None}
OFER, WEAK = {"form": "reduced"}, {"form": "reduced", "weak": True}


def estimator(name, **keys):
    return PLAIN | {"regressor": "estimator", "estimator": name} | keys


METHODS = {
    "m-krr": PLAIN,
    "m-krr-full": PLAIN | {"weak": True, "weak_outputs": "true"},
    "ofer-gmm": PLAIN | OFER,
    "ofer-gmm-full": PLAIN | {"form": "full"},
    "wofer-gmm": PLAIN | WEAK,
    "extra-trees": PLAIN | {"regressor": "extra_trees"},
    "ofer-extra-trees": estimator(TREES, **OFER),
    "pls": estimator(PLS),
    "ofer-pls": estimator(PLS, **OFER),
    "ridge": estimator("sklearn.linear_model.Ridge"),
}
LABELS = {name: {"label": name.upper()} for name in METHODS}
PAIRS = {
    "kernel_ridge": ("m-krr", "ofer-gmm", "wofer-gmm"),
    TREES: ("extra-trees", "ofer-extra-trees", None),
    PLS: ("pls", "ofer-pls", None),
}
EXPERIMENTS = {
    "first": {"title": "First table", "stand_in_for": "another table", "metric": "arrmse"},
    "second": {"title": "Second table", "stand_in_for": None, "metric": "arrmse"},
}


def test_pairs_have_the_same_regressor_with_and_without_an_embedding():
    assert pairs_of(METHODS, [["m-krr", "ofer-gmm"], METHODS]) == PAIRS


def test_with_one_regressor_there_is_nothing_to_compare():
    assert pairs_of(METHODS, [["m-krr", "ofer-gmm", "pls", "extra-trees"]]) == {}


@pytest.fixture(name="paths")
def fixture_paths(tmp_path):
    """Kernel ridge regression on two experiments, extra trees on the first."""
    rows = [
        ("m-krr", "selected", 0, base_error),
        ("ofer-gmm", "selected", 0, better_error),
        ("ofer-gmm", "2", 0, base_error),
        ("wofer-gmm", "selected", 100, better_error),
        ("wofer-gmm", "selected", 300, base_error),
        ("wofer-gmm", "selected", 300, better_error, "weak_weight=1"),
    ]
    trees = [
        ("extra-trees", "selected", 0, better_error),
        ("ofer-extra-trees", "selected", 0, base_error),
    ]
    return {
        "first": write_scores(tmp_path / "first.csv", rows + trees),
        "second": write_scores(tmp_path / "second.csv", rows[:2], sizes=(20,)),
    }


def test_differences_are_relative_to_the_base_on_the_same_split(paths):
    scores = {name: read_scores(path) for name, path in paths.items()}
    found = relative_differences(scores, EXPERIMENTS, PAIRS, LABELS)
    keys = ["experiment", "comparison", "method", "training_size", "weak_size"]
    assert found[keys].to_numpy().tolist() == [
        ["first", "embedding", "ofer-gmm", 20, 0],
        ["first", "embedding", "ofer-gmm", 50, 0],
        ["first", "embedding", "ofer-extra-trees", 20, 0],
        ["first", "embedding", "ofer-extra-trees", 50, 0],
        ["first", "weak", "wofer-gmm", 20, 300],
        ["first", "weak", "wofer-gmm", 50, 300],
        ["second", "embedding", "ofer-gmm", 20, 0],
    ]
    base, ours = (
        np.array([error(50, split) for split in range(5)]) for error in (base_error, better_error)
    )
    row = found.iloc[1]
    assert row["label"] == "M-KRR" and row["is_stand_in"] and row["n_splits"] == 5
    assert row["n_lower"] == (ours < base).sum()
    percents = 100 * (ours / base - 1)
    assert row["difference_percent"] == pytest.approx(percents.mean())
    assert row["deviation_percent"] == pytest.approx(percents.std(ddof=1))
    assert row["p_student"] == pytest.approx(paired_t_test(ours, base).p_value)
    corrected = corrected_resampled_t_test(ours, base, 50, 10).p_value
    assert row["p_corrected"] == pytest.approx(corrected)


def test_each_regressor_has_a_sentence(paths):
    scores = {name: read_scores(path) for name, path in paths.items()}
    sentences = in_words(relative_differences(scores, EXPERIMENTS, PAIRS, LABELS))
    starts = [
        "M-KRR: with the embedding the mean error is lower in 3 of 3 comparisons",
        "EXTRA-TREES: with the embedding the mean error is lower in 0 of 2 comparisons",
        "M-KRR: with weak rows the mean error is lower in 0 of 2 comparisons",
    ]
    assert len(sentences) == 3
    assert all(text.startswith(start) for text, start in zip(sentences, starts, strict=True))


def test_the_figure_has_a_column_for_each_regressor_and_equal_axes(paths, tmp_path):
    files = {suffix: tmp_path / f"figure.{suffix}" for suffix in ("svg", "png", "csv")}
    embedding_or_raw.run(paths, EXPERIMENTS, PAIRS, LABELS, *files.values())
    found = pd.read_csv(files["csv"])
    figure = embedding_or_raw.draw_embedding_or_raw(found)
    axes = np.reshape(figure.axes, (2, 2))
    assert [axis.get_title(loc="left").splitlines()[-1] for axis in axes[0]] == [
        "M-KRR",
        "EXTRA-TREES",
    ]
    assert len({axis.get_xlim() for axis in axes.flat}) == 1
    assert [text.get_text() for text in axes[0, 0].get_yticklabels()] == ["first *", "second"]
    assert axes[0, 0].get_xlabel().startswith("lower in 3 of 3,")
    section = embedding_section(
        {name: read_scores(path) for name, path in paths.items()},
        *(EXPERIMENTS, PAIRS, LABELS, files),
    )
    assert section.html.index("<img") < section.html.index("<li>")
    assert 'download="figure.csv"' in section.html
