"""What the terminal shows: one line per finished job, and a short, complete message on failure.

Snakemake reports every job in several blocks of text. `install`, called at the top of the
Snakefile, puts a handler in front of Snakemake's own: it words the events of the jobs itself and
passes on everything else, so that ``--lint``, ``--summary`` and the like are untouched. A dry run
shows a line for each stage, and what the run would need; with ``--printshellcmds`` Snakemake lists
every job before.

It is not an installable logger plugin, because a plugin named in a profile makes every command
fail where it is not installed (another environment, a container), and because the lines should
be the same under every profile.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import shlex
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import psutil

from workflow_lib.core.errors import UserError
from workflow_lib.core.file_digests import check_digest
from workflow_lib.run.run_plan import PlannedJob, stage_lines, total_lines

LINKS_OF_TRACEBACKS = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
"""What Python writes between the tracebacks of an exception and of its cause."""

SIGNALS_OF_MEMORY = ("SIGKILL", "SIGSEGV", "SIGABRT", "SIGBUS")
OUT_OF_MEMORY = "; often the memory ran out: give Snakemake fewer --cores, or the job more memory"
UNEXPLAINED = (
    "; often the memory ran out (give Snakemake fewer --cores, or the job more memory), "
    "or the disk is full (make room)"
)

AGAIN = "run the same snakemake command again."
MAKE_ROOM = (
    f"To fix it: make room on the disk of this folder and of temporary files (TMPDIR), and {AGAIN}"
)
ALLOW_WRITING = (
    "To fix it: allow writing there (by the permissions, or by how the disk is mounted), "
    f"and {AGAIN}"
)

GIVE_MEMORY = f"To fix it: give Snakemake fewer --cores, or more memory, and {AGAIN}"

PROGRESS_EVERY = 30.0
"""Seconds between two lines that report how much of a run is left."""

TAIL_LINES = 15
TAIL_BYTES = 1 << 20
TEXT_WIDTH = 56

# Beginnings of the lines that Snakemake prints in every run and that say nothing about this one.
ROUTINE = (
    "Config file config/config.yaml is extended",
    "Assuming unrestricted shared filesystem usage",
    "Building DAG of jobs",
    "Using shell:",
    "Group jobs: inactive",
    "Conda environments: ignored",
    "Singularity containers: ignored",
    "Select jobs to execute",
    "Touching output file",
    "Removing output files of failed job",
    "Removing temporary output",
    "Retrieving from storage:",
    "Storing in storage:",
    "Finished upload.",
    "Finished retrieval.",
    "Removing local copy of storage file:",
    "Shutting down, this might take some time",
    "Exiting because a job execution failed",
    "Complete log(s):",
    "SLURM run ID:",
    "No SLURM account given, trying to guess",
    "No account was given, not able to get a SLURM account",
    "Unable to guess SLURM account",
)
# Beginnings of what a dry run says that its last lines sum up.
SUMMED_UP = ("Reasons:", "Some jobs were triggered by provenance information")

# Rules whose log is shown, since it is what the user asked for.
RULES_WITH_SHOWN_LOG = {"new"}
SILENT_EVENTS = {"workflow_started", "resources_info", "job_started"}

SUBMITTED = r"(?:Job|Submitted).* (?:with SLURM jobid|with external jobid) '?(\w+)'?"

# Snakemake does not pass on the scheduler's message about a group that it refuses.
REFUSED = (
    "error: none of its jobs began. Often the scheduler refuses what is requested: the partition, "
    "the account, the memory, or more time than its limit. Its own message is shown by --verbose."
)


closing_functions: list[Callable[[], list[str]]] = []
"""Functions whose lines end a run that was successful, or that had nothing to do."""

data_functions: list[Callable[[], list[str]]] = []
"""Functions whose lines end a dry run: which data are missing, and what to do about it."""


def install(workflow) -> bool:
    """Show the jobs of `workflow` one line each from now on.

    Parameters
    ----------
    workflow : snakemake.workflow.Workflow
        The variable of that name in the Snakefile.

    Returns
    -------
    bool
        False where the terminal is left to Snakemake: in the processes that Snakemake starts for
        jobs, with ``--verbose``, ``--debug-dag`` or ``--quiet all``, when another logger writes to
        the terminal, and when this workflow is a module of another one.
    """
    settings = workflow.output_settings
    quiet = {str(item).lower() for item in settings.quiet or ()}
    is_module = (
        Path(workflow.main_snakefile).resolve().parent != Path(__file__).resolve().parents[1]
    )
    if not workflow.is_main_process or is_module:
        return False
    if settings.verbose or settings.debug_dag or any(item.endswith("all") for item in quiet):
        return False
    logger = logging.getLogger("snakemake.logging")
    for default in list(logger.handlers):
        if default.name == "DefaultStreamHandler":
            logger.removeHandler(default)
            is_listed = bool(settings.printshellcmds)
            handler = TerminalHandler(default, settings.dryrun, is_listed)
            handler.locations = storage_locations(workflow)
            logger.addHandler(handler)
            return True
    return False


class TerminalHandler(logging.Handler):
    """Words the events of jobs; everything else goes to Snakemake's own handler.

    Parameters
    ----------
    default : logging.StreamHandler
        Snakemake's handler: its stream, its filter (``--quiet``) and its choice of colour hold.
    dry_run : bool, default=False
        Whether nothing is executed; then the jobs are counted.
    lists_jobs : bool, default=False
        Whether a dry run lists every job.
    """

    def __init__(
        self, default: logging.StreamHandler, dry_run: bool = False, lists_jobs: bool = False
    ) -> None:
        super().__init__()
        self.default = default
        self.dry_run = dry_run
        self.lists_jobs = lists_jobs
        self.locations = "", ""
        self.planned: list[PlannedJob] = []
        self.started: dict[int, float] = {}
        self.titles: dict[int, str] = {}
        self.wildcards: dict[int, str] = {}
        self.shown_logs: dict[int, str] = {}
        self.finished: list[int] = []
        self.failed: dict[int | str | None, str] = {}
        self.groups: dict[int, str] = {}
        self.n_submissions = 0
        self.causes: dict[int | None, str] = {}
        self.interrupted = False
        self.done = 0
        self.total = 0
        self.first_event = time.monotonic()
        self.last_progress = self.first_event
        self.rules: dict[int, str] = {}
        self.pending: Counter[str] = Counter()
        self.spent: dict[str, list[float]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.word(record)
        except (AttributeError, KeyError, TypeError, ValueError):
            # A release of Snakemake with other fields: its own text is better than none.
            text = None
        if text is None:
            self.default.handle(record)
        elif text:
            if record.levelno >= logging.ERROR and not getattr(self.default, "nocolor", True):
                text = f"\033[31m{text}\033[0m"
            self.default.stream.write(text + "\n")
            self.default.flush()

    def close(self) -> None:
        self.default.close()
        super().close()

    def word(self, record: logging.LogRecord) -> str | None:
        """Return the text for `record`: '' to show nothing, None to leave it to Snakemake."""
        event = str(getattr(record, "event", None) or "")
        if event == "error":
            return self.word_exception(record)
        message = str(record.msg or "")
        if event in SILENT_EVENTS or message.startswith(ROUTINE):
            return ""
        if event == "group_info":
            self.n_submissions += 1
            return ""
        if self.dry_run:
            return self.word_dry_run(record, event, message)
        if event == "run_info":
            self.total = record.stats["total"]
            self.pending = Counter(record.stats)
            del self.pending["total"]
            return f"{self.total} job{'s' * (self.total > 1)} to run"
        if event == "job_info":
            return self.note_start(record)
        if event == "job_finished":
            self.finished.append(record.job_id)
            return ""
        if event == "progress":
            return self.word_progress(record)
        if event == "group_error":
            return self.word_group_failure(record)
        if event == "job_error":
            # The job of a group was reported with its group.
            return "" if record.jobid in self.groups else self.word_failure(record)
        if event == "shellcmd":
            return None if record.shellcmd else ""
        if submitted := re.match(SUBMITTED, message):
            return f"submitted as {submitted.group(1)}"
        if message.startswith("Terminating processes on user request"):
            is_first, self.interrupted = not self.interrupted, True
            if is_first:
                return "interrupted; the running jobs are stopped and their outputs removed"
            return ""
        if message.startswith("Elapsed time:"):
            return "" if self.failed or self.done < self.total else self.word_end()
        if message.startswith("Nothing to be done"):
            return "\n".join([message, *closing_lines()])
        return None

    def note_start(self, record: logging.LogRecord) -> str:
        job = record.jobid
        self.started[job] = time.monotonic()
        self.rules[job] = record.rule_name
        self.wildcards[job] = " ".join(
            f"{name}={value}" for name, value in record.wildcards.items()
        )
        if record.rule_name in RULES_WITH_SHOWN_LOG and record.log:
            self.shown_logs[job] = local_path(record.log[0], *self.locations)
        message = str(record.rule_msg or "").strip()
        self.titles[job] = message.splitlines()[0] if message else self.title(record)
        return ""

    def title(self, record: logging.LogRecord) -> str:
        """Return a description of a job of a rule that has no message."""
        return f"{record.rule_name} {self.wildcards.get(record.jobid, '')}".strip()

    def word_progress(self, record: logging.LogRecord) -> str:
        self.total = record.total
        lines = []
        for index, job in enumerate(self.finished):
            self.done = record.done - len(self.finished) + index + 1
            # The job may have failed before and succeeded when it was tried again.
            self.failed.pop(job, None)
            self.failed.pop(self.groups.pop(job, None), None)
            rule, now = self.rules.get(job, ""), time.monotonic()
            self.pending[rule] -= 1
            self.spent.setdefault(rule, []).append(now - self.started.get(job, now))
            lines.append(self.line(self.titles.get(job, f"job {job}"), job))
            lines += log_lines(self.shown_logs.pop(job, None))
        self.finished.clear()
        lines += self.progress_lines()
        return "\n".join(lines) if self.default.filter(record) else ""

    def progress_lines(self) -> list[str]:
        """Return how much is left, if the last such line is `PROGRESS_EVERY` seconds old."""
        now = time.monotonic()
        if now - self.last_progress < PROGRESS_EVERY or self.done >= self.total:
            return []
        self.last_progress = now
        left = about(seconds_left(self.pending, self.spent, now - self.first_event))
        return [f"{self.done} of {self.total} jobs done, about {left} left"]

    def line(self, title: str, job: int | None) -> str:
        """Return ``[ 12/240   5%] title   2.1 s``."""
        width = len(str(self.total))
        percent = 100 * self.done // max(self.total, 1)
        spent = duration(time.monotonic() - self.started.get(job, time.monotonic()))
        return f"[{self.done:>{width}}/{self.total} {percent:>3}%] {title:<{TEXT_WIDTH}} {spent:>9}"

    def word_failure(self, record: logging.LogRecord) -> str:
        job = record.jobid
        if self.interrupted:
            return ""
        title = self.titles.get(job, record.rule_name)
        self.failed[job] = title
        cause = self.causes.pop(record.thread, "")
        logs = [local_path(log, *self.locations) for log in record.log]
        tail = next((lines for lines in map(readable_tail, logs) if lines), [])
        text = [self.line(f"FAILED {title}", job)]
        is_explained = any(line.startswith("error: ") for line in tail)
        # The exit status 1 of a script says less than its message; any other status says more.
        if cause and (not is_explained or not cause.endswith(" 1")):
            hint = UNEXPLAINED if record.log and cause.endswith(" 1") else ""
            text.append(f"error: the job ended with {cause}{hint}")
        text += tail
        text.append(f"    rule       {record.rule_name}")
        if self.wildcards.get(job):
            text.append(f"    wildcards  {self.wildcards[job]}")
        for log in logs:
            text.append(f"    full log   {log}")
        for name, value in record.aux.items():
            text.append(f"    {name:<10} {value}")
        return "\n".join(text)

    def word_group_failure(self, record: logging.LogRecord) -> str:
        """Return the text for jobs that were submitted together and failed together."""
        group, jobs = record.groupid, record.job_error_info
        self.groups.update({job["jobid"]: group for job in jobs})
        if self.interrupted:
            return ""
        self.failed[group] = f"group {group}"
        text = [self.line(f"FAILED group {group} ({len(jobs)} jobs)", None)]
        for job in jobs:
            for log in (local_path(log, *self.locations) for log in job["log"]):
                tail = readable_tail(log)
                if any(line.startswith("error: ") for line in tail):
                    text += [*tail, f"    rule       {job['rule_name']}", f"    full log   {log}"]
        logs = [log for log in record.aux_logs if log]
        if len(text) == 1:
            text += next((lines for lines in map(readable_tail, logs) if lines), [REFUSED])
        text += [f"    log of the scheduler   {log}" for log in logs]
        return "\n".join(text)

    def word_dry_run(self, record: logging.LogRecord, event: str, message: str) -> str | None:
        """Return '' for what the last lines of a dry run sum up, these lines, or None."""
        if event == "job_info":
            self.planned.append(planned_job(record))
            return None if self.lists_jobs else ""
        if event == "run_info" or message.startswith(SUMMED_UP):
            return None if self.lists_jobs else ""
        if not message.startswith("This was a dry-run"):
            return None
        stages = [] if self.lists_jobs else [*stage_lines(self.planned), ""]
        lines = [*stages, *total_lines(self.planned, self.n_submissions), *data_lines()]
        return "\n".join(lines)

    def word_exception(self, record: logging.LogRecord) -> str | None:
        message = str(record.msg or "")
        name = record.exception
        if "CalledProcessError" in message and name in ("RuleException", "CalledProcessError"):
            # The report of the job follows, from the same thread, and says more.
            self.causes[record.thread] = exit_cause(message)
            return ""
        if "At least one job did not complete successfully" in message:
            return "" if self.dry_run else self.word_stop()
        unreadable = unreadable_file(message)
        if unreadable:
            # If a job could not read it, that job was reported before Snakemake stops with this.
            return self.word_stop() if self.failed else f"error: {unreadable}"
        later = file_of_later_date(message)
        if later:
            return f"error: {later}"
        remedy = remedy_for_system(message)
        if remedy:
            return f"error: {what_was_refused(message, name)}\n{remedy}"
        text = f"error: {without_traceback(message, name)}"
        if name == "LockException":
            text += "\nIf another run is at work there, wait for it. If it was killed, to go on:"
            # With all that was typed, since it names the folder and a valid configuration.
            text += f"\n    {typed_command('--unlock')}\n    {typed_command()}"
        elif name == "ProtectedOutputException":
            files = message.partition("affected files:")[2].split("\n")
            files = [file.strip() for file in files if file.strip()]
            if all(os.access(os.path.dirname(file) or ".", os.W_OK) for file in files):
                text += f"\nTo fix it: rm {shlex.join(files)} and {AGAIN}"
            else:
                text += f"\n{ALLOW_WRITING}"
        elif name in ("KeyError", "NameError", "TypeError", "AttributeError") or (
            "Traceback (most recent call last):" in message
        ):
            text += "\nThe full traceback is shown by adding --verbose to the command."
        return text

    def word_stop(self) -> str:
        """Return the last lines of a run that did not finish, with the command that resumes it."""
        if len(self.failed) > 1:
            lines = ["failed:"] + [f"    {title}" for title in self.failed.values()]
        else:
            lines = []
        if self.failed:
            what = f"{len(self.failed)} job{'s' * (len(self.failed) > 1)} failed"
        else:
            what = "stopped before the end"
        lines.append(f"{what}; {self.done} of {self.total} jobs are finished and kept. To resume:")
        lines.append(f"    {typed_command()}")
        return "\n".join(lines)

    def word_end(self) -> str:
        # What came before this handler, such as the imports, is part of what the user waits for.
        spent = duration(time.time() - psutil.Process().create_time())
        given = f" ({self.n_submissions} submissions)" if self.n_submissions else ""
        end = f"{self.done} job{'s' * (self.done > 1)} finished in {spent}{given}"
        return "\n".join([end, *closing_lines()])


def storage_locations(workflow) -> tuple[str, str]:
    """Return the address that files of a storage begin with, and the folder of their copies."""
    prefix = workflow.storage_settings.default_storage_prefix
    if not workflow.storage_settings.default_storage_provider or not prefix:
        return "", ""
    folder = str(workflow.modifier.modify_path("results")).removesuffix("results")
    return f"{prefix.rstrip('/')}/", folder


def local_path(path: str, address: str, folder: str) -> str:
    """Return where a file is on this machine; of one in a storage, Snakemake states the address."""
    if not address or not path.startswith(address):
        return path
    return folder + path.removeprefix(address).partition(" (")[0]


def planned_job(record: logging.LogRecord) -> PlannedJob:
    """Return a job of a dry run; what is not known before other jobs have run counts as nothing."""
    requested = {key: getattr(record.resources, key, 0) for key in ("mem_mb", "runtime")}
    known = {key: value for key, value in requested.items() if isinstance(value, int | float)}
    return PlannedJob(
        record.rule_name, record.reason, record.threads, benchmark=record.benchmark, **known
    )


def data_lines() -> list[str]:
    """Return the lines of `data_functions`."""
    return [line for function in data_functions for line in function()]


def closing_lines() -> list[str]:
    """Return the lines of `closing_functions`, after an empty line."""
    lines = [line for function in closing_functions for line in function()]
    return ["", *lines] if lines else []


def seconds_left(
    pending: Mapping[str, int], spent: Mapping[str, Sequence[float]], elapsed: float
) -> float:
    """Return about how long a run still takes, from the jobs that are finished.

    A job takes as long as those of its rule did on average, or of all rules where none is finished,
    and as many run at once as did until now.

    Parameters
    ----------
    pending : mapping from rules to numbers of jobs that are not finished
    spent : mapping from rules to the seconds of each finished job
    elapsed : float
        Seconds since the run began.
    """
    every = [seconds for times in spent.values() for seconds in times]
    usual = sum(every) / max(len(every), 1)
    left = sum(
        max(count, 0) * (sum(spent[rule]) / len(spent[rule]) if spent.get(rule) else usual)
        for rule, count in pending.items()
    )
    at_once = sum(every) / elapsed if elapsed > 0 else 0.0
    return left / at_once if at_once > 0 else 0.0


def about(seconds: float) -> str:
    """Return a rounded duration: ``20 s``, ``3 min`` or ``1 h 10 min``."""
    if seconds < 55:
        return f"{max(10 * round(seconds / 10), 10)} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{max(minutes, 1)} min"
    tens = round(minutes / 10) * 10
    return f"{tens // 60} h {tens % 60:02d} min"


def duration(seconds: float) -> str:
    """Return a duration, for example ``2.1 s``, ``3 min 05 s`` or ``1 h 02 min``."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def log_lines(path: str | os.PathLike | None) -> list[str]:
    """Return the lines of a log; [] where there is none."""
    try:
        return Path(path).read_text(encoding="utf-8").splitlines() if path else []
    except (OSError, UnicodeDecodeError):
        return []


def readable_tail(path: str | os.PathLike, n_lines: int = TAIL_LINES) -> list[str]:
    """Return the last lines of a log without its tracebacks; [] where there is no text to read.

    Consecutive lines ``error: ...`` are all kept: each names another file.
    """
    try:
        with open(path, "rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - TAIL_BYTES))
            text = log.read().decode("utf-8", errors="replace")
    except OSError:
        return []
    lines = list(drop_tracebacks(text.rstrip().splitlines()))
    first = max(0, len(lines) - n_lines)
    while first and all(line.startswith("error: ") for line in lines[first - 1 : first + 1]):
        first -= 1
    return lines[first:]


def drop_tracebacks(lines: Iterable[str]) -> Iterable[str]:
    """Yield `lines` without tracebacks; of each only the last line, the exception, is kept.

    A line ``error: ...``, which the adapter writes after a traceback, stands for the exception too.
    """
    lines = list(lines)
    last = max((n for n, line in enumerate(lines) if line.startswith("error: ")), default=-1)
    inside = False
    for index, line in enumerate(lines):
        if line.startswith("Traceback (most recent call last):"):
            inside = True
        elif inside and line and not line[0].isspace():
            inside = False
            if index >= last:
                yield line
        elif not inside and line.strip() and line not in LINKS_OF_TRACEBACKS:
            yield line


def without_traceback(message: str, name: str) -> str:
    """Return Snakemake's text for an exception without the lines of its traceback."""
    refused = re.search(r"^Error:\n  WorkflowError:\n    (.+)\nWildcards:", message, re.MULTILINE)
    if name == "InputFunctionException" and refused:
        # An input function that refuses what the user wrote gives the complete message.
        return refused.group(1)
    lines = [line for line in message.splitlines() if not re.match(r'\s*File ".*", line \d+', line)]
    if any(line.startswith("Traceback (most recent call last):") for line in lines):
        lines = list(drop_tracebacks(lines))
    lines = [line for line in lines if line.strip() not in ("", "Traceback:")]
    # A UserError says where the fault is; the line of the Snakefile that found it does not help.
    # The name of the class alone, without a line of the Snakefile, is no help.
    if len(lines) > 1 and (name in ("UserError", "WorkflowError") or lines[0] == f"{name}:"):
        head = lines.pop(0)
        if name == "WorkflowError" and " in " in head:
            lines.append(f"    ({head.rstrip(':')})")
    return "\n".join(lines).removeprefix("Error: ")


def unreadable_file(message: str) -> str:
    """Return the message on a file that Snakemake itself may not read; '' for other errors.

    Snakemake reads the inputs of jobs for their checksums.
    """
    named = re.search(r"\[Errno 13\] [^:]+: '(.+?)'", message)
    path = named.group(1) if named else ""
    if not os.path.isfile(path) or os.access(path, os.R_OK):
        return ""
    try:
        check_digest(path)
    except UserError as error:
        return str(error)
    # A file without a digest is the user's own, which is not to be removed.
    return str(
        UserError(
            path,
            "the file cannot be read",
            remedy=f"chmod u+r {shlex.quote(path)} and run the same snakemake command again",
        )
    )


def file_of_later_date(message: str) -> str:
    """Return the text for an input whose date lies in the future; '' for any other message."""
    found = re.search(r"older modification time \(.+?\) than input (.+?) \((.+?)\)\. ", message)
    if not found:
        return ""
    path, date = found.groups()
    return (
        f"{path}: its date, {date.split('.')[0]}, lies in the future. The clock was set back, or "
        "those of two machines differ. To fix it: find . -type f -newermt now -exec touch {} + "
        "and run the same snakemake command again. This makes no finished job run again."
    )


def remedy_for_system(message: str) -> str:
    """Return what to do about a full disk, missing permissions or too little memory.

    '' where the message reports none of them.
    """
    numbers = {int(number) for number in re.findall(r"\[Errno (\d+)\]", message)}
    if numbers & {errno.ENOSPC, errno.EDQUOT}:
        return MAKE_ROOM
    if numbers & {errno.EROFS, errno.EACCES, errno.EPERM}:
        return ALLOW_WRITING
    words = ("MemoryError", "can't start new thread")
    is_of_memory = errno.ENOMEM in numbers or any(word in message for word in words)
    return GIVE_MEMORY if is_of_memory else ""


def what_was_refused(message: str, name: str) -> str:
    """Return Snakemake's text for an error of the operating system, without its numbers."""
    # The line of the Snakefile is not the cause, and an error is often repeated.
    lines = [
        re.sub(r"^(?:\w+: )?\[Errno \d+\] ", "", line)
        for line in without_traceback(message, name).splitlines()
        if not re.match(r'\w+ in file ".*", line \d+:$', line)
    ]
    return "\n".join(dict.fromkeys(lines))


def exit_cause(message: str) -> str:
    """Return how a process ended, in words, from the text of a CalledProcessError."""
    killed = re.search(r"died with <Signals\.\w+: (\d+)>", message)
    status = re.search(r"exit status (-?\d+)", message)
    number = int(killed.group(1)) if killed else 0
    if status and int(status.group(1)) > 128:
        number = int(status.group(1)) - 128
    if number:
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = str(number)
        return f"signal {name}{OUT_OF_MEMORY if name in SIGNALS_OF_MEMORY else ''}"
    return f"exit status {status.group(1)}" if status else ""


def program_name() -> str:
    """Return how the user started snakemake."""
    program = sys.argv[0]
    if os.path.basename(program) == "__main__.py":
        return "python -m snakemake"
    if program == shutil.which("snakemake"):
        return "snakemake"
    if os.path.isabs(program) and not os.path.relpath(program).startswith(os.pardir):
        return os.path.relpath(program)
    return program


def typed_command(*options: str) -> str:
    """Return the command that the user typed, with further options in front of its own."""
    return " ".join([program_name(), *options, *map(shlex.quote, sys.argv[1:])])
