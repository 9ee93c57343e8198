"""Nested selection and fit of every method, up to the predicted embeddings of the test rows."""


def methods_with(regressor):
    return [name for name, method in settings.methods.items() if method.regressor == regressor]


def model_folder(wildcards):
    """Return the folder of the models that a method uses; weak methods use annotated ones."""
    method = method_of(wildcards)
    suffix = ANNOTATED if method.weak else ""
    return f"results/{wildcards.experiment}/split-{wildcards.split}/{method.model}{suffix}"


def model_file(wildcards):
    return f"{model_folder(wildcards)}/models.h5" if method_of(wildcards).model else []


def embedding_file(wildcards):
    if not method_of(wildcards).model:
        return []
    return f"{model_folder(wildcards)}/embeddings-{embedding_name(wildcards.method)}.h5"


def weak_label_file(wildcards):
    return f"{model_folder(wildcards)}/weak_labels.h5" if method_of(wildcards).weak else []


def components_of(wildcards):
    labels = settings.components_of(wildcards.experiment, wildcards.method)
    return labels[0] if labels == ("selected",) else [int(label) for label in labels]


def component_candidates(wildcards):
    return list(settings.component_candidates(wildcards.method, "selected"))


def grid_of(key):
    """Return the function of a method's wildcards that gives one list of its grid."""
    return lambda wildcards: list(getattr(method_of(wildcards).grid, key))


rule regression:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        features="results/{experiment}/split-{split}/features.h5",
        models=model_file,
        embeddings=embedding_file,
        weak_labels=weak_label_file,
        code=code("regression.py", "experiments.kernel_ridge_stage"),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
    params:
        components=components_of,
        component_counts=component_candidates,
        kernel=lambda wildcards: experiment_of(wildcards).kernel,
        widths=grid_of("width"),
        penalties=grid_of("penalty"),
        penalty=lambda wildcards: method_of(wildcards).penalty,
        weak_weights=grid_of("weak_weight"),
        preimage=lambda wildcards: method_of(wildcards).preimage,
        center=lambda wildcards: method_of(wildcards).center,
    log:
        "logs/regression/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/regression/{experiment}-{split}-{method}.tsv"
    wildcard_constraints:
        method=alternatives(methods_with("kernel_ridge")),
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    conda:
        CONDA
    message:
        "regression {wildcards.method} {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/regression.py"


rule forest:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        features="results/{experiment}/split-{split}/features.h5",
        code=code("forest.py", "experiments.forest_stage"),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
    params:
        max_features=grid_of("max_features"),
        n_trees=lambda wildcards: method_of(wildcards).grid.n_trees,
        seed=lambda wildcards: seed_of(wildcards, "training", wildcards.method),
    log:
        "logs/forest/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/forest/{experiment}-{split}-{method}.tsv"
    wildcard_constraints:
        method=alternatives(methods_with("random_forest")),
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    conda:
        CONDA
    message:
        "forest {wildcards.method} {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/forest.py"
