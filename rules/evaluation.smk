"""Errors and measured times of all predictions of an experiment."""


rule scores:
    input:
        dataset=dataset_of,
        splits=all_splits,
        predictions=prediction_files,
        code=code("scores.py", "experiments.evaluation"),
    output:
        scores="results/{experiment}/scores.csv",
        coordinates="results/{experiment}/coordinates.csv",
    params:
        methods=lambda wildcards: list(settings.methods_of(wildcards.experiment)),
        dataset=lambda wildcards: experiment_of(wildcards).dataset,
    log:
        "logs/scores/{experiment}.log",
    benchmark:
        "results/timings/jobs/scores/{experiment}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    conda:
        CONDA
    message:
        "scores {wildcards.experiment}"
    script:
        "../scripts/scores.py"


rule timings:
    input:
        splits=all_splits,
        predictions=prediction_files,
        timings=timing_files,
        code=code("timings.py", "experiments.evaluation"),
    output:
        "results/timings/{experiment}.csv",
    params:
        methods=lambda wildcards: list(settings.methods_of(wildcards.experiment)),
        dataset=lambda wildcards: experiment_of(wildcards).dataset,
    log:
        "logs/timings/{experiment}.log",
    benchmark:
        "results/timings/jobs/timings/{experiment}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    conda:
        CONDA
    message:
        "timings {wildcards.experiment}"
    script:
        "../scripts/timings.py"
