"""Plug-ins are found by their files alone, at home and in the folders of papers."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from each_case import each_case

import workflow_lib.papers
from workflow_lib.core import plugins
from workflow_lib.core.errors import UserError
from workflow_lib.core.imports import import_closure
from workflow_lib.core.plugins import FIGURES, METHODS, OUTPUT_MODELS, READERS, Plugins

ROOT = Path(__file__).resolve().parents[2]
KINDS = {name: kind for name, kind in vars(plugins).items() if isinstance(kind, Plugins)}


def write(root: Path, *paths: str) -> None:
    """Write modules below a package, and the ``__init__.py`` of every folder."""
    for path in paths:
        file = root / "workflow_lib" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        for folder in file.parents[: len(Path(path).parts)]:
            (folder / "__init__.py").touch()
        file.write_text(f"NAME = {path!r}\n")


def found_in(root: Path, kind: Plugins) -> Plugins:
    return replace(kind, package=root / "workflow_lib")


@each_case("kind", KINDS.values(), ids=KINDS)
def test_every_module_of_a_home_is_a_plug_in_or_named_as_none(kind):
    home = plugins.PACKAGE / kind.home
    modules = {path.stem for path in home.glob("[!_]*.py")}
    packages = {path.parent.name for path in home.glob("*/__init__.py")}
    in_home = {name for name, path in kind.paths.items() if home in path.parents}
    assert in_home | set(kind.others) == modules | packages
    assert not in_home & set(kind.others)
    # Only papers have models of inputs.
    assert kind.paths or kind is plugins.SCORE_SPACES


@each_case("kind", KINDS.values(), ids=KINDS)
def test_a_plug_in_of_a_paper_is_found_and_loaded(kind, tmp_path, monkeypatch):
    folder = f"papers/toy/{kind.in_papers}"
    write(tmp_path, f"{kind.home}/at_home.py", f"{folder}/moved.py", f"{folder}/large/__init__.py")
    write(tmp_path, f"{folder}/_part.py", f"{folder}/large/part.py")
    found = found_in(tmp_path, kind)
    assert list(found.paths) == ["at_home", "large", "moved"]
    assert found.modules["moved"] == f"{folder.replace('/', '.')}.moved"
    papers = [*workflow_lib.papers.__path__, str(tmp_path / "workflow_lib/papers")]
    monkeypatch.setattr(workflow_lib.papers, "__path__", papers)
    for name in ("large", "moved"):
        module = found.load(name)
        assert Path(module.__file__) == found.paths[name] and module.NAME.startswith(folder)
    for name in [name for name in sys.modules if name.startswith("workflow_lib.papers.toy")]:
        del sys.modules[name]


def test_two_plug_ins_of_one_name_are_refused_with_both_files(tmp_path):
    write(tmp_path, "methods/median.py", "papers/a/methods/mode.py", "papers/b/methods/mode.py")
    both = r"papers/b/methods/mode\.py: .*'mode'.*papers/a/methods/mode\.py"
    with pytest.raises(UserError, match=both):
        found_in(tmp_path, METHODS).load("median")
    write(tmp_path, "data/readers/arff.py", "papers/a/readers/arff/__init__.py")
    both = r"a/readers/arff/__init__\.py: .*data/readers/arff\.py"
    with pytest.raises(UserError, match=both):
        found_in(tmp_path, READERS).load("arff")


@each_case(
    ("kind", "name", "words"),
    [
        (METHODS, "kernel_rigde", "there is no method named 'kernel_rigde'.*write 'kernel_ridge'"),
        (READERS, "arf", "there is no reader named 'arf'.*write 'arff'"),
        (FIGURES, "x", "there is no kind of figure named 'x'.*choose one of the listed"),
        # What is no plug-in is not loaded, whatever file names it.
        *((METHODS, name, "no method") for name in ("base", "keys", "__init__", "../ofer", "", 3)),
    ],
)
def test_an_unknown_name_leads_to_the_nearest(kind, name, words):
    with pytest.raises(ValueError, match=words):
        kind.load(name)


def test_plug_ins_are_listed_without_loading_any_or_anything_that_takes_long():
    program = f"""
import json, sys
from workflow_lib.core import plugins
kinds = [getattr(plugins, name) for name in {list(KINDS)}]
modules = {{f"workflow_lib.{{module}}" for kind in kinds for module in kind.modules.values()}}
heavy = {{"numpy", "scipy", "pydantic", "yaml", "h5py"}}
print(json.dumps([len(modules) > 100, sorted((modules | heavy) & set(sys.modules))]))
"""
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert json.loads(printed) == [True, []]


def test_a_job_depends_on_all_plug_ins_that_no_rule_states(tmp_path):
    write(tmp_path, "core/plugins.py", "stage.py", "models/kinds/gaussian.py", "methods/median.py")
    write(tmp_path, "papers/a/output_models/moved.py", "papers/a/methods/mode.py")
    stage = tmp_path / "workflow_lib/stage.py"
    stage.write_text("from workflow_lib.core.plugins import METHODS, OUTPUT_MODELS\n")
    files = import_closure(tmp_path, ["workflow_lib.stage"])
    names = {Path(path).relative_to(tmp_path / "workflow_lib").as_posix() for path in files}
    models = {"models/kinds/gaussian.py", "papers/a/output_models/moved.py"}
    assert {name for name in names if not name.endswith("__init__.py")} == models | {
        "core/plugins.py",
        "stage.py",
    }
    assert not OUTPUT_MODELS.is_stated and METHODS.is_stated


def test_the_examples_of_the_documentation_work_in_the_folder_of_a_paper(tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "workflow_lib", tmp_path / "workflow_lib", ignore=ignored)
    shutil.copytree(ROOT / "config", tmp_path / "config")
    pages = [path.read_text() for path in (ROOT / "docs").glob("add-a-*.md")]
    files = {
        path: text
        for page in pages
        for path, text in re.findall(r"```\w+\n# (\S+/\S+)\n(.*?)```", page, re.DOTALL)
    }
    moved = []
    for path, text in files.items():
        kinds = [k for k in KINDS.values() if Path(path).parent == Path("workflow_lib", k.home)]
        for kind in kinds:
            moved.append(f"papers/toy/{kind.in_papers}/{Path(path).name}")
            write(tmp_path, moved[-1])
            (tmp_path / "workflow_lib" / moved[-1]).write_text(text)
        if path.startswith("config/"):
            (tmp_path / path).write_text(text)
    assert len(moved) == 6
    experiment = yaml.safe_load(files["config/experiments/linnerud-splits.yaml"])
    experiment["methods"] = ["m-krr", "m-median"]
    (tmp_path / "config/experiments/linnerud-splits.yaml").write_text(yaml.safe_dump(experiment))
    program = """
import yaml
from workflow_lib.run.loading import load_configuration
from workflow_lib.core.plugins import FIGURES, METHODS, OUTPUT_MODELS, READERS
run = yaml.safe_load(open("config/config.yaml")) | {"experiments": ["linnerud-splits"]}
settings = load_configuration("config", run)
print(type(settings.methods["m-median"]).__module__, METHODS.load("training_median").TASKS)
print(settings.experiments["linnerud-splits"].figures[0].kind, FIGURES.load("split_errors").SHOWS)
print(READERS.load("json_rows").Options.__name__, OUTPUT_MODELS.load("shrunk_gaussian").COVARIANCES)
"""
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("workflow_lib.papers.toy.methods.keys.training_median ('regression'")
    assert lines[1].startswith("split_errors ") and lines[2] == "Options ('full',)"
