"""What is shown of all experiments together, and what the report reads and states of each."""

from workflow_lib.report.regressor_pairs import pairs_of
from workflow_lib.run.paper_runs import paper_runs
from workflow_lib.run.named_settings import contents_files

# What the paper shows; not needed in the report on a table of the user's own.
CONTENTS = [] if settings.run.name else [external_path(path) for path in contents_files(CONFIG)]


@cache
def runs_of_papers():
    """Return which runs make tables of papers, for which the files of all runs are read."""
    return paper_runs(CONFIG) if CONTENTS else {}


def report_title():
    """Return the title of the report, on a table of the user's own that of the table."""
    name = settings.run.name
    return settings.experiments[name].title if name else settings.run.report.title


def parts_cross_dataset():
    """Return the files of what is shown of all experiments together, by its name."""
    figures = {
        name: {suffix: f"{RUN_FOLDER}/figures/{name}.{suffix}" for suffix in suffixes}
        for name, suffixes in {
            "best": ("svg", "png", "csv"),
            "headline": ("svg", "png", "csv"),
            "curves": ("svg", "png", "csv"),
            "ranks": ("svg", "png"),
            "protocol": ("svg", "png"),
            **({"embedding-or-raw": ("svg", "png", "csv")} if embedding_pairs() else {}),
        }.items()
    }
    tables = {suffix: f"{RUN_FOLDER}/tables/ranks.{suffix}" for suffix in ("csv", "tex")}
    return {**figures, "ranks": {**figures["ranks"], **tables}}


def files_cross_dataset():
    return [path for files in parts_cross_dataset().values() for path in files.values()]


def last_results():
    """Return the results that are made last: once they exist, every other job has ended."""
    shown = [*timing_tables(), *all_tables(), *all_figures("svg"), *files_cross_dataset()]
    return [*shown, *all_equivalence_checks(), *all_own_results()]


def embedding_pairs():
    """Return the methods with and without an embedding, by regressor, where these are compared."""
    keys = ("regressor", "estimator", "form", "weak", "weak_outputs", "decoder")
    compared = [settings.methods_of(experiment) for experiment in settings.experiments]
    pairs = pairs_of(stages.method_fields(settings.methods, *keys), compared)
    return {regressor: list(names) for regressor, names in pairs.items()}


def ranked_experiments():
    """Return what must be known of each experiment to rank methods over datasets."""
    return {
        name: {
            "title": settings.dataset_of(name).title,
            "dataset": stages.draw_name(experiment.dataset),
            "stand_in_for": stand_in(name),
            "is_made": "synthetic" in settings.dataset_of(name).reader,
            "metric": settings.shown_metric_of(name),
            "methods": list(experiment.methods),
        }
        for name, experiment in settings.experiments.items()
    }


def protocol_experiments():
    """Return what the figure of the protocol states of each experiment."""
    return {
        name: {
            "metric": settings.shown_metric_of(name),
            "has_ceiling": any(
                settings.methods[method].weak_outputs == "true"
                for method in settings.methods_of(name)
            ),
        }
        for name in settings.experiments
    }


def own_parts(experiment):
    """Return the files of the answer that heads the report on a table of the user's own."""
    if settings.run.name != experiment or not settings.is_user_table(experiment):
        return None
    return {
        "data_profile": f"results/{experiment}/data-profile.json",
        "answer": f"results/timings/{experiment}-answer.json",
        "calibration": f"results/{experiment}/calibration.h5",
        "importance": f"results/{experiment}/importance.h5",
        "figures": answer_figure_files(experiment),
    }


def files_for_report(experiment):
    """Return the files of an experiment that the report reads."""
    return {
        "scores": f"results/{experiment}/scores.csv",
        "choices": f"results/{experiment}/choices.csv",
        "table_results": {
            name: files_of_table(experiment, table)
            for name, table in parts_of(experiment, "tables").items()
        },
        "figures": figure_files(experiment, "svg"),
        "pictures": figure_files(experiment, "png"),
        "figure_data": figure_files(experiment, "csv"),
        "table_files": table_files(experiment),
        "equivalence_checks": next(iter(equivalence_files(experiment)), None),
        "own": own_parts(experiment),
    }


def experiments_for_report():
    """Return the settings of each experiment that the report states, and the files that it reads."""
    return {
        experiment: {
            "settings": plain(
                values,
                "title",
                "dataset",
                "training_sizes",
                "weak_sizes",
                "components",
                "split",
                "outer_folds",
                "whole_groups",
                "wrong_labels",
                "weak_labels",
                "unpaired_sizes",
                "kernel",
                "tables",
                "figures",
            )
            | {
                "metric": settings.shown_metric_of(experiment),
                "methods": list(settings.methods_of(experiment)),
            },
            **with_prefix(files_for_report(experiment)),
        }
        for experiment, values in settings.experiments.items()
    }


def datasets_for_report():
    return {
        name: {
            "settings": plain(
                values,
                "title",
                "description",
                "stand_in_for",
                "reader",
                "options",
                "sources",
                "licence",
                "citation",
            ),
            "artifact": with_prefix(f"results/datasets/{name}.h5"),
        }
        for name, values in settings.datasets.items()
    }


def seeds_by_name():
    """Return the seeds of the run by where they are used."""
    seeds = {"main": settings.run.seed}
    for experiment, values in settings.experiments.items():
        for split in settings.splits_of(experiment):
            seeds[f"split {values.dataset} {split}"] = derive_seed(
                settings.run.seed, "split", stages.draw_name(values.dataset), split
            )
        for repetition, seed in enumerate(stages.partition_seeds(experiment)):
            seeds[f"partition {values.dataset} {repetition}"] = seed
    return seeds
