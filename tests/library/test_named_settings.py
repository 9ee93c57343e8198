"""Settings by name: a file that is like another one, and variants within a file."""

import pytest
from configuration_example import EXPERIMENT, RIDGE, RUN, write, write_example

from workflow_lib.core.errors import UserError
from workflow_lib.run.loading import load_configuration
from workflow_lib.run.named_settings import SettingsFolder

FILES = {
    "first": "a: 1\nb: {c: 2, d: [3, 4]}\ne: 5",
    "second": "like: first\nb: {d: [6]}\ne: null",
    "third": "like: second\na: 7",
}


def folder_of(path, **files: str) -> SettingsFolder:
    """Return a folder of datasets with these files."""
    for name, text in files.items():
        write(path / "datasets", name, text)
    return SettingsFolder(path / "datasets")


def message_of(folder, **more) -> str:
    with pytest.raises(UserError) as caught:
        load_configuration(folder, RUN | more)
    return str(caught.value)


@pytest.fixture
def example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_example(tmp_path / "config")


def test_a_file_takes_the_keys_of_the_file_that_it_is_like(tmp_path):
    folder = folder_of(tmp_path, **FILES)
    assert folder.keys("second") == {"a": 1, "b": {"c": 2, "d": [6]}, "e": None}
    assert folder.keys("third") == {"a": 7, "b": {"c": 2, "d": [6]}, "e": None}


def test_variants_are_merged_as_files_that_are_like_another(tmp_path):
    """A variant is like its file, or like the settings that it names; so is another file."""
    variants = "variants:\n  second: {b: {d: [6]}, e: null}\n  third: {like: second, a: 7}\n"
    fourth = "like: third\na: 8"
    folder = folder_of(tmp_path / "a", first=f"{FILES['first']}\n{variants}", fourth=fourth)
    files = folder_of(tmp_path / "b", **FILES, fourth=fourth)
    assert folder.errors == [] and folder.names == files.names == sorted([*FILES, "fourth"])
    for name in files.names:
        assert folder.keys(name) == files.keys(name)


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ("like: secnd", "first.yaml, key like: there is no dataset named 'secnd'.*write 'second'"),
        ("like: first", "no dataset named 'first'"),
        ("like: second", "'first' is in turn like 'second'"),
        ("like: a\nvariants: {a: {}}", "'first' is in turn like 'a'"),
        ("like: a\nvariants: {a: {like: b}, b: {like: a}}", r"variants\.b\.like: 'a' is in turn"),
        ("like: a\nvariants: {a: {like: c}}", r"key variants\.a\.like: there is no dataset"),
    ],
)
def test_what_another_is_like_must_exist_and_be_another(tmp_path, first, message):
    folder = folder_of(tmp_path, first=first, second="like: first")
    with pytest.raises(UserError, match=message):
        folder.keys("first")


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("[a]", "key variants: found a list. Expected a block with the name of each dataset"),
        ("{a: 1}", "key variants.a: found 1. Expected a block of the keys that differ"),
        ("{a: null}", "key variants.a: found null. Expected a block"),
        ("{A b: {}}", "key variants.A b: 'A b' cannot be the name of a dataset"),
        ("{no: {}}", "key variants.False: 'False' cannot be the name of a dataset"),
    ],
)
def test_blocks_of_variants_that_are_refused(tmp_path, block, message):
    (error,) = folder_of(tmp_path, first=f"variants: {block}").errors
    assert f"first.yaml, {message}" in str(error)


def test_a_name_given_twice_names_both_locations(example):
    twice = RIDGE | {"variants": {"forest": {}, "twice": {}}}
    write(example, "methods/ridge", twice)
    write(example, "methods/weak", RIDGE | {"variants": {"twice": {}}})
    message = message_of(example)
    for location in (
        "config/methods/ridge.yaml, key variants.forest: there is another method named 'forest' "
        "(config/methods/forest.yaml)",
        "config/methods/weak.yaml, key variants.twice: there is another method named 'twice' "
        "(config/methods/ridge.yaml, key variants.twice)",
    ):
        assert location in message


def test_faults_in_a_variant_name_its_location(example):
    variants = {"narrow": {"grid": {"widht": [0.1]}}, "nested": {"variants": {"other": {}}}}
    write(example, "methods/ridge", RIDGE | {"variants": variants})
    message = message_of(example)
    assert (
        "config/methods/ridge.yaml, key variants.narrow.grid.widht: there is no such key" in message
    )
    assert "config/methods/ridge.yaml, key variants.nested.variants: there is no such" in message
    assert "key grid" not in message


def test_names_of_variants_are_known_and_suggested(example):
    """A run finds experiments, datasets and methods that are variants, and no other is changed."""
    before = load_configuration(example, RUN)
    people = (example / "datasets/people.yaml").read_text()
    write(example, "datasets/people", f"{people}\nvariants: {{persons: {{title: Persons}}}}")
    narrow = {"label": "Narrow", "grid": {"width": [0.1]}}
    write(example, "methods/ridge", RIDGE | {"variants": {"narrow": narrow}})
    second = {"dataset": "persons", "methods": ["narrow"]}
    write(example, "experiments/first", EXPERIMENT | {"variants": {"second": second}})
    found = load_configuration(example, RUN | {"experiments": ["second"]})
    assert found.dataset_of("second").title == "Persons"
    assert found.methods["narrow"].plain_grid() == {"alpha": (0.1, 1.0), "width": (0.1,)}
    assert found.locations["method"] == {"narrow": "config/methods/ridge.yaml, key variants.narrow"}
    after = load_configuration(example, RUN)
    assert set(after.methods_of("first")) == {*before.methods_of("first"), "narrow"}
    assert after.methods["ridge"].plain_grid() == before.methods["ridge"].plain_grid()
    assert "write 'second'" in message_of(example, experiments=["secon"])
    write(example, "experiments/first", EXPERIMENT | {"methods": ["narow"]})
    assert "write 'narrow'" in message_of(example)


def test_a_file_with_variants_that_cannot_be_read_is_named_with_an_unknown_name(example):
    """Other runs do not need it."""
    write(example, "experiments/other", "title: [\nvariants: {second: {}}\n")
    load_configuration(example, RUN)
    message = message_of(example, experiments=["second"])
    assert "config/experiments/other.yaml, line 3: " in message
    assert "no experiment and no dataset named 'second'" in message
