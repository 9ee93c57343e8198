"""What all rules share: the checked configuration, their code, names, seeds and resources."""

from functools import cache
from itertools import chain
from types import SimpleNamespace

from snakemake.logging import logger

from workflow_lib.core.errors import UserError
from workflow_lib.core.imports import code_digest
from workflow_lib.core.job_needs import job_needs
from workflow_lib.core.plugins import STAGES
from workflow_lib.core.seeds import derive_seed
from workflow_lib.core.values import WITHOUT_BRACES
from workflow_lib.run.loading import load_configuration
from workflow_lib.run.requests import decoded, encoded, typed_values
from workflow_lib.run.stages import ANNOTATED, FINAL, Stages, plain
from workflow_lib.run.studies import study_of, with_study
from workflow_lib.core.yaml_files import shown

CONDA = "../envs/workflow.yaml"


def settings_file(path):
    """Return the path of a file of settings, relative to the project if it lies within it."""
    path, project = Path(path).resolve(), Path(ROOT).resolve()
    return path.relative_to(project).as_posix() if path.is_relative_to(project) else shown(path)


def typed_on_command_line():
    """Return the values of a request as typed, which Snakemake has read as YAML."""
    given = workflow.config_settings
    if IS_MODULE:
        return {}
    if not workflow.is_main_process:
        return typed_values(decoded(given.config_args))
    values = typed_values(given.config_args, sys.argv)
    given.config_args = encoded(given.config_args)
    return values


try:
    if set(str(CHECKOUT)) & set("{}"):
        raise UserError(
            location=f"the folder '{CHECKOUT}'",
            found="its name holds a brace",
            expected=WITHOUT_BRACES[0],
            remedy="give the folder another name",
        )
    sources = [OWN_SETTINGS, *map(settings_file, workflow.overwrite_configfiles)]
    for study in study_of(CONFIG, config, sources):
        typed = None if IS_MODULE else workflow.config_settings.overwrite_config
        config = with_study(CONFIG, config, study, typed)
        sources.insert(1, settings_file(study))
    settings = load_configuration(
        CONFIG,
        config | typed_on_command_line(),
        sources,
        imports_classes=workflow.is_main_process,
    )
except UserError as error:
    raise WorkflowError(str(error)) from None


if workflow.is_main_process:
    for replaced, stand_ins in settings.replaced.items():
        logger.info(f"Not on this machine: data of {replaced}; instead: {', '.join(stand_ins)}")


stages = Stages(settings, PREFIX)
"""The paths and settings of the stages, of which the wildcards of a rule are a step."""

gram_rows_of = cache(settings.gram_rows_of)

RUN_FOLDER = f"results/{settings.run.name}" if settings.run.name else "results"


def alternatives(names):
    """Return the pattern of a wildcard that is one of these names."""
    return "|".join(sorted(map(re.escape, names))) or "(?!)"


wildcard_constraints:
    dataset=alternatives(settings.datasets),
    experiment=alternatives(settings.experiments),
    method=alternatives(settings.methods),
    model=alternatives(settings.models),
    input_model=alternatives(settings.input_models),
    split=r"\d+|final",
    alignment="dtw|gak",
    form=r"[a-z-]+",


def code(script, *modules):
    """Return the parameter of a rule that changes with its code, and with nothing else, a digest.

    The code is the script, the adapter, and the library modules that they import. Instead of a
    module, a function may give those of a job by its wildcards.
    """
    # Here, because Snakemake knows the folder of a script only while it reads the rules.
    scripts = tuple((name, script_file(name)) for name in (script, "adapter.py"))

    def digest(wildcards):
        groups = [[module] if isinstance(module, str) else module(wildcards) for module in modules]
        return digest_of_code(scripts, *chain.from_iterable(groups))

    return digest


def stage_module(name):
    """Return the function that gives the module of a stage that its script loads by name."""
    return lambda wildcards: [STAGES.modules[name]]


@cache
def digest_of_code(scripts, *modules):
    """Return the digest of scripts, and of these library modules with their imports."""
    names = [f"workflow_lib.{module}" for module in (*modules, "core.errors", "core.file_digests")]
    return code_digest(ROOT, names, dict(scripts))


def script_file(name):
    """Return the path of a script; Snakemake fetches it where there is no checkout."""
    if CHECKOUT is None:
        return workflow.source_path(f"../scripts/{name}")
    return Path(CHECKOUT, "scripts", name)


def stand_in(experiment):
    return settings.dataset_of(experiment).stand_in_for


# What a job requests from a scheduler


def resources_for(rule_name, splits=None):
    """Return the functions that give MB of memory and minutes of a job, of the splits if named."""
    n_splits = len(splits.members) or 1 if splits else 1

    def requested(resource):
        return lambda wildcards, attempt: getattr(
            needs_of(rule_name, wildcards, attempt, n_splits), resource
        )

    return {resource: requested(resource) for resource in ("mem_mb", "runtime")}


def needs_of(rule_name, wildcards, attempt=1, n_splits=1):
    """Return what a job requests, by the size of its dataset as far as that is known."""
    experiment = getattr(wildcards, "experiment", None)
    dataset = settings.experiments[experiment].dataset if experiment else None
    dataset = dataset or getattr(wildcards, "dataset", None)
    declaring = {"regression": stages.module_of, "figure": kind_of}.get(rule_name)
    return job_needs(
        rule_name,
        gram_rows_of(experiment) if experiment else n_landmarks(),
        megabytes_of(dataset) if dataset else 0,
        attempt,
        declaring(wildcards).needs if declaring else None,
        n_splits,
    )


def megabytes_of(dataset):
    """Return the size of a dataset's file, or of its sources where it has not been read."""
    try:
        return os.stat(with_prefix(f"results/datasets/{dataset}.h5")).st_size / 2**20
    except OSError:
        return sum(source.size for source in settings.datasets[dataset].sources) / 2**20
