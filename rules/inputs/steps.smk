"""The artifacts between the sources and the scores: of one method on one split, of an experiment, of the run."""

from workflow_lib.run.capabilities import MODULES


def all_splits(wildcards):
    return stages.files_of_splits(wildcards, stages.split_file)


def all_features(wildcards):
    return stages.files_of_splits(wildcards, stages.feature_file)


def prediction_files(wildcards):
    """Return the predictions of every method and split, by method."""
    return stages.files_of_methods(wildcards, stages.prediction_file)


def timing_files(wildcards):
    """Return the measured seconds of both stages of every method and split, by method."""
    return stages.files_of_methods(wildcards, stages.regression_seconds, stages.preimage_seconds)


def steps_of(wildcards):
    """Return the artifacts of one method on one split of an experiment."""
    method = stages.method_of(wildcards)
    paths = [
        stages.split_file(wildcards),
        stages.feature_file(wildcards),
        stages.regression_file(wildcards),
        stages.prediction_file(wildcards),
        stages.embedding_file(wildcards),
        stages.weak_label_file(wildcards),
        stages.alignment_file(wildcards),
        stages.input_score_file(wildcards),
    ]
    if method.score_space:
        paths.append(stages.input_model_file(wildcards))
    if method.model:
        # Those that weak rows are annotated with are made of the first.
        paths += [stages.fitted_model_file(wildcards), stages.model_file(wildcards)]
    return [path for path in paths if path]


def time_records(wildcards):
    """Return the measured seconds of an experiment, where a table shows them."""
    path = f"results/timings/{wildcards.experiment}.csv"
    return [path] if path in read_by_tables(wildcards.experiment) else []


def box_method(experiment):
    """Return the first method of an experiment whose regressor is for boxes; None without any."""
    of_boxes = {name for name, module in MODULES.items() if module.tasks == ("boxes",)}
    methods = settings.methods_of(experiment)
    return next((name for name in methods if settings.methods[name].regressor in of_boxes), None)


def queue_files(experiment):
    """Return the costs of the queues of an experiment, where a table or figure shows them."""
    path = f"results/{experiment}/queue-costs.csv"
    figures = [figure_modules()[each.kind] for each in settings.experiments[experiment].figures]
    is_drawn = any("queue_costs" in figure.reads for figure in figures)
    return [path] if is_drawn or path in read_by_tables(experiment) else []


def equivalence_files(experiment):
    """Return the equivalence checks of an experiment; none where a Gram matrix is too large."""
    has_trial = settings.landmarks_of(experiment) is None or settings.is_user_table(experiment)
    return [f"results/{experiment}/equivalence-checks.json"] if has_trial else []


def all_equivalence_checks():
    return [path for experiment in settings.experiments for path in equivalence_files(experiment)]


def all_steps():
    """Return every artifact between the sources and the scores.

    They are targets of the run like the report. Snakemake does not notice that a file is missing
    if it is no target and an older result made from it exists, and after a failure that older
    result would be taken for the new one.
    """
    paths = {f"results/datasets/{name}.h5" for name in settings.datasets}
    for dataset in settings.datasets:
        paths.update(feature_files(SimpleNamespace(dataset=dataset)))
    for experiment in settings.experiments:
        paths.add(f"results/{experiment}/scores.csv")
        paths.add(f"results/{experiment}/choices.csv")
        paths.add(f"results/{experiment}/coordinates.csv")
        paths.update(equivalence_files(experiment))
        paths.update(read_by_tables(experiment))
        paths.update(queue_files(experiment))
        if settings.is_user_table(experiment):
            paths.update(own_results(experiment))
            paths.update(final_steps(SimpleNamespace(experiment=experiment)))
        for split in settings.splits_of(experiment):
            for method in settings.methods_of(experiment):
                step = SimpleNamespace(experiment=experiment, split=split, method=method)
                paths.update(steps_of(step))
    return sorted(paths)
