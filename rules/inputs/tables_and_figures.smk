"""Which tables and figures there are, and what each of them shows."""

PUBLISHED = {
    int(path.stem.removeprefix("table-")): str(path)
    for path in sorted(Path(CONFIG, "paper_tables").glob("table-*.csv"))
}


def published_of(table):
    return [beside(PUBLISHED[table.paper_table])] if table.paper_table in PUBLISHED else []


def parts_of(experiment, kind):
    """Return the tables or figures of an experiment, by name."""
    return {part.name: part for part in getattr(settings.experiments[experiment], kind)}


def table_names():
    """Return the names of all tables that are made from scores, errors and times."""
    return {
        name
        for experiment in settings.experiments
        for name, table in parts_of(experiment, "tables").items()
        if table.kind not in ("component_names", "typical_rows")
    }


def table_of(wildcards):
    return parts_of(wildcards.experiment, "tables")[wildcards.table]


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


def component_tables():
    """Return the experiment of each table that names components, by its file name."""
    return {
        f"{experiment}-{name}": experiment
        for experiment in settings.experiments
        for name, table in parts_of(experiment, "tables").items()
        if table.kind == "component_names"
    }


def component_table_of(wildcards):
    experiment = component_tables()[wildcards.named]
    return parts_of(experiment, "tables")[wildcards.named.removeprefix(f"{experiment}-")]


def of_component_table(function):
    """Return the function of a table's wildcards that asks about its experiment."""
    return lambda wildcards: function(component_tables()[wildcards.named])


def named_components(experiment):
    """Return the models whose components a table of the experiment names."""
    if experiment in typical_row_tables().values():
        return final_mixture(experiment)
    return mixture_models(experiment) if experiment in component_tables().values() else []


def typical_row_tables():
    """Return the experiment of each table of typical rows, by its file name."""
    return {
        f"{experiment}-{name}": experiment
        for experiment in settings.experiments
        for name, table in parts_of(experiment, "tables").items()
        if table.kind == "typical_rows"
    }


def typical_row_table_of(wildcards):
    experiment = typical_row_tables()[wildcards.typical]
    return parts_of(experiment, "tables")[wildcards.typical.removeprefix(f"{experiment}-")]


def mixture_models(experiment, split=0):
    """Return the models of one split of a mixture of an experiment, a tied one if it has."""
    mixtures = [
        model
        for model in settings.models_of(experiment)
        if settings.models[model].kind == "gaussian_mixture"
    ]
    tied = [model for model in mixtures if settings.models[model].covariance_type != "spherical"]
    chosen = (tied or mixtures)[:1]
    return [f"results/{experiment}/split-{split}/{model}/models.h5" for model in chosen]


def final_mixture(experiment):
    """Return the models of the final split of that mixture."""
    return mixture_models(experiment, FINAL)


def figure_of(wildcards):
    """Return the settings of a figure."""
    experiment = experiment_of_figure(wildcards)
    return parts_of(experiment, "figures")[wildcards.figure.removeprefix(f"{experiment}-")]


def shown_methods(wildcards):
    """Return the methods that a figure shows."""
    methods = settings.methods_of(experiment_of_figure(wildcards))
    return [name for name in figure_of(wildcards).methods if name in methods] or methods


def membership_methods(experiment):
    """Return the methods of an experiment that predict memberships of classes."""
    return [
        method
        for method in settings.methods_of(experiment)
        if settings.methods[method].decoder in ("class_block", "class_block_component_first")
    ]


def figures_of_kind(*kinds):
    """Return the pattern of the file names of all figures of these kinds."""
    return alternatives(
        f"{experiment}-{name}"
        for experiment in settings.experiments
        for name, figure in parts_of(experiment, "figures").items()
        if figure.kind in kinds
    )


def experiment_of_figure(wildcards):
    """Return the experiment whose figure has this file name."""
    return next(
        experiment
        for experiment in settings.experiments
        for name in parts_of(experiment, "figures")
        if wildcards.figure == f"{experiment}-{name}"
    )


def of_figure(pattern, **values):
    """Return the function of a figure's wildcards that fills in its experiment."""
    return lambda wildcards: pattern.format(
        experiment=experiment_of_figure(wildcards),
        dataset=settings.experiments[experiment_of_figure(wildcards)].dataset,
        **values,
    )


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


def completion_predictions(wildcards):
    experiment = experiment_of_figure(wildcards)
    return [
        f"results/{experiment}/split-0/{method}/predictions.h5"
        for method in settings.methods_of(experiment)
    ]


def largest(sizes):
    return max(sizes, default=0)


def has_time_table(experiment):
    return any(table.kind == "time" for table in settings.experiments[experiment].tables)


def timing_tables():
    return [
        f"results/timings/{experiment}.csv"
        for experiment in settings.experiments
        if has_time_table(experiment)
    ]
