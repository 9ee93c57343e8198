"""Untrusted pickles: plain contents are read, everything else is refused without running it."""

import math
import pickle
from collections import OrderedDict
from pathlib import Path
from random import Random

import numpy as np
import pytest
from each_case import each_case

from workflow_lib.core import plain_pickle
from workflow_lib.core.errors import UserError
from workflow_lib.core.plain_pickle import read_plain_pickle

PYTHON_2 = b"(dp0\nS'openness'\np1\n(dp2\nS'cafe.mp4'\np3\nF0.25\nss."
"""What Python 2 wrote for {'openness': {'cafe.mp4': 0.25}}."""


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
    assert read_plain_pickle(path) == {"openness": {"cafe.mp4": 0.25}}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_functions_named_in_a_pickle_are_never_called(tmp_path, protocol):
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


VALUES = [
    None,
    True,
    False,
    0,
    255,
    256,
    65_536,
    -1,
    -(2**31),
    2**31,
    2**200,
    -(2**1000),
    0.1,
    -1e300,
    math.inf,
    "",
    "text",
    "café 🦊 \\ \n ' \"",
    "x" * 70_000,
    [],
    [1, [2, [3]]],
    (),
    (1,),
    (1, 2),
    (1, 2, 3),
    (1, 2, 3, 4),
    {},
    {"a": {"b": {"c": [1.5]}}, 1: 2, None: 3, 0.5: 4, False: 5},
    list(range(3000)),
    {str(number): number for number in range(3000)},
]
OF_LATER_PROTOCOLS = [
    (3, b""),
    (3, b"\x00\xff" * 200),
    (4, {1, "a"}),
    (4, set()),
    (4, frozenset({1, "a"})),
    (5, bytearray(b"abc")),
]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_values_are_read_unchanged(tmp_path, protocol):
    path = tmp_path / "plain.pkl"
    values = VALUES + [value for first, value in OF_LATER_PROTOCOLS if protocol >= first]
    for value in [*values, values]:
        path.write_bytes(pickle.dumps(value, protocol))
        found = read_plain_pickle(path)
        assert found == value and type(found) is type(value)


def test_values_that_occur_several_times_are_read_in_each(tmp_path):
    shared = ["a"]
    path = tmp_path / "shared.pkl"
    path.write_bytes(pickle.dumps([shared, shared, {"key": shared}]))
    assert read_plain_pickle(path) == [["a"], ["a"], {"key": ["a"]}]


BY_HAND = [
    (b"I01\n.", True),
    (b"I00\n.", False),
    (b"I7\n.", 7),
    (b"L7L\n.", 7),
    (b"F0.5\n.", 0.5),
    (b"S'it\\'s'\n.", "it's"),
    (b'S"caf\\xe9"\n.', None),
    (b"U\x04caf\xe9.", "café"),
    (b"T\x04\x00\x00\x00caf\xe9.", "café"),
    (b"Vcaf\\u00e9\n.", "café"),
    (b"(lp0\nI1\naI2\na.", [1, 2]),
    (b"(I1\nI2\ntp0\n.", (1, 2)),
    (b"(dp0\nS'a'\nI1\ns.", {"a": 1}),
    (b"(S'a'\nI1\nd.", {"a": 1}),
    (b"]q\x00(K\x01K\x02eh\x000.", [1, 2]),
    (b"(lp5\ng5\n0.", []),
    (b"]2a.", None),
    (b"(K\x01K\x021K\x03.", 3),
    (b"\x80\x02K\x01.", 1),
    (b"\x80\x04\x95\x03\x00\x00\x00\x00\x00\x00\x00K\x01.", 1),
    (b"K\x01.what follows", 1),
]
"""Pickles that were written by hand, and their values; None where they are refused."""


@each_case(("content", "value"), BY_HAND)
def test_pickles_by_hand_are_read_as_python_reads_them(tmp_path, content, value):
    path = tmp_path / "hand.pkl"
    path.write_bytes(content)
    if value is None:
        refused(path)
    else:
        assert read_plain_pickle(path) == value
        assert pickle.loads(content, encoding="latin1") == value


@each_case(
    ("content", "name"),
    [
        (b"cos\nsystem\n.", "os.system"),
        (b"\x8c\x02os\x8c\x06system\x93.", "os.system"),
        (b"K\x01]\x93.", "a class without a name"),
        (b"K\x01)R.", "REDUCE"),
        (b"K\x01}b.", "BUILD"),
        (b"(ios\nsystem\n.", "INST"),
        (b"(K\x01o.", "OBJ"),
        (b"K\x01)\x81.", "NEWOBJ"),
        (b"K\x01)}\x92.", "NEWOBJ_EX"),
        (b"\x82\x01.", "EXT1"),
        (b"\x83\x01\x00.", "EXT2"),
        (b"\x84\x01\x00\x00\x00.", "EXT4"),
        (b"Pname\n.", "PERSID"),
        (b"K\x01Q.", "BINPERSID"),
        (b"\x97.", "NEXT_BUFFER"),
        (b"K\x01\x98.", "READONLY_BUFFER"),
    ],
)
def test_instructions_that_make_or_call_are_refused_by_name(tmp_path, content, name):
    path = tmp_path / "hostile.pkl"
    path.write_bytes(content)
    assert f"it asks for {name}" in refused(path)


@each_case(
    "content",
    [
        b".",
        b"0.",
        b"K\x01K\x02.",
        b"(.",
        b"K\x01",
        b"(K\x01",
        b"a.",
        b"K\x01K\x02a.",
        b"}K\x01s.",
        b"}(K\x01u.",
        b"g0\n.",
        b"h\x00.",
        b"t.",
        b"S'open\n.",
        b"Sopen\n.",
        b"I\n.",
        b"Ix\n.",
        b"F1,5\n.",
        b"L" + b"9" * 5000 + b"L\n.",
        b"X\xff\xff\xff\xffabc.",
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffabc.",
        b"T\xff\xff\xff\xffabc.",
        b"\x8b\xff\xff\xff\x7f1.",
        b"X\x02\x00\x00\x00\xc3(.",
        b"V\\ud800\n.",
        b"\x80\x06K\x01.",
        b"\x95\xff\xff\xff\xff\xff\xff\xff\xffK\x01.",
        b"\x95\x04\x00\x00\x00\x00\x00\x00\x00K\x01.",
        b"\xffK\x01.",
        b"}]K\x01s.",
        b"})K\x01s.",
        b"\x8f(]\x90.",
        b"(])\x91.",
    ],
)
def test_instructions_in_a_senseless_order_are_refused(tmp_path, content):
    path = tmp_path / "damaged.pkl"
    path.write_bytes(content)
    assert "damaged, not a pickle, or not plain" in refused(path)


def test_values_that_hold_each_other_many_times_are_refused(tmp_path):
    # A list of two lists of two lists and so on: a hundred bytes, and 2^40 values.
    path = tmp_path / "bomb.pkl"
    path.write_bytes(b"]q\x000" + b"](h\x00h\x00eq\x000" * 40 + b"h\x00.")
    assert "holds more than" in refused(path)
    path.write_bytes(b"]q\x00(h\x00h\x00e.")
    assert "containers 50 deep" in refused(path)
    path.write_bytes(b"]" * 60 + b"a" * 59 + b".")
    assert "containers 50 deep" in refused(path)
    path.write_bytes(b"]" * 50 + b"a" * 49 + b".")
    read_plain_pickle(path)


def test_keys_that_could_all_hash_alike_are_refused(tmp_path):
    path = tmp_path / "keys.pkl"
    for key in (2**61 - 1, -(2**60), 1e30, math.nan, (1, 2), ((),)):
        path.write_bytes(pickle.dumps({key: 1}))
        assert "is a key" in refused(path)


def test_large_pickles_and_numbers_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "large.pkl"
    path.write_bytes(pickle.dumps(2**9000))
    assert "a number has" in refused(path)
    monkeypatch.setattr(plain_pickle, "MAX_FILE", 1000)
    path.write_bytes(pickle.dumps("x" * 1000))
    assert "more than 1000 bytes" in refused(path)
    monkeypatch.setattr(plain_pickle, "MAX_VALUES", 100)
    path.write_bytes(pickle.dumps(list(range(101))))
    assert "more than 100 values" in refused(path)


def test_a_pickle_is_read_without_the_functions_that_run_it(tmp_path, monkeypatch):
    path = tmp_path / "plain.pkl"
    path.write_bytes(PYTHON_2)
    for name in ("load", "loads", "Unpickler", "_Unpickler"):
        monkeypatch.delattr(pickle, name)
    assert read_plain_pickle(path) == {"openness": {"cafe.mp4": 0.25}}


@each_case("seed", range(20))
def test_a_changed_pickle_is_read_as_python_would_or_refused(tmp_path, seed):
    random = Random(seed)
    path = tmp_path / "changed.pkl"
    value = {"openness": {f"{n}.mp4": n / 7 for n in range(20)}, "more": [(1, None, "x")]}
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        content = bytearray(pickle.dumps(value, protocol))
        for _ in range(random.randint(1, 3)):
            content[random.randrange(len(content))] = random.randrange(256)
        path.write_bytes(content)
        try:
            found = read_plain_pickle(path)
        except UserError:
            continue
        # The content calls no function, so that Python can safely read it too.
        assert repr(found) == repr(pickle.loads(content, encoding="latin1"))


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "damaged.pkl"
    for content in (b"", b"video,openness\n", pickle.dumps({"openness": {}})[:-3]):
        path.write_bytes(content)
        assert "damaged" in refused(path)
    assert "cannot be read" in refused(tmp_path)
