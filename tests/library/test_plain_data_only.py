"""Nothing in the library loads data that could run code: no pickle, no code instead of data."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from each_case import each_case

ROOT = Path(__file__).resolve().parents[2]

MODULES = ("pickle", "_pickle", "cPickle", "dill", "cloudpickle", "joblib")
MODULES += ("shelve", "marshal", "copyreg", "hickle", "jsonpickle")
"""Functions that load objects of any class, and so can run code from a file."""

CALLS = ("eval", "exec", "compile", "__import__")
YAML = ("load", "load_all", "full_load", "full_load_all", "unsafe_load", "unsafe_load_all")


def sources() -> list[Path]:
    folders = [ROOT / "workflow_lib", ROOT / "scripts"]
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


def faults(path: Path, text: str) -> Iterator[str]:
    """Yield the locations in a source file that could run code from data."""
    for node in ast.walk(ast.parse(text)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{a.name}" for a in node.names)]
        for name in names:
            if set(name.split(".")) & set(MODULES):
                yield f"{path}, line {node.lineno}: imports {name}"
        if isinstance(node, ast.Call):
            yield from (f"{path}, line {node.lineno}: {fault}" for fault in faults_of_call(node))


def faults_of_call(node: ast.Call) -> Iterator[str]:
    called = ast.unparse(node.func)
    owner, _, name = called.rpartition(".")
    keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
    if keywords.get("allow_pickle", "False") != "False":
        yield f"{called} with allow_pickle"
    if not owner and name in CALLS or name in ("read_pickle", "to_pickle"):
        yield called
    if owner == "torch" and name == "load" and keywords.get("weights_only") != "True":
        yield "torch.load of more than weights"
    if owner == "yaml" and name in YAML and keywords.get("Loader") != "YamlLoader":
        yield f"{called} with the loader {keywords.get('Loader')}"


def test_no_module_loads_executable_data():
    assert len(sources()) > 100
    found = [fault for path in sources() for fault in faults(path, path.read_text("utf-8"))]
    assert found == []


def test_the_loader_of_yaml_is_safe():
    users = [path for path in sources() if "yaml.load" in path.read_text("utf-8")]
    assert users
    for path in users:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        loader = importlib.import_module(name).YamlLoader
        assert issubclass(loader, (yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


@each_case(
    "text",
    [
        "import pickle",
        "import os, joblib",
        "from joblib import load",
        "from sklearn.externals import joblib",
        "from multiprocessing.reduction import pickle",
        "def f():\n    import shelve",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=flag)",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "yaml.load(text, Loader=yaml.Loader)",
        "yaml.unsafe_load(text)",
        "pandas.read_pickle(path)",
        "eval(text)",
        "exec(text)",
    ],
)
def test_the_search_finds_what_it_looks_for(text):
    assert list(faults(Path("example.py"), text))


@pytest.mark.parametrize(
    "text",
    ["network.eval()", "np.load(path, allow_pickle=False)", "re.compile('a')", "yaml.safe_load(t)"],
)
def test_the_search_passes_over_what_is_safe(text):
    assert list(faults(Path("example.py"), text)) == []
