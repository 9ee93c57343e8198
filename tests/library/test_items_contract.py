"""Properties of every item kind, on a sample of its items.

A new kind needs a sample in ``item_samples.py``, that of a paper in ``samples/items.py`` of its
tests.
"""

import copy
from pathlib import Path

import item_samples
import numpy as np
import pytest
import yaml
from each_case import each_case
from paper_folders import paper_modules
from test_config_capabilities import OF_CLASSES, ONE_HOT, reasons_of

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.plugins import ITEM_KINDS, PACKAGE, READERS, declared
from workflow_lib.data.reading import kind_of_inputs, read_dataset
from workflow_lib.items.kinds.base import check_items, item_kinds, items_of, kind_of
from workflow_lib.items.sparse_inputs import is_sparse, sparse_tree
from workflow_lib.methods.contract.method_file import MethodFile
from workflow_lib.run.loading import load_configuration

ROOT = PACKAGE.parent
SAMPLES = dict(item_samples.SAMPLES)
for module in paper_modules("samples/items.py"):
    SAMPLES |= module.SAMPLES


def packed(name: str) -> dict:
    """Return the entries of the sample of a kind."""
    return copy.deepcopy(ITEM_KINDS.load(name).pack(*SAMPLES[name].arguments))


def parts(item) -> list:
    """Return the arrays of an item, one after the other."""
    whole = item.toarray() if is_sparse(item) else item
    return [part for each in whole for part in parts(each)] if isinstance(whole, tuple) else [whole]


def assert_equal_items(found, expected) -> None:
    found = found.toarray() if is_sparse(found) else found
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        for own, wanted in zip(parts(one), parts(other), strict=True):
            np.testing.assert_array_equal(own, wanted)


def test_every_kind_has_a_sample():
    assert set(SAMPLES) == set(item_kinds())


@each_case("name", SAMPLES)
def test_items_are_stored_and_read_as_they_are(name, tmp_path):
    data, items = packed(name), SAMPLES[name].items
    assert_equal_items(items_of(data), items)
    if is_sparse(data["inputs"] if "inputs" in data else None):
        data["inputs"] = sparse_tree(data["inputs"])
    write_artifact(tmp_path / "d.h5", data, "dataset", allow_nan=("inputs",))
    streamed = item_kinds()[name].streamed
    stored = read_artifact(tmp_path / "d.h5", "dataset", streamed)
    assert kind_of(stored) == name
    check_items(stored)
    assert_equal_items(items_of(stored), items)
    assert_equal_items(items_of(stored, np.array([1, 0])), [items[1], items[0]])


@each_case("name", SAMPLES)
def test_damaged_items_are_refused(name, monkeypatch):
    assert SAMPLES[name].damages
    for damage in SAMPLES[name].damages:
        data = packed(name)
        damage(data)
        with pytest.raises(ValueError, match="."):
            check_items(data)
    reader = READERS.load("digits_segments")
    monkeypatch.setattr(reader, "read", lambda *arguments: data)
    with pytest.raises(
        UserError, match=f"'digits_segments': .* Expected items of the kind '{name}'"
    ):
        read_dataset("digits_segments", {}, [], 0)


@each_case("name", SAMPLES)
def test_a_method_of_vectors_is_refused_where_rows_are_no_numbers(name, monkeypatch):
    monkeypatch.setattr(READERS.load("digits_segments"), "kind_of_inputs", lambda options: name)
    dataset = {"reader": "digits_segments", "task": "classes", "options": {}}
    kind = item_kinds()[name]
    dataset["inputs"] = {"scale": "tf-idf" if name == "transitions" else "standard"}
    reasons = reasons_of(ONE_HOT, None, dataset, OF_CLASSES)
    shown = f"gives {name}, and the method would take their codes for numbers"
    assert [shown in reason for reason in reasons] == [True] * (not kind.are_numbers), reasons
    key = MethodFile.model_json_schema()["properties"]["items"]
    assert (name in key["anyOf"][0]["enum"]) == kind.is_stated


@each_case("name", SAMPLES)
def test_a_reader_gives_items_of_the_kind(name):
    if name == "numbers":
        return
    texts = (Path(path).read_text() for path in READERS.paths.values())
    assert any(f'"{name}"' in text and "kind_of_inputs" in text for text in texts)


def test_a_refused_method_is_reported_with_those_that_take_the_items(monkeypatch):
    monkeypatch.setattr(READERS.load("digits_segments"), "kind_of_inputs", lambda _: "letters")
    run = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    with pytest.raises(UserError, match=r"method 'm-svm': .* Expected methods such as [a-z]"):
        load_configuration(ROOT / "config", run | {"experiments": ["digits-classes"]})


def test_a_reader_of_an_unknown_kind_is_refused(monkeypatch):
    monkeypatch.setattr(READERS.load("digits_segments"), "kind_of_inputs", lambda _: "leters")
    with pytest.raises(ValueError, match=r"no item kind named 'leters'.*write 'letters'"):
        kind_of_inputs("digits_segments", {})


def test_no_other_module_lists_the_kinds():
    lists = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if sum(f'"{name}"' in path.read_text() for name in SAMPLES) > 4
    ]
    assert lists == []
    assert all({"pack", "unpack"} <= set(declared(path)) for path in ITEM_KINDS.paths.values())
