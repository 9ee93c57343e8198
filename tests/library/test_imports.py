"""Import closures are the real imports, layers are respected, light stages import little."""

import ast
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from each_case import each_case

from workflow_lib.core import imports
from workflow_lib.core.imports import code_digest, import_closure
from workflow_lib.core.plugins import METHODS as METHOD_FILES
from workflow_lib.core.plugins import READERS
from workflow_lib.core.plugins import STAGES as STAGES_BY_NAME
from workflow_lib.methods.contract.base import method_modules
from workflow_lib.models.covariance import COVARIANCE_TYPES

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "workflow_lib"

STAGES = {
    "protocol": "regression splitting features_stage alignments image_features_stage "
    "generative_models annotation embedding preimages evaluation equivalence_stage",
    "table": "calibration_stage data_profile_stage importance_stage saved_model_stage "
    "table_predictions_stage",
}
METHODS = sorted({module.name for module in method_modules().values()})
MODULES = {
    stage: f"workflow_lib.{package}.{stage}"
    for package, stages in STAGES.items()
    for stage in stages.split()
}
MODULES |= {stage: f"workflow_lib.{module}" for stage, module in STAGES_BY_NAME.modules.items()}
MODULES |= {method: f"workflow_lib.{METHOD_FILES.modules[method]}" for method in METHODS}
"""The modules of the jobs, by their names."""
HEAVY = ("scipy", "sklearn", "pandas", "matplotlib", "pydantic", "snakemake")
STAGES_WITH_SKLEARN = {"equivalence_stage"}
# Loading scipy.linalg takes as long as loading Python, numpy and h5py together.
STAGES_WITHOUT_SCIPY = {
    "splitting",
    "features_stage",
    "alignments",
    "least_squares",
    "training_mean",
    "stack",
    "generative_models",
    "annotation",
    "embedding",
    "preimages",
    "evaluation",
}

LAYERS = (
    "core items tabular measures tasks models solvers inputs data fitting methods estimators "
    "uncertainty protocol report run table page papers"
).split()
CONTRACTS = (
    "workflow_lib.inputs.score_spaces.found",
    "workflow_lib.methods.contract.base",
    "workflow_lib.models.kinds.found",
    "workflow_lib.report.figures.base",
    "workflow_lib.report.table_kinds.base",
)
"""They read what plug-ins declare, in every command."""


def source_files():
    return sorted(PACKAGE.rglob("*.py"))


def location_of(module: str) -> tuple[int, str]:
    """Return the layer of a module, and its paper if it has one."""
    parts = module.split(".")
    return LAYERS.index(parts[1]), parts[2] if parts[1] == "papers" and len(parts) > 2 else ""


def library_imports(path: Path) -> set[str]:
    """Return the names of this package that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} holds a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.startswith("workflow_lib.")}


def printed_by(program: str) -> str:
    """Run a program in a fresh process; return what it prints."""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def allowed_packages(stage: str) -> set[str]:
    """Return the heavy packages that a job may import."""
    allowed = set() if stage in STAGES_WITHOUT_SCIPY else {"scipy"}
    if stage in STAGES_WITH_SKLEARN:
        # scikit-learn itself imports pandas.
        allowed |= {"sklearn", "pandas"}
    return allowed


OF_EACH = """
import importlib, json, os, sys
import h5py, numpy

def in_a_process_of_its_own(function, *arguments):
    if os.fork() == 0:
        function(*arguments)
        sys.stdout.flush()
        os._exit(0)
    assert os.wait()[1] == 0, arguments

def import_module(module):
    importlib.import_module(module)
    files = [m.__file__ for n, m in sys.modules.items() if n.split(".")[0] == "workflow_lib"]
    print(json.dumps([module, files, [n for n in HEAVY if n in sys.modules]]))

def import_each(loaded, modules):
    for name in loaded:
        importlib.import_module({"scipy": "scipy.linalg"}.get(name, name))
    assert not ({*HEAVY, "workflow_lib"} - {*loaded}) & sys.modules.keys()
    for module in modules:
        in_a_process_of_its_own(import_module, module)

for loaded, modules in GROUPS:
    in_a_process_of_its_own(import_each, loaded, modules)
"""
"""Prints what modules import, each in a process that begins with packages which it may import."""


@cache
def imported_by_each() -> dict[str, dict]:
    """Import modules in fresh processes; return their library files and the heavy packages."""
    groups = {}
    for stage, module in MODULES.items():
        loaded = sorted(allowed_packages(stage) & {"scipy", "pydantic"})
        groups.setdefault(tuple(loaded), set()).add(module)
    others = groups.setdefault((), set())
    others |= {"workflow_lib.estimators.output_fisher", "workflow_lib.data.reading", *CONTRACTS}
    others |= {f"workflow_lib.{module}" for module in READERS.modules.values()}
    lines = printed_by(f"HEAVY, GROUPS = {HEAVY!r}, {list(groups.items())!r}\n{OF_EACH}")
    found = map(json.loads, lines.splitlines())
    return {module: {"files": files, "heavy": heavy} for module, files, heavy in found}


def imported_by(module: str) -> dict:
    return imported_by_each()[module]


@each_case("stage", MODULES)
def test_closure_holds_what_a_stage_imports_and_light_stages_stay_light(stage):
    module = MODULES[stage]
    imported = imported_by(module)
    # The closure holds more where a module is imported inside a function, to load scikit-learn or
    # SciPy where they are needed.
    assert set(imported["files"]) <= set(import_closure(str(ROOT), [module]))
    assert set(imported["heavy"]) <= allowed_packages(stage)


def test_keys_of_methods_are_loaded_without_methods_and_heavy_packages():
    # The configuration is checked every time that the workflow starts.
    program = """
import sys
from workflow_lib.core.plugins import METHOD_KEYS
for name in METHOD_KEYS.paths:
    METHOD_KEYS.load(name)
print([name for name in METHOD_KEYS.paths if f"workflow_lib.methods.{name}" in sys.modules])
print({"numpy", "scipy", "sklearn", "pandas", "h5py", "matplotlib"} & set(sys.modules))
"""
    assert printed_by(program).split() == ["[]", "set()"]


def test_mixtures_their_embeddings_and_pre_images_never_load_scipy():
    # An import within a function would undo what the stages save at their start.
    program = f"""
import sys
import numpy as np
from workflow_lib.models.class_decoding import nearest_scores
from workflow_lib.models.fisher import FisherEmbedding
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel

Y = np.random.default_rng(0).normal(size=(40, 3))
for covariance_type in {COVARIANCE_TYPES!r}:
    model = GaussianMixtureModel(2, covariance_type=covariance_type, n_init=2).fit(Y)
    GaussianMixtureModel(2, covariance_type=covariance_type, batch_size=16).fit(Y)
    for form in ("reduced", "full"):
        embedding = FisherEmbedding(model, form)
        embedded = embedding.transform(Y)
        for preimage in ("closed_form", "projected", "gradient"):
            outputs = embedding.inverse_transform(embedded, preimage)
            for distance in ("euclidean", "cosine"):
                nearest_scores(outputs, Y[:5], distance)
    print(covariance_type, "scipy" in sys.modules)
"""
    assert printed_by(program).splitlines() == [f"{each} False" for each in COVARIANCE_TYPES]


def test_series_are_embedded_and_decoded_without_scipy():
    program = """
import sys
import numpy as np
from workflow_lib.models.fisher import FisherEmbedding
from workflow_lib.models.storage import model_from_tree

tree = {"kind": "state_space", "transition_": np.array([[0.8]]), "n_steps": 4}
tree |= {"observation_": np.ones((1, 1)), "state_covariance_": np.eye(1)}
tree |= {"observation_covariance_": np.eye(1), "initial_mean_": np.zeros(1)}
tree |= {"initial_covariance_": np.eye(1)}
embedding = FisherEmbedding(model_from_tree(tree))
embedded = embedding.transform(np.random.default_rng(0).normal(size=(6, 4)))
embedding.inverse_transform(embedded)
print("scipy" in sys.modules)
"""
    assert printed_by(program).split() == ["False"]


def test_closure_of_the_estimators():
    imported = imported_by("workflow_lib.estimators.output_fisher")
    assert set(imported["files"]) <= set(
        import_closure(str(ROOT), ["workflow_lib.estimators.output_fisher"])
    )
    # scikit-learn itself may import pandas.
    assert not {"matplotlib", "pydantic", "snakemake"} & set(imported["heavy"])


@each_case("reader", READERS.paths)
def test_closure_of_a_reader_that_is_loaded_by_name(reader):
    # The rule names the reader as well as the stage: an import by name cannot be followed.
    modules = ["workflow_lib.data.reading", f"workflow_lib.{READERS.modules[reader]}"]
    imported = set()
    for module in modules:
        imported |= set(imported_by(module)["files"])
    assert imported <= set(import_closure(str(ROOT), modules))


def test_closures_are_small():
    # A job must not be run again for an edit that cannot touch its result.
    names = {
        stage: {
            Path(path).relative_to(PACKAGE).as_posix()
            for path in import_closure(str(ROOT), [module])
        }
        for stage, module in MODULES.items()
    }
    assert "models/gradient.py" not in names["kernel_ridge"]
    assert "solvers/heldout.py" not in names["preimages"]
    assert "solvers/ridge.py" not in names["embedding"]
    assert "models/mixtures/mixture.py" not in names["forest"]
    assert "measures/metrics.py" in names["evaluation"]
    # The estimators ask how many rows a Gram matrix may have.
    names["equivalence_stage"] -= {"config/__init__.py", "core/gram_limit.py"}
    for files in names.values():
        assert not any(file.startswith(("report/", "config/")) for file in files)


def test_modules_import_only_from_layers_before_their_own():
    for path in source_files():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if module == "workflow_lib.__init__":
            assert library_imports(path) == set()
            continue
        layer, paper = location_of(module)
        for imported in library_imports(path):
            other_layer, other_paper = location_of(imported)
            assert other_layer <= layer, f"{module} imports {imported}"
            assert other_paper in ("", paper), f"{module} imports {imported}"


def test_scripts_and_rules_name_no_paper():
    named = [f"papers.{path.parent.name}" for path in PACKAGE.glob("papers/*/__init__.py")]
    for path in (*ROOT.glob("scripts/*.py"), *ROOT.glob("rules/**/*.smk"), ROOT / "Snakefile"):
        assert not [name for name in named if name in path.read_text()], path


def test_every_layer_is_a_folder_and_every_folder_a_layer():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders == {*LAYERS} and [*PACKAGE.glob("*.py")] == [PACKAGE / "__init__.py"]


@each_case("module", CONTRACTS)
def test_what_reads_declarations_is_light(module):
    assert not imported_by(module)["heavy"]


def test_no_module_imports_itself_by_a_detour():
    modules = {
        str(path): ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in source_files()
        if path.name != "__init__.py"
    }
    closures = {path: set(import_closure(str(ROOT), [name])) for path, name in modules.items()}
    for path in modules:
        for other in closures[path] & modules.keys() - {path}:
            assert path not in closures[other], f"{path} and {other} import each other"


def write_package(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / "workflow_lib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def closure_of(root, *modules):
    files = import_closure(root, modules)
    return [Path(file).relative_to(root / "workflow_lib").as_posix() for file in files]


NESTED = """\
try:
    import numpy
except ImportError:
    with open("a") as a:
        while a:
            pass
        else:
            match a:
                case 1:
                    import workflow_lib.a, workflow_lib.g
"""


def test_all_ways_to_import_are_followed(tmp_path):
    write_package(
        tmp_path,
        {
            "__init__.py": "",
            "a.py": "import numpy\nimport workflow_lib.b\n",
            "b.py": "def f():\n    from workflow_lib.inner.c import g\n",
            "inner/__init__.py": "from workflow_lib import e",
            "inner/c.py": "from workflow_lib.inner import d as renamed, not_a_module\n",
            "inner/d.py": "",
            "e.py": NESTED,
            "g.py": "",
            "unused.py": "import workflow_lib.a\n",
        },
    )
    expected = ["__init__.py", "a.py", "b.py", "e.py", "g.py"]
    expected += ["inner/__init__.py", "inner/c.py", "inner/d.py"]
    assert closure_of(tmp_path, "workflow_lib.a") == expected
    assert closure_of(tmp_path, "workflow_lib.unused") == sorted([*expected, "unused.py"])
    assert closure_of(tmp_path, "workflow_lib.inner") == expected


ONE_LINE = """\
if True: from workflow_lib import a
x = 1; import workflow_lib.b as renamed
from workflow_lib.inner import (  # a remark, with a comma
    c,  # and another
    d as other,
)
from workflow_lib \\
    import e, \\
    f
if TYPE_CHECKING:
    from workflow_lib import g

    import workflow_lib.g
"""


def test_imports_are_found_however_they_are_written(tmp_path):
    names = ["a", "b", "inner/__init__", "inner/c", "inner/d", "f", "e", "g"]
    write_package(tmp_path, {f"{name}.py": "" for name in ["__init__", *names]})
    write_package(tmp_path, {"all.py": ONE_LINE.replace("workflow_lib \\\n   ", "workflow_lib")})
    expected = ["__init__.py", "all.py", *(f"{name}.py" for name in names if name != "g")]
    assert closure_of(tmp_path, "workflow_lib.all") == sorted(expected)


def test_the_imports_of_the_library_are_those_of_its_syntax_trees():
    for path in source_files():
        tree = ast.parse(path.read_text())
        for_types = {
            statement
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for statement in node.body
        }
        expected = set()
        for node in set(ast.walk(tree)) - for_types:
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                expected |= {node.module, *names}
            elif isinstance(node, ast.Import):
                expected |= {alias.name for alias in node.names}
        expected = {name for name in expected if name.split(".")[0] == "workflow_lib"}
        assert imports.imported_names(path.read_text()) == expected, path


def test_paths_begin_with_the_root_that_was_given(tmp_path, monkeypatch):
    write_package(tmp_path, {"__init__.py": "", "a.py": ""})
    monkeypatch.chdir(tmp_path)
    assert import_closure(".", ["workflow_lib.a"]) == [
        "workflow_lib/__init__.py",
        "workflow_lib/a.py",
    ]


def digest_of(root: Path, *scripts: str) -> str:
    """Return the digest of a module and some scripts, read anew as by another command."""
    for function in vars(imports).values():
        getattr(function, "cache_clear", lambda: None)()
    return code_digest(root, ["workflow_lib.a"], {name: root / name for name in scripts})


def test_the_digest_of_code_is_that_of_its_contents(tmp_path):
    files = {"__init__.py": "", "a.py": "import workflow_lib.b", "b.py": "", "c.py": ""}
    here, there = tmp_path / "here", tmp_path / "there"
    for root in (here, there):
        write_package(root, files)
        (root / "script.py").write_text("1")
    before = digest_of(here, "script.py")
    os.utime(here / "workflow_lib" / "b.py", (0, 0))
    (here / "workflow_lib" / "c.py").write_text("# not imported")
    assert digest_of(here, "script.py") == digest_of(there, "script.py") == before

    (here / "script.py").write_text("2")
    (there / "workflow_lib" / "b.py").write_text("# changed")
    found = {before, digest_of(here, "script.py"), digest_of(here), digest_of(there, "script.py")}
    assert len(found) == 4


def test_modules_without_a_source_file_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="workflow_lib.no_such has no source file below"):
        import_closure(tmp_path, ["workflow_lib.no_such"])
