"""Jobs begin as copies of one process, which has what earlier jobs imported."""

import json
import os
import shutil
import subprocess

import pytest
from small_run import ROOT, SNAKEMAKE

HEAD = """\
import sys

sys.path.insert(0, "scripts")
import job_processes

job_processes.install(workflow)


rule all:
    input:
        "d.json",


"""

RULE = """\
rule {name}:
    input:
        {inputs!r},
    output:
        "{name}.json",
    benchmark:
        "{name}.tsv"
    threads: {threads}
    script:
        "scripts/work.py"


"""

SCRIPT = """\
import json
import os
import sys

known = set(sys.modules)
from workflow_lib.core import seeds

if snakemake.rule == os.environ.get("KILLED"):
    os.kill(os.getpid(), 9)
facts = {
    "parent": os.getppid(),
    "has_imported": "workflow_lib.core.seeds" in known,
    "has_libraries": "pandas" in known,
    "script": os.path.basename(sys.argv[0]),
    "library": seeds.__file__,
    "threads": os.environ["OMP_NUM_THREADS"],
}
with open(snakemake.output[0], "w") as file:
    json.dump(facts, file)
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "job_processes.py", tmp_path / "scripts")
    (tmp_path / "scripts" / "work.py").write_text(SCRIPT)
    return tmp_path


def ended(project, *targets, threads=1, **variables):
    """Run a, b, c and d, which has so many threads, one after the other; return how that ended."""
    rules = [("a", [], 1), ("b", ["a.json"], 1), ("c", ["b.json"], 1), ("d", ["c.json"], threads)]
    text = [RULE.format(name=name, inputs=inputs, threads=n) for name, inputs, n in rules]
    (project / "Snakefile").write_text(HEAD + "".join(text))
    return subprocess.run(
        [*SNAKEMAKE, "--cores", "2", *targets],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )


def facts(project):
    return [json.loads((project / f"{name}.json").read_text()) for name in "abcd"]


def test_jobs_are_copies_of_one_process_that_has_their_imports(project):
    done = ended(project)
    assert done.returncode == 0, done.stderr
    alone, first, second, third = facts(project)
    assert alone["parent"] != first["parent"] == second["parent"] == third["parent"]
    assert not alone["has_imported"]
    assert [each["has_imported"] for each in (first, second, third)] == [False, True, True]
    assert first["script"].endswith(".work.py") and first["script"] != second["script"]
    assert (project / "b.tsv").read_text().startswith("s\t")
    # Its other end is closed, so that it does not outlive the run.
    assert not os.path.exists(f"/proc/{first['parent']}")


def test_the_libraries_are_imported_while_the_jobs_of_a_whole_run_are_planned(project):
    assert ended(project).returncode == 0
    assert [each["has_libraries"] for each in facts(project)] == [False, True, True, True]
    for name in "abcd":
        (project / f"{name}.json").unlink()
    assert ended(project, "d.json").returncode == 0
    assert not any(each["has_libraries"] for each in facts(project))


def test_the_library_is_that_of_the_project_and_not_an_installed_one(project):
    (project / "workflow_lib" / "core").mkdir(parents=True)
    for name in ("__init__.py", "core/__init__.py", "core/seeds.py"):
        (project / "workflow_lib" / name).touch()
    assert ended(project).returncode == 0
    assert all(each["library"].startswith(str(project)) for each in facts(project)[1:])


def test_a_job_with_other_threads_has_a_process_of_its_own(project):
    assert ended(project, threads=2).returncode == 0
    _, first, second, third = facts(project)
    assert (second["threads"], third["threads"]) == ("1", "2")
    assert first["parent"] == second["parent"] != third["parent"]
    assert not third["has_imported"]


def test_a_script_that_bounds_its_linear_algebra_is_copied_with_any_threads(project):
    script = project / "scripts" / "work.py"
    script.write_text("# with job(snakemake, n_threads=1):\n" + SCRIPT)
    assert ended(project, threads=2).returncode == 0
    _, first, second, third = facts(project)
    assert third["parent"] == first["parent"] and third["threads"] == "1"


def test_every_job_has_a_process_of_its_own_where_that_is_asked_for(project):
    assert ended(project, OFER_OWN_PROCESSES="1").returncode == 0
    assert not any(each["has_imported"] for each in facts(project))


def test_a_copy_that_is_killed_fails_its_job_alone(project):
    done = ended(project, KILLED="c")
    assert done.returncode == 1
    assert "died with <Signals.SIGKILL: 9>" in done.stderr
    assert (project / "b.json").exists() and not (project / "c.json").exists()
    assert ended(project).returncode == 0
