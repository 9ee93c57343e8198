"""A configuration with one fault is refused by a message that names the fault, or it runs."""

import os
import re
import resource
import signal
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import mutated_configurations
import pytest
import smoke
import yaml
from markupsafe import escape
from mutated_configurations import DEFAULTS, Mutation, applied
from small_run import Outcome, edit_yaml
from snakemake.cli import parse_config
from snakemake.common.configfile import load_configfile
from snakemake.utils import update_config
from snakemake_interface_common.exceptions import WorkflowError

from workflow_lib.core.errors import UserError
from workflow_lib.core.yaml_files import read_yaml
from workflow_lib.run.loading import load_configuration
from workflow_lib.run.named_settings import check_base_file

REFUSAL = 60
RUN = 240
"""Seconds after which a command counts as one that hangs."""

MEMORY = 8 * 2**30
"""Limit of the memory of a process, in bytes: a huge number must not exhaust the machine."""

PER_TEST = 100
"""Mutations that one test of the loader tries."""


def run(folder: Path, *options: str, seconds: int) -> Outcome:
    """Run the smoke experiment with bounded memory; it is killed when it hangs."""
    process = subprocess.Popen(
        smoke.command(*options),
        cwd=folder,
        env=smoke.environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    try:
        stdout, stderr = process.communicate(timeout=seconds)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return Outcome(process.returncode, stdout, stderr)


def load() -> dict:
    """Return the checked configuration of the smoke experiment in the working folder."""
    check_base_file(Path(DEFAULTS))
    merged = {}
    for name in (DEFAULTS, smoke.CONFIGURATION):
        update_config(merged, read_yaml(Path(name)))
    configuration = load_configuration("config", merged, [DEFAULTS, smoke.CONFIGURATION])
    return configuration.merged_dict()


def assert_reported(outcome: Outcome, *names: str) -> None:
    """Check that a command ended with an error message that contains one of the names."""
    assert outcome.status == 1
    assert "Traceback" not in outcome.text
    assert "this is a defect" not in outcome.text
    errors = [line for line in outcome.text.splitlines() if line.startswith(("error: ", "- "))]
    assert mentions("\n".join(errors), names), outcome.text


def mentions(text: str, names: Iterable[str]) -> bool:
    """Return whether one of the names occurs in `text`, and not as a part of a word."""
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names)


def assert_refused_by_snakemake(outcome: Outcome, read: Callable[[], object]) -> None:
    """Check the end of a command where Snakemake itself cannot `read` what was typed.

    It does so before the first line of the Snakefile, so the message is Snakemake's.
    """
    assert outcome.status == 1
    try:
        read()
    except WorkflowError as error:
        assert str(error) in outcome.text and "Traceback" not in outcome.text
    except Exception:
        pytest.xfail("Snakemake shows a traceback of its own")
    else:
        raise AssertionError(outcome.text)


def with_defaults_that_run(folder: Path) -> Path:
    """Return the folder, in which the configuration of all runs suits the few methods there are.

    It is used where the file of the smoke experiment is emptied.
    """
    edit_yaml(folder / DEFAULTS, experiments=["measurements"])
    return folder


@pytest.fixture(scope="module")
def valid(fresh: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the smoke experiment that every test leaves unchanged."""
    return with_defaults_that_run(smoke.copy_of(fresh, tmp_path_factory.mktemp("valid") / "run"))


def loaded(mutation: Mutation) -> dict | None:
    """Return the mutated configuration; None where a message that names the fault refuses it."""
    with applied(Path(), mutation):
        try:
            return load()
        except UserError as error:
            assert mentions(str(error), (mutation.name, *mutation.keys)), (mutation, str(error))
            return None


@pytest.mark.fault("a hundred mutated configurations, in the loader alone")
@pytest.mark.trials(short=20, full=100)
def test_the_loader_refuses_by_name_or_loads(number, valid, monkeypatch):
    monkeypatch.chdir(valid)
    numbers = range(PER_TEST * number, PER_TEST * (number + 1))
    mutations = [mutated_configurations.mutation(valid, mutated) for mutated in numbers]
    n_refused = [loaded(mutation) for mutation in mutations].count(None)
    assert PER_TEST / 2 < n_refused < PER_TEST


@pytest.mark.fault("a mutated configuration")
@pytest.mark.trials(short=10, full=450)
def test_a_mutated_configuration_is_refused_by_name_or_runs(number, valid, monkeypatch, request):
    mutation = mutated_configurations.mutation(valid, number)
    print(mutation.name, mutation.change)
    monkeypatch.chdir(valid)
    configuration = loaded(mutation)
    if configuration is None:
        with applied(valid, mutation):
            outcome = run(valid, "--dry-run", seconds=REFUSAL)
            if mutation.name == smoke.CONFIGURATION and "error: " not in outcome.text:
                assert_refused_by_snakemake(outcome, lambda: load_configfile(mutation.name))
            else:
                assert_reported(outcome, mutation.name, *mutation.keys)
        return
    finished = with_defaults_that_run(request.getfixturevalue("finished"))
    expected = request.getfixturevalue("expected")
    with applied(finished, mutation):
        outcome = run(finished, seconds=RUN)
    if configuration == load():
        assert outcome.status == 0, outcome.text
        assert smoke.results(finished) == expected
    elif outcome.status != 0:
        assert_reported(outcome, mutation.name, Path(mutation.name).stem, *mutation.keys)


@pytest.mark.fault("a mutated configuration")
@pytest.mark.trials(short=2, full=50)
def test_a_mutated_option_is_refused_by_name_or_runs(number, finished):
    option = mutated_configurations.changed_option(number)
    print(option)
    outcome = run(finished, "--config", option, seconds=RUN)
    if outcome.status != 0 and "error: " not in outcome.text:
        assert_refused_by_snakemake(outcome, lambda: parse_config([option]))
    elif outcome.status != 0:
        assert_reported(outcome, option.partition("=")[0])


STRANGE = '\\frac{a}{ & <b>&amp; {experiment} {} %s %(a)s `*_| "q" \' é 日本 ‮ # ~ ^ x^{ \\'
"""A text with special characters of LaTeX, HTML, reStructuredText, Python and Snakemake."""


@pytest.mark.fault("texts that mean something elsewhere")
def test_any_text_may_be_a_title_a_label_or_a_caption(finished, tmp_path):
    """Only a dollar is refused, where a figure would interpret it as a formula."""
    config = finished / "config"
    for name in ("clusters", "measurements"):
        path = config / "experiments" / f"{name}.yaml"
        parts = yaml.safe_load(path.read_text())
        captions = {
            kind: [part | {"caption": f"$ {3 * STRANGE}"} for part in parts[kind]]
            for kind in ("tables", "figures")
        }
        edit_yaml(path, title=STRANGE, **captions)
        edit_yaml(config / "datasets" / f"{name}.yaml", title=STRANGE, description=9 * STRANGE)
    edit_yaml(config / "datasets" / "measurements.yaml", stand_in_for=STRANGE)
    for name in ("m-krr", "wofer-gmm"):
        edit_yaml(config / "methods" / f"{name}.yaml", label=STRANGE, summary=STRANGE)
    edit_yaml(finished / smoke.CONFIGURATION, report={"title": f"$ {STRANGE}", "author": STRANGE})
    run(finished, seconds=RUN).succeeded()
    assert escape(STRANGE) in (finished / "results" / "report.html").read_text()
    report = tmp_path / "snakemake.html"
    run(finished, "--report", str(report), seconds=RUN).succeeded()
    assert "system-message" not in report.read_text()
