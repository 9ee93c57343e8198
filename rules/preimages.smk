"""From predicted embeddings back to outputs."""

for splits in SPLITS:

    rule:
        name:
            splits.rule_name("preimages")
        input:
            **splits.each(
                regression="results/{experiment}/split-{split}/{method}/regression.h5",
                models=embedding_model_file,
            ),
            dataset=class_vectors_of,
        output:
            **splits.each(
                predictions="results/{experiment}/split-{split}/{method}/predictions.h5",
                timings="results/timings/{experiment}/split-{split}/{method}-preimages.json",
            ),
        params:
            code=code("preimages.py", "protocol.preimages"),
            form=lambda wildcards: method_of(wildcards).form,
            covariance_block=lambda wildcards: method_of(wildcards).covariance_block
            or "constrained",
            preimage=lambda wildcards: method_of(wildcards).preimage,
            start=lambda wildcards: method_of(wildcards).start,
            distance=decoder_distance,
        log:
            splits.path("logs/preimages/{experiment}-{split}-{method}.log"),
        benchmark:
            splits.path("results/timings/jobs/preimages/{experiment}-{split}-{method}.tsv")
        threads: 1
        resources:
            mem_mb=memory_for("preimages"),
            runtime=minutes_for("preimages", splits),
        wildcard_constraints:
            experiment=alternatives(splits.experiments),
            method=alternatives(methods_with_preimages()),
        group:
            splits.path("{experiment}-split-{split}")
        conda:
            CONDA
        message:
            splits.message("preimages {wildcards.method} {wildcards.experiment}")
        script:
            "../scripts/preimages.py"
