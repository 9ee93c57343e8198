"""Numbers are written with a sensible number of digits, and labels say what differs."""

import math

from each_case import each_case

from workflow_lib.report.labels import (
    count_of,
    figure_title,
    format_difference,
    format_error,
    format_p_value,
    format_published_error,
    format_seconds,
    format_share,
    format_signed,
    join_words,
    splits_in_words,
    variant_label,
)
from workflow_lib.report.variants import Variant


@each_case(
    ("write", "values", "text"),
    [
        (format_error, (0.8934, 0.0121), "0.893 ± 0.012"),
        (format_error, (0.8934, math.nan), "0.893"),
        (format_error, (math.nan, math.nan), "–"),
        (format_error, (123456.0, 2000.0), "1.23e+05 ± 2e+03"),
        (format_seconds, (57.13, 14.7), "57.1 ± 14.7 s"),
        (format_seconds, (3.35e-4, 7.01e-5), "335 ± 70 µs"),
        (format_seconds, (0.014, 1e-5), "14.00 ± 0.01 ms"),
        (format_seconds, (5.72e-7, 5.22e-7), "0.57 ± 0.52 µs"),
        (format_seconds, (2.5, math.nan), "2.50 s"),
        (format_seconds, (0.0, 0.0), "0.00 ± 0.00 µs"),
        (format_seconds, (math.nan, math.nan), "–"),
        # Published errors keep the digits they were printed with.
        (format_published_error, (1.5, 0.19), "1.50 ± 0.19"),
        (format_published_error, (0.89, 0.004), "0.89 ± 0.004"),
        (format_published_error, (0.127, 0.0001), "0.127 ± 0.0001"),
        (format_published_error, (2.42, math.nan), "2.42"),
        (format_difference, (0.0123,), "+0.012"),
        (format_difference, (-0.0123,), "\u22120.012"),
        (format_difference, (-0.000012,), "\u22121.2e\u221205"),
        (format_difference, (0.0,), "0"),
        (format_p_value, (0.0312,), "p = 0.031"),
        (format_p_value, (2.3e-5,), "p = 2e-05"),
        (format_p_value, (0.0,), "p = 0"),
        (format_p_value, (math.nan,), "p = \u2013"),
        (format_share, (0.02403,), "2.4 %"),
        (format_share, (0.1,), "10 %"),
        (format_share, (0.126,), "13 %"),
        (format_share, (0.00012,), "0.012 %"),
        (format_share, (1.0,), "100 %"),
        (join_words, ([],), ""),
        (join_words, (["a"],), "a"),
        (join_words, (["a", "b", "c"],), "a, b and c"),
        (count_of, (1, "split"), "1 split"),
        (count_of, (2, "split"), "2 splits"),
        (splits_in_words, (1, [10]), "1 split, 10 test rows"),
        (
            splits_in_words,
            (3, [12, 10, 12]),
            "3 splits, 10 to 12 test rows, mean ± standard deviation",
        ),
        (figure_title, ("Toy", None), "Toy"),
        (figure_title, ("Toy", "videos"), "Toy (a stand-in)"),
        # Effects and per cent have a true minus, and zero no sign.
        (format_signed, (-8.14,), "\u22128.1"),
        (format_signed, (0.04,), "0.0"),
        (format_signed, (-0.04,), "0.0"),
        (format_signed, (3.0,), "+3.0"),
        (format_signed, (12.3,), "+12"),
    ],
)
def test_numbers_and_words(write, values, text):
    assert write(*values) == text


def test_labels():
    methods = {"ofer": {"label": "OFER"}}
    assert variant_label(Variant("ofer", "selected", 0), methods) == "OFER"
    assert variant_label(Variant("ofer", "4", 300), methods) == "OFER, C = 4, 300 weak rows"
    assert variant_label(Variant("new", "selected", 0), methods) == "new"


def test_rows_of_a_graph_are_unlabelled():
    methods = {"graph": {"label": "Graph", "regressor": "laplacian_ridge"}}
    assert variant_label(Variant("graph", "selected", 300), methods) == "Graph, 300 unlabelled rows"
    assert variant_label(Variant("other", "selected", 300), methods) == "other, 300 weak rows"
