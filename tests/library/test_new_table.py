"""`new` writes configuration that the run and the reader accept, and never overwrites anything."""

import fnmatch
import random
import sys

import pytest
import yaml
from small_assay import assay_columns, config_with_methods, write_table

from workflow_lib.core.errors import UserError
from workflow_lib.core.yaml_files import YamlLoader
from workflow_lib.data.reading import read_dataset
from workflow_lib.run.loading import load_configuration
from workflow_lib.table import new_table
from workflow_lib.table.new_table import run
from workflow_lib.table.proposal_text import MAX_PATTERNS, comment, patterns_for, quoted, shown

ODD_NAMES = [
    "yes",
    "null",
    "No",
    "~",
    "1st",
    "1e5",
    "-",
    "- x",
    "? x",
    "a: b",
    "key:",
    "a #b",
    "#b",
    "&a",
    "*a",
    "!a",
    "%a",
    "@a",
    "`a",
    "{a}",
    "[a]",
    "a, b",
    "'a'",
    'a "b"',
    "back\\slash",
    "line\nbreak",
    "tab\tin",
    "Größe (µm)",
    "日本",
    "emoji \U0001f600",
    "next\x85line",
    "separator\u2028here",
    "\ufeffmark",
    "bell\x07",
    "=",
    "<<",
    "0x1F",
    "12:30:45",
    "2024-05-31",
    "true",
    "off",
    "x*",
    "x1",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return config_with_methods(tmp_path / "config")


def written(folder, capsys, columns=None, **request):
    """Run `new`; return both files as they are loaded, their texts and the output."""
    write_table(folder.parent / "assay.csv", assay_columns() if columns is None else columns)
    if "classes" not in request:
        request.setdefault("outputs", "y*")
    run({"name": "assay", "data": "assay.csv", **request}, folder)
    texts = [
        (folder / "tables" / kind / "assay.yaml").read_text(encoding="utf-8")
        for kind in ("datasets", "experiments")
    ]
    return [yaml.safe_load(text) for text in texts], texts, capsys.readouterr().out


def loaded(folder):
    return load_configuration(folder, {"seed": 1, "experiments": ["assay"]})


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"inputs": "x*"},
        {"inputs": "notes"},
        {"outputs": "y1"},
        {"group": "batch"},
        {"time": "day"},
        {"series": "true", "inputs": "x*"},
        {"classes": "colour", "exclude": "y*"},
        {"classes": "colour", "exclude": "y*,notes"},
    ],
)
def test_every_kind_of_request_makes_a_run(folder, capsys, request_):
    (dataset, experiment), _, out = written(folder, capsys, **request_)
    configuration = loaded(folder)
    assert configuration.datasets["assay"].reader == "table"
    assert configuration.left_out == {"assay": {}}
    assert list(configuration.methods_of("assay")) == experiment["methods"] != []
    tree = read_dataset("table", dataset["options"], [], 0)
    assert len(tree["outputs"]) == 60
    assert out.splitlines()[-1].strip() == "snakemake --cores 2 answer --config name=assay"
    kinds = {part["kind"] for part in [*experiment["tables"], *experiment["figures"]]}
    assert ("coordinates" in kinds) == (len(dataset["options"]["outputs"]) > 1)


def test_weak_rows_make_a_run(folder, capsys):
    columns = assay_columns()
    for name in ("y1", "y2", "y3"):
        columns[name][:20] = [""] * 20
    (dataset, experiment), _, out = written(folder, capsys, columns, same_group="batch")
    assert experiment["weak_sizes"] == [20]
    assert "wofer-gmm" in loaded(folder).methods_of("assay")
    assert "20 have only a group" in out
    tree = read_dataset("table", dataset["options"], [], 0)
    assert tree["report"]["rows_weak"] == 20


def test_what_exists_is_never_overwritten(folder, capsys):
    written(folder, capsys)
    path = folder / "tables/experiments" / "assay.yaml"
    path.write_text("# edited\n")
    for _ in range(2):
        with pytest.raises(UserError, match="exists already.*rm .*or choose another name"):
            run({"name": "assay", "data": "assay.csv", "outputs": "y1"}, folder)
        assert path.read_text() == "# edited\n"
        (folder / "tables/datasets" / "assay.yaml").unlink(missing_ok=True)
    assert not (folder / "tables/datasets" / "assay.yaml").exists()


def test_a_request_that_was_killed_between_its_files_is_completed(folder, capsys):
    _, _, summary = written(folder, capsys)
    dataset, experiment = (
        folder / part / "assay.yaml" for part in ("tables/datasets", "tables/experiments")
    )
    texts = [dataset.read_text(), experiment.read_text()]
    experiment.unlink()
    leftover = experiment.with_name(".assay.yaml.abc.tmp")
    leftover.write_text(texts[1][:100])
    _, _, again = written(folder, capsys)
    assert again == summary and not leftover.exists()
    assert [dataset.read_text(), experiment.read_text()] == texts
    experiment.unlink()
    dataset.write_text(f"{texts[0]}# edited\n")
    with pytest.raises(UserError, match=rf"exists already.*\(rm {dataset}\)"):
        written(folder, capsys)
    assert not experiment.exists()


def test_a_fault_writes_nothing(folder):
    write_table(folder.parent / "assay.csv", assay_columns())
    with pytest.raises(UserError):
        run({"name": "assay", "data": "assay.csv", "outputs": "colour"}, folder)
    assert not (folder / "tables/datasets").exists()
    assert not (folder / "tables/experiments").exists()


def test_what_a_run_would_refuse_is_not_kept(folder, monkeypatch):
    write_table(folder.parent / "assay.csv", assay_columns())
    request = {"name": "assay", "data": "assay.csv", "outputs": "y1"}
    for key in ({"splits": "99999999999"}, {"splits": "1001"}, {"name": "a" * 61}):
        with pytest.raises(UserError, match=f"key {next(iter(key))}"):
            run(request | key, folder)
    text = new_table.experiment_text
    monkeypatch.setattr(new_table, "experiment_text", lambda proposal: text(proposal) + "seed: 1\n")
    with pytest.raises(UserError, match="key seed"):
        run(request, folder)
    assert not list(folder.glob("*/assay.yaml"))


@pytest.mark.parametrize(
    ("package", "key", "extra"),
    [
        ("xgboost", {"methods": "xgboost"}, "boosting"),
        ("skrub", {"encode": "y2=gamma-poisson"}, "encoders"),
        ("tslearn", {"methods": "iokr-gak", "outputs": "y*", "series": "true"}, "series"),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_extra(
    folder, monkeypatch, package, key, extra
):
    write_table(folder.parent / "assay.csv", assay_columns())
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError) as caught:
        run({"name": "assay", "data": "assay.csv", "outputs": "y1"} | key, folder)
    assert package in str(caught.value)
    assert f"pip install '.[{extra}]'" in str(caught.value)


def test_a_disk_that_refuses_the_second_file_keeps_none(folder):
    write_table(folder.parent / "assay.csv", assay_columns())
    (folder / "tables").mkdir()
    (folder / "tables" / "experiments").write_text("a file where the folder should be")
    with pytest.raises(UserError, match="could not be written"):
        run({"name": "assay", "data": "assay.csv", "outputs": "y1"}, folder)
    assert not (folder / "tables/datasets" / "assay.yaml").exists()


def test_odd_names_are_read_unchanged(folder, capsys):
    columns = assay_columns()
    columns |= {name: [row % 17 + 0.5 for row in range(60)] for name in ODD_NAMES}
    columns["odd: levels"] = ["a: b", "- c", "#\nd"] * 20
    (dataset, _), _, out = written(folder, capsys, columns, outputs="y1,y2,y3")
    assert dataset["options"]["numbers"] == [
        name for name in columns if name in {"x1", "x2", *ODD_NAMES}
    ]
    assert all(line.isprintable() for line in out.split("\n"))
    configuration = loaded(folder)
    assert list(configuration.datasets["assay"].options["numbers"]) == dataset["options"]["numbers"]


def test_any_text_survives_quoting():
    generator = random.Random(0)
    letters = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA1), 0x2028, 0xFEFF, 0x1F600)]
    letters += list("abc:#-?*&!|>'\"%@`{}[],\\ yn~0159.")
    for text in (*ODD_NAMES, *("".join(generator.choices(letters, k=5)) for _ in range(500))):
        for loader in (yaml.SafeLoader, YamlLoader):
            assert yaml.load(f"key: {quoted(text)}", loader) == {"key": text}
            assert yaml.load(f"key: [{quoted(text)}, 1]", loader) == {"key": [text, 1]}
    assert quoted("temperature_2") == "temperature_2"


def test_comments_never_end_early():
    line, rest = comment("a\nb: c\x85d\u2028e", "  ").split("\n")
    assert rest == ""
    assert line == "  # a b: c d e"
    assert shown("a\rb") == "a b"


def test_many_columns_are_written_as_patterns(folder, capsys):
    columns = assay_columns()
    columns |= {f"gene_{j}": [(row * (j + 3)) % 127 for row in range(60)] for j in range(70)}
    (dataset, _), text, _ = written(folder, capsys, columns)
    assert dataset["options"]["numbers"] == ["x1", "x2", "gene_*"]
    tree = read_dataset("table", dataset["options"], [], 0)
    # Three levels, seven batches and 32 pieces of strings are added to the numbers.
    assert tree["lagged_values"]["values"].shape[1] == 72 + 3 + 7 + 32


def meant(patterns, all_names):
    found = set()
    for pattern in patterns:
        found |= {pattern} if pattern in all_names else set(fnmatch.filter(all_names, pattern))
    return found


@pytest.mark.parametrize(
    ("names", "others"),
    [
        ([f"x{j}" for j in range(60)], ["y1"]),
        ([f"gene_{j}" for j in range(1, 999)], ["gene_0", "group"]),
        ([f"a[{j}]" for j in range(60)], ["a", "b"]),
        ([f"a*{j}" for j in range(60)], ["ab"]),
        (["x", *(f"x{j}" for j in range(60))], ["y"]),
    ],
)
def test_patterns_mean_exactly_the_columns(names, others):
    patterns = patterns_for(names, [*names, *others])
    assert len(patterns) <= MAX_PATTERNS
    assert meant(patterns, [*names, *others]) == set(names)


def test_there_is_no_pattern_where_columns_alternate_or_a_name_is_one():
    assert patterns_for([f"c{j}" for j in range(0, 99, 2)], [f"c{j}" for j in range(99)]) is None
    names = ["x*", *(f"x{j}" for j in range(60))]
    assert patterns_for(names, [*names, "y"]) is None


def test_hundreds_of_columns_without_a_pattern_are_listed(folder, capsys):
    columns = assay_columns()
    for j in range(120):
        values = [""] * 60 if j % 2 else [(row * (j + 3)) % 127 for row in range(60)]
        columns[f"c{j}"] = values
    (dataset, _), _, out = written(folder, capsys, columns)
    assert dataset["options"]["numbers"] == ["x1", "x2", *(f"c{j}" for j in range(0, 120, 2))]
    assert len(out.splitlines()) <= 25


def test_warnings_are_in_the_file_and_the_first_in_a_short_summary(folder, capsys):
    columns = assay_columns()
    columns |= {f"twin{j}": columns["y1"] for j in range(30)}
    columns |= {f"copy{j}": [f"{value} mg" for value in columns["y1"]] for j in range(3)}
    columns["smiles"] = ["C" * (1 + row % 20) for row in range(60)]
    columns["day2"] = columns["day"]
    columns = {name: values + values[:4] for name, values in columns.items()}
    _, (dataset, _), out = written(folder, capsys, columns, group="batch")
    assert len(out.splitlines()) <= 25 and "WARNING: Column 'twin0' is left out" in out
    assert dataset.count("# WARNING: Column 'twin") == 30
