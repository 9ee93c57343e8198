"""Load and check the configuration of a run, with all files that it names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflow_lib.core.errors import UserError, correction, key_location, unknown_name
from workflow_lib.core.optional_packages import is_installed, not_installed
from workflow_lib.core.requirement import Requirement
from workflow_lib.core.values import ALL
from workflow_lib.inputs.encoder_names import GAMMA_POISSON
from workflow_lib.methods.contract.method_file import MethodFile, with_line_styles
from workflow_lib.run import capabilities
from workflow_lib.run.configuration import Configuration
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
from workflow_lib.run.named_settings import (
    ConfigurationFiles,
    check_run_files,
    listed_experiments,
    location_of_run,
    published_names,
    validated,
)
from workflow_lib.run.needed_data import has_files
from workflow_lib.run.problems import raise_errors
from workflow_lib.run.requests import Request, as_typed
from workflow_lib.tabular.tables import listed

if TYPE_CHECKING:
    from workflow_lib.report.figures.base import FigureModule
    from workflow_lib.report.table_kinds.base import TableKind

DEFAULT_SOURCES = ("config/config.yaml", "--configfile")

RESERVED_NAMES = frozenset({"datasets", "figures", "images", "tables", "timings"})
"""Folders of results/ that are not experiments."""


def load_configuration(
    folder: Path | str,
    merged: dict[str, Any],
    sources: Sequence[str] = DEFAULT_SOURCES,
    imports_classes: bool = True,
) -> Configuration:
    """Check the configuration of a run and load the files that it names.

    Only the files that the run needs are read; ``methods: default`` needs every method.

    Raises UserError when there is a fault; with several faults a ConfigurationError, which shows up
    to ten.

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
    """
    check_run_files(sources)
    location = location_of_run(sources)
    request, merged = _without_request(merged, location)
    if "defaults" in merged:
        merged = {**merged, "defaults": _numbers_read(merged["defaults"])}
    run, errors = validated(RunSettings, merged, location)
    # The name of a table is also that of its experiment; its fault is reported once.
    if errors:
        of_name = [error for error in errors if error.location == f"{location}, key name"]
        raise_errors(of_name or errors)
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
        _check_experiment(files, run, name, experiment, dataset)
        chosen, left_out[name] = _methods_of(files, run, name, experiment, dataset, location)
        tables = _tables_that_can_be(files, experiment, dataset, chosen)
        experiments[name] = experiment.model_copy(
            update={"methods": tuple(chosen), "tables": tables}
        )
        methods |= chosen
    if files.errors:
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


def replaced_experiments(
    files: ConfigurationFiles, run: RunSettings, location: str
) -> dict[str, tuple[str, ...]]:
    """Return the replaced experiments of a run with their stand-ins, and record faults.

    An experiment with `stand_ins` is replaced while its dataset lacks a file (`has_files`).
    """
    replaced = {}
    for name, stand_ins in run.stand_ins.items():
        if name not in run.experiments:
            files.refuse(
                f"{location}, key stand_ins",
                f"'{name}' is not an experiment of the run",
                expected="names among the experiments, each with those that stand in for it",
                remedy=correction(
                    name, run.experiments, "add it to the experiments, or leave it out here"
                ),
            )
            continue
        dataset_name = _dataset_name(files, name, location)
        dataset = dataset_name and files.get("dataset", dataset_name, location)
        # A dataset without a file is reported when the experiments are read.
        if dataset and not has_files(dataset_name, dataset):
            replaced[name] = tuple(stand_ins)
    return replaced


def _dataset_name(files: ConfigurationFiles, name: str, location: str) -> str | None:
    """Return the dataset of an experiment or dataset `name`; None if it has no file."""
    if files.has("experiment", name):
        experiment = files.get("experiment", name, location)
        name = experiment.dataset if experiment else ""
    return name if files.has("dataset", name) else None


def _experiment(
    files: ConfigurationFiles, run: RunSettings, name: str, location: str
) -> ExperimentSettings | None:
    """Return an experiment with the run's defaults filled in, or None after recording a fault."""
    if name in RESERVED_NAMES:
        files.refuse(
            f"{location}, key experiments",
            f"'{name}' cannot be the name of an experiment: results/{name} is taken",
            expected=f"a name other than {', '.join(sorted(RESERVED_NAMES))}",
            remedy="rename the file of the experiment or dataset",
        )
        return None
    if files.has("experiment", name):
        experiment = files.get("experiment", name, location)
    elif files.has("dataset", name):
        dataset = files.get("dataset", name, location)
        experiment = dataset and ExperimentSettings(title=dataset.title, dataset=name)
    else:
        return _refuse_unknown(files, run, name, location)
    if experiment is None:
        return None
    defaults = {key: getattr(run.defaults, key) for key in type(run.defaults).model_fields}
    defaults |= {key: getattr(run, key) for key in ("n_splits", "splits_per_job")}
    if experiment.split == "k_fold" and experiment.outer_folds:
        defaults["n_splits"] = experiment.outer_folds
    missing = {key: value for key, value in defaults.items() if getattr(experiment, key) is None}
    return experiment.model_copy(update=missing)


def _refuse_unknown(files: ConfigurationFiles, run: RunSettings, name: str, location: str) -> None:
    """Record that there is no table, or no experiment and no dataset, of a name."""
    files.errors += [*files.unread("experiment"), *files.unread("dataset")]
    if run.name == name:
        files.refuse(
            f"{location}, key name",
            f"there is no table named '{name}' (there is no file "
            f"config/tables/datasets/{name}.yaml)",
            expected="the name of a table that was set up by `snakemake new`",
            remedy=f"snakemake --cores 1 new --config name={name} data=FILE outputs=COLUMNS",
        )
        return
    experiments, datasets = files.names("experiment"), files.names("dataset")
    files.refuse(
        f"{location}, key experiments",
        f"there is no experiment and no dataset named '{name}'",
        expected=f"an experiment ({', '.join(experiments) or 'none defined'}) or a dataset "
        f"({', '.join(datasets) or 'none defined'})",
        remedy=correction(name, [*experiments, *datasets], "choose a listed name"),
    )


def _dataset_of(
    files: ConfigurationFiles, name: str, experiment: ExperimentSettings | None
) -> DatasetSettings | None:
    if experiment is None:
        return None
    location = key_location(files.location("experiment", name), "dataset")
    if files.has("dataset", name) and experiment.dataset != name:
        files.refuse(
            location,
            f"the experiment is named like the dataset '{name}' but uses '{experiment.dataset}'",
            expected=f"the dataset '{name}', or another name for the experiment",
            remedy="rename the file of the experiment",
        )
    return files.get("dataset", experiment.dataset, location)


def _check_experiment(
    files: ConfigurationFiles,
    run: RunSettings,
    name: str,
    experiment: ExperimentSettings,
    dataset: DatasetSettings,
) -> None:
    """Record why an experiment can run with no method."""
    location, has_file = f"experiment '{name}'", files.has("experiment", name)
    in_file = files.location("experiment", name) if has_file else location
    for reason in capabilities.check_experiment(dataset, experiment):
        files.refuse(location, reason, remedy=_files_to_change(files, name, experiment.dataset))
    smallest = experiment.training_sizes[0]
    # Sizes of a split per class count the examples of each class, not the rows.
    if experiment.split != "per_class" and smallest != ALL and smallest < run.n_folds:
        files.refuse(
            location,
            f"{smallest} training rows cannot be cut into {run.n_folds} folds",
            expected=f"training_sizes from {run.n_folds}",
            remedy=f"raise training_sizes{f' in {in_file}' * has_file} or lower n_folds",
        )
    encoders = (dataset.options.get("encode") or {}).values()
    if files.imports_classes and GAMMA_POISSON in encoders and not is_installed("skrub"):
        in_dataset = f"{files.location('dataset', experiment.dataset)}, key options.encode"
        files.errors.append(not_installed("skrub", in_dataset, None, "choose another encoder"))
    sources = published_names(files.folder)
    for table in experiment.tables:
        if table.paper_table not in (None, *sources):
            key = f"{in_file}, table '{table.name}', key paper_table"
            files.errors.append(unknown_name(key, "published table", table.paper_table, sources))


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
        model, limit = _model_of(files, method_name), run.gram_limit
        of_inputs = _input_model_of(files, method_name)
        reasons = capabilities.check(method, model, dataset, experiment, limit, of_inputs)
        if not reasons:
            chosen[method_name] = method
        elif default:
            left_out[method_name] = reasons
        else:
            files.refuse(
                f"experiment '{name}', method '{method_name}'",
                "; ".join(reasons),
                expected=_methods_for_items(files, method, dataset, experiment, limit),
                remedy=f"take '{method_name}' out of the methods, or change "
                + _files_to_change(files, name, experiment.dataset, method_name),
            )
    # A missing member may be the method with a fault, which is already reported.
    incomplete = {} if has_faulty else _stacks_without_members(chosen)
    for method_name, reason in incomplete.items():
        if default:
            del chosen[method_name]
            left_out[method_name] = [reason]
        else:
            files.refuse(
                f"experiment '{name}', method '{method_name}'",
                reason,
                remedy=f"add them to the methods of the experiment, or take '{method_name}' "
                "out of these",
            )
    for figure in experiment.figures:
        for method_name in figure.methods:
            # For a user table, editing the list of methods must suffice to leave a method out.
            is_left_out = dataset.is_user_table and files.has("method", method_name)
            if method_name not in chosen and not has_faulty and not is_left_out:
                files.refuse(
                    f"experiment '{name}', figure '{figure.name}', key methods",
                    f"'{method_name}' is not a method of the experiment",
                    expected=f"methods among {', '.join(chosen)}",
                    remedy="add it to the methods of the experiment, or leave it out here",
                )
    for name_of_part, kind, is_table in (
        *((table.name, TABLES[table.kind], True) for table in experiment.tables),
        *((figure.name, FIGURES[figure.kind], False) for figure in experiment.figures),
    ):
        # Of a user table, tables that lack such a method are left out.
        is_left_out = dataset.is_user_table and is_table
        if not (has_faulty or is_left_out or _has_method_for(files, kind, chosen)):
            files.refuse(
                f"experiment '{name}', table or figure '{name_of_part}', key kind",
                f"{kind.name} shows a result of methods that the experiment lacks",
                expected=kind.method_in_words,
                remedy="add such a method to the experiment, or leave this out",
            )
    for table in experiment.tables:
        kind = TABLES[table.kind]
        for key, owner in OWNERS_OF_KEYS.items():
            value, usual = getattr(table, key), TableSettings.model_fields[key].default
            is_missing = owner == table.kind and not usual and value == usual
            if is_missing or (owner != table.kind and value != usual):
                files.refuse(
                    f"experiment '{name}', table '{table.name}', key {key}",
                    f"{'no' if is_missing else 'the key'} {key}, and the kind {table.kind}",
                    expected=f"{key} in a table of kind {owner}, and in no other",
                    remedy=f"change the kind, or the key {key}",
                )
        own_keys = KEYS_OF_TABLES.get(table.kind)
        requested = own_keys.named_methods(table) if hasattr(own_keys, "named_methods") else set()
        requested -= set(files.names("method")) if dataset.is_user_table else set()
        for method_name in sorted(requested - set(chosen)) if not has_faulty else ():
            files.refuse(
                f"experiment '{name}', table '{table.name}', key comparisons",
                f"'{method_name}' is not a method of the experiment",
                expected=f"methods among {', '.join(chosen)}",
                remedy="add it to the methods of the experiment, or leave the question out",
            )
        if table.decimals is not None and not kind.shows_errors:
            files.refuse(
                f"experiment '{name}', table '{table.name}', key decimals",
                f"{table.kind} shows no errors, so {table.decimals} decimals have no meaning",
                expected="a table of errors",
                remedy="leave out the key",
            )
    # A faulty file is already reported, perhaps for an earlier experiment; its method might run.
    if default and not chosen and not has_faulty:
        refusals = "; ".join(f"{key}: {', '.join(reasons)}" for key, reasons in left_out.items())
        files.refuse(
            f"experiment '{name}', methods: default",
            f"no method can run ({refusals or 'no method file has in_default: true'})",
            remedy="name the methods, or fix what the reasons state",
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
    needed = [Requirement({}, kind.needs_method, "")]
    return not kind.needs_method or any(
        not capabilities.unmet(needed, capabilities.method_facts(method, _model_of(files, name)))
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
