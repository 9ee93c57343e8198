"""Whether a folder holds the results of an undisturbed run, all complete, and no others."""

import subprocess
import sys
from pathlib import Path

import smoke
from small_run import ROOT


def assert_whole(folder: Path, expected: dict[str, str]) -> None:
    """Check that every result is that of the undisturbed run, and no file is incomplete."""
    assert temporary_files(folder) == []
    found = smoke.results(folder)
    names = set(found) | set(expected)
    assert [name for name in sorted(names) if found.get(name) != expected.get(name)] == []
    checked = subprocess.run(
        [sys.executable, "-m", "workflow_lib.core.file_digests"],
        cwd=folder,
        env=smoke.environment(folder, PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def assert_none_incomplete(folder: Path, expected: dict[str, str]) -> None:
    """Check that every existing result, under its final name, is that of the undisturbed run."""
    found = smoke.results(folder)
    final = found.keys() - set(temporary_files(folder))
    assert [name for name in sorted(final) if found[name] != expected.get(name)] == []


def temporary_files(folder: Path) -> list[str]:
    """Return the files whose name shows that they are not finished."""
    return [
        str(path.relative_to(folder))
        for part in ("results", "resources")
        for path in (folder / part).rglob("*")
        if path.name.endswith((".tmp", ".part"))
    ]
