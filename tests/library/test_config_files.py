"""Reading YAML files: what is refused, and the messages."""

import pytest
from configuration_example import DATASET, write, write_example

from workflow_lib.core.errors import UserError
from workflow_lib.core.yaml_files import read_yaml
from workflow_lib.run.named_settings import ConfigurationFiles


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_example(tmp_path / "config")


def message_of(text: str | bytes, folder) -> str:
    path = folder / "faulty.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError) as caught:
        read_yaml(path)
    return str(caught.value)


def test_scientific_notation_without_a_point_is_a_number(folder):
    write(folder, "numbers", "a: 1e-6\nb: 1.0e-6\nc: .inf\nd: 1.5e3\ne: e-6\nf: 12\n")
    content = read_yaml(folder / "numbers.yaml")
    assert content == {"a": 1e-6, "b": 1e-6, "c": float("inf"), "d": 1500.0, "e": "e-6", "f": 12}


def test_an_empty_file_is_an_empty_block(folder):
    write(folder, "empty", "# nothing\n")
    assert read_yaml(folder / "empty.yaml") == {}


def test_syntax_error_names_file_and_line(folder):
    message = message_of("title: x\noptions: [1, 2\nreader: csv\n", folder)
    assert message.startswith("config/faulty.yaml, line 3: ")


def test_a_key_written_twice_is_refused(folder):
    message = message_of("title: x\nreader: csv\ntitle: y\n", folder)
    assert message.startswith("config/faulty.yaml, line 3: the key 'title' is written twice")


def test_other_contents_are_refused(folder):
    assert "found a list" in message_of("- a\n- b\n", folder)
    assert "found a single value" in message_of("title\n", folder)
    assert "not UTF-8" in message_of(b"title: \xff\n", folder)
    assert "does not allow" in message_of("title: \x07\n", folder)
    assert "config/faulty.yaml, line 1" in message_of("? [a, b]\n: 1\n", folder)


@pytest.mark.parametrize("depth", [51, 100_000])
def test_blocks_that_are_nested_too_deeply_are_refused(folder, depth):
    message = message_of(f"a: 1\nb: {'[' * depth}{']' * depth}\n", folder)
    assert message.startswith("config/faulty.yaml, line 2: more than 50 blocks or brackets")


def test_aliases_that_stand_for_too_much_are_refused(folder):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    message = message_of("\n".join(lines), folder)
    assert message.startswith("config/faulty.yaml, line 5: with its aliases (*name) expanded")
    assert "holds over 100000 values" in message_of("a: &self [*self]\n", folder)


def test_aliases_may_be_used(folder):
    write(folder, "aliases", "a: &sizes [10, 20]\nb: *sizes\nc: &one 1\nd: *one\n")
    assert read_yaml(folder / "aliases.yaml") == {"a": [10, 20], "b": [10, 20], "c": 1, "d": 1}


@pytest.mark.parametrize(
    "value",
    ["2024-13-01", "!!int text", "!!timestamp text", "!!set text", "!!omap text", "9" * 5000],
)
def test_invalid_values_of_yaml_are_refused(folder, value):
    message = message_of(f"a: 1\nb: {value}\n", folder)
    assert message.startswith("config/faulty.yaml, line 2: ")
    assert len(message) < 1000


@pytest.mark.parametrize("key", ["null", "3", "true", "1.5", "2024-01-01"])
def test_a_key_that_is_no_text_is_refused(folder, key):
    write(folder, "methods/ridge", f"{key}: 1\n")
    files = ConfigurationFiles(folder)
    assert files.get("method", "ridge", "") is None
    assert any("there is no such key" in error.found for error in files.errors)


def test_no_object_is_built_from_a_tag(folder):
    assert "line 1" in message_of("a: !!python/object/apply:os.getcwd []\n", folder)


def test_names_are_sorted_file_stems(folder):
    write(folder, "datasets/.hidden", DATASET)
    write(folder, "datasets/people-again", DATASET)
    (folder / "datasets" / "notes.txt").write_text("not a dataset")
    files = ConfigurationFiles(folder)
    assert files.names("method") == ["embedded", "forest", "ridge", "weak"]
    assert files.names("dataset") == ["people", "people-again"]
    assert files.errors == []


@pytest.mark.parametrize(
    "name", ["people.yml", "other.YAML", "People.yaml", "my people.yaml", f"{'x' * 61}.yaml"]
)
def test_names_that_clash_or_would_be_overlooked_are_refused(folder, name):
    (folder / "datasets" / name).write_text("title: x\n")
    (error,) = ConfigurationFiles(folder).errors
    assert error.location == f"config/datasets/{name}"
    assert "rename" in error.remedy


def test_a_file_is_read_once_and_its_faults_are_reported_once(folder):
    write(folder, "methods/ridge", "label: 3\n")
    files = ConfigurationFiles(folder)
    assert files.get("method", "ridge", "") is None
    count = len(files.errors)
    assert count > 1
    assert files.get("method", "ridge", "") is None
    assert len(files.errors) == count


def test_reader_and_its_options_are_checked(folder):
    write(folder, "datasets/people", DATASET | {"reader": "linerud"})
    write(folder, "datasets/table", DATASET | {"reader": "csv", "options": {"output": ["a"]}})
    files = ConfigurationFiles(folder)
    assert files.get("dataset", "people", "") is None
    assert files.get("dataset", "table", "") is None
    reader, missing, unknown = sorted(map(str, files.errors))
    assert "config/datasets/people.yaml, key reader: there is no reader named" in reader
    assert "write 'linnerud'" in reader
    assert missing.startswith(
        "config/datasets/table.yaml, key options.output: there is no such key"
    )
    assert "write 'outputs'" in missing
    assert unknown.startswith("config/datasets/table.yaml, key options.outputs: the key is missing")
