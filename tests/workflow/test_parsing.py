"""A second run, the imports and the targets of the Snakefile, before any job starts."""

import json

import pytest
from small_run import contents, copy_folder, files_below, snakemake

HEAVY = ("h5py", "matplotlib", "numpy", "pandas", "pykalman", "scipy", "sklearn")

# Snakemake itself imports some of them; what the Snakefile would import is refused here.
PROBE = """\
import json
import sys

hidden = {{name: sys.modules.get(name) for name in {heavy!r}}}
sys.modules.update(dict.fromkeys(hidden))

include: "Snakefile"

for name, module in hidden.items():
    if module is None:
        del sys.modules[name]
    else:
        sys.modules[name] = module

with open("probe.json", "w") as file:
    json.dump(list(map(str, rules.all.input)), file)
"""


@pytest.fixture(scope="module")
def second_run(first_folder, tmp_path_factory):
    """Return the folder and the end of a second run, whose Snakefile may not import `HEAVY`."""
    folder = copy_folder(first_folder, tmp_path_factory.mktemp("parsing") / "run")
    (folder / "Probe").write_text(PROBE.format(heavy=HEAVY))
    return folder, snakemake(folder, "--snakefile", "Probe")


def test_a_second_run_imports_nothing_heavy_and_does_nothing(second_run, first_folder):
    folder, outcome = second_run
    assert outcome.status == 0, outcome.text
    assert "Nothing to be done" in outcome.text
    parts = ("results", "resources", "logs")
    assert contents(folder, *parts) == contents(first_folder, *parts)


def test_every_result_is_a_target(second_run, first_folder):
    targets = json.loads((second_run[0] / "probe.json").read_text())
    # Snakemake does not notice that a file is missing unless it is a target. The times of a stage
    # come from the job that writes its artifact.
    made = files_below(first_folder, "results", "resources")
    times = {
        name
        for name in made
        if name.startswith("results/timings/") and name.endswith((".json", ".tsv"))
    }
    # A table that the user supplied is a target as well, and is not made.
    requested = {name for name in targets if name.startswith(("results/", "resources/"))}
    assert made - times == requested - times


def test_a_summary_of_the_workflow_changes_nothing(finished):
    before = contents(finished, "results")
    snakemake(finished, "--summary", cores=1).succeeded()
    assert contents(finished, "results") == before
