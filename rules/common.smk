"""The checked configuration, and the small questions that the rules ask about it."""

import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

sys.path[:0] = [workflow.basedir, str(Path(workflow.basedir, "scripts"))]

import terminal
from workflow_lib.config.loading import load_configuration
from workflow_lib.errors import UserError
from workflow_lib.imports import import_closure
from workflow_lib.seeds import derive_seed

terminal.install(workflow)

ANNOTATED = "-annotated"
CONDA = "../envs/workflow.yaml"

try:
    settings = load_configuration(
        Path(workflow.basedir, "config"),
        config,
        ["config/config.yaml", *map(str, workflow.overwrite_configfiles)],
    )
except UserError as error:
    raise WorkflowError(str(error)) from None


def alternatives(names):
    """Return the pattern of a wildcard that is one of these names."""
    return "|".join(sorted(map(re.escape, names))) or "(?!)"


wildcard_constraints:
    dataset=alternatives(settings.datasets),
    experiment=alternatives(settings.experiments),
    method=alternatives(settings.methods),
    model=alternatives(settings.models),
    split=r"\d+",
    form=r"[a-z-]+",


def library(*modules):
    """Return the source files behind library modules, for the input of a rule."""
    names = [f"workflow_lib.{module}" for module in (*modules, "errors")]
    return import_closure(workflow.basedir, names)


def code(script, *modules):
    """Return all the code that a rule runs: its script, the adapter and the library behind it."""
    scripts = [str(Path(workflow.basedir, "scripts", name)) for name in (script, "adapter.py")]
    return [*scripts, *library(*modules)]


def experiment_of(wildcards):
    return settings.experiments[wildcards.experiment]


def method_of(wildcards):
    return settings.methods[wildcards.method]


def dataset_of(wildcards):
    return f"results/datasets/{experiment_of(wildcards).dataset}.h5"


def seed_of(wildcards, *axes):
    """Return the seed of a random draw of one split of one experiment's dataset."""
    return derive_seed(
        settings.run.seed, axes[0], experiment_of(wildcards).dataset, wildcards.split, *axes[1:]
    )


def embedding_name(method):
    """Return the name of a method's embedding in paths: its form, and the block if unusual."""
    settings_of_method = settings.methods[method]
    if settings_of_method.form == "full" and settings_of_method.covariance_block == "matrix":
        return "full-matrix"
    return settings_of_method.form


def split_files(pattern, experiment):
    """Return the path of every split of an experiment."""
    return [
        pattern.format(experiment=experiment, split=split)
        for split in settings.splits_of(experiment)
    ]


def source_file(dataset, source):
    return f"resources/{dataset}/{Path(source.path).name}"


def sources_of(wildcards):
    return [
        source_file(wildcards.dataset, source)
        for source in settings.datasets[wildcards.dataset].sources
    ]


def all_sources():
    return [
        source_file(name, source)
        for name, dataset in settings.datasets.items()
        for source in dataset.sources
    ]
