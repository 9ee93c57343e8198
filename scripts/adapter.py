"""The context in which every script of a rule runs: threads, log, checked files, readable errors.

A script unpacks ``snakemake`` and calls the library inside `job`::

    from adapter import job

    with job(snakemake):
        from workflow_lib.protocol import regression

        regression.run(...)

The library is imported inside it, so that what the import prints or raises reaches the log too. A
script whose jobs may handle several splits calls the library for each `split` of `each_split`.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import resource
import sys
import traceback
from collections.abc import Iterator
from types import SimpleNamespace

LIBRARIES = 512 << 20
"""Bytes of address space that the libraries of a job take before it has read anything."""

OF_SPLIT = "_of_split_"
"""What stands between the name of an item and its split, as `rules/splits.smk` writes it."""

BUFFERED = 256
"""Rows of a matrix that is large enough for the linear algebra to allocate its buffers."""

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "GOTO_NUM_THREADS",
)

PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# As a module of another workflow, or in an environment of conda, the library is not installed.
if os.path.isdir(os.path.join(PROJECT, "workflow_lib")):
    sys.path.insert(0, PROJECT)


@contextlib.contextmanager
def job(snakemake, n_threads: int | None = None) -> Iterator[None]:
    """Run the body of a script: its output goes to the log of the rule, its errors are readable.

    Before it, every input that another job made is compared with its digest; after it, digests of
    the outputs are written (`workflow_lib.core.file_digests`). What earlier jobs left at the paths
    of the outputs is removed.

    The log ends with the full traceback and one line ``error: ...``; the process exits with
    status 1, on which Snakemake removes the outputs that the job had begun. Snakemake shows that
    line from the log; a rule without a log gets it on stderr.

    Parameters
    ----------
    snakemake : snakemake.iocontainers.Snakemake
        The object that Snakemake gives to a script.
    n_threads : int or None, default=None
        Threads of the linear algebra; of None those of the environment, or the `threads` of the
        rule. They are bounded before numpy is imported.
    """
    for variable in THREAD_VARIABLES:
        if n_threads:
            os.environ[variable] = str(n_threads)
        os.environ.setdefault(variable, str(snakemake.threads))
    log = str(snakemake.log[0]) if snakemake.log else None
    if log:
        redirect_output(log)
    try:
        prepare_memory()
        check_inputs(snakemake)
        if not getattr(snakemake.params, "spreadsheet_safe", True):
            os.environ["SPREADSHEET_SAFE"] = "no"
        yield
        record_outputs(snakemake)
    except Exception as error:
        traceback.print_exc()
        print(f"error: {explain(error, log)}", file=sys.stderr, flush=True)
        sys.exit(1)


def each_split(snakemake) -> Iterator[SimpleNamespace]:
    """Return the named inputs, outputs and parameters of every split that a job handles.

    In a job of several splits, the names of what belongs to one of them end with the split; all
    other items are those of every split.

    Yields
    ------
    SimpleNamespace
        ``input``, ``output`` and ``params``, each with its items as attributes.
    """
    ends = [name.partition(OF_SPLIT)[2] for name in snakemake.output.keys()]
    for split in dict.fromkeys(ends):
        if split:
            print(f"split {split}", flush=True)
        yield SimpleNamespace(
            input=items_of_split(snakemake.input, split),
            output=items_of_split(snakemake.output, split),
            params=items_of_split(snakemake.params, split),
        )


def items_of_split(items, split: str) -> SimpleNamespace:
    """Return the named items that belong to a split, and those that belong to all splits."""
    parts = {name.partition(OF_SPLIT): value for name, value in items.items()}
    return SimpleNamespace(
        **{name: value for (name, _, end), value in parts.items() if end in ("", split)}
    )


def prepare_memory() -> None:
    """Refuse a memory limit that is too low for the libraries; load them while memory is free.

    OpenBLAS takes its buffers at its first calls, and where it cannot have them it ends the process
    or tries again for ever. NumPy and SciPy each have their own; both are called here.
    """
    limits = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    if all(resource.getrlimit(limit)[0] == resource.RLIM_INFINITY for limit in limits):
        return
    try:
        mmap.mmap(-1, LIBRARIES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        raise MemoryError from None
    import numpy
    import scipy.linalg

    matrix = numpy.eye(BUFFERED)
    for linear_algebra in (numpy.linalg, scipy.linalg):
        linear_algebra.eigh(matrix @ matrix)
        linear_algebra.cholesky(matrix)
        linear_algebra.solve(matrix, matrix)


def check_inputs(snakemake) -> None:
    """Clear the paths of the outputs, and refuse inputs that are not what their jobs wrote.

    All such inputs are named at once, so that a user need not fix one after the other.
    """
    from workflow_lib.core.errors import UserError
    from workflow_lib.core.file_digests import check_digest, clear_leftovers, digest_path

    for path in snakemake.output:
        clear_leftovers(path)
    faults = []
    for path in dict.fromkeys(snakemake.input):
        try:
            check_digest(path, is_copy=str(digest_path(path)) in snakemake.input)
        except UserError as error:
            faults.append(error)
    for fault in faults[:-1]:
        print(f"error: {explain(fault, None)}", file=sys.stderr)
    if faults:
        raise faults[-1]


def record_outputs(snakemake) -> None:
    """Write the digest of every output; in a storage, these are outputs themselves."""
    from workflow_lib.core.file_digests import SUFFIX, record_digest

    for path in snakemake.output:
        if not path.endswith(SUFFIX):
            record_digest(path)


def redirect_output(path: str) -> None:
    """Send stdout and stderr of this process, and of the processes it starts, to a file."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    # The file descriptors and not sys.stdout alone: compiled libraries write to them directly.
    with open(path, "wb") as log:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    # A log is UTF-8 under every locale, because an ASCII log cannot hold a title or a ±.
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")


def explain(error: Exception, log: str | None) -> str:
    """Return one line for the user about the exception that ended a job."""
    from workflow_lib.core.errors import UserError

    if isinstance(error, UserError):
        # Split only at the ends of lines: the name of a file may hold two spaces.
        return " ".join(str(error).splitlines())
    if is_of_memory(error):
        return (
            "there is not enough memory for this job; give Snakemake fewer --cores, "
            "or the job more memory (ulimit -v; on a cluster mem_mb)"
        )
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full ({error.filename or 'while writing'}); make room"
    if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        location = f"{error.filename or 'a file'}: {error.strerror}"
        return f"{location}; fix the permissions there, or how the disk is mounted"
    text = " ".join(str(error).split())
    where = f"see {log}" if log else "the traceback is above"
    return f"unexpected {type(error).__name__}: {text}; this is a defect, {where}"


def is_of_memory(error: BaseException | None) -> bool:
    """Return whether an exception, or one that it follows from, says that the memory ran out."""
    if error is None:
        return False
    text = str(error).lower()
    return (
        isinstance(error, MemoryError)
        or getattr(error, "errno", None) == errno.ENOMEM
        # Of libraries that cannot be loaded, and of threads.
        or "cannot allocate memory" in text
        or "failed to map segment" in text
        or "can't start new thread" in text
        or is_of_memory(error.__cause__ or error.__context__)
    )
