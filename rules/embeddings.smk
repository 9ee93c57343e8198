"""Fisher embeddings of the training outputs."""

for splits in SPLITS:

    rule:
        name:
            splits.rule_name("embeddings")
        input:
            **splits.each(
                split=stages.split_file,
                models="results/{experiment}/split-{split}/{model}{annotated}/models.h5",
            ),
            dataset=stages.dataset_file,
        output:
            **splits.each(
                embeddings="results/{experiment}/split-{split}/{model}{annotated}/embeddings-{form}.h5"
            ),
        params:
            code=code("embeddings.py", "protocol.embedding"),
            settings=stages.embeddings,
        log:
            splits.path("logs/embeddings/{experiment}-{split}-{model}{annotated}-{form}.log"),
        benchmark:
            splits.path(
                "results/timings/jobs/embeddings/{experiment}-{split}-{model}{annotated}-{form}.tsv"
            )
        resources:
            **resources_for("embeddings", splits),
        wildcard_constraints:
            experiment=alternatives(splits.experiments),
            annotated=f"({ANNOTATED})?",
        group:
            splits.path("{experiment}-split-{split}")
        conda:
            CONDA
        message:
            splits.message(
                "embeddings {wildcards.form} {wildcards.model}{wildcards.annotated} {wildcards.experiment}"
            )
        script:
            "../scripts/embeddings.py"
