"""After an edit, exactly the results that it can change are computed again."""

import os
import re
import shutil
import time
from pathlib import Path

import pytest
from small_run import (
    CONFIGURATION,
    DEFAULT_METHODS,
    EXPERIMENTS,
    GRIDS,
    ROOT,
    contents,
    copy_folder,
    edit_yaml,
    files_below,
    jobs_to_run,
    snakemake,
)

from workflow_lib.methods.contract.base import method_modules
from workflow_lib.run.named_settings import SettingsFolder

END = {"manifest", "resource usage", "report"}
CROSS_DATASET = {"critical difference", "overview", "protocol"}
SOURCES = {
    "acquire measurements measurements.csv",
    "acquire calls calls.tar.gz",
    "acquire calls prices.tar.gz",
    "acquire objects objects.tar",
    "acquire objects words.json",
}


USER_TABLES = {"assay"}


def splits_of(name: str) -> list[str]:
    """Return the splits of each job of an experiment; on a user table also of the saved model."""
    numbered = "split 0" if EXPERIMENTS[name].get("n_splits") == 1 else "splits 0 to 1"
    return [numbered, *(["split final"] if name in USER_TABLES else [])]


# Methods whose modules import nothing of mixtures, and which combine no other methods.
WITHOUT_MIXTURES = set(method_modules()) - {
    *("kernel_ridge", "class_ridge", "self_training", "stack"),
    # Models of sequences of vectors start from the clusters of its module.
    "most_probable_class",
}


def settings_of(method: str) -> dict:
    return SettingsFolder(ROOT / "config" / "methods").keys(method)


def regressor_of(method: str) -> str:
    return settings_of(method).get("regressor", "kernel_ridge")


def needs_no_mixture(method: str) -> bool:
    """Return whether a method imports nothing of mixtures, nor has inputs that a model scores."""
    return regressor_of(method) in WITHOUT_MIXTURES and "score_space" not in settings_of(method)


def has_preimages(method: str) -> bool:
    """Return whether a method predicts embeddings, or class vectors that a decoder searches."""
    settings = settings_of(method)
    is_searched = bool(settings.get("form") or settings.get("decoder"))
    return regressor_of(method) == "kernel_ridge" and is_searched


def predictions_of(name: str) -> set[str]:
    """Return the jobs that predict in one experiment, and those that combine predictions."""
    methods = EXPERIMENTS[name]["methods"]
    methods = DEFAULT_METHODS if methods == "default" else methods
    # Other methods predict the outputs, or the classes, themselves.
    embedded = [method for method in methods if has_preimages(method)]
    jobs = {f"preimages {method} {name}" for method in embedded}
    jobs |= {f"regression {method} {name}" for method in methods if method == "ofer-stack"}
    return {f"{job} {splits}" for job in jobs for splits in splits_of(name)}


def summaries_of(name: str) -> set[str]:
    """Return the jobs that follow from the predictions of one experiment."""
    tables, figures = EXPERIMENTS[name]["tables"], EXPERIMENTS[name]["figures"]
    # The description of components follows from the models, not from predictions.
    of_models = ("component_names", "typical_rows")
    of_scores = [table["name"] for table in tables if table["kind"] not in of_models]
    jobs = {f"scores {name}", *(f"table {name} {table}" for table in of_scores)}
    if name in USER_TABLES:
        own = ("leaderboard", "calibration", "importance of inputs", "model")
        jobs |= {f"{job} {name}" for job in own}
    if any(table["kind"] == "time" for table in tables):
        jobs.add(f"timings {name}")
    of_nothing = ("geometry", "steps")
    drawn = [figure["name"] for figure in figures if figure["kind"] not in of_nothing]
    return jobs | {f"figure {name}-{figure}" for figure in drawn}


PREDICTIONS = {job for name in EXPERIMENTS for job in predictions_of(name)}
SUMMARIES = {*(job for name in EXPERIMENTS for job in summaries_of(name)), *END, *CROSS_DATASET}
EMBEDDED = [name for name in EXPERIMENTS if predictions_of(name)]
SUMMARIES_OF_PREIMAGES = {
    *(job for name in EMBEDDED for job in summaries_of(name)),
    *END,
    *CROSS_DATASET,
}


@pytest.fixture(scope="module")
def all_jobs(project):
    """Return every job of the run, as a folder without results would start it."""
    return jobs_to_run(project)


def test_the_resource_usage_follows_every_other_job(project, all_jobs):
    before = jobs_to_run(project, "results/timings/jobs/resource-usage.csv")
    assert all_jobs - before == {"report"}


def add_line(path: Path, line: str = "# changed") -> None:
    with open(path, "a") as file:
        file.write(f"\n{line}\n")


def touch(folder: Path, names: set[str], seconds: float) -> None:
    """Set the dates of files to `seconds` from now."""
    moment = time.time() + seconds
    for name in names:
        os.utime(folder / name, (moment, moment))


def test_a_color_redraws_the_figures_that_show_it(finished):
    edit_yaml(finished / "config" / "methods" / "m-krr.yaml", color="#123456")
    figures = {"clusters-curve", "calls-series", "calls-weeks", "levers-weights", "levers-noise"}
    redrawn = {*figures, "ranks", "curves"}
    assert jobs_to_run(finished) == {
        *(f"figure {name}" for name in figures),
        "critical difference",
        "overview",
        *END,
    }

    before = contents(finished, "results")
    snakemake(finished).succeeded()
    after = contents(finished, "results")
    changed = {name for name in after if after[name] != before.get(name)}
    assert {name for name in changed if not name.startswith("results/timings/jobs/")} == {
        *(f"results/figures/{name}.{suffix}" for name in redrawn for suffix in ("svg", "png")),
        "results/report.html",
        "results/run.json",
    }
    assert "#123456" in (finished / "results/figures/clusters-curve.svg").read_text()
    assert jobs_to_run(finished) == set()


OF_NO_RESULTS = {"figure measurements-space", "figure measurements-way"}
"""Figures that are drawn without results."""

OF_CODE = {
    # The figure of the geometry searches pre-images itself, and the equivalence checks have
    # pre-images.
    "workflow_lib/models/gradient.py": {
        *PREDICTIONS,
        *SUMMARIES_OF_PREIMAGES,
        "figure measurements-space",
        *(f"equivalence checks {name}" for name in EXPERIMENTS),
    },
    "workflow_lib/protocol/preimages.py": PREDICTIONS | SUMMARIES_OF_PREIMAGES,
    "scripts/preimages.py": PREDICTIONS | SUMMARIES_OF_PREIMAGES,
    "workflow_lib/methods/forest.py": {
        "regression m-rf clusters splits 0 to 1",
        *summaries_of("clusters"),
        *END,
        *CROSS_DATASET,
    },
    "workflow_lib/report/style.py": {
        *(job for job in SUMMARIES if job.startswith("figure ")),
        *OF_NO_RESULTS,
        "resource usage",
        "report",
        *CROSS_DATASET,
    },
    "workflow_lib/report/figures/coordinates.py": {
        "figure calls-weeks",
        "resource usage",
        "report",
    },
}
"""The jobs that an edit of a file starts: of pre-images no model, of a method no other method."""


@pytest.mark.parametrize("path", OF_CODE)
def test_an_edit_of_code_starts_the_jobs_whose_results_it_can_change(finished, path):
    add_line(finished / path)
    assert jobs_to_run(finished) == OF_CODE[path]


def test_the_mixture_recomputes_models_and_what_follows(finished, all_jobs):
    add_line(finished / "workflow_lib" / "models" / "mixtures" / "mixture.py")
    # What comes before the models, or needs none.
    others = (
        *("acquire ", "read ", "alignments ", "split ", "features "),
        *(f"regression {method} " for method in GRIDS if needs_no_mixture(method)),
    )
    of_images = {"image features hog objects", "image features thumbnails objects"}
    expected = {job for job in all_jobs if not job.startswith(others)} | of_images
    # Some features of images have a codebook, which is a mixture; the datasets that use them are
    # read again.
    expected |= {job for job in all_jobs if " objects" in job} - {
        job for job in all_jobs if job.startswith("acquire ")
    }
    # Of the figures that are drawn without results one shows an embedding.
    assert jobs_to_run(finished) == expected - {"figure measurements-way"}


def test_a_reader_reads_its_own_dataset_only(finished, all_jobs):
    add_line(finished / "workflow_lib" / "data" / "readers" / "csv.py")
    jobs = jobs_to_run(finished)
    assert {job for job in jobs if "measurements" not in job} == END | CROSS_DATASET
    others = OF_NO_RESULTS | {"acquire measurements measurements.csv"}
    assert jobs - END - CROSS_DATASET == {job for job in all_jobs if "measurements" in job} - others


@pytest.mark.parametrize(
    "edit", [{"caption": "Other words."}, {"decimals": 1}], ids=["caption", "decimals"]
)
def test_a_caption_or_a_rounding_writes_its_table_again(finished, edit):
    tables = [dict(table) for table in EXPERIMENTS["clusters"]["tables"]]
    edit_yaml(
        finished / "config" / "experiments" / "clusters.yaml",
        tables=[tables[0] | edit, *tables[1:]],
    )
    assert jobs_to_run(finished) == {"table clusters error", *END}


def test_the_decimals_of_a_table_are_those_of_its_latex_and_of_the_report(finished):
    latex = finished / "results" / "tables" / "clusters-error.tex"
    table = finished / "results" / "tables" / "clusters-error.csv"
    numbers = table.read_bytes()
    assert re.search(r"\b\d\.\d{3} ", latex.read_text())
    tables = [dict(table) for table in EXPERIMENTS["clusters"]["tables"]]
    edit_yaml(
        finished / "config" / "experiments" / "clusters.yaml",
        tables=[tables[0] | {"decimals": 1}, *tables[1:]],
    )
    snakemake(finished).succeeded()
    body = latex.read_text().split("\\midrule", 1)[1].split("\\bottomrule")[0]
    assert re.search(r"\b\d\.\d\b", body) and not re.search(r"\b\d\.\d{2,}", body)
    assert table.read_bytes() == numbers
    page = (finished / "results" / "report.html").read_text()
    shown = page[page.index('id="table-clusters-error"') :].split("</tbody>")[0]
    assert re.search(r"\b\d\.\d\b", shown) and not re.search(r">\s*\d\.\d{2,} ?±", shown)


def test_the_title_of_the_report_writes_the_report_again(finished):
    edit_yaml(finished / CONFIGURATION, report={"title": "Other words"})
    assert jobs_to_run(finished) == END


def test_a_grid_recomputes_its_method(finished):
    grid = GRIDS["ofer-gmm"] | {"alpha": [0.002, 0.1]}
    edit_yaml(finished / "config" / "methods" / "ofer-gmm.yaml", grid=grid)
    expected = {
        f"{stage} ofer-gmm {name} {splits}"
        for stage in ("regression", "preimages")
        for name in ("clusters", "levers", "assay")
        for splits in splits_of(name)
    }
    # A stack combines what its members predict.
    expected |= {"regression ofer-stack levers split 0"}
    summaries = summaries_of("clusters") | summaries_of("levers") | summaries_of("assay")
    assert jobs_to_run(finished) == {*expected, *summaries, *END, *CROSS_DATASET}


ELSEWHERE = (
    "README.md",
    "Makefile",
    "Snakefile",
    "rules/models.smk",
    "scripts/terminal.py",
    "config/README.md",
    "tests/scenarios/test_reruns.py",
    "workflow_lib/run/models.py",
    "workflow_lib/data/acquisition.py",
)


def test_a_comment_elsewhere_starts_nothing(finished):
    for path in ELSEWHERE:
        (finished / path).parent.mkdir(parents=True, exist_ok=True)
        add_line(finished / path)
    assert jobs_to_run(finished) == set()


def test_a_comment_in_a_configuration_file_starts_nothing(finished):
    for path in (finished / "config").rglob("*.yaml"):
        add_line(path)
    assert jobs_to_run(finished) == set()


def test_touching_starts_nothing(finished):
    code = files_below(finished, "workflow_lib", "scripts", "rules", "envs", "profiles", "config")
    touch(finished, {*code, "Snakefile", "pyproject.toml"}, 10)
    assert jobs_to_run(finished) == set()
    # The results of early stages newer than those of late ones, and the other way round.
    for number, name in enumerate(sorted(files_below(finished, "results", "resources", "mirror"))):
        touch(finished, {name}, 1000 - number)
    assert jobs_to_run(finished) == set()


def test_a_fresh_copy_starts_nothing(first_folder, tmp_path):
    copy = copy_folder(first_folder, tmp_path / "elsewhere", keep_dates=False)
    # A checkout writes its files in any order; here the results are the oldest.
    touch(copy, files_below(copy, "results", "resources"), -1000)
    assert jobs_to_run(copy) == set()
    shutil.rmtree(copy)


def test_a_new_default_method_runs_alone(finished):
    folder = finished / "config" / "methods"
    shutil.copy(folder / "ofer-gmm.yaml", folder / "new-gmm.yaml")
    edit_yaml(folder / "new-gmm.yaml", label="New", penalty="shared")
    # Its model and embedding are those of an existing method.
    expected = {f"{stage} new-gmm clusters splits 0 to 1" for stage in ("regression", "preimages")}
    assert jobs_to_run(finished) == {*expected, *summaries_of("clusters"), *END, *CROSS_DATASET}


def test_a_new_method_outside_the_default_starts_nothing(finished):
    folder = finished / "config" / "methods"
    shutil.copy(folder / "m-krr.yaml", folder / "new.yaml")
    edit_yaml(folder / "new.yaml", in_default=False)
    assert jobs_to_run(finished) == set()


def test_a_new_split_recomputes_no_earlier_one(finished, all_jobs):
    edit_yaml(finished / CONFIGURATION, n_splits=3)
    names = [name for name in EXPERIMENTS if "n_splits" not in EXPERIMENTS[name]]
    # A job handles two splits, so that those of the third are jobs of their own.
    earlier = " splits 0 to 1"
    expected = {f"{job.removesuffix(earlier)} split 2" for job in all_jobs if job.endswith(earlier)}
    summaries = {job for name in names for job in summaries_of(name)}
    assert jobs_to_run(finished) == {*expected, *summaries, *END, *CROSS_DATASET}


def test_fewer_splits_recompute_none(finished):
    edit_yaml(finished / CONFIGURATION, n_splits=1)
    names = [name for name in EXPERIMENTS if "n_splits" not in EXPERIMENTS[name]]
    summaries = {job for name in names for job in summaries_of(name)}
    assert jobs_to_run(finished) == {*summaries, *END, *CROSS_DATASET}


def splits_to_run(folder: Path, n_splits: int, *options: str) -> set[str]:
    """Return the splits of the jobs that a run with so many splits would start."""
    options = (*options, "--config", f"n_splits={n_splits}", "experiments=[clusters]")
    jobs = jobs_to_run(folder, *options)
    return {found[0] for job in jobs if (found := re.search(r"splits? \d+( to \d+)?$", job))}


def test_splits_that_were_made_stay_together(finished):
    options = ("--config", "n_splits=3", "experiments=[clusters]")
    snakemake(finished, *options).succeeded()
    # Two splits a job: without the results of the third, there would be a job for it and the next.
    expected = {1: set(), 2: set(), 3: set(), 4: {"split 3"}, 6: {"split 3", "splits 4 to 5"}}
    assert {number: splits_to_run(finished, number) for number in expected} == expected

    # An edit runs the same jobs again, and where a split was removed, as many as it can at once.
    add_line(finished / "workflow_lib" / "protocol" / "splitting.py")
    assert splits_to_run(finished, 3) == {"splits 0 to 1", "split 2"}
    shutil.rmtree(finished / "results" / "clusters" / "split-2")
    assert splits_to_run(finished, 4) == {"splits 0 to 1", "splits 2 to 3"}


def test_a_removed_file_is_made_again_with_the_splits_of_its_job(finished):
    folder = finished / "results" / "clusters"
    next(folder.glob("split-1/*/regression.h5")).unlink()
    assert splits_to_run(finished, 3) == {"splits 0 to 1", "split 2"}


def test_a_new_experiment_recomputes_no_other(finished):
    edit_yaml(
        finished / CONFIGURATION,
        experiments=[*EXPERIMENTS, "linnerud"],
        defaults={"methods": ["m-krr"], "training_sizes": [10]},
    )
    (finished / "config" / "experiments" / "linnerud.yaml").unlink()
    jobs = jobs_to_run(finished)
    assert {job for job in jobs if "linnerud" not in job} == END | CROSS_DATASET
    assert "read linnerud" in jobs and "figure linnerud-learning-curve" in jobs


def test_a_new_seed_fetches_nothing_again(finished, all_jobs):
    edit_yaml(finished / CONFIGURATION, seed=8)
    has_no_seed = {"figure measurements-way"}
    assert jobs_to_run(finished) == all_jobs - SOURCES - has_no_seed


FAILING_JOB = """\
import os
import sys

if any(name.endswith(".regression.py") for name in sys.orig_argv):
    os._exit(1)
"""


def test_what_failed_runs_again_although_older_results_follow_from_it(finished, tmp_path):
    edit_yaml(finished / "config/methods/m-rf.yaml", grid=GRIDS["m-rf"] | {"n_trees": 6})
    affected = jobs_to_run(finished)
    assert "regression m-rf clusters splits 0 to 1" in affected
    # Neither the configuration nor any file differs between the two runs.
    (tmp_path / "sitecustomize.py").write_text(FAILING_JOB)
    variables = {"PYTHONPATH": str(tmp_path), "OFER_OWN_PROCESSES": "1"}
    outcome = snakemake(finished, "--keep-going", **variables)
    assert outcome.status == 1
    assert "FAILED regression m-rf clusters splits 0 to 1" in outcome.stderr
    assert (finished / "results" / "clusters" / "scores.csv").exists()
    assert jobs_to_run(finished) == affected


@pytest.mark.parametrize(
    ("path", "job"),
    [
        ("resources/measurements/measurements.csv", "acquire measurements measurements.csv"),
        (
            "results/clusters/split-1/mixture-tied/models.h5",
            "models mixture-tied clusters splits 0 to 1",
        ),
    ],
)
def test_what_is_missing_is_made_again_with_what_follows(finished, path, job):
    (finished / path).unlink()
    jobs = jobs_to_run(finished)
    assert job in jobs and END <= jobs
