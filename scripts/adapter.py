"""What every script of a rule stands in: threads, log and readable errors.

A script unpacks ``snakemake`` and calls the library inside `job`::

    from adapter import job

    with job(snakemake):
        from workflow_lib.experiments import regression

        regression.run(...)

The imports of the library stand inside, so that what they print or raise reaches the log too.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Iterator

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "GOTO_NUM_THREADS",
)


@contextlib.contextmanager
def job(snakemake) -> Iterator[None]:
    """Run the body of a script: its output goes to the log of the rule, its errors are readable.

    The log ends with the full traceback and one line ``error: ...``; the process exits with
    status 1, on which Snakemake removes the outputs that the job had begun. Snakemake shows that
    line from the log; a rule without a log gets it on stderr.

    Parameters
    ----------
    snakemake : snakemake.iocontainers.Snakemake
        The object that Snakemake gives to a script. Its `threads` bound the threads of the
        linear algebra where the environment does not bound them yet, so numpy must not be
        imported before.
    """
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, str(snakemake.threads))
    log = str(snakemake.log[0]) if snakemake.log else None
    if log:
        redirect_output(log)
    try:
        yield
    except Exception as error:
        traceback.print_exc()
        print(f"error: {explain(error, log)}", file=sys.stderr, flush=True)
        sys.exit(1)


def redirect_output(path: str) -> None:
    """Send stdout and stderr of this process, and of the processes it starts, to a file."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    # The file descriptors and not sys.stdout alone: compiled libraries write to them directly.
    with open(path, "wb") as log:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    sys.stdout.reconfigure(line_buffering=True)


def explain(error: Exception, log: str | None) -> str:
    """Return one line for the user about the exception that ended a job."""
    from workflow_lib.errors import UserError

    if isinstance(error, UserError):
        return " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return "there is not enough memory for this job; give Snakemake fewer --cores"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"the disk is full ({error.filename or 'while writing'}); make room"
    text = " ".join(str(error).split())
    where = f"see {log}" if log else "the traceback is above"
    return f"unexpected {type(error).__name__}: {text}; this is a defect, {where}"
