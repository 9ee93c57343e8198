"""Weak labels: the component that an annotator names for each weak row."""


rule annotate:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        models="results/{experiment}/split-{split}/{model}/models.h5",
        code=code("annotate.py", "experiments.annotation"),
    output:
        models=f"results/{{experiment}}/split-{{split}}/{{model}}{ANNOTATED}/models.h5",
        labels=f"results/{{experiment}}/split-{{split}}/{{model}}{ANNOTATED}/weak_labels.h5",
    params:
        label_kind=lambda wildcards: experiment_of(wildcards).weak_labels,
        seed=lambda wildcards: seed_of(wildcards, "annotation", wildcards.model),
    log:
        "logs/annotate/{experiment}-{split}-{model}.log",
    benchmark:
        "results/timings/jobs/annotate/{experiment}-{split}-{model}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("annotate"),
        runtime=minutes_for("annotate"),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "annotate {wildcards.model} {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/annotate.py"
