"""Generative models of the training outputs, for all component counts and inner folds."""


rule models:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        code=code("models.py", "experiments.generative_models"),
    output:
        "results/{experiment}/split-{split}/{model}/models.h5",
    params:
        kind=lambda wildcards: settings.models[wildcards.model].kind,
        covariance_type=lambda wildcards: settings.models[wildcards.model].covariance_type,
        variance_floor=lambda wildcards: settings.models[wildcards.model].variance_floor,
        n_init=lambda wildcards: settings.models[wildcards.model].n_init,
        component_counts=lambda wildcards: list(
            settings.component_counts(wildcards.experiment, wildcards.model)
        ),
        output_scale=lambda wildcards: settings.dataset_of(wildcards.experiment).outputs.scale,
        seed=lambda wildcards: seed_of(wildcards, "training", wildcards.model),
    log:
        "logs/models/{experiment}-{split}-{model}.log",
    benchmark:
        "results/timings/jobs/models/{experiment}-{split}-{model}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("models"),
        runtime=minutes_for("models"),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "models {wildcards.model} {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/models.py"
