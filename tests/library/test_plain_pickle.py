"""Pickles of strangers: plain contents are read, everything else is refused unrun."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from workflow_lib.datasets.plain_pickle import read_plain_pickle
from workflow_lib.errors import UserError

PYTHON_2 = b"(dp0\nS'openness'\np1\n(dp2\nS'caf\\xe9.mp4'\np3\nF0.25\nss."
"""What Python 2 wrote for {'openness': {'caf\\xe9.mp4': 0.25}}."""


class Planted:
    """An object whose pickle calls a function that leaves a mark."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def refused(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        read_plain_pickle(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_contents_are_read(tmp_path, protocol):
    content = {"openness": {"a.mp4": 0.25, "b.mp4": 1}, "more": [("x", None, True), {"y"}]}
    if protocol < 4:  # Older protocols write a set as a call.
        content["more"].pop()
    path = tmp_path / "plain.pkl"
    path.write_bytes(pickle.dumps(content, protocol))
    assert read_plain_pickle(path) == content


def test_pickles_of_python_2_are_read(tmp_path):
    path = tmp_path / "old.pkl"
    path.write_bytes(PYTHON_2)
    assert read_plain_pickle(path) == {"openness": {"café.mp4": 0.25}}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_a_pickle_plants_is_never_called(tmp_path, protocol):
    path, mark = tmp_path / "planted.pkl", tmp_path / "mark"
    path.write_bytes(pickle.dumps({"openness": Planted(mark)}, protocol))
    message = refused(path)
    assert "it asks for " in message
    assert not mark.exists()
    pickle.loads(path.read_bytes())
    assert mark.exists(), "the planted function would have been called"


@pytest.mark.parametrize("value", [np.float64(0.5), OrderedDict(a=0.5), UserError])
def test_classes_are_refused(tmp_path, value):
    path = tmp_path / "class.pkl"
    path.write_bytes(pickle.dumps({"openness": value}))
    assert "it asks for " in refused(path)


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "damaged.pkl"
    for content in (b"", b"video,openness\n", pickle.dumps({"openness": {}})[:-3]):
        path.write_bytes(content)
        assert "damaged" in refused(path)
    assert "cannot be read" in refused(tmp_path)
