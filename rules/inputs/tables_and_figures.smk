"""Which tables and figures there are, and what each of them shows."""

from workflow_lib.core.plugins import FIGURES as FIGURE_KINDS
from workflow_lib.core.plugins import TABLE_KINDS
from workflow_lib.core.values import numbers_of
from workflow_lib.report.figures.base import figure_modules
from workflow_lib.report.labels import figure_title
from workflow_lib.report.reads import paths_of
from workflow_lib.report.table_kinds.base import table_kinds
from workflow_lib.run.models import OWNERS_OF_KEYS
from workflow_lib.run.named_settings import published_tables

PUBLISHED = {name: str(path) for name, path in published_tables(CONFIG).items()}
"""The files of published numbers, by name."""


def published_of(table):
    return [external_path(PUBLISHED[table.paper_table])] if table.paper_table in PUBLISHED else []


def parts_of(experiment, kind):
    """Return the tables or figures of an experiment, by name."""
    return {part.name: part for part in getattr(settings.experiments[experiment], kind)}


def table_names():
    """Return the names of all tables, each once."""
    return {name for experiment in settings.experiments for name in parts_of(experiment, "tables")}


def table_modules():
    """Return the modules of the kinds of all tables, each once."""
    kinds = {table.kind for each in settings.experiments.values() for table in each.tables}
    return [TABLE_KINDS.modules[kind] for kind in sorted(kinds)]


def table_of(wildcards):
    return parts_of(wildcards.experiment, "tables")[wildcards.table]


def files_of(reads, experiment, shown=()):
    """Return the files of patterns of READS by name, for an experiment and the shown methods."""
    methods = settings.methods_of(experiment)
    values = {
        "experiment": lambda: [experiment],
        "dataset": lambda: [settings.experiments[experiment].dataset],
        "mixture": lambda: [name for name in [mixture_of(experiment)] if name],
        "family": lambda: families(experiment),
        "version": lambda: dataset_versions(experiment),
        "wrong_share": lambda: shares_of_wrong_labels(experiment).values(),
        "method": lambda: methods,
        "shown_method": lambda: shown or methods,
        "membership_method": lambda: membership_methods(experiment),
        "input_model": lambda: input_models_of(shown or methods),
        "split": lambda: settings.splits_of(experiment),
    }
    return {name: paths_of(pattern, values) for name, pattern in reads.items()}


def files_of_table(experiment, table):
    """Return what the kind of a table reads of its experiment, by name."""
    return files_of(table_kinds()[table.kind].reads, experiment)


def read_by_tables(experiment):
    """Return all results that tables of an experiment read, each once."""
    tables = settings.experiments[experiment].tables
    read = [path for table in tables for path in files_of_table(experiment, table).values()]
    return sorted(set().union(*([path] if isinstance(path, str) else path for path in read)))


def options_of_table(wildcards):
    """Return what the kind of a table is given besides results, its caption and published numbers."""
    experiment, table = wildcards.experiment, table_of(wildcards)
    own = {key for key, kind in OWNERS_OF_KEYS.items() if kind == table.kind}
    return {
        "methods": stages.method_fields(settings.methods_of(experiment), "label", "regressor"),
        "metric": settings.shown_metric_of(experiment),
        "dataset_title": settings.dataset_of(experiment).title,
        "stand_in_for": stand_in(experiment),
        "keys": table.model_dump(include=own, mode="json"),
        "decimals": table.decimals,
    }


def table_files(experiment):
    """Return the files of each table of an experiment, by its name and their endings."""
    return {
        name: {suffix: f"results/tables/{experiment}-{name}.{suffix}" for suffix in ("csv", "tex")}
        for name in parts_of(experiment, "tables")
    }


def all_tables():
    return [
        f"results/tables/{experiment}-{name}.{suffix}"
        for experiment in settings.experiments
        for name in parts_of(experiment, "tables")
        for suffix in ("csv", "tex")
    ]


def mixture_of(experiment):
    """Return the mixture of an experiment whose components are shown, a tied one if any; or None."""
    mixtures = [
        model
        for model in settings.models_of(experiment)
        if settings.models[model].kind == "gaussian_mixture"
    ]
    tied = [model for model in mixtures if settings.models[model].covariance_type != "spherical"]
    return next(iter(tied or mixtures), None)


FIGURES = {
    f"{experiment}-{figure.name}": (experiment, figure)
    for experiment, values in settings.experiments.items()
    for figure in values.figures
}
"""The experiment and the settings of each figure, by its file name."""


def experiment_of_figure(wildcards):
    return FIGURES[wildcards.figure][0]


def kind_of(wildcards):
    """Return what the module of a figure's kind declares."""
    return figure_modules()[FIGURES[wildcards.figure][1].kind]


def membership_methods(experiment):
    """Return the methods of an experiment that predict memberships of classes."""
    return [
        method
        for method in settings.methods_of(experiment)
        if settings.methods[method].decoder in ("class_block", "class_block_component_first")
    ]


def figure_files(experiment, suffix):
    """Return the file of each figure of an experiment, by its name."""
    return {
        name: f"results/figures/{experiment}-{name}.{suffix}"
        for name in parts_of(experiment, "figures")
    }


def all_figures(suffix):
    return [
        path
        for experiment in settings.experiments
        for path in figure_files(experiment, suffix).values()
    ]


def named_in_figure(wildcards):
    """Return the methods that a figure names, of those of its experiment."""
    methods = settings.methods_of(experiment_of_figure(wildcards))
    return [method for method in FIGURES[wildcards.figure][1].methods if method in methods]


def shown_in_figure(wildcards):
    """Return the methods that a figure shows: those that it names, else all of its experiment."""
    experiment = experiment_of_figure(wildcards)
    return named_in_figure(wildcards) or settings.methods_of(experiment)


def rows_of_splits(experiment):
    """Return what determines the rows of an experiment's splits, and the measure of errors."""
    values = settings.experiments[experiment]
    sizes = tuple(values.training_sizes), values.test_size, values.split, values.metric
    return stages.draw_name(values.dataset), sizes, values.outer_folds


def dataset_versions(experiment):
    """Return the experiments of the run whose splits have the same rows, on versions of a dataset."""

    def draws(name):
        return rows_of_splits(name), settings.experiments[name].wrong_labels

    return [name for name in settings.experiments if draws(name) == draws(experiment)]


def shares_of_wrong_labels(experiment):
    """Return the experiments of the run that differ in their share of wrong labels alone, by share."""

    def rest(name):
        values = settings.experiments[name]
        return values.dataset, values.n_splits, rows_of_splits(name), settings.methods_of(name)

    own = rest(experiment)
    by_share = {
        values.wrong_labels: name
        for name, values in settings.experiments.items()
        if rest(name) == own
    }
    return dict(sorted(by_share.items()))


def families(experiment):
    """Return the experiments of the run that compare the same methods at the same task."""

    def compared(name):
        return settings.task_of(name), settings.methods_of(name)

    return [name for name in settings.experiments if compared(name) == compared(experiment)]


def input_models_of(methods):
    """Return the generative models of inputs that score spaces of the methods need, each once."""
    spaces = [settings.methods[method].score_space for method in methods]
    return list(dict.fromkeys(space.models for space in spaces if space))


def files_of_figure(wildcards):
    """Return what the module of a figure reads of its experiment, by name."""
    shown = shown_in_figure(wildcards)
    return files_of(kind_of(wildcards).reads, experiment_of_figure(wildcards), shown)


def settings_of_figure(wildcards):
    """Return the settings that the module of a figure takes, by name."""
    (name, figure), kind = FIGURES[wildcards.figure], kind_of(wildcards)
    experiment, methods = settings.experiments[name], settings.methods_of(name)
    dataset = settings.datasets[experiment.dataset]
    shown = shown_in_figure(wildcards)
    known = {
        "methods": stages.method_fields(methods, *kind.method_fields),
        "metric": settings.shown_metric_of(name),
        "named_methods": stages.method_fields(named_in_figure(wildcards), *kind.method_fields),
        "output_scale": dataset.outputs.scale,
        "seed": derive_seed(settings.run.seed, "figure", kind.name),
        "shown_methods": stages.method_fields(shown, *kind.method_fields),
        "title": figure_title(dataset.title, stand_in(name)),
        "training_size": max(numbers_of(experiment.training_sizes), default=None),
        "version_titles": [
            figure_title(settings.dataset_of(other).title, stand_in(other))
            for other in dataset_versions(name)
        ],
        "weak_size": max(experiment.weak_sizes, default=0),
        "wrong_shares": list(shares_of_wrong_labels(name)),
    }
    return {setting: known[setting] for setting in kind.settings}


def timing_tables():
    return [
        path
        for name in settings.experiments
        for path in time_records(SimpleNamespace(experiment=name))
    ]
