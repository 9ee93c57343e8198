"""One small run of the real workflow, which tests share; and the number of faults tried.

A test of a fault is marked with its kind, and with how often it is tried::

    @pytest.mark.fault("kill -9 of Snakemake")
    @pytest.mark.trials(short=3, full=100)
    def test_it_is_resumed(number): ...

`pytest --faults=full` tries all, the default a few of each; `--fault-record=FILE` writes how many
were tried, and which failed. It counts in one process, so the run must be without `-n`.
"""

import json
import platform
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from small_run import Outcome, copy_folder, copy_project, make_once, snakemake

RECORD = pytest.StashKey[dict]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("faults")
    group.addoption("--faults", choices=("short", "full"), default="short", help="how many to try")
    group.addoption(
        "--fault-record", metavar="FILE", help="write how the faults ended to this JSON"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "fault(kind): a fault of this kind is tried")
    config.addinivalue_line("markers", "trials(short, full): how often; the test takes `number`")
    config.stash[RECORD] = {}
    if config.getoption("--fault-record") and config.getoption("numprocesses", None):
        raise pytest.UsageError("--fault-record counts the faults of one process; leave out -n")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("trials")
    if marker:
        metafunc.parametrize("number", trial_numbers(metafunc.config, **marker.kwargs))


def trial_numbers(config: pytest.Config, short: int, full: int) -> range | list[int]:
    """Return the numbers of the trials: all, or some that are spread evenly over them."""
    if config.getoption("--faults") == "full":
        return range(full)
    return [index * full // short for index in range(short)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    marker = item.get_closest_marker("fault")
    is_end = report.when == "call" or (report.when == "setup" and report.outcome == "failed")
    if marker and is_end and report.outcome != "skipped":
        trials = item.config.stash[RECORD].setdefault(marker.args[0], {})
        trials[item.name] = report.outcome == "passed"
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = session.config.getoption("--fault-record")
    record = session.config.stash[RECORD]
    if path and record:
        content = merged(earlier_record(Path(path)), record, session.config.getoption("--faults"))
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def merged(kinds: dict[str, dict], record: dict[str, dict[str, bool]], trials: str) -> dict:
    """Return the record, in which the kinds of fault that were tried now replace earlier ones.

    So these tests, which take hours, may be run in parts.
    """
    facts = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "commit": commit_of_the_project()}
    for kind, outcomes in record.items():
        kinds[kind] = {
            "kind": kind,
            "tried": len(outcomes),
            "survived": sum(outcomes.values()),
            "found": [name for name, survived in outcomes.items() if not survived],
            "trials": trials,
            **facts,
        }
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "kinds": [kinds[kind] for kind in sorted(kinds)],
    }


def earlier_record(path: Path) -> dict[str, dict]:
    """Return the entries of a record, by kind; empty where there is no record."""
    if not path.is_file():
        return {}
    return {kind["kind"]: kind for kind in json.loads(path.read_text(encoding="utf-8"))["kinds"]}


def commit_of_the_project() -> str | None:
    """Return the short name of the commit, None without git."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except OSError:
        return None
    return done.stdout.strip() or None


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project in which nothing has run yet; it must not be changed."""
    return make_once("project", copy_project, tmp_path_factory)[0]


@pytest.fixture(scope="session")
def first_run(project: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """Return a folder with a finished run on two cores, and how it ended; not to be changed."""

    def run(folder: Path) -> Outcome:
        return snakemake(copy_folder(project, folder), cores=2)

    return make_once("first", run, tmp_path_factory)


@pytest.fixture(scope="session")
def first_folder(first_run: tuple[Path, Outcome]) -> Path:
    """Return the folder of the finished run; it must not be changed."""
    folder, outcome = first_run
    if outcome.status:
        pytest.fail(f"the small run failed:\n{outcome.text}")
    return folder


@pytest.fixture
def finished(first_folder: Path, tmp_path: Path) -> Iterator[Path]:
    """Return a copy of the finished run, dates kept, that a test may change."""
    folder = copy_folder(first_folder, tmp_path / "run")
    yield folder
    shutil.rmtree(folder)
