"""Nested selection and fit of every method, up to the predicted outputs or embeddings."""

REGRESSION_FILES = {
    "regression": "results/{experiment}/split-{split}/{method}/regression.h5",
    "timings": "results/timings/{experiment}/split-{split}/{method}-regression.json",
}
PREDICTION_FILES = {
    "predictions": "results/{experiment}/split-{split}/{method}/predictions.h5",
    "preimages": "results/timings/{experiment}/split-{split}/{method}-preimages.json",
}
REGRESSIONS = {
    "regression": (set(settings.methods) - methods_with_preimages(), PREDICTION_FILES),
    "embedding_regression": (methods_with_preimages(), {}),
}
"""The methods of both rules, and what they make besides the files of the regression."""


for splits in SPLITS:
    for stage, (methods, more_files) in REGRESSIONS.items():

        rule:
            name:
                splits.rule_name(stage)
            input:
                unpack(splits.each_of(artifacts_taken)),
            output:
                **splits.each(**REGRESSION_FILES, **more_files),
            params:
                **splits.each(
                    settings=settings_taken,
                ),
                code=code(
                    "regression.py",
                    "protocol.output_predictions",
                    "protocol.regression",
                    lambda wildcards: modules_of_methods([wildcards.method]),
                ),
                module=lambda wildcards: module_of(wildcards).name,
                of_classes=predicts_scores,
                of_vectors=lambda wildcards: (
                    bool(class_vectors_of(wildcards)) and not predicts_scores(wildcards)
                ),
            log:
                splits.path("logs/regression/{experiment}-{split}-{method}.log"),
            benchmark:
                splits.path("results/timings/jobs/regression/{experiment}-{split}-{method}.tsv")
            threads: 1
            resources:
                mem_mb=memory_for("regression"),
                runtime=minutes_for("regression", splits),
            wildcard_constraints:
                experiment=alternatives(splits.experiments),
                method=alternatives(methods),
            group:
                splits.path("{experiment}-split-{split}")
            conda:
                CONDA
            message:
                splits.message("regression {wildcards.method} {wildcards.experiment}")
            script:
                "../scripts/regression.py"
