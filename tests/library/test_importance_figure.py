"""The figures of the importance and the effects of inputs show their numbers, and can be read."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from overlaps import overlaps

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.report.run_figures import effects, importance

LONG = "concentration of cadmium in the upper twenty centimetres of soil"


def frame_of(means, deviation=0.02, names=None, n_splits=5):
    return pd.DataFrame(
        {
            "output": "all outputs",
            "input": names or [f"input {index}" for index in range(len(means))],
            "columns": "",
            "importance": means,
            "deviation": deviation,
            "error": 0.2,
            "permuted_error": 0.2 + np.array(means),
            "p_value": np.where(np.array(means) > 0.1, 1e-5, 0.5),
            "p_adjusted": np.where(np.array(means) > 0.1, 1e-4, 1.0),
            "n_splits": n_splits,
        }
    )


FRAMES = {
    "usual": frame_of([0.4, 0.2, 0.05, -0.01]),
    "many": frame_of(list(np.linspace(0.5, 0.0, 40))),
    "one": frame_of([0.4]),
    "none matters": frame_of([0.0, 0.0, -1e-6]),
    "long names": frame_of([0.4, 0.2], names=[LONG, f"{LONG} $1_2$ and 38 more"]),
    "one split": frame_of([0.4, 0.2], deviation=np.nan, n_splits=1),
    "huge": frame_of([3e4, 20.0], deviation=1e3),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_bars_are_the_importance_and_texts_do_not_overlap(kind):
    frame = FRAMES[kind]
    figure = importance.draw_importance(frame, "m-KRR", 20, 80)
    (axis,) = figure.axes
    shown = frame.head(importance.MAX_INPUTS)
    assert [bar.get_width() for bar in axis.patches] == list(shown["importance"])
    hollow = [bar.get_facecolor()[:3] == (1.0, 1.0, 1.0) for bar in axis.patches]
    assert hollow == list(shown["p_adjusted"] >= 0.05)
    assert overlaps(figure) == []


def test_words_name_what_matters():
    words = importance.importance_in_words(FRAMES["usual"])
    assert words.startswith("Permuting input 0 raises the error from 0.20 to 0.60; ")
    assert "input 2" not in words
    words = importance.importance_in_words(FRAMES["none matters"])
    assert words == "Permuting any single input does not raise the error (5 splits)."
    words = importance.importance_in_words(frame_of([0.05, 0.01], n_splits=3))
    assert words.startswith("Permuting input 0 raises the error from 0.20 to 0.25 (3 splits); this")
    assert words.endswith("may be chance (adjusted p \u2265 0.05).")


def effect(values, labels=(), n_rows=6, name="depth", column=None):
    generator = np.random.default_rng(0)
    return {
        "input": name,
        "column": column or name,
        "output": "clay_content",
        "values": np.array(values, dtype=float),
        "labels": json.dumps(labels),
        "means": generator.normal(size=(3, len(values))),
        "single_rows": generator.normal(size=(n_rows, len(values))),
    }


EFFECTS = {
    "none": [],
    "a number": [effect([0.0, 1.0, 5.0])],
    "three": [
        effect([-1e5, 0.0, 1e5], name=f"{LONG} and 30 more", column=LONG),
        effect([0, 1, 2], ["red", "blue", "missing"], name="colour"),
        effect(range(8), [f"{LONG} {level}" for level in range(8)], name="site"),
    ],
    "classes": [effect([0.0, 1.0], n_rows=0)],
}


@pytest.mark.parametrize("kind", EFFECTS)
def test_effects_are_the_means_over_the_splits(kind, tmp_path):
    figure = effects.draw_effects(EFFECTS[kind])
    assert len(figure.axes) == len(EFFECTS[kind])
    assert overlaps(figure) == []
    tree = {"effects": {str(index): each for index, each in enumerate(EFFECTS[kind])}}
    write_artifact(tmp_path / "importance.h5", tree, "importance")
    files = {suffix: tmp_path / f"effects.{suffix}" for suffix in ("svg", "png", "csv")}
    effects.run(tmp_path / "importance.h5", files)
    written = pd.read_csv(files["csv"])
    assert tuple(written.columns) == effects.COLUMNS
    expected = [value for each in EFFECTS[kind] for value in each["means"].mean(axis=0)]
    np.testing.assert_allclose(written["mean"].astype(float), expected)


def test_a_table_without_importance_has_a_figure_that_says_why(tmp_path):
    tree = {"reason": "the table has one input column"}
    write_artifact(tmp_path / "importance.h5", tree, "importance")
    (tmp_path / "answer.json").write_text('{"label": "m-KRR"}')
    files = {suffix: tmp_path / f"figure.{suffix}" for suffix in ("svg", "png", "csv")}
    importance.run(tmp_path / "answer.json", tmp_path / "importance.h5", files)
    assert files["csv"].read_text().count("\n") == 1 and files["png"].stat().st_size > 0
