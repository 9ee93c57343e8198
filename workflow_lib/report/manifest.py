"""The record of a run: versions, commit, machine, configuration and seeds."""

import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workflow_lib.core.whole_files import write_text

PACKAGES = ("h5py", "matplotlib", "numpy", "pandas", "pydantic", "pykalman", "pyyaml", "rdkit")
PACKAGES += ("scikit-learn", "scipy", "snakemake", "tslearn")
"""The packages whose versions are recorded: those that the project depends on, with its extras."""


def run(
    output: str | Path,
    merged_configuration: Mapping,
    seeds: Mapping[str, int],
    repository: str | Path,
    host: bool = False,
) -> None:
    """Write `run_manifest` to `output` as JSON with sorted keys, whole or not at all."""
    record = run_manifest(merged_configuration, seeds, Path(repository), host)
    text = json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False)
    write_text(output, text + "\n")


def run_manifest(
    merged_configuration: Mapping, seeds: Mapping[str, int], repository: Path, host: bool = False
) -> dict:
    """Return what is needed to repeat a run and to compare two runs.

    `merged_configuration` is the configuration as it was used, defaults filled in, in plain values
    that JSON can hold; `seeds` are the main seed and the derived ones by their names; the commit is
    that of the checkout in the folder `repository`, which is not recorded itself. The record may be
    passed on: of absolute paths in the configuration only the names of the files are recorded, and
    the name of the machine only with `host`.

    Keys: ``versions`` (``python`` and packages; None for a package that is not installed), ``git``
    (``commit`` and ``is_dirty``, both None without git or outside a repository), ``machine``
    (``system``, ``architecture``, ``cpu_count``, and ``host`` where it is asked for),
    ``configuration``, ``seeds``.
    """
    return {
        "versions": {"python": platform.python_version(), **_package_versions()},
        "git": _git_state(repository),
        "machine": {
            **({"host": platform.node()} if host else {}),
            "system": f"{platform.system()} {platform.release()}",
            "architecture": platform.machine(),
            "cpu_count": os.cpu_count(),
        },
        "configuration": _without_folders(dict(merged_configuration)),
        "seeds": dict(seeds),
    }


def _without_folders(value: Any) -> Any:
    """Return a configuration with the names of files instead of their absolute paths."""
    if isinstance(value, Mapping):
        return {key: _without_folders(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_folders(part) for part in value]
    is_path = isinstance(value, str) and os.path.isabs(value)
    return (os.path.basename(value) or value) if is_path else value


def _package_versions() -> dict[str, str | None]:
    versions: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return versions


def _git_state(repository: Path) -> dict:
    """Return the commit and whether tracked or new files differ from it."""
    commit = _git(repository, "rev-parse", "--verify", "--quiet", "HEAD")
    if not commit:
        return {"commit": None, "is_dirty": None}
    changes = _git(repository, "status", "--porcelain")
    return {"commit": commit, "is_dirty": None if changes is None else bool(changes)}


def _git(repository: Path, *arguments: str) -> str | None:
    """Return what a git command prints, None when it fails or there is no git."""
    try:
        command, texts = ["git", "-C", str(repository)], {"encoding": "utf-8", "errors": "replace"}
        done = subprocess.run([*command, *arguments], capture_output=True, timeout=30, **texts)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
