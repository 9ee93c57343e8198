"""What a user sees of a run, on a small workflow with the project's own scripts and profile."""

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import pytest
from script_module import script_module

ROOT = Path(__file__).resolve().parents[2]
SNAKEMAKE = Path(sys.executable).with_name("snakemake")

HEAD = """\
import sys

sys.path.insert(0, f"{workflow.basedir}/scripts")
import terminal

terminal.install(workflow)
"""
RULES = """\
rule all:
    input:
        expand("out/{item}.txt", item=["a", "b", "c"]),
    message:
        "all results are there"


rule make:
    input:
        script="scripts/make.py",
    output:
        "out/{item}.txt",
    log:
        "logs/make/{item}.log",
    threads: 2
    message:
        "make item {wildcards.item}"
    script:
        "scripts/make.py"
"""
SCRIPT = """\
from adapter import job

with job(snakemake):
    import os
    import time
    from pathlib import Path

    from workflow_lib.core.errors import UserError

    item = snakemake.wildcards.item
    print("working on", item)
    Path(snakemake.output[0]).write_text("half")
    if os.environ.get("FAIL_" + item) == "user":
        raise UserError("data.csv, row 7", "a word", "a number", "write a number")
    if os.environ.get("FAIL_" + item) == "defect":
        raise KeyError("absent")
    if os.environ.get("FAIL_" + item) == "kill":
        os.kill(os.getpid(), 9)
    if os.environ.get("FAIL_" + item) == "sleep":
        time.sleep(60)
    Path(snakemake.output[0]).write_text(os.environ["OMP_NUM_THREADS"])
"""


@pytest.fixture(scope="module")
def terminal():
    return script_module("terminal")


@pytest.fixture
def project(tmp_path):
    (tmp_path / "scripts").mkdir()
    for name in ("terminal.py", "adapter.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    shutil.copytree(ROOT / "profiles" / "default", tmp_path / "profiles" / "default")
    (tmp_path / "scripts" / "make.py").write_text(SCRIPT)
    (tmp_path / "Snakefile").write_text(HEAD + RULES)
    return tmp_path


def environment(**variables):
    path = os.pathsep.join([str(SNAKEMAKE.parent), os.environ["PATH"]])
    return os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)} | variables


def snakemake(project, *options, **variables):
    """Run snakemake; return its exit status, its stdout, and its stderr without the first line.

    That line, which names the profile, Snakemake prints before anything else is read.
    """
    result = subprocess.run(
        [SNAKEMAKE, *options],
        cwd=project,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=120,
    )
    lines = result.stderr.splitlines()
    if lines and lines[0].startswith("Using workflow specific profile"):
        lines = lines[1:]
    return result.returncode, result.stdout, lines


def test_a_run_shows_one_line_per_finished_job(project):
    status, _, lines = snakemake(project, "--cores", "2")
    assert status == 0
    assert lines[0] == "4 jobs to run"
    for number, line in enumerate(lines[1:4], start=1):
        pattern = rf"\[{number}/4 +{25 * number}%\] make item [abc] +\d+\.\d s"
        assert re.fullmatch(pattern, line), line
    assert re.fullmatch(r"\[4/4 100%\] all results are there +\d+\.\d s", lines[4])
    assert re.fullmatch(r"4 jobs finished in \d+\.\d s", lines[5])
    assert len(lines) == 6
    # Snakemake bounds the linear algebra by the threads of the rule.
    assert (project / "out" / "a.txt").read_text() == "2"
    assert (project / "logs" / "make" / "a.log").read_text() == "working on a\n"

    again = snakemake(project, "--cores", "2")
    assert again[0] == 0
    assert len(again[2]) == 1 and again[2][0].startswith("Nothing to be done")

    # Dates alone start nothing; the content of a script, declared as an input, does.
    for path in (project / "scripts" / "make.py", project / "out" / "a.txt"):
        path.touch()
    assert snakemake(project, "--cores", "2")[2][0].startswith("Nothing to be done")
    with open(project / "scripts" / "make.py", "a") as script:
        script.write("# changed\n")
    assert snakemake(project, "--cores", "2")[2][0] == "4 jobs to run"


def test_a_failure_is_readable_and_says_how_to_resume(project):
    status, _, lines = snakemake(
        project, "--cores", "2", "--keep-going", FAIL_b="user", FAIL_c="kill"
    )
    text = "\n".join(lines)
    assert status == 1
    assert "Traceback" not in text and "CalledProcessError" not in text
    start = next(index for index, line in enumerate(lines) if "FAILED make item b" in line)
    assert lines[start + 1 : start + 6] == [
        "working on b",
        "error: data.csv, row 7: a word. Expected a number. To fix it: write a number.",
        "    rule       make",
        "    wildcards  item=b",
        "    full log   logs/make/b.log",
    ]
    assert "error: the job ended with signal SIGKILL" in text
    assert "failed:" in lines and "    make item c" in lines
    assert lines[-2:] == [
        "2 jobs failed; 1 of 4 jobs are finished and kept. To resume:",
        "    snakemake --cores 2 --keep-going",
    ]
    log = (project / "logs" / "make" / "b.log").read_text()
    assert "Traceback (most recent call last):" in log and log.endswith("write a number.\n")
    left = sorted(path.name for path in (project / "out").iterdir())
    assert left == [".a.txt.sha256", "a.txt"]

    status, _, lines = snakemake(project, "--cores", "2", "--keep-going")
    assert status == 0
    assert lines[0] == "3 jobs to run"


def test_the_remaining_time_follows_from_finished_jobs(terminal):
    spent = {"fit": [2.0, 4.0], "draw": [1.0]}
    # Three fits of 3 s, two drawings of 1 s, and a job as long as all are on average.
    pending = {"fit": 3, "draw": 2, "report": 1}
    expected = 9 + 2 + 7 / 3
    assert terminal.seconds_left(pending, spent, elapsed=7.0) == pytest.approx(expected)
    # Two at once.
    assert terminal.seconds_left(pending, spent, elapsed=3.5) == pytest.approx(expected / 2)
    assert terminal.seconds_left({"fit": 3}, {}, elapsed=1.0) == 0.0
    words = {3: "10 s", 42: "40 s", 56: "1 min", 150: "2 min", 3599: "1 h 00 min"}
    assert {seconds: terminal.about(seconds) for seconds in words} == words


def test_a_run_shows_the_remaining_time_and_ends_with_the_requested_messages(project):
    snakefile = project / "Snakefile"
    often = HEAD.replace("terminal.install", "terminal.PROGRESS_EVERY = 0\nterminal.install")
    assert often != HEAD
    said = 'terminal.closing_functions[:] = [lambda: ["Use it."]]\n'
    snakefile.write_text(often + "\n" + said + RULES)
    for n_remaining in (3, 0):
        status, _, lines = snakemake(project, "--cores", "1")
        assert status == 0
        assert lines[-2:] == ["", "Use it."]
        remaining = [line for line in lines if " left" in line]
        assert len(remaining) == n_remaining
        pattern = r"[123] of 4 jobs done, about \d+ s left"
        assert all(re.fullmatch(pattern, line) for line in remaining)
    assert "Use it." not in snakemake(project, "--cores", "1", "-n", "--forceall")[2]


def test_a_defect_is_reported_as_such(project):
    status, _, lines = snakemake(project, "--cores", "2", "out/a.txt", FAIL_a="defect")
    assert status == 1
    message = "error: unexpected KeyError: 'absent'; this is a defect, see logs/make/a.log"
    assert lines.count(message) == 1
    assert not any("Traceback" in line for line in lines)
    assert lines[-1] == "    snakemake --cores 2 out/a.txt"


def test_a_lock_left_by_a_killed_run_is_explained(project):
    run = subprocess.Popen(
        [SNAKEMAKE, "--cores", "2"],
        cwd=project,
        env=environment(FAIL_a="sleep", FAIL_b="sleep", FAIL_c="sleep"),
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        limit = time.monotonic() + 60
        while not list(project.glob("out/*.txt")) and time.monotonic() < limit:
            time.sleep(0.05)
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    assert list(project.glob("out/*.txt"))

    status, _, lines = snakemake(project, "--cores", "2")
    assert status == 1
    assert lines[0].startswith("error: Directory cannot be locked.")
    assert lines[-2:] == ["    snakemake --unlock --cores 2", "    snakemake --cores 2"]
    assert snakemake(project, "--unlock", "--cores", "2")[2] == ["Unlocked working directory."]
    # An incomplete file is made again without an option.
    status, _, lines = snakemake(project, "--cores", "2")
    assert status == 0
    assert lines[0] == "4 jobs to run"
    assert {path.read_text() for path in project.glob("out/*.txt")} == {"2"}


def test_an_input_whose_date_lies_in_the_future_is_explained(project):
    script = project / "scripts" / "make.py"
    os.utime(script, (time.time() + 3600, time.time() + 3600))
    status, _, lines = snakemake(project, "--cores", "1", "out/a.txt")
    assert status == 1
    assert lines[1].startswith("error: scripts/make.py: its date, 2")
    assert ", lies in the future. The clock was set back" in lines[1]
    assert lines[-1] == "    snakemake --cores 1 out/a.txt"
    assert not any("error: " in line or "WorkflowError" in line for line in lines[2:])
    remedy = "find . -type f -newermt now -exec touch {} +"
    assert f"To fix it: {remedy} and run the same snakemake command again." in lines[1]
    subprocess.run(remedy.split(), cwd=project, check=True, timeout=60)
    assert snakemake(project, "--cores", "1", "out/a.txt")[0] == 0


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "from workflow_lib.core.errors import UserError\n"
            "raise UserError('config.yaml, key seed', 'a word', 'a number')",
            ["error: config.yaml, key seed: a word. Expected a number."],
        ),
        (
            "raise WorkflowError('the mirror is empty')",
            ["error: the mirror is empty", '    (WorkflowError in file "{}", line 8)'],
        ),
        (
            "{}['absent']",
            [
                'error: KeyError in file "{}", line 8:',
                "'absent'",
                "The full traceback is shown by adding --verbose to the command.",
            ],
        ),
    ],
)
def test_errors_of_the_snakefile_have_no_traceback(project, statement, expected):
    snakefile = project / "Snakefile"
    snakefile.write_text(HEAD + "\n" + statement + "\n" + RULES)
    status, _, lines = snakemake(project, "--cores", "1")
    assert status == 1
    assert lines == [line.format(snakefile) for line in expected]


def test_dry_runs_are_summed_up_and_questions_answered_by_snakemake(project):
    _, out, _ = snakemake(project, "-n")
    lines = out.splitlines()
    stages = [line.split()[:2] for line in lines[:3]]
    assert stages == [["stage", "jobs"], ["make", "3"], ["all", "1"]]
    assert lines[1].endswith("missing output files")
    assert lines[4] == "jobs        4"
    _, out, _ = snakemake(project, "-n", "--printshellcmds")
    assert "Job stats:" in out and "Reason: Missing output files" in out
    assert "jobs        4" in out.splitlines()
    assert snakemake(project, "--list-rules")[1].split() == ["all", "make"]
    assert snakemake(project, "--rulegraph")[1].startswith("digraph")
    status, _, lines = snakemake(project, "--cores", "1", "nothing")
    assert status == 1
    assert lines[0].startswith("error: No rule to produce nothing")


def test_verbose_leaves_the_terminal_to_snakemake(project):
    _, _, lines = snakemake(project, "--cores", "1", "--verbose", "out/a.txt")
    assert "Building DAG of jobs..." in lines
    assert "1 of 1 steps (100%) done" in lines


def test_records_with_unknown_fields_are_left_to_snakemake(terminal):
    seen = []
    default = logging.StreamHandler()
    default.emit = seen.append
    handler = terminal.TerminalHandler(default)
    record = logging.makeLogRecord({"event": "progress", "msg": "fields of another release"})
    handler.emit(record)
    assert seen == [record]


def test_what_says_nothing_new_is_not_shown(terminal):
    handler = terminal.TerminalHandler(logging.StreamHandler())

    def worded(message):
        return handler.word(logging.makeLogRecord({"msg": message}))

    assert worded("Config file config/config.yaml is extended by additional config.") == ""
    assert worded("Config file other.yaml is extended by additional config.") is None
    stop = "Terminating processes on user request, this might take some time."
    assert [bool(worded(stop)) for _ in range(3)] == [True, False, False]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (59.94, "59.9 s"),
        (59.99, "1 min 00 s"),
        (185, "3 min 05 s"),
        (7325, "2 h 02 min"),
    ],
)
def test_duration(terminal, seconds, words):
    assert terminal.duration(seconds) == words


def test_tracebacks_are_left_out_of_a_log(terminal, tmp_path):
    trace = ["Traceback (most recent call last):", '  File "x.py", line 1', "    f()"]
    lines = ["first", *trace, "ValueError: bad"]
    assert list(terminal.drop_tracebacks(lines)) == ["first", "ValueError: bad"]
    assert list(terminal.drop_tracebacks([*lines, "error: bad"])) == ["first", "error: bad"]
    try:
        try:
            raise ValueError("inner")
        except ValueError as error:
            raise UserWarning("outer") from error
    except UserWarning:
        caused = traceback.format_exc().splitlines()
    try:
        try:
            raise ValueError("inner")
        except ValueError:
            {}["handled"]
    except KeyError:
        during = traceback.format_exc().splitlines()
    for chained in (caused, during):
        assert any("above exception" in line for line in chained)
        assert list(terminal.drop_tracebacks([*chained, "error: outer"])) == ["error: outer"]
    log = tmp_path / "long.log"
    log.write_text("\n".join(f"line {number}" for number in range(20000)))
    assert terminal.readable_tail(log, 2) == ["line 19998", "line 19999"]
    assert terminal.readable_tail(tmp_path / "absent.log") == []


def test_every_error_at_the_end_of_a_log_is_shown(terminal, tmp_path):
    log = tmp_path / "many.log"
    errors = [f"error: results/{number}.csv: the file differs" for number in range(40)]
    trace = ["Traceback (most recent call last):", '  File "one.py"', "UserError: the last"]
    log.write_text("\n".join(["progress", *errors[:-1], *trace, errors[-1]]))
    assert terminal.readable_tail(log) == errors
    log.write_text("\n".join([*errors, "progress 1", "progress 2"]))
    assert terminal.readable_tail(log, 2) == ["progress 1", "progress 2"]


def test_how_a_process_ended(terminal):
    command = "Command 'python x' "
    assert terminal.exit_cause(command + "returned non-zero exit status 1.") == "exit status 1"
    assert "SIGSEGV" in terminal.exit_cause(command + "died with <Signals.SIGSEGV: 11>.")
    assert "memory" in terminal.exit_cause(command + "returned non-zero exit status 137.")


@pytest.mark.parametrize(
    ("message", "name", "words", "remedy"),
    [
        (
            "OSError: [Errno 28] No space left on device\n\n"
            "During handling of the above exception, another exception occurred:\n\n"
            "Traceback (most recent call last):\n"
            '  File "cli.py", line 2316, in args_to_api\n'
            "    dag_api.execute_workflow(\n"
            "OSError: [Errno 28] No space left on device",
            "OSError",
            "error: No space left on device",
            "make room on the disk of this folder and of temporary files (TMPDIR)",
        ),
        (
            'RuleException:\nOSError in file "rules/data.smk", line 24:\n'
            "[Errno 122] Disk quota exceeded\n"
            '  File "tempfile.py", line 501, in __exit__',
            "RuleException",
            "error: Disk quota exceeded",
            "make room",
        ),
        (
            "WorkflowError:\nFailed to create output directory logs/read.\n"
            "OSError: [Errno 30] Read-only file system: 'logs/read'",
            "WorkflowError",
            "error: Failed to create output directory logs/read.\n"
            "Read-only file system: 'logs/read'",
            "allow writing there",
        ),
        (
            "OSError: [Errno 12] Cannot allocate memory",
            "OSError",
            "error: Cannot allocate memory",
            "fewer --cores, or more memory",
        ),
    ],
)
def test_refusals_of_the_file_system_are_reported_with_a_remedy(
    terminal, message, name, words, remedy
):
    handler = terminal.TerminalHandler(logging.StreamHandler())
    record = logging.makeLogRecord({"event": "error", "exception": name, "msg": message})
    said, _, last = handler.word(record).rpartition("\n")
    assert said == words
    assert last.startswith("To fix it: ") and remedy in last
    assert last.endswith(", and run the same snakemake command again.")


def test_removal_of_a_protected_output_is_advised_only_where_it_is_possible(
    terminal, tmp_path, monkeypatch
):
    handler = terminal.TerminalHandler(logging.StreamHandler())
    message = (
        f"Write-protected output files for rule a:\n    affected files:\n        {tmp_path}/a.h5"
    )
    record = logging.makeLogRecord(
        {"event": "error", "exception": "ProtectedOutputException", "msg": message}
    )
    assert f"To fix it: rm {tmp_path}/a.h5 and run" in handler.word(record)
    monkeypatch.setattr(terminal.os, "access", lambda *_: False)
    assert "To fix it: allow writing there" in handler.word(record)


def test_likely_reasons_are_given_for_a_job_that_ends_without_a_message(terminal, tmp_path):
    handler = terminal.TerminalHandler(logging.StreamHandler())
    log = tmp_path / "job.log"
    failed = {"event": "job_error", "jobid": 1, "rule_name": "make", "log": [str(log)], "aux": {}}
    for text, is_guessed in (("", True), ("halfway\n", True), ("error: a word\n", False)):
        log.write_text(text)
        record = logging.makeLogRecord(failed)
        handler.causes[record.thread] = "exit status 1"
        words = handler.word(record)
        assert ("often the memory ran out" in words and "the disk is full" in words) == is_guessed
