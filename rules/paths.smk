"""Where the library and the settings of this workflow lie, and where its files go.

It may be run by itself, or be a module of another workflow: then from a folder beside that one, or
from a public repository, out of which Snakemake reads the rules without a copy in any folder.
"""

import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

RULES = workflow.current_basedir.get_path_or_uri(secret_free=True)

CHECKOUT = Path(RULES).parent if Path(RULES).is_dir() else None
IS_MODULE = CHECKOUT is None or CHECKOUT.resolve() != Path(workflow.basedir).resolve()

# A module leaves the names of its scripts to the workflow that it is part of.
if CHECKOUT:
    sys.path[:0] = [str(CHECKOUT)] if IS_MODULE else [str(CHECKOUT), str(CHECKOUT / "scripts")]

try:
    import workflow_lib
except ImportError as error:
    raise WorkflowError(
        f"error: the library of the module cannot be imported ({error}); expected it in the "
        "environment of Snakemake, for the rules alone come from a repository. To fix it: "
        'python -m pip install "git+https://ADDRESS@TAG", with the tag of the module.'
    ) from None


def root_of_library():
    """Return the folder that holds the library: relative below the folder of the run.

    So a moved or fresh copy of both re-runs nothing.
    """
    if CHECKOUT is None:
        return str(Path(workflow_lib.__file__).resolve().parents[1])
    here, there = Path.cwd().resolve(), CHECKOUT.resolve()
    return str(there.relative_to(here)) if there.is_relative_to(here) else str(CHECKOUT)


ROOT = root_of_library()

# A copy of the settings, as snakedeploy makes it, is there to be edited.
HAS_OWN_SETTINGS = IS_MODULE and Path("config", "datasets").is_dir()
CONFIG = Path("config") if HAS_OWN_SETTINGS else Path(ROOT, "config")

OWN_SETTINGS = "the config of the module" if IS_MODULE else "config/config.yaml"

PREFIX = str(workflow.modifier.modify_path("results")).removesuffix("results")
"""The folder, ending with a slash, in which a module puts its files; else empty."""


def with_prefix(paths):
    """Return where files of this workflow lie, for who opens them beside Snakemake."""
    if isinstance(paths, dict):
        return {name: with_prefix(path) for name, path in paths.items()}
    return f"{PREFIX}{paths}" if paths else paths


def external_path(path):
    """Return the path of a file that this workflow has not made, and that no prefix moves."""
    return local(str(path)) if PREFIX else str(path)
