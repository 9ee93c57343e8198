"""The checked configuration, and the small questions that the rules ask about it."""

import os
from types import SimpleNamespace

from snakemake.logging import logger

from workflow_lib.config.capabilities import OWN_READER
from workflow_lib.config.files import shown
from workflow_lib.config.job_needs import job_needs
from workflow_lib.config.loading import load_configuration
from workflow_lib.config.paper_runs import paper_runs
from workflow_lib.errors import UserError, nearest_name
from workflow_lib.imports import import_closure
from workflow_lib.seeds import derive_seed

ANNOTATED = "-annotated"
FINAL = "final"
ALIGNMENT_KERNELS = ("dtw", "gak")
CLASSIFIERS = {
    "support_vector_machine": "svm",
    "perceptron": "perceptron",
    "random_forest_classifier": "forest",
}
CLASSIFIER_GRID = ("width", "cost", "l2_penalty", "max_features", "n_trees")
CONDA = "../envs/workflow.yaml"


def settings_file(path):
    """Return the path of a file of settings; within the project, relative to wherever it lies."""
    path, project = Path(path).resolve(), Path(ROOT).resolve()
    return path.relative_to(project).as_posix() if path.is_relative_to(project) else shown(path)


try:
    if set(str(CHECKOUT)) & set("{}"):
        raise UserError(
            place=f"the folder '{CHECKOUT}'",
            found="its name holds a brace, which Snakemake takes for the mark of a wildcard",
            expected="a path without { and }",
            remedy="give the folder another name",
        )
    settings = load_configuration(
        CONFIG,
        config,
        [OWN_SETTINGS, *map(settings_file, workflow.overwrite_configfiles)],
    )
except UserError as error:
    raise WorkflowError(str(error)) from None


if workflow.is_main_process:
    for replaced, stand_ins in settings.replaced.items():
        logger.info(f"Not on this machine: data of {replaced}; instead: {', '.join(stand_ins)}")


def alternatives(names):
    """Return the pattern of a wildcard that is one of these names."""
    return "|".join(sorted(map(re.escape, names))) or "(?!)"


wildcard_constraints:
    dataset=alternatives(settings.datasets),
    experiment=alternatives(settings.experiments),
    method=alternatives(settings.methods),
    model=alternatives(settings.models),
    split=r"\d+|final",
    alignment="dtw|gak",
    form=r"[a-z-]+",


def library(*modules):
    """Return the source files behind library modules, for the input of a rule."""
    names = [f"workflow_lib.{module}" for module in (*modules, "errors", "file_digests")]
    return list(map(beside, import_closure(ROOT, names)))


def code(script, *modules):
    """Return the code behind a rule, as its script, the adapter and the library below them."""
    return [*map(script_file, (script, "adapter.py")), *library(*modules)]


def script_file(name):
    """Return the path of a script; Snakemake fetches it where there is no checkout."""
    if CHECKOUT is None:
        return workflow.source_path(f"../scripts/{name}")
    return beside(Path(ROOT, "scripts", name))


def experiment_of(wildcards):
    return settings.experiments[wildcards.experiment]


def method_of(wildcards):
    return settings.methods[wildcards.method]


def dataset_of(wildcards):
    return f"results/datasets/{experiment_of(wildcards).dataset}.h5"


def draw_name(dataset):
    """Return the name from which the random draws of a dataset are derived."""
    return settings.datasets[dataset].drawn_as or dataset


def seed_of(wildcards, *axes):
    """Return the seed of a random draw of one split of one experiment's dataset."""
    dataset = draw_name(experiment_of(wildcards).dataset)
    return derive_seed(settings.run.seed, axes[0], dataset, wildcards.split, *axes[1:])


def landmarks_of(wildcards):
    """Return what is done with more training rows than a Gram matrix allows; None for nothing."""
    landmarks = settings.landmarks_of(wildcards.experiment)
    return landmarks and {**landmarks, "seed": seed_of(wildcards, "landmarks")}


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


def feature_kinds(dataset):
    """Return the kinds of image features that a dataset is read from; most have none."""
    kinds = settings.datasets[dataset].options.get("features", [])
    return [*kinds, "thumbnails"] if kinds else []


def all_feature_kinds():
    return {kind for dataset in settings.datasets for kind in feature_kinds(dataset)}


def feature_files(wildcards):
    return [
        f"results/images/{wildcards.dataset}-{kind}.h5" for kind in feature_kinds(wildcards.dataset)
    ]


def image_file(wildcards):
    """Return the source with the images of a dataset, the first; none where the user brings it."""
    return sources_of(wildcards)[:1]


def brought_files(wildcards):
    return list(map(beside, settings.datasets[wildcards.dataset].options.get("brought", [])))


def first_image_file(wildcards):
    """Return the file with the images of a dataset, fetched or brought."""
    return str([*map(placed, sources_of(wildcards)), *brought_files(wildcards)][0])


def image_option(wildcards, key):
    return list(settings.datasets[wildcards.dataset].options.get(key) or [])


def network_weight_file(wildcards):
    """Return the source with the weights of a network, where one of its layers is the feature."""
    if not wildcards.feature.startswith("vgg19"):
        return []
    paths = [*map(placed, sources_of(wildcards)), *brought_files(wildcards)]
    return [str(path) for path in paths if path.endswith(".pth")]


def wikipedia_titles(dataset):
    return dict(settings.datasets[dataset].options.get("wikipedia", {}))


def introduction_files(dataset):
    """Return the fetched introductions of the pages of a dataset's classes, where it asks for any."""
    return [f"resources/introductions/{dataset}.json"] if wikipedia_titles(dataset) else []


def description_kinds(dataset):
    """Return what a dataset is read from beside its sources: image features, introductions."""
    return [*feature_kinds(dataset), *(["introductions"] if wikipedia_titles(dataset) else [])]


def described_files(wildcards):
    return [*feature_files(wildcards), *introduction_files(wildcards.dataset)]


def decoder_distance(wildcards):
    """Return how a class is found from a predicted vector; None where none is."""
    if experiment_of(wildcards).metric != "accuracy":
        return None
    return method_of(wildcards).decoder or "euclidean"


def class_vectors_of(wildcards):
    """Return the dataset with the class vectors, where classes are predicted."""
    is_class = experiment_of(wildcards).metric == "accuracy"
    return dataset_of(wildcards) if is_class else []


RUN_FOLDER = f"results/{settings.run.name}" if settings.run.name else "results"


def all_sources():
    """Return all that is fetched."""
    files = [
        source_file(name, source)
        for name, dataset in settings.datasets.items()
        for source in dataset.sources
    ]
    return files + [path for name in settings.datasets for path in introduction_files(name)]


# Sources


def source_of(wildcards):
    for source in settings.datasets[wildcards.dataset].sources:
        if Path(source.path).name == wildcards.file:
            return source.model_dump(exclude_none=True)
    raise ValueError(f"{wildcards.dataset} has no source {wildcards.file}")


# What a job asks of a scheduler


def memory_for(rule_name):
    """Return the function that gives the MB of memory of a job."""
    return lambda wildcards, attempt: needs_of(rule_name, wildcards, attempt).mem_mb


def minutes_for(rule_name):
    """Return the function that gives the minutes of a job."""
    return lambda wildcards, attempt: needs_of(rule_name, wildcards, attempt).runtime


def needs_of(rule_name, wildcards, attempt=1):
    """Return what a job asks for, by the size of its dataset as far as that is known."""
    experiment = getattr(wildcards, "experiment", None)
    dataset = settings.experiments[experiment].dataset if experiment else None
    dataset = dataset or getattr(wildcards, "dataset", None)
    return job_needs(
        rule_name,
        settings.gram_rows_of(experiment) if experiment else 0,
        megabytes_of(dataset) if dataset else 0,
        attempt,
    )


def megabytes_of(dataset):
    """Return the size of a dataset's file, or of its sources where it has not been read."""
    artifact = Path(placed(f"results/datasets/{dataset}.h5"))
    if artifact.is_file():
        return artifact.stat().st_size / 2**20
    return sum(source.size for source in settings.datasets[dataset].sources) / 2**20


# What a method needs


def methods_with(*regressors):
    return [name for name, method in settings.methods.items() if method.regressor in regressors]


def model_folder(wildcards):
    """Return the folder of the models that a method uses; weak methods use annotated ones."""
    method = method_of(wildcards)
    suffix = ANNOTATED if method.weak else ""
    return f"results/{wildcards.experiment}/split-{wildcards.split}/{method.model}{suffix}"


def model_file(wildcards):
    return f"{model_folder(wildcards)}/models.h5" if method_of(wildcards).model else []


def embedding_model_file(wildcards):
    """Return the models behind a method's embedding; without a form it has none."""
    return model_file(wildcards) if method_of(wildcards).form else []


def embedding_file(wildcards):
    if not method_of(wildcards).form:
        return []
    return f"{model_folder(wildcards)}/embeddings-{embedding_name(wildcards.method)}.h5"


def alignment_file(wildcards):
    """Return the cached kernel values between all series of the dataset, where a method needs them."""
    kernel = method_of(wildcards).output_kernel
    if kernel not in ALIGNMENT_KERNELS:
        return []
    return f"results/datasets/alignments/{experiment_of(wildcards).dataset}-{kernel}.h5"


def alignment_widths(wildcards):
    """Return the output widths of all methods of the run with this alignment kernel."""
    return sorted(
        {
            width
            for method in settings.methods.values()
            if method.output_kernel == wildcards.alignment
            for width in method.grid.output_width
        }
    )


def weak_label_file(wildcards):
    method = method_of(wildcards)
    return f"{model_folder(wildcards)}/weak_labels.h5" if method.weak and method.model else []


def components_of(wildcards):
    labels = settings.components_of(wildcards.experiment, wildcards.method)
    return labels[0] if labels == ("selected",) else [int(label) for label in labels]


def component_candidates(wildcards):
    return list(settings.component_candidates(wildcards.method, "selected"))


def grid_of(key):
    """Return the function of a method's wildcards that gives one list of its grid."""
    return lambda wildcards: list(getattr(method_of(wildcards).grid, key))


def files_of_members(*patterns):
    """Return the function of a stack's wildcards that fills in each of its members."""
    return lambda wildcards: [
        pattern.format(experiment=wildcards.experiment, split=wildcards.split, member=member)
        for member in method_of(wildcards).members
        for pattern in patterns
    ]


# All predictions of an experiment


def prediction_files(wildcards):
    """Return the predictions of every method and split, by method."""
    return [
        path
        for method in settings.methods_of(wildcards.experiment)
        for path in split_files(
            f"results/{{experiment}}/split-{{split}}/{method}/predictions.h5", wildcards.experiment
        )
    ]


def timing_files(wildcards):
    """Return the measured seconds of both stages of every method and split, by method."""
    return [
        path
        for method in settings.methods_of(wildcards.experiment)
        for stage in ("regression", "preimages")
        for path in split_files(
            f"results/timings/{{experiment}}/split-{{split}}/{method}-{stage}.json",
            wildcards.experiment,
        )
    ]


def all_steps():
    """Return every artifact between the sources and the scores.

    They are targets of the run as much as the report is. Of a file that is none, Snakemake does
    not see that it is missing where an older result that follows from it exists, and after a
    failure that older result would pass for the new one.
    """
    paths = {f"results/datasets/{name}.h5" for name in settings.datasets}
    for dataset in settings.datasets:
        paths.update(feature_files(SimpleNamespace(dataset=dataset)))
    for experiment in settings.experiments:
        paths.add(f"results/{experiment}/scores.csv")
        paths.add(f"results/{experiment}/coordinates.csv")
        paths.update(identity_files(experiment))
        if settings.is_own(experiment):
            paths.update(own_results(experiment))
            paths.update(final_steps(SimpleNamespace(experiment=experiment)))
        for split in settings.splits_of(experiment):
            for method in settings.methods_of(experiment):
                step = SimpleNamespace(experiment=experiment, split=split, method=method)
                paths.update(steps_of(step))
    return sorted(paths)


def identity_files(experiment):
    """Return the trial of what is kernel ridge regression; none where a Gram matrix is too large."""
    has_trial = settings.landmarks_of(experiment) is None or settings.is_own(experiment)
    return [f"results/{experiment}/identities.json"] if has_trial else []


def all_identities():
    return [path for experiment in settings.experiments for path in identity_files(experiment)]


def steps_of(wildcards):
    """Return the artifacts of one method on one split of an experiment."""
    folder = f"results/{wildcards.experiment}/split-{wildcards.split}"
    names = ["split.h5", "features.h5"]
    names += [f"{wildcards.method}/regression.h5", f"{wildcards.method}/predictions.h5"]
    if method_of(wildcards).model:
        names.append(f"{method_of(wildcards).model}/models.h5")
    made_for = (model_file, embedding_file, weak_label_file, alignment_file)
    others = [path for path in (function(wildcards) for function in made_for) if path]
    return [*(f"{folder}/{name}" for name in names), *others]


def all_splits(wildcards):
    return split_files("results/{experiment}/split-{split}/split.h5", wildcards.experiment)


def all_features(wildcards):
    return split_files("results/{experiment}/split-{split}/features.h5", wildcards.experiment)


# Tables of the user's own


def own_tables():
    """Return the experiments on tables that the user brought."""
    return [experiment for experiment in settings.experiments if settings.is_own(experiment)]


def refuse(place, found, expected, remedy):
    """End the run with words that a user can act on."""
    raise WorkflowError(str(UserError(place, found, expected, remedy)))


def present_file(place, path):
    """Return the path of a file that the user brings; refuse one that is not there."""
    if Path(path).is_file():
        return beside(path)
    others = [other.name for other in Path(path).parent.glob("*") if other.is_file()]
    nearest = nearest_name(Path(path).name, others)
    written = f"write '{Path(path).with_name(nearest)}'" if nearest else None
    refuse(
        place,
        f"'{path}' is a folder" if Path(path).is_dir() else f"there is no file '{path}'",
        "the path of a table, from the folder in which you run the command",
        written or "mend the path, or bring the file",
    )


def own_files(dataset):
    """Return the files of the user's own that a dataset is read from, the table first."""
    if settings.datasets[dataset].reader != OWN_READER:
        return []
    options = settings.datasets[dataset].options
    place = f"{shown(Path(CONFIG, 'datasets', f'{dataset}.yaml'))}, key options"
    return [
        present_file(f"{place}.{key}", options[key])
        for key in ("file", "gram", "class_vectors")
        if options.get(key)
    ]


def brought_tables(wildcards):
    """Return the files of all tables of the user's own.

    They are inputs of the whole run: where older results exist, Snakemake does not mind that what
    these were made from is gone, and an edit of the configuration would have no effect.
    """
    return [
        path
        for experiment in own_tables()
        for path in own_files(settings.experiments[experiment].dataset)
    ]


def own_results(experiment):
    """Return what a run on a table of the user's own makes beside the usual results."""
    names = ("first-look.json", "answer.json", "calibration.h5", "model.h5")
    paths = [f"results/{experiment}/{name}" for name in names]
    return [*paths, f"results/timings/{experiment}-answer.json"]


def told_request(wildcards):
    """Return what is told of a new table, as plain values."""
    if settings.request is None:
        refuse(
            "snakemake new",
            "nothing is told of a table",
            "its name, its file and the columns to predict",
            "snakemake --cores 1 new --config name=NAME data=FILE outputs=COLUMNS",
        )
    return settings.request.model_dump(exclude_none=True)


def request_log():
    return f"logs/new/{settings.request.name}.log" if settings.request else "logs/new.log"


def row_files():
    """Return the name, without its ending, of the file with new rows of this run."""
    return [Path(settings.run.rows).stem] if settings.run.rows else []


def refuse_without_name(command, is_named, then=""):
    """Refuse a command about a table of the user's own that names none."""
    if not is_named:
        request = settings.request
        refuse(
            f"snakemake {command}",
            "data=FILE tells of a new table" if request else "no table of your own is named",
            "the name of a table that `snakemake new` has looked at",
            f"snakemake --cores 2 {command} --config name={request.name if request else 'NAME'}"
            f"{then}",
        )


def answer_asked_for(wildcards):
    """Return nothing but what all results need; refuse where no table is named."""
    refuse_without_name("answer", settings.run.name)
    return []


def predictions_asked_for(wildcards):
    """Return the predictions for the new rows of this run."""
    refuse_without_name("predict", own_tables(), " rows=FILE")
    if not settings.run.rows:
        refuse(
            "snakemake predict, key rows",
            "no new rows are named",
            "the path of a table with the input columns",
            f"snakemake --cores 2 predict --config name={own_tables()[0]} rows=FILE",
        )
    present_file("snakemake predict, key rows", settings.run.rows)
    return [
        f"results/{experiment}/predictions/{rows}.csv"
        for experiment in own_tables()
        for rows in row_files()
    ]


def time_records(wildcards):
    """Return the measured seconds of an experiment, where a table shows them."""
    is_timed = has_time_table(wildcards.experiment)
    return [f"results/timings/{wildcards.experiment}.csv"] if is_timed else []


def compared_methods(wildcards):
    """Return what decides whether a method of an experiment is kernel ridge regression, and more."""
    keys = ("label", "regressor", "penalty", "center", "form", "preimage", "weak", "weak_outputs")
    methods = looks(settings.methods_of(wildcards.experiment), *keys)
    for method, values in methods.items():
        model = settings.model_of(method)
        values["model"] = model and plain(model, "kind", "covariance_type")
        values["grid"] = {"projection": list(settings.methods[method].grid.projection)}
    return methods


def final_steps(wildcards):
    """Return the artifacts of all methods on the split in which every labelled row trains."""
    steps = {
        path
        for method in settings.methods_of(wildcards.experiment)
        for path in steps_of(
            SimpleNamespace(experiment=wildcards.experiment, split=FINAL, method=method)
        )
    }
    return sorted(steps)


def parts_of_saved_methods(wildcards):
    """Return what a saved model must know of each method of an experiment, by method."""
    folder = placed(f"results/{wildcards.experiment}/split-{FINAL}")
    keys = ("regressor", "form", "covariance_block", "preimage", "start", "center", "decoder")
    parts = {}
    for method, values in looks(settings.methods_of(wildcards.experiment), *keys).items():
        step = SimpleNamespace(experiment=wildcards.experiment, split=FINAL, method=method)
        values |= {
            "members": list(method_of(step).members),
            "n_trees": method_of(step).grid.n_trees,
            "seed": seed_of(step, "training", method),
            "kernel": experiment_of(step).kernel,
            "regression": f"{folder}/{method}/regression.h5",
            "predictions": f"{folder}/{method}/predictions.h5",
            "models": placed(embedding_model_file(step)),
        }
        parts[method] = {key: value for key, value in values.items() if value not in (None, [])}
    return parts


# Tables, figures and the report


PUBLISHED = {
    int(path.stem.removeprefix("table-")): str(path)
    for path in sorted(Path(CONFIG, "paper_tables").glob("table-*.csv"))
}


# What the paper shows; of no use in the report on one table of the user's own.
CONTENTS = [] if settings.run.name else [beside(Path(CONFIG, "paper_tables", "contents.csv"))]


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


def component_tables():
    """Return the experiment of each table that names components, by its file name."""
    return {
        f"{experiment}-{name}": experiment
        for experiment in settings.experiments
        for name, table in parts_of(experiment, "tables").items()
        if table.kind == "component_names"
    }


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


def component_table_of(wildcards):
    experiment = component_tables()[wildcards.named]
    return parts_of(experiment, "tables")[wildcards.named.removeprefix(f"{experiment}-")]


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


def of_component_table(function):
    """Return the function of a table's wildcards that asks about its experiment."""
    return lambda wildcards: function(component_tables()[wildcards.named])


def shown_methods(wildcards):
    """Return the methods that a figure shows."""
    return figure_of(wildcards).methods or settings.methods_of(experiment_of_figure(wildcards))


def figure_of(wildcards):
    """Return the settings of a figure."""
    experiment = experiment_of_figure(wildcards)
    return parts_of(experiment, "figures")[wildcards.figure.removeprefix(f"{experiment}-")]


def membership_methods(experiment):
    """Return the methods of an experiment that predict memberships of classes."""
    return [
        method
        for method in settings.methods_of(experiment)
        if settings.methods[method].decoder in ("class_block", "class_block_component_first")
    ]


def table_of(wildcards):
    return parts_of(wildcards.experiment, "tables")[wildcards.table]


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


def looks(methods, *keys):
    """Return these keys of the methods, as plain values; a rule states just what it shows."""
    return {name: {key: getattr(settings.methods[name], key) for key in keys} for name in methods}


def plain(values, *keys):
    """Return these keys of a block of settings, as values that JSON can hold."""
    dumped = values.model_dump(mode="json")
    return {key: dumped[key] for key in keys}


def stand_in(experiment):
    return settings.dataset_of(experiment).stand_in_for


def published_of(table):
    return [beside(PUBLISHED[table.paper_table])] if table.paper_table in PUBLISHED else []


def completion_predictions(wildcards):
    experiment = experiment_of_figure(wildcards)
    return [
        f"results/{experiment}/split-0/{method}/predictions.h5"
        for method in settings.methods_of(experiment)
    ]


def largest(sizes):
    return max(sizes, default=0)


def all_tables():
    return [
        f"results/tables/{experiment}-{name}.{suffix}"
        for experiment in settings.experiments
        for name in parts_of(experiment, "tables")
        for suffix in ("csv", "tex")
    ]


def table_files(experiment):
    """Return the files of each table of an experiment, by its name and their endings."""
    return {
        name: {suffix: f"results/tables/{experiment}-{name}.{suffix}" for suffix in ("csv", "tex")}
        for name in parts_of(experiment, "tables")
    }


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


def has_time_table(experiment):
    return any(table.kind == "time" for table in settings.experiments[experiment].tables)


def timing_tables():
    return [
        f"results/timings/{experiment}.csv"
        for experiment in settings.experiments
        if has_time_table(experiment)
    ]


def named_components(experiment):
    """Return the models whose components a table of the experiment names."""
    if experiment in typical_row_tables().values():
        return final_mixture(experiment)
    return mixture_models(experiment) if experiment in component_tables().values() else []


def final_split(experiment):
    """Return the split in which all labelled rows train, where a table of its rows is shown."""
    is_shown = experiment in typical_row_tables().values()
    return f"results/{experiment}/split-{FINAL}/split.h5" if is_shown else None


def first_look_file(experiment):
    is_shown = experiment in typical_row_tables().values()
    return f"results/{experiment}/first-look.json" if is_shown else None


def own_parts(experiment):
    """Return the files behind the answer at the head of a report on one table of the user's own."""
    if settings.run.name != experiment or not settings.is_own(experiment):
        return None
    return {
        "first_look": f"results/{experiment}/first-look.json",
        "answer": f"results/timings/{experiment}-answer.json",
        "calibration": f"results/{experiment}/calibration.h5",
    }


def report_title():
    """Return the title of the report, on a table of the user's own that of the table."""
    name = settings.run.name
    return settings.experiments[name].title if name else settings.run.report.title


def parts_over_all():
    """Return the files of what is shown of all experiments together, by its name."""
    figures = {
        name: {suffix: f"{RUN_FOLDER}/figures/{name}.{suffix}" for suffix in ("svg", "png")}
        for name in ("ranks", "protocol")
    }
    tables = {suffix: f"{RUN_FOLDER}/tables/ranks.{suffix}" for suffix in ("csv", "tex")}
    return {**figures, "ranks": {**figures["ranks"], **tables}}


def files_over_all():
    return [path for files in parts_over_all().values() for path in files.values()]


def ranked_experiments():
    """Return what must be known of each experiment to rank methods over datasets."""
    return {
        name: {
            "title": settings.dataset_of(name).title,
            "dataset": draw_name(experiment.dataset),
            "stand_in_for": stand_in(name),
            "is_made": "synthetic" in settings.dataset_of(name).reader,
            "metric": experiment.metric,
        }
        for name, experiment in settings.experiments.items()
    }


def protocol_experiments():
    """Return what the figure of the protocol tells of each experiment."""
    return {
        name: {
            **plain(experiment, "title", "split", "metric"),
            "stand_in_for": stand_in(name),
            "has_ceiling": any(
                settings.methods[method].weak_outputs == "true"
                for method in settings.methods_of(name)
            ),
        }
        for name, experiment in settings.experiments.items()
    }


def files_for_report(experiment):
    """Return the files of an experiment that the report reads."""
    return {
        "scores": f"results/{experiment}/scores.csv",
        "coordinates": f"results/{experiment}/coordinates.csv",
        "timings": f"results/timings/{experiment}.csv" if has_time_table(experiment) else None,
        "models": next(iter(named_components(experiment)), None),
        "final_split": final_split(experiment),
        "first_look": first_look_file(experiment),
        "figures": figure_files(experiment, "svg"),
        "pictures": figure_files(experiment, "png"),
        "table_files": table_files(experiment),
        "identities": next(iter(identity_files(experiment)), None),
        "own": own_parts(experiment),
    }


def experiments_for_report():
    """Return what the report tells of each experiment, and the files that it reads for that."""
    return {
        experiment: {
            "settings": plain(
                values,
                "title",
                "dataset",
                "training_sizes",
                "weak_sizes",
                "components",
                "metric",
                "split",
                "weak_labels",
                "kernel",
                "tables",
                "figures",
            ),
            **placed(files_for_report(experiment)),
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
            "artifact": placed(f"results/datasets/{name}.h5"),
        }
        for name, values in settings.datasets.items()
    }


def seeds_by_name():
    """Return the seeds of the run by the place where they are used."""
    seeds = {"main": settings.run.seed}
    for experiment, values in settings.experiments.items():
        for split in settings.splits_of(experiment):
            seeds[f"split {values.dataset} {split}"] = derive_seed(
                settings.run.seed, "split", draw_name(values.dataset), split
            )
    return seeds


# What `snakemake --report` shows


def shown_result(path, kind, result=None):
    """Mark a result for `snakemake --report`: its caption, its category, and its labels.

    The caption is `captions/KIND.rst`. A result of an experiment stands in the category of its
    title, under its own name; one that has no wildcards takes `result` for a name.
    """
    return report(
        path,
        caption=f"captions/{kind}.rst",
        category=category_of_result,
        labels=lambda wildcards: labels_of_result(wildcards, result, Path(path).suffix),
    )


def experiment_of_result(wildcards):
    """Return the experiment of a result, by the wildcards of its rule; None for a whole run."""
    wildcards = dict(wildcards.items())
    if "figure" in wildcards:
        return experiment_of_figure(SimpleNamespace(**wildcards))
    if "named" in wildcards:
        return component_tables()[wildcards["named"]]
    if "typical" in wildcards:
        return typical_row_tables()[wildcards["typical"]]
    return wildcards.get("experiment")


def category_of_result(wildcards):
    """Return the title of the experiment, of signs that a heading of Snakemake's report bears."""
    experiment = experiment_of_result(wildcards)
    if experiment is None:
        return "All experiments of the run"
    return " ".join(re.sub(r"[^\w .,()-]", " ", settings.experiments[experiment].title).split())


def labels_of_result(wildcards, result, suffix):
    """Return the columns of the list of results: the data, what is shown, and the kind of file."""
    experiment = experiment_of_result(wildcards)
    if experiment is None:
        return {"result": result, "file": suffix[1:].upper(), "data": "all of the run"}
    known = dict(wildcards.items())
    name = known.get("table") or result
    for key in ("figure", "named", "typical"):
        name = known[key].removeprefix(f"{experiment}-") if key in known else name
    data, replaced = settings.dataset_of(experiment).title, stand_in(experiment)
    if replaced:
        data = f"{data} (a stand-in for {replaced})"
    # Snakemake takes braces in a label for a wildcard.
    return {
        "result": name.replace("-", " "),
        "file": suffix[1:].upper(),
        "data": data.translate({ord("{"): "(", ord("}"): ")"}),
    }
