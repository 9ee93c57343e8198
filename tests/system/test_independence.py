"""The same results on other cores, in another order, folder, locale and timezone.

Trial 0 of every kind is a run in which all of them differ. `--faults=full` adds a run for each
difference alone, so that the cause of a failure is known.

Only the threads of the linear algebra may change anything: a sum in another order is rounded in
another way. Closed forms then agree to `TOLERANCE`, and what is selected is the same. The
result of an optimiser (the numerical pre-image of `iokr`) agrees to its tolerance only and is left
out.
"""

import csv
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

import h5py
import numpy as np
import pytest
import smoke
from small_run import ASSAY, SNAKEMAKE, commit, contents, edit_yaml, write_yaml

MARK = "whereabouts"
"""Part of the name of every folder here, by which results that contain it are recognised."""

ODD = f"{MARK} [a] 'b' $HOME & Co"
ACCENTED = f"{MARK} – Größe"
BRACED = f"{MARK} {{1}} {{name}}"
LONG = "/".join([MARK, *(letter * 180 for letter in "abc")])


class Way(NamedTuple):
    """The differences of a run from the undisturbed run."""

    cores: int = 2
    order: int | None = None
    """Number of a random order of the jobs."""

    scheduler: str = "greedy"
    folder: str = MARK
    is_linked: bool = False
    """Whether the project is reached through a symbolic link."""

    is_apart: bool = False
    """Whether the project cannot be written to, and the results are written elsewhere."""

    locale: str | None = None
    umask: int = 0o022
    variables: Mapping[str, str] = {}


KIRITIMATI, ST_JOHNS = "<+14>-14", "NST3:30NDT,M3.2.0,M11.1.0"

AT_ONCE = Way(
    cores=1,
    order=0,
    folder=ODD,
    is_linked=True,
    is_apart=True,
    locale="C",
    umask=0o077,
    # The first has ASCII as encoding, the last warns of code that depends on the encoding.
    variables={
        "PYTHONUTF8": "0",
        "PYTHONHASHSEED": "11",
        "TZ": KIRITIMATI,
        "PYTHONWARNDEFAULTENCODING": "1",
    },
)

CORES = [AT_ONCE, Way(cores=1), Way(cores=2), Way(cores=3)]
ORDERS = [
    AT_ONCE,
    Way(order=1, cores=1),
    Way(order=2, cores=1, scheduler="ilp"),
    Way(order=3),
    Way(order=4, scheduler="ilp"),
]
FOLDERS = [
    AT_ONCE,
    Way(folder=ODD),
    Way(folder=ACCENTED),
    Way(folder=LONG),
    Way(is_linked=True),
    Way(is_apart=True),
    Way(folder=LONG, is_apart=True),
    Way(folder=ACCENTED, is_linked=True, is_apart=True),
]
LOCALES = [
    AT_ONCE,
    Way(locale="C"),
    Way(locale="C", variables={"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    Way(locale="C.UTF-8"),
    Way(locale="de_DE.UTF-8"),
    Way(locale="de_DE.ISO-8859-1"),
    Way(locale="tr_TR.UTF-8"),
    Way(locale="tr_TR.ISO-8859-9"),
    Way(variables={"TZ": KIRITIMATI}),
    Way(variables={"TZ": ST_JOHNS}),
    Way(variables={"PYTHONHASHSEED": "1"}),
    Way(variables={"PYTHONHASHSEED": "random"}),
    Way(umask=0o077),
]


class Run(NamedTuple):
    """A successful run and its output."""

    folder: Path
    project: Path
    said: str


@pytest.fixture(scope="module")
def run(fresh, undisturbed, tmp_path_factory) -> Iterator[Callable[[Way], Run]]:
    """Return the function that runs the smoke experiment in some way; the same way only once."""
    runs: dict[str, Run] = {}

    def run_in(way: Way) -> Run:
        if repr(way) not in runs:
            location = tmp_path_factory.mktemp("otherwise")
            runs[repr(way)] = run_otherwise(way, fresh, undisturbed, location)
        return runs[repr(way)]

    yield run_in
    for done in runs.values():
        make_writable(done.project)
        shutil.rmtree(done.project)
        shutil.rmtree(done.folder, ignore_errors=True)


def run_otherwise(way: Way, fresh: Path, undisturbed: Path, location: Path) -> Run:
    """Run the smoke experiment in folders below `location`."""
    variables = {**way.variables, **locale_variables(way.locale, location)}
    location.joinpath(way.folder).mkdir(parents=True)
    project = smoke.copy_of(fresh, location / way.folder / "project")
    before = contents(project, ".")
    entry = project
    if way.is_linked:
        entry = location / way.folder / "link"
        entry.symlink_to(project, target_is_directory=True)
    folder, options, prefix = entry, [], []
    if way.is_apart:
        folder = location / way.folder / "results apart"
        folder.mkdir()
        options = ["--snakefile", str(entry / "Snakefile")]
        make_writable(project, False)
        prefix = respecting_permissions()
    said = ""
    for further in order_options(way, undisturbed):
        command = [*prefix, *SNAKEMAKE, "--cores", str(way.cores), *options]
        command += ["--configfile", str(entry / smoke.CONFIGURATION), *further]
        environment = smoke.environment(entry, **variables)
        if way.locale:
            for name in ("LANG", "LANGUAGE", "LC_CTYPE"):
                environment.pop(name, None)
        done = subprocess.run(
            command, cwd=folder, env=environment, umask=way.umask, capture_output=True, timeout=600
        )
        text = (done.stdout + done.stderr).decode(errors="replace")
        assert done.returncode == 0, text
        said += text
    if way.is_apart:
        assert contents(project, ".") == before, "the project was written to"
    return Run(folder, project, said)


def order_options(way: Way, undisturbed: Path) -> list[list[str]]:
    """Return the further options of the commands that run the jobs in a random order.

    The first command makes some results alone, the second all others, some of them before
    results on which they do not depend.
    """
    if way.order is None:
        return [[]]
    scheduler = ["--scheduler", way.scheduler]
    targets = sorted(name for name in smoke.results(undisturbed) if name.startswith("results/"))
    drawn = Random(way.order).sample(targets, 6)
    return [["--scheduler", way.scheduler, *drawn[:3]], ["--prioritize", *drawn[3:], *scheduler]]


def order_of_jobs(folder: Path) -> list[str]:
    """Return the benchmark files of a finished run in the order in which the jobs ended."""
    jobs = folder / "results" / "timings" / "jobs"
    files = sorted(jobs.rglob("*.tsv"), key=lambda path: (path.stat().st_mtime_ns, path))
    return [path.relative_to(jobs).as_posix() for path in files]


def locale_variables(name: str | None, location: Path) -> dict[str, str]:
    """Return the variables that choose a locale, built below `location` if it is missing."""
    if name is None:
        return {}
    if is_known({"LC_ALL": name}):
        return {"LC_ALL": name}
    language, _, encoding = name.partition(".")
    built = location / "locales"
    if not shutil.which("localedef"):
        pytest.skip(f"the locale {name} is not installed, and there is no localedef to build it")
    built.mkdir()
    subprocess.run(
        ["localedef", "-i", language, "-f", encoding, "--no-archive", str(built / name)],
        capture_output=True,
        timeout=60,
    )
    variables = {"LOCPATH": str(built), "LC_ALL": name}
    if not is_known(variables):
        pytest.skip(f"the locale {name} is not installed and cannot be built (no sources of it)")
    return variables


def is_known(variables: Mapping[str, str]) -> bool:
    """Return whether the system has the locale that variables choose."""
    command = [sys.executable, "-c", "import locale; locale.setlocale(locale.LC_ALL, '')"]
    environment = os.environ | variables
    return not subprocess.run(command, env=environment, capture_output=True, timeout=60).returncode


def make_writable(folder: Path, is_writable: bool = True) -> None:
    """Allow or forbid changes of a folder and of all below it."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | 0o200 if is_writable else mode & ~0o222)


def respecting_permissions() -> list[str]:
    """Return the prefix of a command that makes even root respect the permissions of files."""
    if os.geteuid() or not shutil.which("setpriv"):
        return []
    words = ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search"]
    is_allowed = not subprocess.run([*words, "true"], capture_output=True, timeout=60).returncode
    return words if is_allowed else []


def assert_same(done: Run, undisturbed: Path, expected: Mapping[str, str]) -> None:
    """Check that a run has the bytes of the undisturbed run, wherever no time is shown."""
    found = smoke.results(done.folder)
    assert set(found) == set(expected)
    assert [name for name in sorted(found) if found[name] != expected[name]] == []
    assert page_without_times(done.folder) == page_without_times(undisturbed)


def page_without_times(folder: Path) -> str:
    """Return the report without its table of seconds."""
    text = (folder / "results" / "report.html").read_text(encoding="utf-8")
    parts = re.split(r"(?=<article\b)|(?<=</article>)", text)
    kept = [part for part in parts if "<caption>Seconds of the clusters." not in part]
    assert len(kept) == len(parts) - 1
    return "".join(kept)


@pytest.mark.fault("other cores")
@pytest.mark.trials(short=1, full=len(CORES))
def test_the_number_of_cores_changes_nothing(run, undisturbed, expected, number):
    assert_same(run(CORES[number]), undisturbed, expected)


@pytest.mark.fault("another order of jobs")
@pytest.mark.trials(short=1, full=len(ORDERS))
def test_the_order_of_the_jobs_changes_nothing(run, undisturbed, expected, number):
    done = run(ORDERS[number])
    assert order_of_jobs(done.folder) != order_of_jobs(undisturbed)
    assert sorted(order_of_jobs(done.folder)) == sorted(order_of_jobs(undisturbed))
    assert_same(done, undisturbed, expected)


@pytest.mark.fault("another folder")
@pytest.mark.trials(short=1, full=len(FOLDERS))
def test_no_result_names_the_folder(run, undisturbed, expected, number):
    done = run(FOLDERS[number])
    assert_same(done, undisturbed, expected)
    files = [path for part in ("results", "resources") for path in (done.folder / part).rglob("*")]
    telling = [path for path in files if path.is_file() and MARK.encode() in path.read_bytes()]
    assert telling == []


@pytest.mark.fault("another folder")
def test_a_folder_that_snakemake_cannot_name_is_refused(fresh, tmp_path):
    folder = smoke.copy_of(fresh, tmp_path / BRACED)
    outcome = smoke.snakemake(folder, "--dry-run")
    assert outcome.status == 1
    assert f"error: the folder '{folder}': its name holds a brace" in outcome.text
    assert "To fix it: give the folder another name." in outcome.text


@pytest.mark.fault("another locale or timezone")
@pytest.mark.trials(short=1, full=len(LOCALES))
def test_the_locale_and_the_timezone_change_nothing(run, undisturbed, expected, number):
    done = run(LOCALES[number])
    assert_same(done, undisturbed, expected)
    assert implicit_encodings(done.folder, done.said) == []


def implicit_encodings(folder: Path, said: str) -> list[str]:
    """Return the warnings about code of the project whose encoding depends on the locale.

    Python gives them where PYTHONWARNDEFAULTENCODING is set.
    """
    logs = [path.read_text(encoding="utf-8") for path in (folder / "logs").rglob("*.log")]
    lines = [line for text in (said, *logs) for line in text.splitlines()]
    return [line for line in lines if "EncodingWarning" in line and MARK in line]


OWN_COLUMNS = {"heat": "Wärme °C", "colour": "Łäcke", "up": "größer", "down": "±Δ"}
OWN_LOCALES = [
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONWARNDEFAULTENCODING": "1"},
    {"LC_ALL": "de_DE.ISO-8859-1"},
    {"LC_ALL": "tr_TR.ISO-8859-9"},
]


@pytest.fixture(scope="module")
def user_table(fresh, tmp_path_factory) -> Path:
    """Return a project with titles and labels of many letters, and rows to predict.

    Its table, of many letters too, is in another folder and is given by its full path.
    """
    folder = smoke.copy_of(fresh, tmp_path_factory.mktemp("own") / MARK)
    text = (folder / "assay.csv").read_text(encoding="utf-8")
    for name, other in OWN_COLUMNS.items():
        text = text.replace(name, other, 1)
    table = folder.parent / "assay.csv"
    table.write_text(text, encoding="utf-8")
    rows = "Wärme °C,time,Łäcke\n2.5,1,r\n,2,g\n4,3,mäuve\n"
    (folder / "rows.csv").write_text(rows, encoding="utf-8")
    options = {
        "file": str(table),
        "outputs": ["größer", "±Δ"],
        "numbers": ["Wärme °C", "time"],
        "categories": ["Łäcke"],
        "row_name": "sample",
    }
    config = folder / "config"
    write_yaml(config / "datasets" / "assay.yaml", ASSAY | {"title": "Größe ±", "options": options})
    edit_yaml(
        config / "experiments" / "assay.yaml",
        title="Prüfung – Größe",
        training_sizes=[24],
        methods=["m-krr", "m-mean"],
        tables=[],
        figures=[],
    )
    edit_yaml(config / "methods" / "m-krr.yaml", label="Kérnel ± Łidge")
    edit_yaml(folder / smoke.CONFIGURATION, experiments=["assay"])
    commit(folder)
    return folder


@pytest.fixture(scope="module")
def own_predictions(user_table, tmp_path_factory) -> dict[str, str]:
    """Return the SHA-256 of the results and predictions of the table with the encoding UTF-8."""
    folder = smoke.copy_of(user_table, tmp_path_factory.mktemp("expected") / MARK)
    predict(folder, LC_ALL="C.UTF-8")
    return smoke.results(folder)


def predict(folder: Path, **variables: str) -> str:
    """Predict the new rows of `user_table`, with all that this needs; return the output."""
    options = ["--config", "name=assay", "rows=rows.csv", "--scheduler", "greedy", "predict"]
    return smoke.snakemake(folder, *options, **variables).succeeded().text


@pytest.mark.fault("another locale or timezone")
@pytest.mark.trials(short=1, full=len(OWN_LOCALES))
def test_a_table_of_many_letters_gives_the_same_results(
    user_table, own_predictions, tmp_path, number
):
    variables = OWN_LOCALES[number]
    variables = variables | locale_variables(variables["LC_ALL"], tmp_path)
    # Deeper than the project that it is compared with.
    folder = tmp_path / "deeper" / MARK
    folder.parent.mkdir()
    smoke.copy_of(user_table, folder)
    said = predict(folder, **variables)
    assert smoke.results(folder) == own_predictions
    assert {"results/assay/model.h5", "results/assay/predictions/rows.csv"} <= set(own_predictions)
    assert implicit_encodings(folder, said) == []


TOLERANCE = 1e-8
"""Largest difference of two numbers, relative to the largest number of their array."""

SELECTED = {
    "block_weight",
    "coupling",
    "laplacian_weight",
    "n_components",
    "n_directions",
    "neighbours",
    "output_laplacian_weight",
    "output_penalty",
    "output_width",
    "alpha",
    "alpha_rest",
    "alpha_leading",
    "projected",
    "projection_penalty",
    "rank",
    "weak_weight",
    "width",
}
"""Names of selected hyper-parameters, which are compared exactly."""

BLAS_RULES = (
    "read",
    "features",
    "models",
    "annotate",
    "embeddings",
    "embedding_regression",
    "regression",
    "preimages",
    "scores",
)
FIRST = ("m-krr", "ofer-gmm", "wofer-gmm")
FURTHER = ("m-krr-laplacian", "m-krr-pc", "m-krr-rank", "ofer-density", "ofer-gaussian-full")
THREADS = [(2, FIRST), (4, FIRST), (2, FURTHER), (4, FURTHER)]


@pytest.fixture(scope="module")
def scored(fresh, tmp_path_factory) -> Callable[[int, tuple[str, ...]], Path]:
    """Return the function that scores methods on 800 rows with a number of threads."""
    folders: dict[tuple, Path] = {}

    def folder_of(n_threads: int, methods: tuple[str, ...]) -> Path:
        key = (n_threads, methods)
        if key not in folders:
            location = tmp_path_factory.mktemp("threads") / "run"
            folders[key] = score_many_rows(fresh, location, n_threads, methods)
        return folders[key]

    return folder_of


def score_many_rows(fresh: Path, folder: Path, n_threads: int, methods: tuple[str, ...]) -> Path:
    """Run methods on 800 training rows of the clusters, up to the scores; return the folder.

    Snakemake sets the variables of the linear algebra, such as `OPENBLAS_NUM_THREADS`, to the
    threads of the rule, whatever the user has set.
    """
    smoke.copy_of(fresh, folder)
    options = {"n_rows": 1300, "n_components": 4, "n_outputs": 8, "n_inputs": 12, "spread": 2.0}
    edit_yaml(folder / "config" / "datasets" / "clusters.yaml", options=options)
    edit_yaml(
        folder / "config" / "experiments" / "clusters.yaml",
        methods=list(methods),
        training_sizes=[800],
        weak_sizes=[200],
        test_size=300,
        n_splits=1,
        tables=[],
        figures=[],
    )
    edit_yaml(folder / smoke.CONFIGURATION, experiments=["clusters"])
    targets = ["results/clusters/scores.csv", "results/clusters/coordinates.csv"]
    threads = [f"{rule}={n_threads}" for rule in BLAS_RULES]
    options = ["--set-threads", *threads, "--scheduler", "greedy", *targets]
    smoke.snakemake(folder, *options, cores=max(n_threads, 2)).succeeded()
    return folder


@pytest.mark.fault("other BLAS threads")
@pytest.mark.trials(short=1, full=len(THREADS))
def test_threads_of_the_linear_algebra_change_rounding_only(scored, number):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this machine has one CPU, on which the linear algebra keeps to one thread")
    n_threads, methods = THREADS[number]
    one, more = scored(1, methods), scored(n_threads, methods)
    names = numeric_results(one)
    assert {"results/clusters/scores.csv", "results/clusters/split-0/split.h5"} <= set(names)
    assert numeric_results(more) == names
    assert [fault for name in names for fault in differing(one / name, more / name)] == []


def numeric_results(folder: Path) -> list[str]:
    """Return the HDF5 and CSV files of the results, relative to the folder."""
    return sorted(name for name in smoke.results(folder) if name.endswith((".h5", ".csv")))


def differing(first: Path, second: Path) -> list[str]:
    """Return the names of what differs in two HDF5 or CSV files by more than rounding."""
    ones, others = named_values(first), named_values(second)
    names = sorted({*ones, *others})
    return [
        f"{first.name}: {name}"
        for name in names
        if name not in ones or name not in others or not agree(name, ones[name], others[name])
    ]


def named_values(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays and attributes of an HDF5 file, or the columns of a CSV file, by name."""
    if path.suffix == ".csv":
        with open(path, encoding="utf-8", newline="") as file:
            names, *rows = csv.reader(file)
        return {name: typed(cells) for name, cells in zip(names, zip(*rows))}
    values = {}

    def keep(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset):
            values[name] = np.asarray(item[()])
        # The digests of other files, which differ where the numbers in these do.
        for key in set(item.attrs) - {"content_digest", "inputs"}:
            values[f"{name}/{key}"] = np.asarray(item.attrs[key])

    with h5py.File(path) as file:
        keep("", file)
        file.visititems(keep)
    return values


def typed(cells: tuple[str, ...]) -> np.ndarray:
    """Return cells as integers where all are, as numbers where all are or are empty, or as text."""
    for convert in (int, lambda cell: float(cell or "nan")):
        try:
            return np.array([convert(cell) for cell in cells])
        except ValueError:
            continue
    return np.array(cells)


def agree(name: str, first: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two values are the same, those of computed numbers up to rounding."""
    if first.shape != other.shape or first.dtype.kind != other.dtype.kind:
        return False
    # The curve of a hyper-parameter has its name, and holds errors.
    is_selected = name.rpartition("/")[2] in SELECTED and "/validation_curves/" not in name
    if first.dtype.kind != "f" or is_selected:
        return np.array_equal(first, other, equal_nan=first.dtype.kind == "f")
    largest = np.max(np.abs(first[np.isfinite(first)]), initial=0.0)
    return np.allclose(first, other, rtol=0.0, atol=TOLERANCE * largest, equal_nan=True)
