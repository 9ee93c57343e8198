"""From predicted embeddings back to outputs."""

for splits in SPLITS:

    rule:
        name:
            splits.rule_name("preimages")
        input:
            **splits.each(
                regression="results/{experiment}/split-{split}/{method}/regression.h5",
                models=stages.embedding_model_file,
            ),
            dataset=stages.class_vector_file,
        output:
            **splits.each(
                predictions="results/{experiment}/split-{split}/{method}/predictions.h5",
                timings="results/timings/{experiment}/split-{split}/{method}-preimages.json",
            ),
        params:
            code=code("preimages.py", "protocol.preimages"),
            settings=stages.preimages,
        log:
            splits.path("logs/preimages/{experiment}-{split}-{method}.log"),
        benchmark:
            splits.path("results/timings/jobs/preimages/{experiment}-{split}-{method}.tsv")
        resources:
            **resources_for("preimages", splits),
        wildcard_constraints:
            experiment=alternatives(splits.experiments),
            method=alternatives(WITH_PREIMAGES),
        group:
            splits.path("{experiment}-split-{split}")
        conda:
            CONDA
        message:
            splits.message("preimages {wildcards.method} {wildcards.experiment}")
        script:
            "../scripts/preimages.py"
