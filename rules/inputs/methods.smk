"""What a method needs: its models, embeddings, kernel values and weak labels, and its grid."""

from workflow_lib.core.plugins import METHODS
from workflow_lib.core.settings import Settings
from workflow_lib.methods.contract.base import method_modules

ALIGNMENT_KERNELS = ("dtw", "gak")


def methods_with_preimages():
    """Return the methods that predict embeddings, or class vectors that a decoder searches."""
    return {
        name
        for name, method in settings.methods.items()
        if method.form or (method.decoder and method.regressor != "class_ridge")
    }


def method_fields(methods, *keys):
    """Return these keys of the methods, as plain values; a rule names only those that it shows."""

    def plain_value(method, key):
        value = getattr(settings.methods[method], key)
        return value.model_dump(mode="json") if isinstance(value, Settings) else value

    return {name: {key: plain_value(name, key) for key in keys} for name in methods}


def compared_methods(wildcards):
    """Return the settings by which methods are compared and recognised as kernel ridge regression."""
    keys = ("label", "regressor", "penalty", "center", "form", "preimage", "weak", "weak_outputs")
    keys += ("members", "estimator")
    methods = method_fields(settings.methods_of(wildcards.experiment), *keys)
    for method, values in methods.items():
        model = settings.model_of(method)
        values["model"] = model and plain(model, "kind", "covariance_type")
        values["grid"] = {"projection": list(settings.methods[method].grid_values("projection"))}
    return methods


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


def model_folder(wildcards):
    """Return the folder of the models that a method uses; weak methods use annotated ones."""
    method = method_of(wildcards)
    suffix = ANNOTATED if method.weak else ""
    return f"results/{wildcards.experiment}/split-{wildcards.split}/{method.model}{suffix}"


def model_file(wildcards):
    return f"{model_folder(wildcards)}/models.h5" if method_of(wildcards).model else []


def embedding_model_file(wildcards):
    """Return the models of a method's embedding; a method without a form has none."""
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
            for width in method.grid_values("output_width")
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


def kernels_of(wildcards):
    return settings.kernels_of(wildcards.experiment, wildcards.method)


def files_of_members(*patterns):
    """Return the function of a stack's wildcards that fills in each of its members."""
    return lambda wildcards: [
        pattern.format(experiment=wildcards.experiment, split=wildcards.split, member=member)
        for member in settings.members_of(wildcards.experiment, wildcards.method)
        for pattern in patterns
    ]


def split_file(wildcards):
    return f"results/{wildcards.experiment}/split-{wildcards.split}/split.h5"


def feature_file(wildcards):
    return f"results/{wildcards.experiment}/split-{wildcards.split}/features.h5"


def input_model_of(wildcards):
    """Return the generative model of the inputs that a method's score space names."""
    return settings.input_models[method_of(wildcards).score_space.models]


def input_model_file(wildcards):
    folder = f"results/{wildcards.experiment}/split-{wildcards.split}"
    return f"{folder}/{method_of(wildcards).score_space.models}/input_models.h5"


def input_score_file(wildcards):
    if method_of(wildcards).score_space is None:
        return []
    folder = f"results/{wildcards.experiment}/split-{wildcards.split}"
    return f"{folder}/{wildcards.method}/input_scores.h5"


def settings_of_input_model(wildcards):
    """Return the settings of the stage that fits a generative model of inputs."""
    keys = ("kind", "per_class", "settings", "grid")
    place = settings.places["input_model"][wildcards.input_model]
    return plain(settings.input_models[wildcards.input_model], *keys) | {"model_file": place}


def settings_of_scores(wildcards):
    """Return the settings of the stage that turns the inputs of a method into scores."""
    space = method_of(wildcards).score_space.model_dump(mode="json", exclude_none=True)
    del space["models"]
    return {
        "standardise": space.pop("standardise"),
        "space": space,
        "method_file": SETTINGS_OF_METHODS["method_file"](wildcards),
    }


ARTIFACT_FILES = {
    "dataset": dataset_of,
    "split": split_file,
    "features": feature_file,
    "models": model_file,
    "embeddings": embedding_file,
    "weak_labels": weak_label_file,
    "alignments": alignment_file,
    "input_scores": input_score_file,
    "regressions": files_of_members("results/{experiment}/split-{split}/{member}/regression.h5"),
    "predictions": files_of_members("results/{experiment}/split-{split}/{member}/predictions.h5"),
    "member_timings": files_of_members(
        "results/timings/{experiment}/split-{split}/{member}-regression.json",
        "results/timings/{experiment}/split-{split}/{member}-preimages.json",
    ),
}
"""Functions of a method's wildcards that give the paths of the artifacts that it may read."""


def grid_of(key):
    """Return the function of a method's wildcards that gives one list of its grid."""
    return lambda wildcards: list(method_of(wildcards).grid_values(key))


SETTINGS_OF_METHODS = {
    "block_weights": grid_of("block_weight"),
    "component_counts": component_candidates,
    "components": components_of,
    "grid": lambda wildcards: method_of(wildcards).plain_grid(),
    "kernel": lambda wildcards: experiment_of(wildcards).kernel,
    "kernels": kernels_of,
    "landmarks": landmarks_of,
    "laplacian_weights": grid_of("laplacian_weight"),
    "max_features": grid_of("max_features"),
    "members": lambda wildcards: list(settings.members_of(wildcards.experiment, wildcards.method)),
    "metric": lambda wildcards: settings.selection_metric_of(wildcards.experiment),
    "method_file": lambda wildcards: settings.places["method"][wildcards.method],
    "n_trees": lambda wildcards: method_of(wildcards).grid_values("n_trees")[0],
    "neighbours": grid_of("neighbours"),
    "one_example": lambda wildcards: settings.one_example_of(wildcards.method),
    "output_scale": lambda wildcards: settings.dataset_of(wildcards.experiment).outputs.scale,
    "output_widths": grid_of("output_width"),
    "alphas": grid_of("alpha"),
    "precision": lambda wildcards: settings.run.selection_precision,
    "projections": lambda wildcards: settings.projections_of(
        wildcards.experiment, wildcards.method
    ),
    "ranks": grid_of("rank"),
    "seed": lambda wildcards: seed_of(wildcards, "training", wildcards.method),
    "studies": lambda wildcards: settings.studies_of(wildcards.experiment, wildcards.method),
    "weak_weights": grid_of("weak_weight"),
    "widths": grid_of("width"),
}
"""Functions of the wildcards that give the settings of a method's module that are no keys of the
method's file."""


def module_of(wildcards):
    """Return what the module of a method's regressor declares."""
    return method_modules()[method_of(wildcards).regressor]


def modules_of_methods(methods):
    """Return the modules of the library that methods need besides those of their stage."""
    chosen = [settings.methods[name] for name in methods]
    modules = {METHODS.modules[method_modules()[method.regressor].name] for method in chosen}
    return sorted(modules | {name for method in chosen for name in method.library_modules()})


def settings_taken(wildcards):
    """Return the settings that a method's module takes, by their names."""
    method = method_of(wildcards)
    taken = {
        name: (
            SETTINGS_OF_METHODS[name](wildcards)
            if name in SETTINGS_OF_METHODS
            else getattr(method, name)
        )
        for name in module_of(wildcards).settings
    }
    if method.feature_learner:
        more = {name: SETTINGS_OF_METHODS[name](wildcards) for name in ("seed", "method_file")}
        taken["feature_learner"] = method.feature_learner.model_dump(mode="json") | more
    if method.score_space:
        taken["score_space"] = {
            "grid": plain(input_model_of(wildcards), "grid")["grid"],
            "method_file": SETTINGS_OF_METHODS["method_file"](wildcards),
        }
    return taken


def artifacts_of(wildcards):
    """Return the names of the artifacts that a method reads."""
    scores = ("input_scores",) if method_of(wildcards).score_space else ()
    return (*module_of(wildcards).artifacts, *scores)


def artifacts_taken(wildcards):
    """Return the artifacts that a method reads, by name; none that the method has no use for."""
    taken = {name: ARTIFACT_FILES[name](wildcards) for name in artifacts_of(wildcards)}
    return {name: paths for name, paths in taken.items() if paths}


def decoder_distance(wildcards):
    """Return how an output is found from a predicted vector; None where it is the vector."""
    usual = settings.task_of(wildcards.experiment).decoder
    return usual and (method_of(wildcards).decoder or usual)


def predicts_scores(wildcards):
    """Return whether a method predicts scores of the classes in an experiment."""
    task = settings.dataset_of(wildcards.experiment).task
    return method_of(wildcards).predicts_scores(task)


def class_vectors_of(wildcards):
    """Return the dataset with the class vectors, where classes are predicted."""
    is_decoded = settings.task_of(wildcards.experiment).decoder
    return dataset_of(wildcards) if is_decoded else []
