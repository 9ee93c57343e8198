"""Load and check the configuration of a run, with all files that it names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflow_lib.core.errors import UserError, key_location, nearest_name, unknown_name
from workflow_lib.core.gram_limit import default_max_gram_rows
from workflow_lib.core.job_needs import most_gram_rows
from workflow_lib.core.optional_packages import is_installed, not_installed
from workflow_lib.core.requirement import Requirement
from workflow_lib.core.result_columns import OF_ROWS
from workflow_lib.core.values import ALL
from workflow_lib.inputs.encoder_names import GAMMA_POISSON
from workflow_lib.items.scales import PRODUCTS_SCALE, TEXT_SCALES
from workflow_lib.methods.contract import file_settings
from workflow_lib.methods.contract.method_file import MethodFile, with_line_styles
from workflow_lib.run import capabilities
from workflow_lib.run.files import ConfigurationFiles, check_run_files, location_of_run, validated
from workflow_lib.run.models import (
    FIGURES,
    KEYS_OF_TABLES,
    OWNERS_OF_KEYS,
    TABLES,
    DatasetSettings,
    ExperimentSettings,
    InputModelSettings,
    ModelSettings,
    RunSettings,
    TableSettings,
)
from workflow_lib.run.problems import raise_errors
from workflow_lib.run.published import published_names
from workflow_lib.run.requests import Request, as_typed
from workflow_lib.run.studies import listed_experiments, replaced_experiments
from workflow_lib.tabular.tables import listed
from workflow_lib.tasks.base import PER_CLASS, Task
from workflow_lib.tasks.found import all_measures, tasks

if TYPE_CHECKING:
    from workflow_lib.report.figures.base import FigureModule
    from workflow_lib.report.table_kinds.base import TableKind

DEFAULT_SOURCES = ("config/config.yaml", "--configfile")

RESERVED_NAMES = frozenset({"datasets", "figures", "images", "tables", "timings"})
"""Folders of results/ that are not experiments."""

MIXTURE = "gaussian_mixture"


@dataclass(frozen=True)
class Configuration:
    """The checked configuration of a run: the settings that it uses, and lookups in them.

    Names are those of files without ``.yaml``, or of variants in files. Experiments are in the
    order of the run, all other dictionaries are sorted by name.
    """

    sources: tuple[str, ...]
    """The configuration files of the run, in the order in which they were merged."""

    run: RunSettings
    """The run's own settings."""

    experiments: dict[str, ExperimentSettings]
    """The experiments of the run, with every default filled in and ``methods`` a tuple of names
    (sorted for ``default``, otherwise in the order of the file)."""

    datasets: dict[str, DatasetSettings]
    """The datasets used."""

    methods: dict[str, MethodFile]
    """The methods used."""

    models: dict[str, ModelSettings]
    """The generative models used."""

    input_models: dict[str, InputModelSettings]
    """The generative models of inputs used."""

    left_out: dict[str, dict[str, list[str]]]
    """By experiment, the methods of ``default`` that cannot run in it, each with the reasons."""

    replaced: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The experiments that do not run, with the stand-ins of each."""

    request: Request | None = None
    """The request for a new table; None without one."""

    locations: dict[str, dict[str, str]] = field(default_factory=dict)
    """How messages name settings, by kind (dataset, method, input_model) and name."""

    def dataset_of(self, experiment: str) -> DatasetSettings:
        """Return the dataset of an experiment."""
        return self.datasets[self.experiments[experiment].dataset]

    def methods_of(self, experiment: str) -> tuple[str, ...]:
        """Return the names of the methods of an experiment."""
        return self.experiments[experiment].methods

    def members_of(self, experiment: str, method: str) -> tuple[str, ...]:
        """Return the members of a stack that are methods of an experiment.

        The other members cannot run there, such as a forest on a Gram matrix, or were left out.
        """
        methods = self.methods_of(experiment)
        return tuple(name for name in self.methods[method].members if name in methods)

    def model_of(self, method: str) -> ModelSettings | None:
        """Return the generative model of a method, None when it has none."""
        name = self.methods[method].model
        return self.models[name] if name else None

    def is_user_table(self, experiment: str) -> bool:
        """Return whether the experiment is on a user table."""
        return self.dataset_of(experiment).is_user_table

    def models_of(self, experiment: str) -> tuple[str, ...]:
        """Return the names of the generative models of an experiment, sorted."""
        methods = (self.methods[name] for name in self.methods_of(experiment))
        return tuple(sorted({method.model for method in methods if method.model}))

    def splits_of(self, experiment: str) -> range:
        """Return the numbers of the splits of an experiment, from 0."""
        return range(self.experiments[experiment].n_splits)

    def splits_of_jobs(self, experiment: str, made: Iterable[range] = ()) -> list[range]:
        """Return the splits of every job, sorted; none where each job handles one.

        Parameters
        ----------
        experiment : str
        made : iterable of range, default=()
            Splits that one job each has made. They stay together, so that their results hold after
            an edit of the number of splits; of those that overlap, the first do. The last one may
            have splits beyond that number.
        """
        splits, size = self.splits_of(experiment), self.experiments[experiment].splits_per_job
        kept: list[range] = []
        for made_together in made:
            if made_together.start < len(splits) and not any(
                set(made_together) & set(others) for others in kept
            ):
                kept.append(made_together)
        others = sorted(set(splits).difference(*kept))
        # Neighbours within fixed bounds, so that these jobs are the same once some have run.
        blocks = groupby(enumerate(others), lambda item: (item[1] // size, item[1] - item[0]))
        for _, block in blocks:
            numbers = [split for _, split in block]
            kept.append(range(numbers[0], numbers[-1] + 1))
        if all(len(job) == 1 for job in kept):
            return []
        return sorted(kept, key=lambda job: job.start)

    def projections_of(self, experiment: str, method: str) -> list[bool]:
        """Return whether predicted memberships are projected on the simplex; two if it is selected.

        The task says whether they may be.
        """
        projects = self.task_of(experiment).projects_memberships
        return file_settings.projections(self.methods[method]) if projects else [False]

    def kernels_of(self, experiment: str, method: str) -> list[str] | None:
        """Return the candidate kernels of a method on the inputs of an experiment.

        None for a method that names none. A Gram matrix replaces all kernels, and the kernel
        ``tanimoto`` those with a width; texts and inner products have no ``laplacian``, and use the
        kernel of the experiment where no other is named.
        """
        kernels, own = self.methods[method].kernel, self.experiments[experiment].kernel
        if not kernels:
            return None
        if own == "precomputed":
            return [own]
        if own == "tanimoto":
            return list(dict.fromkeys(name if name == "linear" else own for name in kernels))
        by_products = self.dataset_of(experiment).inputs.scale in (*TEXT_SCALES, PRODUCTS_SCALE)
        return [name for name in kernels if not (by_products and name == "laplacian")] or [own]

    def studies_of(self, experiment: str, method: str) -> dict[str, list[float]]:
        """Return the values that a method is run with in addition to the selected ones, by study.

        Only weak rows in the embedding have the weight lambda_2 of eq. (14), and weak rows with
        true outputs have no labels that could be wrong.
        """
        settings, studies = self.methods[method], self.experiments[experiment].studies
        if not settings.weak or settings.regressor != "kernel_ridge":
            return {}
        return {
            "weak_weight": [] if settings.weak_outputs else list(studies.weak_weight),
            "weak_noise": list(studies.weak_noise) if settings.model else [],
        }

    def landmarks_of(self, experiment: str) -> dict[str, int] | None:
        """Return the training rows above which landmarks are used, and their number, or None.

        The limit may depend on the machine. It is None unless an experiment has a size above it or
        the size `ALL`, or is on a user table, where the saved model learns from all rows.
        """
        limit, values = max_gram_rows_of(self.run), self.experiments[experiment]
        may_exceed = self.is_user_table(experiment) or ALL in values.training_sizes
        if not may_exceed and not capabilities.exceeds(values, limit):
            return None
        return {"max_gram_rows": limit, "n_landmarks": self.run.n_landmarks}

    def gram_rows_of(self, experiment: str) -> int:
        """Return an upper bound on the rows of the largest Gram matrix of an experiment."""
        values = self.experiments[experiment]
        return most_gram_rows(
            values.training_sizes,
            values.weak_sizes,
            max_gram_rows_of(self.run),
            per_class=values.split == "per_class",
            is_user_table=self.is_user_table(experiment),
        )

    def task_of(self, experiment: str) -> Task:
        """Return the task of the dataset of an experiment."""
        return tasks()[self.dataset_of(experiment).task]

    def shown_metric_of(self, experiment: str) -> str:
        """Return the key of the description of the metric, which says what training sizes count."""
        values = self.experiments[experiment]
        by_rows = self.task_of(experiment).may_split_per_class and values.split != PER_CLASS
        return f"{values.metric}{OF_ROWS}" if by_rows else values.metric

    def selection_metric_of(self, experiment: str) -> str:
        """Return the error that selection minimises; for classes, that of their class vectors."""
        return all_measures()[self.experiments[experiment].metric].selects_by

    def is_mixture(self, method: str) -> bool:
        """Return whether the method's model is a mixture."""
        model = self.model_of(method)
        return model is not None and model.kind == MIXTURE

    def counts_components(self, method: str) -> bool:
        """Return whether the method has a number of components: of its model, or its own."""
        return self.is_mixture(method) or "n_components" in type(self.methods[method]).model_fields

    def components_of(self, experiment: str, method: str) -> tuple[str, ...]:
        """Return the component labels a method runs with: ("selected",) or ("2", "4", "10")."""
        components = self.experiments[experiment].components
        if components == "selected" or not self.counts_components(method):
            return ("selected",)
        return tuple(str(number) for number in components)

    def component_candidates(self, method: str, components: str) -> tuple[int, ...]:
        """Return the numbers of components compared under a label of :meth:`components_of`."""
        if components != "selected":
            return (int(components),)
        return file_settings.component_counts(self.methods[method])

    def component_counts(self, experiment: str, model: str) -> tuple[int, ...]:
        """Return every number of components that a model is fitted with in an experiment."""
        counts = {
            number
            for method in self.methods_of(experiment)
            if self.methods[method].model == model
            for label in self.components_of(experiment, method)
            for number in self.component_candidates(method, label)
        }
        return tuple(sorted(counts))

    def merged_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold (an infinite penalty as ".inf")."""
        kinds = {
            "experiments": self.experiments,
            "datasets": self.datasets,
            "methods": self.methods,
            "models": self.models,
            "input_models": self.input_models,
        }
        return {
            "sources": list(self.sources),
            "run": _plain(self.run.model_dump(mode="json")),
            **{
                kind: {name: _plain(item.model_dump(mode="json")) for name, item in items.items()}
                for kind, items in kinds.items()
            },
            "replaced": {name: list(others) for name, others in self.replaced.items()},
            "left_out": {name: dict(methods) for name, methods in self.left_out.items()},
        }


def load_configuration(
    folder: Path | str,
    merged: dict[str, Any],
    sources: Sequence[str] = DEFAULT_SOURCES,
    imports_classes: bool = True,
) -> Configuration:
    """Check the configuration of a run and load the files that it names.

    Only the files that the run needs are read; ``methods: default`` needs every method.

    Parameters
    ----------
    folder : Path or str
        The folder that holds ``datasets/``, ``models/``, ``methods/`` and ``experiments/``.
    merged : dict
        The run's configuration: ``config.yaml`` updated by ``--configfile`` and ``--config``.
    sources : sequence of str, default=("config/config.yaml", "--configfile")
        The origins of `merged` in addition to ``--config``, as messages name them.
    imports_classes : bool, default=True
        Whether classes that methods name, such as estimators, are imported and checked. Jobs leave
        this to the process that started them, because it can take longer than all else.

    Returns
    -------
    Configuration

    Raises
    ------
    UserError
        When there is a fault; with several faults a ConfigurationError, which shows up to ten.
    """
    check_run_files(sources)
    location = location_of_run(sources)
    request, merged = _without_request(merged, location)
    if "defaults" in merged:
        merged = {**merged, "defaults": _numbers_read(merged["defaults"])}
    run, errors = validated(RunSettings, merged, location)
    # The name of a table is also that of its experiment; its fault is reported once.
    raise_errors([error for error in errors if error.location == f"{location}, key name"] or errors)
    run = run.model_copy(update={"experiments": tuple(listed_experiments(folder, run.experiments))})
    files = ConfigurationFiles(Path(folder), imports_classes)
    replaced = replaced_experiments(files, run, location)
    experiments, methods, left_out = {}, {}, {}
    names = [other for name in run.experiments for other in replaced.get(name, (name,))]
    for name in dict.fromkeys(names):
        experiment = _experiment(files, run, name, location)
        dataset = _dataset_of(files, name, experiment)
        if experiment is None or dataset is None:
            continue
        experiment = experiment.model_copy(
            update={
                "kernel": experiment.kernel or dataset.inputs.kernel,
                "lagged_values": experiment.lagged_values or dataset.inputs.lagged_values,
            }
        )
        files.errors += _experiment_errors(files, run, name, experiment, dataset)
        chosen, left_out[name] = _methods_of(files, run, name, experiment, dataset, location)
        tables = _tables_that_can_be(files, experiment, dataset, chosen)
        experiments[name] = experiment.model_copy(
            update={"methods": tuple(chosen), "tables": tables}
        )
        methods |= chosen
    # Two experiments may have the same fault; it is reported once.
    raise_errors(list({str(error): error for error in files.errors}.values()))
    datasets = sorted({experiment.dataset for experiment in experiments.values()})
    models = sorted({method.model for method in methods.values() if method.model})
    spaces = [method.score_space for method in methods.values() if method.score_space]
    input_models = sorted({space.models for space in spaces})
    used = {"dataset": datasets, "method": methods, "input_model": input_models}
    return Configuration(
        sources=tuple(sources),
        run=run,
        experiments=experiments,
        datasets={name: files.get("dataset", name, location) for name in datasets},
        methods=with_line_styles(methods),
        models={name: files.get("model", name, location) for name in models},
        input_models={name: files.get("input_model", name, location) for name in input_models},
        left_out=left_out,
        replaced=replaced,
        request=request,
        locations={
            kind: {name: files.location(kind, name) for name in used[kind]} for kind in used
        },
    )


def _without_request(
    merged: dict[str, Any], location: str
) -> tuple[Request | None, dict[str, Any]]:
    """Return the request for a new table, and the configuration of the run without it."""
    fields = Request.model_fields
    requested = {key: merged[key] for key in fields if merged.get(key) is not None}
    rest = {key: value for key, value in merged.items() if key not in fields}
    if "name" in requested:
        requested["name"] = as_typed(requested["name"])
    if "data" in requested:
        # A misspelt key could belong to either; the keys of the request are the more likely ones.
        unknown = [key for key in rest if key not in RunSettings.model_fields]
        surplus = {key: rest.pop(key) for key in unknown}
        request, errors = validated(Request, requested | surplus, location)
        raise_errors(errors)
        return request, rest
    if surplus := sorted(set(requested) - {"name"}):
        raise UserError(
            location,
            f"the key {surplus[0]} without the key data",
            expected="data=FILE too: the key describes a table for `snakemake new`",
            remedy="add data=FILE, or change the settings in config/tables/datasets/NAME.yaml",
        )
    if "name" in requested:
        return None, {**rest, "name": requested["name"], "experiments": [requested["name"]]}
    return None, rest


def _numbers_read(value: Any) -> Any:
    """Return the value of ``defaults`` with the numbers in it parsed.

    Snakemake turns ``--config defaults='{training_sizes: [10, 20]}'`` into the texts '10' and
    '20'; it parses only single numbers, as in ``--config seed=3``.
    """
    if isinstance(value, dict):
        return {key: _numbers_read(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers_read(item) for item in value]
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]+", value):
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]*\.[0-9]+", value):
        return float(value)
    return value


def max_gram_rows_of(run: RunSettings) -> int:
    """Return the largest number of training rows of a Gram matrix: the run's or the machine's."""
    return run.max_gram_rows or default_max_gram_rows()


def _experiment(
    files: ConfigurationFiles, run: RunSettings, name: str, location: str
) -> ExperimentSettings | None:
    """Return an experiment with the run's defaults filled in, or None after recording a fault."""
    if name in RESERVED_NAMES:
        files.errors.append(
            UserError(
                f"{location}, key experiments",
                f"'{name}' cannot be the name of an experiment: results/{name} is taken",
                expected=f"a name other than {', '.join(sorted(RESERVED_NAMES))}",
                remedy="rename the file of the experiment or dataset",
            )
        )
        return None
    if files.has("experiment", name):
        experiment = files.get("experiment", name, location)
    elif files.has("dataset", name):
        dataset = files.get("dataset", name, location)
        experiment = dataset and ExperimentSettings(title=dataset.title, dataset=name)
    else:
        fault = _unknown_table if run.name == name else _unknown_experiment
        files.errors += [*files.unread("experiment"), *files.unread("dataset")]
        files.errors.append(fault(files, name, location))
        return None
    if experiment is None:
        return None
    defaults = {key: getattr(run.defaults, key) for key in type(run.defaults).model_fields}
    defaults |= {key: getattr(run, key) for key in ("n_splits", "splits_per_job")}
    if experiment.split == "k_fold" and experiment.outer_folds:
        defaults["n_splits"] = experiment.outer_folds
    missing = {key: value for key, value in defaults.items() if getattr(experiment, key) is None}
    return experiment.model_copy(update=missing)


def _unknown_table(files: ConfigurationFiles, name: str, location: str) -> UserError:
    return UserError(
        f"{location}, key name",
        f"there is no table named '{name}' (there is no file config/tables/datasets/{name}.yaml)",
        expected="the name of a table that was set up by `snakemake new`",
        remedy=f"snakemake --cores 1 new --config name={name} data=FILE outputs=COLUMNS",
    )


def _unknown_experiment(files: ConfigurationFiles, name: str, location: str) -> UserError:
    experiments, datasets = files.names("experiment"), files.names("dataset")
    nearest = nearest_name(name, [*experiments, *datasets])
    return UserError(
        f"{location}, key experiments",
        f"there is no experiment and no dataset named '{name}'",
        expected=f"an experiment ({', '.join(experiments) or 'none defined'}) or a dataset "
        f"({', '.join(datasets) or 'none defined'})",
        remedy=f"write '{nearest}'" if nearest else "choose a listed name",
    )


def _dataset_of(
    files: ConfigurationFiles, name: str, experiment: ExperimentSettings | None
) -> DatasetSettings | None:
    if experiment is None:
        return None
    location = key_location(files.location("experiment", name), "dataset")
    if files.has("dataset", name) and experiment.dataset != name:
        files.errors.append(
            UserError(
                location,
                f"the experiment is named like the dataset '{name}' but uses "
                f"'{experiment.dataset}'",
                expected=f"the dataset '{name}', or another name for the experiment",
                remedy="rename the file of the experiment",
            )
        )
    return files.get("dataset", experiment.dataset, location)


def _experiment_errors(
    files: ConfigurationFiles,
    run: RunSettings,
    name: str,
    experiment: ExperimentSettings,
    dataset: DatasetSettings,
) -> list[UserError]:
    """Return why an experiment can run with no method."""
    location = f"experiment '{name}'"
    errors = [
        UserError(location, reason, remedy=_files_to_change(files, name, experiment.dataset))
        for reason in capabilities.check_experiment(dataset, experiment)
    ]
    smallest = experiment.training_sizes[0]
    # Sizes of a split per class count the examples of each class, not the rows.
    if experiment.split != "per_class" and smallest != ALL and smallest < run.n_folds:
        has_file = files.has("experiment", name)
        where = f" in {files.location('experiment', name)}" if has_file else ""
        errors.append(
            UserError(
                location,
                f"{smallest} training rows cannot be cut into {run.n_folds} folds",
                expected=f"training_sizes from {run.n_folds}",
                remedy=f"raise training_sizes{where} or lower n_folds",
            )
        )
    encoders = (dataset.options.get("encode") or {}).values()
    if files.imports_classes and GAMMA_POISSON in encoders and not is_installed("skrub"):
        in_dataset = f"{files.location('dataset', experiment.dataset)}, key options.encode"
        errors.append(not_installed("skrub", in_dataset, None, "choose another encoder"))
    sources = published_names(files.folder)
    in_file = files.location("experiment", name) if files.has("experiment", name) else location
    errors += [
        unknown_name(
            f"{in_file}, table '{table.name}', key paper_table",
            "published table",
            table.paper_table,
            sources,
        )
        for table in experiment.tables
        if table.paper_table not in (None, *sources)
    ]
    return errors


def _methods_of(
    files: ConfigurationFiles,
    run: RunSettings,
    name: str,
    experiment: ExperimentSettings,
    dataset: DatasetSettings,
    location: str,
) -> tuple[dict[str, MethodFile], dict[str, list[str]]]:
    """Return the methods of an experiment, and those of ``default`` left out with the reasons."""
    default = experiment.methods == "default"
    own = files.has("experiment", name) and files.get("experiment", name, location).methods
    location = (
        key_location(files.location("experiment", name), "methods")
        if own
        else f"{location}, key defaults.methods"
    )
    chosen, left_out = {}, {}
    has_faulty = False
    for method_name in files.names("method") if default else experiment.methods:
        method = files.get("method", method_name, location)
        if method is None:
            has_faulty = True
            continue
        if default and not method.in_default:
            continue
        if not _is_consistent(files, method_name, method):
            has_faulty = True
            continue
        model, limit = _model_of(files, method_name), max_gram_rows_of(run)
        of_inputs = _input_model_of(files, method_name)
        reasons = capabilities.check(method, model, dataset, experiment, limit, of_inputs)
        if not reasons:
            chosen[method_name] = method
        elif default:
            left_out[method_name] = reasons
        else:
            files.errors.append(
                UserError(
                    f"experiment '{name}', method '{method_name}'",
                    "; ".join(reasons),
                    expected=_methods_for_items(files, method, dataset, experiment, limit),
                    remedy=f"take '{method_name}' out of the methods, or change "
                    + _files_to_change(files, name, experiment.dataset, method_name),
                )
            )
    # A missing member may be the method with a fault, which is already reported.
    incomplete = {} if has_faulty else _stacks_without_members(chosen)
    for method_name, reason in incomplete.items():
        if default:
            del chosen[method_name]
            left_out[method_name] = [reason]
        else:
            files.errors.append(
                UserError(
                    f"experiment '{name}', method '{method_name}'",
                    reason,
                    remedy=f"add them to the methods of the experiment, or take '{method_name}' "
                    "out of these",
                )
            )
    for figure in experiment.figures:
        for method_name in figure.methods:
            # For a user table, editing the list of methods must suffice to leave a method out.
            is_left_out = dataset.is_user_table and files.has("method", method_name)
            if method_name not in chosen and not has_faulty and not is_left_out:
                files.errors.append(
                    UserError(
                        f"experiment '{name}', figure '{figure.name}', key methods",
                        f"'{method_name}' is not a method of the experiment",
                        expected=f"methods among {', '.join(chosen)}",
                        remedy="add it to the methods of the experiment, or leave it out here",
                    )
                )
    for name_of_part, kind, is_table in (
        *((table.name, TABLES[table.kind], True) for table in experiment.tables),
        *((figure.name, FIGURES[figure.kind], False) for figure in experiment.figures),
    ):
        # Of a user table, tables that lack such a method are left out.
        is_left_out = dataset.is_user_table and is_table
        if not (has_faulty or is_left_out or _has_method_for(files, kind, chosen)):
            files.errors.append(
                UserError(
                    f"experiment '{name}', table or figure '{name_of_part}', key kind",
                    f"{kind.name} shows a result of methods that the experiment lacks",
                    expected=kind.method_in_words,
                    remedy="add such a method to the experiment, or leave this out",
                )
            )
    for table in experiment.tables:
        kind = TABLES[table.kind]
        for key, owner in OWNERS_OF_KEYS.items():
            value, usual = getattr(table, key), TableSettings.model_fields[key].default
            is_missing = owner == table.kind and not usual and value == usual
            if is_missing or (owner != table.kind and value != usual):
                files.errors.append(
                    UserError(
                        f"experiment '{name}', table '{table.name}', key {key}",
                        f"{'no' if is_missing else 'the key'} {key}, and the kind {table.kind}",
                        expected=f"{key} in a table of kind {owner}, and in no other",
                        remedy=f"change the kind, or the key {key}",
                    )
                )
        own_keys = KEYS_OF_TABLES.get(table.kind)
        requested = own_keys.named_methods(table) if hasattr(own_keys, "named_methods") else set()
        requested -= set(files.names("method")) if dataset.is_user_table else set()
        for method_name in sorted(requested - set(chosen)) if not has_faulty else ():
            files.errors.append(
                UserError(
                    f"experiment '{name}', table '{table.name}', key comparisons",
                    f"'{method_name}' is not a method of the experiment",
                    expected=f"methods among {', '.join(chosen)}",
                    remedy="add it to the methods of the experiment, or leave the question out",
                )
            )
        if table.decimals is not None and not kind.shows_errors:
            files.errors.append(
                UserError(
                    f"experiment '{name}', table '{table.name}', key decimals",
                    f"{table.kind} shows no errors, so {table.decimals} decimals have no meaning",
                    expected="a table of errors",
                    remedy="leave out the key",
                )
            )
    # A faulty file is already reported, perhaps for an earlier experiment; its method might run.
    if default and not chosen and not has_faulty:
        refusals = "; ".join(f"{key}: {', '.join(reasons)}" for key, reasons in left_out.items())
        files.errors.append(
            UserError(
                f"experiment '{name}', methods: default",
                f"no method can run ({refusals or 'no method file has in_default: true'})",
                remedy="name the methods, or fix what the reasons state",
            )
        )
    return chosen, left_out


def _methods_for_items(
    files: ConfigurationFiles,
    method: MethodFile,
    dataset: DatasetSettings,
    experiment: ExperimentSettings,
    limit: int,
) -> str:
    """Return which methods take the items of a dataset that a method does not take, if any."""
    if not capabilities.has_other_items(method, dataset):
        return ""
    n_errors, found = len(files.errors), []
    for name in files.names("method"):
        other = files.get("method", name, "")
        if other is not None and _is_consistent(files, name, other):
            settings = other, _model_of(files, name), dataset, experiment, limit
            if not capabilities.check(*settings, _input_model_of(files, name)):
                found.append(name)
    # Faults of files that the run does not name are not reported.
    del files.errors[n_errors:]
    return f"methods such as {listed(found)}" if found else "a method that states these items"


def _tables_that_can_be(
    files: ConfigurationFiles,
    experiment: ExperimentSettings,
    dataset: DatasetSettings,
    methods: dict[str, MethodFile],
) -> tuple:
    """Return the tables of an experiment; on a user table only what its methods allow of them.

    There, editing the list of methods must suffice to leave one out; elsewhere a table without a
    method that it needs, or a question about another method, is an error.
    """
    if not dataset.is_user_table:
        return experiment.tables
    kept = []
    for table in experiment.tables:
        own_keys = KEYS_OF_TABLES.get(table.kind)
        limited = own_keys.limited_to(table, methods) if hasattr(own_keys, "limited_to") else {}
        if limited is not None and _has_method_for(files, TABLES[table.kind], methods):
            kept.append(table.model_copy(update=limited))
    return tuple(kept)


def _has_method_for(
    files: ConfigurationFiles, kind: TableKind | FigureModule, methods: dict[str, MethodFile]
) -> bool:
    """Return whether one of the methods is such as a kind of table or figure needs."""
    needed = Requirement({}, kind.needs_method, "")
    return not kind.needs_method or any(
        not needed.unmet(capabilities.method_facts(method, _model_of(files, name)))
        for name, method in methods.items()
    )


def _stacks_without_members(methods: dict[str, MethodFile]) -> dict[str, str]:
    """Return the stacks that have none of their members among the methods, with the reason."""
    return {
        name: f"a stack combines those of its members that are methods of the experiment, but none "
        f"of {', '.join(method.members)} is"
        for name, method in methods.items()
        if method.members and not set(method.members) & set(methods)
    }


def _model_of(files: ConfigurationFiles, method_name: str) -> ModelSettings | None:
    method = files.get("method", method_name, "")
    location = key_location(files.location("method", method_name), "model")
    return files.get("model", method.model, location) if method.model else None


def _input_model_of(files: ConfigurationFiles, method_name: str) -> InputModelSettings | None:
    method = files.get("method", method_name, "")
    if method.score_space is None:
        return None
    location = key_location(files.location("method", method_name), "score_space.models")
    return files.get("input_model", method.score_space.models, location)


def _is_consistent(files: ConfigurationFiles, name: str, method: MethodFile) -> bool:
    """Return whether a method can run anywhere, after recording the reasons if it cannot."""
    model, of_inputs = _model_of(files, name), _input_model_of(files, name)
    if (method.model and model is None) or (method.score_space and of_inputs is None):
        return False
    reasons = capabilities.check_method(method, model, of_inputs)
    remedy = f"change it or its model, {files.location('model', method.model)}" if model else ""
    location = files.location("method", name)
    files.errors += [UserError(location, reason, remedy=remedy) for reason in reasons]
    faults = [] if reasons or not files.imports_classes else method.faults()
    files.errors += [
        UserError(key_location(location, key), found, expected, remedy)
        for key, found, expected, remedy in faults
    ]
    of_inputs = [] if reasons or of_inputs is None else of_inputs.faults()
    files.errors += [
        UserError(
            key_location(files.location("input_model", method.score_space.models), key), *fault
        )
        for key, *fault in of_inputs
    ]
    return not (reasons or faults or of_inputs)


def _files_to_change(
    files: ConfigurationFiles, experiment: str, dataset: str, method: str | None = None
) -> str:
    locations = []
    if files.has("experiment", experiment):
        locations.append(files.location("experiment", experiment))
    locations.append(files.location("dataset", dataset))
    if method:
        locations.append(files.location("method", method))
    return " or ".join(locations)


def _plain(value: Any) -> Any:
    """Return `value` with infinite numbers, which JSON does not have, in YAML's notation."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return ".inf" if isinstance(value, float) and math.isinf(value) else value
