"""Fisher embeddings of the training outputs."""


rule embeddings:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        models="results/{experiment}/split-{split}/{model}{annotated}/models.h5",
        code=code("embeddings.py", "experiments.embedding"),
    output:
        "results/{experiment}/split-{split}/{model}{annotated}/embeddings-{form}.h5",
    params:
        form=lambda wildcards: wildcards.form.removesuffix("-matrix"),
        covariance_block=lambda wildcards: (
            "matrix" if wildcards.form.endswith("-matrix") else "constrained"
        ),
    log:
        "logs/embeddings/{experiment}-{split}-{model}{annotated}-{form}.log",
    benchmark:
        "results/timings/jobs/embeddings/{experiment}-{split}-{model}{annotated}-{form}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("embeddings"),
        runtime=minutes_for("embeddings"),
    wildcard_constraints:
        annotated=f"({ANNOTATED})?",
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "embeddings {wildcards.form} {wildcards.model}{wildcards.annotated} {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/embeddings.py"
