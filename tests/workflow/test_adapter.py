"""The adapter of every script: threads, log, readable errors."""

import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from script_module import script_module

from workflow_lib.core.errors import UserError
from workflow_lib.core.file_digests import digest_path, record_digest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def adapter():
    return script_module("adapter")


def run(body, tmp_path, log=("logs/job.log",), inputs=(), outputs=(), **variables):
    """Run `body` inside the adapter in a process of its own, as Snakemake does."""
    program = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'scripts')!r}]\n"
        "from types import SimpleNamespace\n"
        "from adapter import job\n"
        f"snakemake = SimpleNamespace(threads=3, log={list(log)!r},\n"
        f"    input={list(inputs)!r}, output={list(outputs)!r}, params={{}})\n"
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


def test_thread_variables_that_are_set_are_kept(tmp_path):
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


def test_outputs_get_a_digest_that_the_next_job_compares(tmp_path):
    body = "import pathlib; pathlib.Path('a.csv').write_text('1'); pathlib.Path('b.csv').touch()"
    result = run(body, tmp_path, outputs=("a.csv", "b.csv"))
    assert result.returncode == 0
    for name in ("a.csv", "b.csv"):
        digest = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        assert digest_path(tmp_path / name).read_text() == f"{digest}  {name}\n"
    (tmp_path / "supplied.csv").touch()
    inputs = ("a.csv", "b.csv", "a.csv", "supplied.csv")
    assert run("print('read')", tmp_path, inputs=inputs).returncode == 0
    assert (tmp_path / "logs" / "job.log").read_text() == "read\n"


def test_all_damaged_inputs_are_named_before_anything_is_read(tmp_path):
    names = ("a.csv", "whole.csv", "two  spaces.csv", "b.csv")
    for name in names:
        (tmp_path / name).write_text(name)
        record_digest(tmp_path / name)
    damaged = [name for name in names if name != "whole.csv"]
    for name in damaged:
        (tmp_path / name).write_text("")
    result = run("print('read')", tmp_path, inputs=names, outputs=("out.csv",))
    assert (result.returncode, result.stdout, result.stderr) == (1, "", "")
    lines = (tmp_path / "logs" / "job.log").read_text().splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    assert [error.split(": ")[1] for error in errors] == damaged
    assert "rm 'two  spaces.csv' and run the same snakemake command again" in errors[1]
    assert lines[-1] == errors[-1] and "read" not in lines
    assert not digest_path(tmp_path / "out.csv").exists()


def test_leftover_files_of_earlier_jobs_are_removed(tmp_path):
    output = tmp_path / "out.csv"
    output.write_text("earlier")
    record_digest(output)
    output.unlink()
    half_written = tmp_path / ".out.csv.7.tmp"
    half_written.touch()
    result = run("raise KeyError('absent')", tmp_path, outputs=("out.csv",))
    assert result.returncode == 1
    assert not half_written.exists() and not digest_path(output).exists()


def test_messages_of_errors_that_a_user_can_fix(adapter):
    error = UserError("config.yaml, key seed", "a word", "a number")
    assert adapter.explain(error, "x.log") == str(error)
    full = OSError(errno.ENOSPC, "No space left on device", "results/x.h5")
    assert adapter.explain(full, "x.log") == "the disk is full (results/x.h5); make room"
    forbidden = OSError(errno.EROFS, "Read-only file system", "results/x.h5")
    words = "results/x.h5: Read-only file system; fix the permissions there"
    assert adapter.explain(forbidden, "x.log").startswith(words)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 9.38 KiB"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ImportError("libopenblas.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
    ],
)
def test_message_for_too_little_memory(adapter, error):
    words = adapter.explain(error, "x.log")
    assert words.startswith("there is not enough memory for this job; give Snakemake fewer --cores")
    follows = RuntimeError("the library is confused")
    follows.__cause__ = error
    assert adapter.explain(follows, "x.log") == words
    assert "this is a defect" in adapter.explain(RuntimeError("the library is confused"), "x.log")


def test_the_items_of_a_job_of_several_splits_are_taken_apart(adapter, capsys):
    items = SimpleNamespace(
        input=dict(models_of_split_0="a0", models_of_split_10="a10", dataset="d"),
        output=dict(first_of_split_0="b0", first_of_split_10="b10"),
        params=dict(seed_of_split_0=1, seed_of_split_10=2, of_classes=True),
    )
    first, second = adapter.each_split(items)
    assert vars(first.input) == {"models": "a0", "dataset": "d"}
    assert vars(second.input) == {"models": "a10", "dataset": "d"}
    assert (first.output.first, second.output.first) == ("b0", "b10")
    assert vars(second.params) == {"seed": 2, "of_classes": True}
    assert capsys.readouterr().out == "split 0\nsplit 10\n"


def test_a_job_of_one_split_has_all_items(adapter, capsys):
    items = SimpleNamespace(input=dict(models="a"), output=dict(first="b"), params=dict(seed=1))
    (only,) = adapter.each_split(items)
    assert (only.input.models, only.output.first, only.params.seed) == ("a", "b", 1)
    assert capsys.readouterr().out == ""
