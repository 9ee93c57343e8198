"""Nested selection and fit of every method, up to the predicted outputs or embeddings."""


rule regression:
    input:
        **{name: artifact_taken(name) for name in ARTIFACTS},
        code=lambda wildcards: code(
            "regression.py",
            "experiments.output_predictions",
            "experiments.regression",
            f"methods.{module_of(wildcards).name}",
            *method_of(wildcards).library_modules(),
        ),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        predictions="results/{experiment}/split-{split}/{method}/predictions.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
        preimages="results/timings/{experiment}/split-{split}/{method}-preimages.json",
    params:
        module=lambda wildcards: module_of(wildcards).name,
        settings=settings_taken,
        of_classes=predicts_scores,
        of_vectors=lambda wildcards: (
            bool(class_vectors_of(wildcards)) and not predicts_scores(wildcards)
        ),
    log:
        "logs/regression/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/regression/{experiment}-{split}-{method}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("regression"),
        runtime=minutes_for("regression"),
    wildcard_constraints:
        method=alternatives(set(settings.methods) - methods_with_preimages()),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "regression {wildcards.method} {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/regression.py"


use rule regression as embedding_regression with:
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
    wildcard_constraints:
        method=alternatives(methods_with_preimages()),
