"""Tables of the user's own: requests on the command line, and what a run makes from the tables."""

from workflow_lib.core.errors import nearest_name
from workflow_lib.core.values import CLASS_VECTORS, WITHOUT_BRACES
from workflow_lib.run.requests import result_name


def user_tables():
    """Return the experiments on user tables."""
    return [experiment for experiment in settings.experiments if settings.is_user_table(experiment)]


def refuse(location, found, expected, remedy):
    """End the run with a message that says how to fix the request."""
    raise WorkflowError(str(UserError(location, found, expected, remedy)))


def is_stored(path):
    """Return whether a file that the user supplies is copied from the storage: it is not here."""
    return IN_STORAGE and not Path(path).exists()


def present_file(location, path):
    """Return the path of a file that the user supplies; refuse a missing file, and braces."""
    if set("{}") & set(str(path)):
        refuse(location, f"'{path}' holds a brace", *WITHOUT_BRACES)
    if is_stored(path):
        return str(path)
    if Path(path).is_file():
        return external_path(path)
    others = [other.name for other in Path(path).parent.glob("*") if other.is_file()]
    nearest = nearest_name(Path(path).name, others)
    written = f"write '{Path(path).with_name(nearest)}'" if nearest else None
    refuse(
        location,
        f"'{path}' is a folder" if Path(path).is_dir() else f"there is no file '{path}'",
        "the path of a table, from the folder in which you run the command",
        written or "fix the path, or put the file there",
    )


def own_paths(dataset):
    """Return the paths of the user's own files that a dataset is read from, the table first, by key."""
    values = settings.datasets[dataset]
    named = {} if values.sources else values.options
    keys = {f"options.{key}": named.get(key) for key in ("file", "gram", "class_vectors")}
    tree = None if values.class_tree == CLASS_VECTORS else values.class_tree
    keys |= {"class_tree": tree, "class_costs": values.class_costs}
    return {key: path for key, path in keys.items() if path}


def own_files(dataset):
    """Return the files of the user's own that a dataset is read from, the table first."""
    location = f"{settings.locations['dataset'][dataset]}, key "
    return [present_file(location + key, path) for key, path in own_paths(dataset).items()]


def reading(wildcards):
    """Return the settings by which a dataset is read, with files of the storage as their copies."""
    values = stages.reading(wildcards.dataset)
    for key, path in own_paths(wildcards.dataset).items():
        if is_stored(path):
            group, _, name = key.rpartition(".")
            (values[group] if group else values)[name] = with_prefix(path)
    return values


def user_supplied_tables(wildcards):
    """Return the files of the user's own of all experiments.

    They are inputs of the whole run: otherwise Snakemake would accept that a file is missing if
    older results made from it exist, and an edit of the configuration would have no effect.
    """
    return [path for values in settings.experiments.values() for path in own_files(values.dataset)]


def own_results(experiment):
    """Return what a run on a table of the user's own makes besides the usual results."""
    names = ("data-profile.json", "answer.json", "calibration.h5", "importance.h5")
    names += ("outputs.csv", "importance.csv", "model.h5")
    paths = [f"results/{experiment}/{name}" for name in names]
    if settings.run.name == experiment:
        figures = answer_figure_files(experiment).values()
        paths += [path for files in figures for path in files.values()]
    return [*paths, f"results/timings/{experiment}-answer.json"]


def answer_figure_files(experiment):
    """Return the files of the figures of an answer, by name and suffix."""
    return {
        name: {
            suffix: f"results/figures/{experiment}-answer-{name}.{suffix}"
            for suffix in ("svg", "png", "csv")
        }
        for name in ("methods", "outputs", "curve", "calibration", "importance", "effects")
    }


def answer_figure(name, kind="answer_figures"):
    """Return the files of a figure of an answer, as outputs of a rule."""
    path = f"results/figures/{{experiment}}-answer-{name}"
    return shown_figure(path, kind, f"answer, {name}", f"{name}_")


def all_own_results():
    return [path for experiment in user_tables() for path in own_results(experiment)]


def table_request(wildcards):
    """Return the request for a new table, as plain values."""
    if settings.request is None:
        refuse(
            "snakemake new",
            "a new table without its settings",
            "its name, its file and the columns to predict",
            "snakemake --cores 1 new --config name=NAME data=FILE outputs=COLUMNS",
        )
    return settings.request.model_dump(exclude_none=True)


def request_log():
    return f"logs/new/{settings.request.name}.log" if settings.request else "logs/new.log"


def row_files():
    """Return the name, without its ending, of the predictions for the new rows of this run."""
    return [result_name(settings.run.rows)] if settings.run.rows else []


def new_rows(wildcards):
    """Return the file of the new rows of this run."""
    return present_file("snakemake predict, key rows", settings.run.rows)


def refuse_without_name(command, is_named, then=""):
    """Refuse a command about a table of the user's own that names none, or another dataset.

    Of other datasets nothing is saved that could predict new rows.
    """
    if is_named:
        return
    request, name = settings.request, settings.run.name
    usual = f"snakemake --cores 2 {command} --config name="
    if name:
        found = f"'{name}' is no table of your own, and no model of it is saved"
        remedy = f"snakemake --cores 2 --config experiments='[{name}]', which compares the methods"
    elif request:
        found, remedy = "data=FILE names a new table", f"{usual}{request.name}{then}"
    else:
        found, remedy = "no table of your own is named", f"{usual}NAME{then}"
    refuse(
        f"snakemake {command}",
        found,
        "the name of a table that `snakemake new` has inspected",
        remedy,
    )


def answer_asked_for(wildcards):
    """Return nothing but what all results need; refuse where no table is named."""
    refuse_without_name("answer", settings.run.name and user_tables())
    return []


def predictions_asked_for(wildcards):
    """Return the predictions for the new rows of this run."""
    refuse_without_name("predict", user_tables(), " rows=FILE")
    if not settings.run.rows:
        refuse(
            "snakemake predict, key rows",
            "no new rows are named",
            "the path of a table with the input columns",
            f"snakemake --cores 2 predict --config name={user_tables()[0]} rows=FILE",
        )
    new_rows(wildcards)
    return [
        f"results/{experiment}/predictions/{rows}.{settings.run.format}"
        for experiment in user_tables()
        for rows in row_files()
    ]


def final_steps(wildcards):
    """Return the artifacts of all methods on the split in which every labelled row trains."""
    return steps_of_splits(wildcards.experiment, [FINAL])


def numbered_steps(wildcards):
    """Return the artifacts of all methods on the splits by which they are compared."""
    return steps_of_splits(wildcards.experiment, settings.splits_of(wildcards.experiment))


def steps_of_splits(experiment, splits):
    """Return the artifacts of all methods of an experiment on these splits, sorted."""
    steps = {
        path
        for split in splits
        for method in settings.methods_of(experiment)
        for path in steps_of(SimpleNamespace(experiment=experiment, split=split, method=method))
    }
    return sorted(steps)


def modules_of_saved_methods(wildcards):
    """Return the modules of the methods of an experiment, one of which a saved model holds."""
    return stages.modules_of_methods(settings.methods_of(wildcards.experiment))


def closing_lines():
    """Return the lines that end `answer`, `learn` and `predict` on the terminal."""
    from workflow_lib.table.terminal_summary import answer_lines

    targets, lines = set(workflow.dag_settings.targets), []
    if "learn" in targets:
        for table in learned_tables():
            lines += terminal.log_lines(with_prefix(f"logs/learned_model/{table}.log"))
    for experiment in user_tables():
        if "answer" in targets:
            answer = with_prefix(f"results/{experiment}/answer.json")
            lines += answer_lines(experiment, answer, with_prefix(f"{RUN_FOLDER}/report.html"))
        if "predict" in targets:
            for rows in row_files():
                log = with_prefix(f"logs/predict_rows/{experiment}-{rows}.log")
                lines += terminal.log_lines(log)
    return lines


if not IS_MODULE and workflow.is_main_process:
    terminal.closing_functions[:] = [closing_lines]
