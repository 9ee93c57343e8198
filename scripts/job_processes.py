"""Jobs as copies of one process, which imports the libraries once for all of them.

Starting Python and importing the libraries takes longer than the work of most jobs of a small run.
This file is started as a process, the server: by a run of many jobs while they are planned, and
otherwise by the second job. It forks for every job, and the copy runs the script as ``python
SCRIPT`` would. The modules of `LIBRARIES` that a job has imported are then imported by the server,
so that later copies have them. The server computes nothing, and its copies share nothing else.

A job gets the process that Snakemake starts where its command is another one (an environment of
conda, a container), where its linear algebra has more than one thread, or where its folder or its
environment variables differ from those of the server. So do all jobs where memory is limited, on
other systems than Linux, and where the variable `OWN_PROCESSES` is set.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import multiprocessing
import os
import resource
import runpy
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

OWN_PROCESSES = "OFER_OWN_PROCESSES"
"""The environment variable with which every job starts Python itself, as for finding a fault."""

FIRST_MODULES = (
    "h5py",
    "pandas",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.spatial.distance",
    "scipy.stats",
    "sklearn.ensemble",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
)
"""What the server of a run of many jobs imports before the first: what takes longest in most."""

LIBRARIES = {
    "h5py",
    "matplotlib",
    "numpy",
    "pandas",
    "scipy",
    "sklearn",
    "snakemake",
    "workflow_lib",
}
"""Of which packages the server imports what jobs have imported; others might start threads, which
a copy would not have."""

TARGETS = {"all", "answer"}
"""Targets, beside the default one, for which the server begins before the jobs are planned."""

ONE_THREAD = "n_threads=1"
"""What is in a script whose linear algebra has one thread, whatever the rule requests: its threads
are copies of its process."""

THREADS = (
    "OMP_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
FOLDERS = ("TMPDIR", "TMP", "TEMPDIR", "TEMP")
"""Variables that Snakemake sets for each job: its threads, and the folder for temporary files."""

SECONDS_TO_END = 2.0
"""How long Snakemake waits at its end for the server."""

PREFIX = "set -euo pipefail; "
"""What Snakemake puts in front of every command for bash."""


def install(workflow) -> None:
    """Begin the Python scripts of this process's jobs as copies, where that is possible."""
    # `snakemake.shell` may also be the class in it.
    shell = sys.modules.get("snakemake.shell")
    limits = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    is_limited = any(resource.getrlimit(limit)[0] != resource.RLIM_INFINITY for limit in limits)
    if sys.platform != "linux" or is_limited or os.environ.get(OWN_PROCESSES):
        return
    if getattr(shell, "sp", None) is subprocess:
        shell.sp = Starter()
        shell.sp.prepare(workflow)


class Starter:
    """The module `subprocess` for Snakemake, whose `Popen` begins scripts as copies of a server."""

    def __init__(self) -> None:
        self._lock, self._n_scripts = threading.Lock(), 0
        self._server: socket.socket | None = None
        self._is_used = False
        self._surroundings: tuple[str, dict[str, str]] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def prepare(self, workflow) -> None:
        """Begin the server while jobs are planned, where a command is for many on this machine."""
        execute = workflow.execute

        def prepared(executor_plugin, *arguments, **settings) -> Any:
            kind, targets = executor_plugin.common_settings, set(workflow.dag_settings.targets)
            is_run = kind.local_exec and not (kind.dryrun_exec or kind.touch_exec)
            if is_run and workflow.is_main_process and targets <= TARGETS:
                folders = dict.fromkeys(FOLDERS, tempfile.gettempdir())
                env = os.environ | dict.fromkeys(THREADS, "1") | folders
                self._server_in((os.getcwd(), env), FIRST_MODULES)
            return execute(executor_plugin, *arguments, **settings)

        workflow.execute = prepared

    def Popen(self, command: str, *, env: dict[str, str], **options: Any) -> Any:
        """Begin a command of Snakemake, as a copy where it runs a Python script."""
        words = shlex.split(command.removeprefix(PREFIX)) if isinstance(command, str) else []
        is_script = len(words) == 2 and words[0] == sys.executable and words[1].endswith(".py")
        self._n_scripts += is_script
        if is_script and env.get("OPENBLAS_NUM_THREADS") != "1":
            with open(words[1], encoding="utf-8") as script:
                if ONE_THREAD in script.read():
                    env = env | dict.fromkeys(THREADS, "1")
        # The first starts alone: for the one job of a command, a server would take time only.
        is_copied = self._n_scripts > 1 and env.get("OPENBLAS_NUM_THREADS") == "1" and is_script
        if is_copied and options["stdout"] is not subprocess.PIPE:
            # A server that was killed cannot copy itself; the job can still start alone.
            with contextlib.suppress(OSError, EOFError):
                server = self._server_in((os.getcwd(), env))
                if server:
                    return Copy(server, words[1])
        return subprocess.Popen(command, env=env, **options)

    def _server_in(
        self, surroundings: tuple[str, dict[str, str]], modules: Sequence[str] = ()
    ) -> socket.socket | None:
        """Return the connection to the server, or None if its folder or variables are others.

        One that is begun for later imports `modules`. Another one takes its place where the folder
        or the variables of the jobs are not those that were expected.
        """
        with self._lock:
            if not self._is_used and surroundings != self._surroundings:
                if self._server:
                    self._server.close()
                self._server, theirs = socket.socketpair()
                command = [sys.executable, __file__, str(theirs.fileno()), *modules]
                server = subprocess.Popen(command, env=surroundings[1], pass_fds=[theirs.fileno()])
                theirs.close()
                atexit.register(self._end, self._server, server)
                self._surroundings = surroundings
            self._is_used |= not modules
        return self._server if surroundings == self._surroundings else None

    def _end(self, connection: socket.socket, server: subprocess.Popen) -> None:
        """Close the connection to a server, on which it ends unless copies are still at work."""
        connection.close()
        if not self._is_used:
            server.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(SECONDS_TO_END)


class Copy:
    """A copy of the server that runs a script, with the methods of a process that are used."""

    def __init__(self, server: socket.socket, script: str) -> None:
        self._connection, theirs = Pipe()
        socket.send_fds(server, [b"."], [theirs.fileno()])
        theirs.close()
        self._connection.send(script)
        self.pid: int = self._connection.recv()

    def wait(self) -> int:
        """Let the script begin, and return its exit status, of a signal its negative number."""
        # Not before, so that the process is still there when Snakemake begins to measure it.
        try:
            self._connection.send("begin")
            return self._connection.recv()
        except (OSError, EOFError):
            return -signal.SIGKILL

    def kill(self) -> None:
        """End the process at once."""
        self._send(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the process to end."""
        self._send(signal.SIGTERM)

    def _send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)


def serve(requests: socket.socket, modules: Iterable[str] = ()) -> None:
    """Import modules, and begin a copy for every connection sent until the other end is closed."""
    # The interrupt of a terminal is for Snakemake, and for the jobs.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import_each(modules)
    jobs: dict[Connection, tuple[Any, Connection]] = {}
    is_open = True
    while is_open or jobs:
        missing: list[str] = []
        for ready in wait([*jobs, *[requests] * is_open]):
            if ready is requests:
                _, files, *_ = socket.recv_fds(requests, 1, 1)
                is_open = bool(files)
                of_others = [requests, *(other for _, other in jobs.values())]
                # Without an answer, the job starts alone.
                with contextlib.suppress(OSError, EOFError):
                    if is_open:
                        imported, process, connection = copied(Connection(files[0]), of_others)
                        jobs[imported] = process, connection
                continue
            try:
                missing += ready.recv()
            except EOFError:
                process, connection = jobs.pop(ready)
                process.join()
                with contextlib.suppress(OSError):
                    connection.send(process.exitcode)
                connection.close()
        import_each(missing)


def import_each(names: Iterable[str]) -> None:
    """Import modules; what cannot be imported is left to the jobs."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def copied(connection: Connection, of_others: list[Any]) -> tuple[Connection, Any, Connection]:
    """Begin a copy that runs the script which a connection names, and answer with its number.

    The copy closes the connections `of_others`, so that these end with the server. The first of the
    returned connections gives the modules that the copy imports, and ends with it.
    """
    imported, theirs = Pipe(duplex=False)
    # What exists is not collected by the copies, which would copy its memory.
    gc.freeze()
    arguments = connection.recv(), connection, theirs, of_others
    process = multiprocessing.get_context("fork").Process(target=run_script, args=arguments)
    process.start()
    theirs.close()
    connection.send(process.pid)
    return imported, process, connection


def run_script(
    script: str, connection: Connection, imported: Connection, of_others: list[Any]
) -> None:
    """Run a script in this copy, and tell the server what it has imported."""
    for other in of_others:
        other.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    known = set(sys.modules)
    connection.recv()
    sys.argv[:] = [script]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        new = set(sys.modules) - known
        imported.send(sorted(name for name in new if name.partition(".")[0] in LIBRARIES))


if __name__ == "__main__":
    # As the adapter does: an installed library may be that of another folder.
    project = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if os.path.isdir(os.path.join(project, "workflow_lib")):
        sys.path.insert(1, project)
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
