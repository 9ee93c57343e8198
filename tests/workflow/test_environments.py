"""The files that pin the packages of a run, and names that no file may contain."""

import ast
import re
import subprocess
import sys
import tomllib

import yaml
from paper_folders import needs_paper
from small_run import ROOT, code_of_job, project_files, records_of_jobs

from workflow_lib.core.plugins import READERS

CONDA_NAMES = {"matplotlib": "matplotlib-base"}
PACKAGE_OF_MODULE = {
    "PIL": "pillow",
    "pydantic_core": "pydantic",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
OLDEST_PYTHON = "3.11"

# Large, and needed by one kind of features only, whose weights the user supplies as well.
NOT_INSTALLED = {"gensim", "pywt", "skrub", "torch"}

# Written in two parts, so that this file does not contain them.
REGISTRIES = ["pypi" + ".org", "python" + "hosted.org", "ana" + "conda.org", "ana" + "conda.com"]
MACHINE_PATHS = ["/" + "work/", "/" + "root/", "/" + "home/"]


def locked_versions() -> dict[str, set[tuple[str, str]]]:
    """Return (version, condition) of every package of the lock."""
    versions: dict[str, set[tuple[str, str]]] = {}
    text = (ROOT / "requirements.lock").read_text()
    for name, version, condition in re.findall(
        r"^([\w.\-\[\]]+)==([^\s;\\]+)(?: *; *([^\\\n]*?))? *\\?$", text, flags=re.MULTILINE
    ):
        versions.setdefault(name.lower().replace("_", "-"), set()).add((version, condition))
    return versions


def imports_of(path) -> set[str]:
    """Return the top-level modules that a file imports anywhere."""
    modules = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
    return {module.split(".")[0] for module in modules}


def packages_of_jobs(first_folder) -> set[str]:
    """Return the packages that the code of any rule imports, with every reader."""
    files = {path for record in records_of_jobs(first_folder) for path in code_of_job(record)}
    # The code of a page includes its templates.
    files = {path for path in files if path.endswith(".py")}
    files |= {str(path.relative_to(ROOT)) for path in ROOT.glob("scripts/acquire.py")}
    readers = (*ROOT.glob("workflow_lib/data/**/*.py"), *READERS.paths.values())
    files |= {str(path.relative_to(ROOT)) for path in readers}
    own = {"workflow_lib", "adapter"}
    modules = {module for path in files for module in imports_of(path)} - own
    modules -= set(sys.stdlib_module_names)
    return {PACKAGE_OF_MODULE.get(module, module) for module in modules} - NOT_INSTALLED


def test_the_environment_of_jobs_has_the_locked_versions():
    environment = yaml.safe_load((ROOT / "envs" / "workflow.yaml").read_text())
    named = dict(entry.split("=") for entry in environment["dependencies"])
    assert named.pop("python") == OLDEST_PYTHON
    locked = locked_versions()
    from_conda = {name: package for package, name in CONDA_NAMES.items()}
    for name, version in named.items():
        variants = locked[from_conda.get(name, name)]
        of_oldest = {found for found, condition in variants if ">=" not in condition}
        assert of_oldest == {version}, name


@needs_paper("perina")
def test_the_environment_of_jobs_has_what_they_import_and_no_more(first_folder):
    environment = yaml.safe_load((ROOT / "envs" / "workflow.yaml").read_text())
    named = {entry.split("=")[0] for entry in environment["dependencies"]} - {"python"}
    needed = {CONDA_NAMES.get(name, name) for name in packages_of_jobs(first_folder)}
    assert named == needed


def test_the_lock_holds_every_dependency_with_its_checksums():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = [
        project["project"]["dependencies"],
        # Peers of the comparison, the network, topics of names, wavelets and word vectors; no usual
        # job needs them.
        *(
            packages
            for extra, packages in project["project"]["optional-dependencies"].items()
            if extra not in ("boosting", "cloud", "deep", "encoders", "pretrained", "shap")
            and extra not in ("wavelets", "word2vec")
        ),
        *project["dependency-groups"].values(),
        project["build-system"]["requires"],
    ]
    wanted = {re.match(r"[\w.-]+", entry).group().lower() for group in groups for entry in group}
    assert wanted <= set(locked_versions())
    entries = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text().strip())
    packages = [entry for entry in entries if not entry.startswith("#")]
    assert packages and all("--hash=sha256:" in entry for entry in packages)


def test_the_lock_holds_all_that_its_packages_need():
    # It is installed as it is, without resolving what packages need: a newer release of one of
    # them must change nothing.
    assert "--no-deps --require-hashes -r requirements.lock" in (ROOT / "Makefile").read_text()
    command = [sys.executable, "-m", "pip", "check", "--disable-pip-version-check"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_no_file_names_a_registry_or_a_path_of_one_machine():
    for name in project_files():
        text = (ROOT / name).read_bytes().decode("utf-8", errors="replace")
        for forbidden in (*REGISTRIES, *MACHINE_PATHS):
            assert forbidden not in text, f"{name} names {forbidden}"
