"""The comparison as a whole: our methods by the workflow and a peer on the same split."""

import csv

import pytest

from benchmarks import __main__ as command
from benchmarks.compare.page import FIGURE_NAME, PAGE_NAME

ARGUMENTS = [
    *("compare", "--tables", "linnerud", "--methods", "m-krr", "m-mean", "--splits", "1"),
    *("--peers", "sklearn-ridge", "--cores", "1", "--folder"),
]


def test_methods_and_a_peer_are_compared_once_and_kept(tmp_path, capfd):
    assert command.main([*ARGUMENTS, str(tmp_path)]) == 0
    with (tmp_path / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["method"], row["source"], row["size"]) for row in rows] == [
        ("m-krr", "own", "10"),
        ("m-mean", "own", "10"),
        ("sklearn-ridge", "peer", "10"),
    ]
    errors = {row["method"]: float(row["error"]) for row in rows}
    assert errors["m-mean"] == pytest.approx(1.0)
    assert 0.5 < errors["sklearn-ridge"] < 1.5
    assert all(float(row["seconds"]) >= 0 for row in rows)
    for name in ("cells.csv", "summary.csv", PAGE_NAME, FIGURE_NAME):
        assert (tmp_path / name).stat().st_size > 0
    assert "1 learned" in capfd.readouterr().out

    before = (tmp_path / "scores.csv").read_bytes()
    assert command.main([*ARGUMENTS, str(tmp_path)]) == 0
    printed = capfd.readouterr()
    assert "learned" not in printed.out and "Nothing to be done" in printed.err
    assert (tmp_path / "scores.csv").read_bytes() == before


def test_a_table_that_is_left_out_is_refused_with_the_reason(tmp_path, capsys):
    assert command.main(["compare", "--tables", "earnings-calls", "--folder", str(tmp_path)]) == 1
    assert "earnings-calls (its inputs are texts)" in capsys.readouterr().err
