"""The inputs of a split: imputation and scaling as fitted in each fold."""


rule features:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        code=code("features.py", "experiments.features_stage"),
    output:
        "results/{experiment}/split-{split}/features.h5",
    params:
        scale=lambda wildcards: settings.dataset_of(wildcards.experiment).inputs.scale,
        kernel=lambda wildcards: experiment_of(wildcards).kernel,
        lagged_values=lambda wildcards: experiment_of(wildcards).lagged_values,
    log:
        "logs/features/{experiment}-{split}.log",
    benchmark:
        "results/timings/jobs/features/{experiment}-{split}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("features"),
        runtime=minutes_for("features"),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "features {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/features.py"
