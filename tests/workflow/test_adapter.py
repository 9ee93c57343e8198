"""The frame of every script: threads, log, readable errors."""

from __future__ import annotations

import errno
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workflow_lib.errors import UserError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def adapter():
    specification = importlib.util.spec_from_file_location(
        "adapter", ROOT / "scripts" / "adapter.py"
    )
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def run(body, tmp_path, log=("logs/job.log",), **variables):
    """Run `body` inside the adapter in a process of its own, as Snakemake does."""
    program = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'scripts')!r}]\n"
        "from types import SimpleNamespace\n"
        "from adapter import job\n"
        f"snakemake = SimpleNamespace(threads=3, log={list(log)!r})\n"
        f"with job(snakemake):\n    {body}\n"
    )
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]} | variables,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_output_goes_to_the_log_also_below_python(tmp_path):
    body = "import os; print('from python'); os.system('echo from a process; echo warning >&2')"
    result = run(body, tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    log = (tmp_path / "logs" / "job.log").read_text()
    assert log == "from python\nfrom a process\nwarning\n"


def test_threads_fill_gaps_only(tmp_path):
    body = "import os; print(os.environ['OMP_NUM_THREADS'], os.environ['OPENBLAS_NUM_THREADS'])"
    run(body, tmp_path, OMP_NUM_THREADS="2")
    assert (tmp_path / "logs" / "job.log").read_text() == "2 3\n"


def test_an_error_ends_the_log_with_one_line(tmp_path):
    result = run("raise ValueError('a bad' + chr(10) + 'value')", tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (1, "", "")
    lines = (tmp_path / "logs" / "job.log").read_text().splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    expected = "unexpected ValueError: a bad value; this is a defect, see logs/job.log"
    assert lines[-1] == f"error: {expected}"


def test_without_a_log_the_error_reaches_the_terminal(tmp_path):
    result = run("raise MemoryError", tmp_path, log=())
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("error: there is not enough memory")


def test_words_for_the_errors_a_user_can_mend(adapter):
    error = UserError("config.yaml, key seed", "a word", "a number")
    assert adapter.explain(error, "x.log") == str(error)
    full = OSError(errno.ENOSPC, "No space left on device", "results/x.h5")
    assert adapter.explain(full, "x.log") == "the disk is full (results/x.h5); make room"
