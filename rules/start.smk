"""What precedes the configuration: the output on the terminal, the list of studies, a check of its file.

Snakemake's own message about a file that is no YAML, or has no keys, does not name the file.
"""

import ctypes
import getpass
import mmap
import os
import resource

from snakemake.cli import get_argument_parser

from workflow_lib.core.errors import UserError
from workflow_lib.run import run_plan
from workflow_lib.run import study_list
from workflow_lib.run.named_settings import check_base_file

THREADS = 400 << 20
"""Bytes of address space that Snakemake takes for its threads, one for each job."""


def refuse_low_memory_limit():
    """End the run where a limit of memory is too low: a thread that cannot start would hang it."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    # M_ARENA_MAX: otherwise each thread reserves 128 MiB for what it allocates.
    if hasattr(ctypes.CDLL(None), "mallopt"):
        ctypes.CDLL(None).mallopt(-8, 1)
    try:
        mmap.mmap(-1, THREADS, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        raise WorkflowError(
            f"the limit of memory: {limit >> 20} MiB, not enough memory for Snakemake. Expected "
            "about 1 GiB or more for each process. "
            "To fix it: raise the limit (ulimit -v), and run the same snakemake command again."
        ) from None


def is_target(name):
    """Return whether a target is on the command line; the workflow knows its targets only later."""
    return name in sys.argv and name in get_argument_parser().parse_args(sys.argv[1:]).targets


# A container is often run under the number of a user who has no name; Snakemake asks for it.
try:
    getpass.getuser()
except (KeyError, OSError):
    os.environ.update(LOGNAME=str(os.getuid()))

if not IS_MODULE:
    import job_processes
    import terminal

    terminal.install(workflow)
    job_processes.install(workflow)
    if workflow.is_main_process:
        refuse_low_memory_limit()
        # The list needs neither a configuration without faults nor a number of cores.
        if is_target("studies"):
            print(*study_list.study_lines(CONFIG), sep="\n")
            sys.exit()
        import scheduler_load

        scheduler_load.install()
        terminal.data_functions[:] = [
            lambda: run_plan.data_lines(settings.datasets, settings.locations["dataset"])
        ]
    try:
        check_base_file(Path(OWN_SETTINGS))
    except UserError as error:
        raise WorkflowError(str(error)) from None
