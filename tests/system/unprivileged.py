"""Commands without the right of root to read and write what the permissions of a file forbid."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RIGHTS = "-dac_override,-dac_read_search"


def unprivileged(folder: Path) -> list[str]:
    """Return the prefix of such a command; skip the test where root cannot give up the rights.

    It is tried on a file in `folder`.
    """
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root reads every file, without setpriv (util-linux)")
    words = ["setpriv", f"--bounding-set={RIGHTS}", f"--inh-caps={RIGHTS}"]
    probe = folder / "unreadable"
    probe.touch(mode=0)
    command = [*words, sys.executable, "-c", f"open({str(probe)!r})"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    # The folder may be a repository, where a further file would be a change.
    probe.unlink()
    if "PermissionError" not in done.stderr:
        pytest.skip("root cannot give up its rights here")
    return words
