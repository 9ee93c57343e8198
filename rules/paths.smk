"""Where the library and the settings of this workflow lie, and where its files go.

It may be run by itself, or be a module of another workflow: then from another folder, or from a
public repository, from which Snakemake reads the rules without a local copy.
"""

import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

RULES = workflow.current_basedir.get_path_or_uri(secret_free=True)

CHECKOUT = Path(RULES).parent if Path(RULES).is_dir() else None
IS_MODULE = CHECKOUT is None or CHECKOUT.resolve() != Path(workflow.basedir).resolve()

# As a module, the scripts stay off the path, where they could hide modules of the whole workflow.
if CHECKOUT:
    sys.path[:0] = [str(CHECKOUT)] if IS_MODULE else [str(CHECKOUT), str(CHECKOUT / "scripts")]

try:
    import workflow_lib
except ImportError as error:
    raise WorkflowError(
        f"error: the library of the module cannot be imported ({error}); expected it in the "
        "environment of Snakemake, since a repository provides the rules only. To fix it: "
        'python -m pip install "git+https://ADDRESS@TAG", with the tag of the module.'
    ) from None


def root_of_library():
    """Return the folder that holds the library: a relative path if it is below the run's folder.

    Then no job runs again in a moved or fresh copy of both.
    """
    if CHECKOUT is None:
        return str(Path(workflow_lib.__file__).resolve().parents[1])
    here, there = Path.cwd().resolve(), CHECKOUT.resolve()
    return str(there.relative_to(here)) if there.is_relative_to(here) else str(CHECKOUT)


ROOT = root_of_library()

# A copy of the settings, as snakedeploy makes it, is meant to be edited, and replaces these.
HAS_OWN_SETTINGS = IS_MODULE and Path("config", "datasets").is_dir()
CONFIG = Path("config") if HAS_OWN_SETTINGS else Path(ROOT, "config")

OWN_SETTINGS = "the config of the module" if IS_MODULE else "config/config.yaml"

PREFIX = str(workflow.modifier.modify_path("results")).removesuffix("results")
"""The folder, ending with a slash, of a module's files or of copies from a storage; else empty."""

IN_STORAGE = workflow.storage_settings.default_storage_provider is not None
"""Whether Snakemake keeps all files in a storage, from which each job gets copies."""


def with_prefix(paths):
    """Return where files of this workflow lie, for code that opens them without Snakemake."""
    if isinstance(paths, dict):
        return {name: with_prefix(path) for name, path in paths.items()}
    return f"{PREFIX}{paths}" if paths else paths


def external_path(path):
    """Return the path of a file that this workflow has not made, which gets no prefix."""
    return local(str(path)) if PREFIX else str(path)
