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
    folder = f"results/{wildcards.experiment}/split-{wildcards.split}"
    names = ["split.h5", "features.h5"]
    names += [f"{wildcards.method}/regression.h5", f"{wildcards.method}/predictions.h5"]
    if stages.method_of(wildcards).score_space:
        names += [f"{stages.method_of(wildcards).score_space.models}/input_models.h5"]
        names += [f"{wildcards.method}/input_scores.h5"]
    if stages.method_of(wildcards).model:
        names.append(f"{stages.method_of(wildcards).model}/models.h5")
    made_for = (
        stages.model_file,
        stages.embedding_file,
        stages.weak_label_file,
        stages.alignment_file,
    )
    others = [path for path in (function(wildcards) for function in made_for) if path]
    return [*(f"{folder}/{name}" for name in names), *others]


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
