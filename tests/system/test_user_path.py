"""The three commands on a table of the user's own, disturbed in every way, and repeated."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
import smoke
from mounts import BLOCK, mounted_disk
from running_workflow import RunAtWork
from small_run import (
    SNAKEMAKE,
    Outcome,
    commit,
    copy_folder,
    copy_project,
    edit_yaml,
    files_below,
    make_once,
    write_yaml,
)
from test_file_systems import FULL, NO_MEMORY, assert_words
from test_kills import KILLED_AT_A_RENAME, follow
from test_two_runs import ADVICE, REFUSAL
from whole_results import assert_none_incomplete, assert_whole

NAME = "blend"
DATASET, EXPERIMENT = (f"config/tables/{kind}/{NAME}.yaml" for kind in ("datasets", "experiments"))
PREDICTIONS = f"results/{NAME}/predictions/rows.csv"
COMMANDS = {
    "new": "data=blend.csv outputs=strength,weight methods=m-krr,m-mean splits=2".split(),
    "answer": [],
    "predict": ["rows=rows.csv"],
}
"""By command: what it needs besides the name of the table."""

DIGEST = f"results/{NAME}/predictions/.rows.csv.sha256"
FILES = {"new": [DATASET, EXPERIMENT], "predict": [PREDICTIONS, DIGEST]}
"""What each writes, in this order."""


def typed(command: str, cores: int = 1) -> list[str]:
    """Return a command as a user types it."""
    configuration = ["--configfile", "config/own.yaml", "--config", f"name={NAME}"]
    return [*SNAKEMAKE, "--cores", str(cores), command, *configuration, *COMMANDS[command]]


def run(
    folder: Path, command: str, cores: int = 1, prefix: list[str] | None = None, **variables: str
) -> Outcome:
    return smoke.ended(folder, [*(prefix or []), *typed(command, cores)], **variables)


def shorten(folder: Path) -> None:
    """Leave out of the experiment what takes long and is tested elsewhere."""
    table = {"name": "error", "kind": "error", "caption": "Test errors."}
    edit_yaml(folder / EXPERIMENT, training_sizes=[24], tables=[table], figures=[])


def make_table(folder: Path) -> None:
    copy_project(folder)
    write_yaml(folder / "config/own.yaml", {"seed": 7, "n_folds": 3, "experiments": ["clusters"]})
    random = Random(11)
    lines = ["sample,heat,colour,strength,weight"]
    for row in range(30):
        heat, colour = random.uniform(0, 9), random.choice(["red", "blue"])
        strength = heat + 3 * (colour == "red") + random.gauss(0, 0.4)
        lines.append(f"s{row},{heat:.3f},{colour},{strength:.3f},{heat**2 / 4:.3f}")
    (folder / "blend.csv").write_text("\n".join(lines) + "\n")
    (folder / "rows.csv").write_text("heat,colour\n2.5,red\n7.25,blue\n,red\n4,mauve\n")
    commit(folder)


@pytest.fixture(scope="session")
def stages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return folders before each command, and after the last; they must not be changed."""
    before: dict[str, Path] = {}
    before["new"], _ = make_once("table", make_table, tmp_path_factory)

    def make(command: str, target: Path) -> Outcome:
        outcome = run(copy_folder(before[command], target), command).succeeded()
        if command == "new":
            shutil.copytree(target / "config", target.parent / "proposed/config")
            shorten(target)
        return outcome

    for command, following in (("new", "answer"), ("answer", "predict"), ("predict", "end")):
        before[following], _ = make_once(
            f"table-{following}", lambda target, done=command: make(done, target), tmp_path_factory
        )
    return before


@pytest.fixture
def folder_before(stages, tmp_path) -> Iterator:
    """Return the function that copies the folder before a command."""
    yield lambda command: copy_folder(stages[command], tmp_path / "run")
    shutil.rmtree(tmp_path / "run", ignore_errors=True)


def assert_as_undisturbed(folder: Path, command: str, stages: dict[str, Path]) -> None:
    """Check that what a command makes is what it makes undisturbed."""
    if command == "new":
        assert proposed(folder) == proposed(stages["answer"].parent / "proposed")
    else:
        assert_whole(folder, smoke.results(stages["predict" if command == "answer" else "end"]))


def proposed(folder: Path) -> list[str | None]:
    """Return the texts of the two files that `new` writes, None for one that is not there."""
    paths = [folder / name for name in FILES["new"]]
    return [path.read_text() if path.exists() else None for path in paths]


def assert_nothing_incomplete(folder: Path, command: str, stages: dict[str, Path]) -> None:
    if command == "new":
        texts = zip(proposed(folder), proposed(stages["answer"].parent / "proposed"))
        assert all(found in (None, expected) for found, expected in texts)
    assert_none_incomplete(folder, smoke.results(stages["end"]))


def repeat(folder: Path, command: str) -> None:
    """Repeat a command that was killed, and follow its message where the folder is locked."""
    outcome = run(folder, command)
    if REFUSAL in outcome.text:
        assert outcome.text.count("error: ") == 1 and "Traceback" not in outcome.text
        for advised in outcome.text.splitlines()[-2:]:
            outcome = follow(folder, advised.strip()).succeeded()
    # Both files of the new table were there already.
    assert outcome.status == 0 or (command == "new" and "exists already" in outcome.text), (
        outcome.text
    )


@pytest.mark.fault("kill -9 of new, answer or predict")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.trials(short=1, full=10)
def test_a_command_that_was_killed_is_repeated(command, number, folder_before, stages, tmp_path):
    folder, variables = folder_before(command), {}
    random = Random(f"{command} {number}")
    # The first trials are at the moments that are too short to be met at random.
    at_a_rename = number < 4 and command in FILES
    if at_a_rename:
        path = FILES[command][number // 2]
        patch = tmp_path / "patch"
        patch.mkdir()
        code = KILLED_AT_A_RENAME.format(target=str(folder / path), is_renamed=number % 2 == 0)
        (patch / "sitecustomize.py").write_text(code)
        variables = {"PYTHONPATH": str(patch)}
    with RunAtWork(folder, command=typed(command), **variables) as work:
        if at_a_rename:
            assert work.end().status == -9, work.text
            assert (folder / path).exists() == (number % 2 == 0)
        else:
            work.wait_until(lambda: work.n_jobs)
            n_finished = random.randrange(max(work.n_jobs - 1, 1))
            work.wait_until(lambda: work.n_finished >= n_finished)
            time.sleep(random.uniform(0, 3))
            work.kill_both()
    assert_nothing_incomplete(folder, command, stages)
    repeat(folder, command)
    assert_as_undisturbed(folder, command, stages)


DISKS = [
    ("answer", "results", 0.5),
    ("new", "config", 0.0),
    ("predict", "results", 0.0),
    ("answer", ".", 0.3),
    ("new", "config", 1.0),
    ("predict", "results", 1.0),
    *(("answer", "results", share) for share in (0.0, 0.2, 0.8)),
    ("answer", ".", 0.7),
]
"""The command, the folder on a separate disk, and the share of what it writes that has room."""


@pytest.mark.fault("a disk that fills during new, answer or predict")
@pytest.mark.trials(short=1, full=len(DISKS))
def test_a_disk_that_a_command_fills_is_named(number, folder_before, stages):
    command, name, share = DISKS[number]
    folder = folder_before(command)
    with mounted_disk(folder / name) as disk:
        paths = [stages["predict"] / path for path in files_below(stages["predict"], "results")]
        blocks = sum(-(-path.stat().st_size // BLOCK) + 1 for path in paths)
        needed = blocks if command == "answer" else 1
        disk.leave(round(share * needed))
        outcome = run(folder, command)
        assert outcome.status == 1, outcome.text
        assert_words(outcome, FULL)
        assert_nothing_incomplete(folder, command, stages)
        if command == "new":
            assert proposed(folder) == [None, None]
        disk.make_room()
        run(folder, command).succeeded()
        assert_as_undisturbed(folder, command, stages)


MEMORY = [("new", 500), ("answer", 850), ("predict", 600)]
MEMORY += [("answer", mib) for mib in (450, 550, 650, 750, 1000, 1300, 2000)]
"""The command, and the MiB of address space of each of its processes."""


@pytest.mark.fault("a memory limit of new, answer or predict")
@pytest.mark.trials(short=1, full=len(MEMORY))
def test_a_command_with_little_memory_says_so_or_ends_well(number, folder_before, stages):
    command, mib = MEMORY[number]
    folder = folder_before(command)
    outcome = run(folder, command, prefix=["prlimit", f"--as={mib << 20}"])
    if outcome.status:
        assert_words(outcome, NO_MEMORY)
        assert_nothing_incomplete(folder, command, stages)
        run(folder, command).succeeded()
    assert_as_undisturbed(folder, command, stages)


FOLDERS = [("Proben Straße 1", 61001, 1, 2), ("side by side", 61002, 2, 1)]
"""Of two users: the name of the folder, the number of the user, who has no name, cores, threads."""


@pytest.mark.fault("two users, folders with odd names, other cores and threads")
def test_two_users_get_the_same_results(stages):
    # Not below the folder of pytest, which is closed to other users.
    with TemporaryDirectory() as name:
        parent = Path(name)
        parent.chmod(0o755)
        with ThreadPoolExecutor(2) as pool:
            folders = list(pool.map(lambda folder: whole_path(stages, parent, *folder), FOLDERS))
        for folder in folders:
            assert_as_undisturbed(folder, "predict", stages)
            assert (folder / f"results/{NAME}/report.html").stat().st_size > 10_000


def whole_path(stages, parent: Path, name: str, user: int, cores: int, threads: int) -> Path:
    """Let a user type the three commands in a folder; return it."""
    folder, home = parent / name, parent / f"home-{user}"
    copy_folder(stages["new"], folder)
    home.mkdir()
    prefix: list[str] = []
    if os.geteuid() == 0:
        prefix = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        for path in [home, folder, *folder.rglob("*")]:
            os.chown(path, user, user, follow_symlinks=False)
        # By a shell of the user: setpriv itself may still enter all folders.
        probe = [*prefix, "sh", "-c", '"$0" -c "import numpy"', sys.executable]
        if not shutil.which("setpriv") or subprocess.run(probe, capture_output=True).returncode:
            pytest.skip("another user cannot use the Python of the tests")
    variables = {f"{library}_NUM_THREADS": str(threads) for library in ("OPENBLAS", "OMP")}
    for command in COMMANDS:
        run(folder, command, cores=cores, prefix=prefix, HOME=str(home), **variables).succeeded()
        if command == "new":
            shorten(folder)
    return folder


@pytest.mark.fault("two commands at once on a table")
def test_a_second_command_is_refused_or_does_no_harm(folder_before, stages):
    folder = folder_before("predict")
    (folder / f"results/{NAME}/scores.csv").unlink()
    with RunAtWork(folder, command=typed("answer")) as first:
        first.wait_until(lambda: first.n_jobs)
        first.hold()
        for command in ("answer", "predict"):
            outcome = run(folder, command)
            assert outcome.status == 1 and ADVICE in outcome.text, outcome.text
            assert outcome.text.count("error: ") == 1 and "Traceback" not in outcome.text
        outcome = run(folder, "new")
        assert outcome.status == 1 and "exists already" in outcome.text, outcome.text
        first.go_on()
        ended = first.end()
    assert ended.status == 0, ended.text
    assert_as_undisturbed(folder, "answer", stages)
