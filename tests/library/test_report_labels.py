"""Numbers are written with a sensible number of digits, and labels say what differs."""

import math

import pytest

from workflow_lib.report.labels import (
    count_of,
    figure_title,
    format_difference,
    format_error,
    format_p_value,
    format_published_error,
    format_seconds,
    format_share,
    join_words,
    splits_in_words,
    table_title,
    variant_label,
)
from workflow_lib.report.variants import Variant


@pytest.mark.parametrize(
    ("mean", "deviation", "text"),
    [
        (0.8934, 0.0121, "0.893 ± 0.012"),
        (0.8934, math.nan, "0.893"),
        (math.nan, math.nan, "–"),
        (123456.0, 2000.0, "1.23e+05 ± 2e+03"),
    ],
)
def test_errors(mean, deviation, text):
    assert format_error(mean, deviation) == text


@pytest.mark.parametrize(
    ("mean", "deviation", "text"),
    [
        (57.13, 14.7, "57.1 ± 14.7 s"),
        (3.35e-4, 7.01e-5, "335 ± 70 µs"),
        (0.014, 1e-5, "14.00 ± 0.01 ms"),
        (5.72e-7, 5.22e-7, "0.57 ± 0.52 µs"),
        (2.5, math.nan, "2.50 s"),
        (0.0, 0.0, "0.00 ± 0.00 µs"),
        (math.nan, math.nan, "–"),
    ],
)
def test_seconds(mean, deviation, text):
    assert format_seconds(mean, deviation) == text


@pytest.mark.parametrize(
    ("value", "spread", "text"),
    [
        (1.5, 0.19, "1.50 ± 0.19"),
        (0.89, 0.004, "0.89 ± 0.004"),
        (0.127, 0.0001, "0.127 ± 0.0001"),
        (2.42, math.nan, "2.42"),
    ],
)
def test_published_errors_keep_the_digits_they_were_printed_with(value, spread, text):
    assert format_published_error(value, spread) == text


def test_differences_have_a_sign():
    assert format_difference(0.0123) == "+0.012"
    assert format_difference(-0.0123) == "\u22120.012"
    assert format_difference(-0.000012) == "\u22121.2e\u221205"
    assert format_difference(0.0) == "0"


def test_p_values():
    assert format_p_value(0.0312) == "p = 0.031"
    assert format_p_value(2.3e-5) == "p = 2e-05"
    assert format_p_value(0.0) == "p = 0"
    assert format_p_value(float("nan")) == "p = \u2013"


def test_labels():
    methods = {"ofer": {"label": "OFER"}}
    assert variant_label(Variant("ofer", "selected", 0), methods) == "OFER"
    assert variant_label(Variant("ofer", "4", 300), methods) == "OFER, C = 4, 300 weak rows"
    assert variant_label(Variant("new", "selected", 0), methods) == "new"


def test_words():
    assert join_words([]) == ""
    assert join_words(["a"]) == "a"
    assert join_words(["a", "b", "c"]) == "a, b and c"
    assert count_of(1, "split") == "1 split"
    assert count_of(2, "split") == "2 splits"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.02403, "2.4 %"), (0.1, "10 %"), (0.126, "13 %"), (0.00012, "0.012 %"), (1.0, "100 %")],
)
def test_shares(share, text):
    assert format_share(share) == text


def test_splits():
    assert splits_in_words(1, [10]) == "1 split, 10 test rows"
    assert splits_in_words(3, [12, 10, 12]) == (
        "3 splits, 10 to 12 test rows, mean ± standard deviation"
    )


def test_titles_name_stand_ins():
    assert table_title("Errors.", "Toy", None) == "Errors. Data: Toy"
    assert table_title("Errors", "Toy", "videos") == "Errors. Data: Toy, standing in for videos"
    assert figure_title("Toy", None) == "Toy"
    assert figure_title("Toy", "videos") == "Toy (a stand-in)"


def test_rows_of_a_graph_are_unlabelled():
    methods = {"graph": {"label": "Graph", "regressor": "laplacian_ridge"}}
    assert variant_label(Variant("graph", "selected", 300), methods) == "Graph, 300 unlabelled rows"
    assert variant_label(Variant("other", "selected", 300), methods) == "other, 300 weak rows"
