"""The examples run as a new user runs them, and their output is right."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@cache
def printed(name: str) -> str:
    """Return what an example prints; it must print nothing to the other stream."""
    result = subprocess.run(
        [sys.executable, f"examples/{name}.py"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0 and not result.stderr, result.stderr
    return result.stdout


def errors_of(text: str) -> dict[str, float]:
    """Return the first number of every line that names a method and its error."""
    lines = re.findall(r"^ *([a-z][^\d\n]*?) +(\d\.\d{3})\b", text, flags=re.MULTILINE)
    return {name: float(number) for name, number in lines}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_prints_a_few_lines_of_numbers(path):
    lines = printed(path.stem).splitlines()
    assert 3 <= len(lines) <= 14
    assert all(re.search(r"\d", line) for line in lines)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_explained(path):
    assert f"`{path.name}`" in (ROOT / "examples" / "README.md").read_text()


def test_of_plain_arrays_both_methods_beat_the_mean():
    errors = errors_of(printed("plain_arrays"))
    assert len(errors) == 3
    assert errors["kernel ridge regression"] < 0.7 * errors["training mean"]
    assert errors["output Fisher embedding"] < 0.7 * errors["training mean"]


def test_series_follow_their_texts_and_no_method_beats_the_noise():
    text = printed("text_to_series")
    errors = errors_of(text)
    assert len(errors) == 4
    for method in ("kernel ridge regression", "state-space embedding"):
        assert errors["noise of the series"] < errors[method] < errors["training mean"]
    rising, falling = (
        np.array([float(step) for step in re.search(f"'{start}.*': (.*)", text)[1].split()])
        for start in ("growth", "loss")
    )
    assert len(rising) == len(falling) == 8
    assert (rising > 0).all() and (falling < 0).all()


def test_weak_rows_help_and_most_where_labelled_rows_are_few():
    few, many = re.split(r"^100 labelled", printed("weak_labels"), flags=re.MULTILINE)
    gains = []
    for part in (few, many):
        errors = errors_of(part)
        assert len(errors) == 4
        gains.append(errors["embedding, labelled rows only"] - errors["embedding, weak rows"])
        won, of = re.search(r"in (\d+) of (\d+) draws", part).groups()
        assert int(won) >= 0.8 * int(of)
        # The next result is that of the other method with the same rows.
        rival = errors["ridge, weak rows with group means"]
        assert rival < errors["ridge, labelled rows only"]
    assert gains[0] > 2 * gains[1] > 0
