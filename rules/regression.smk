"""Nested selection and fit of every method, up to the predicted outputs or embeddings."""

REGRESSION_FILES = {
    "regression": "results/{experiment}/split-{split}/{method}/regression.h5",
    "timings": "results/timings/{experiment}/split-{split}/{method}-regression.json",
}
PREDICTION_FILES = {
    "predictions": "results/{experiment}/split-{split}/{method}/predictions.h5",
    "preimages": "results/timings/{experiment}/split-{split}/{method}-preimages.json",
}
WITH_PREIMAGES = set(filter(stages.has_preimages, settings.methods))
"""Methods that predict embeddings, or class vectors that a decoder searches."""

REGRESSIONS = {
    "regression": (set(settings.methods) - WITH_PREIMAGES, PREDICTION_FILES),
    "embedding_regression": (WITH_PREIMAGES, {}),
}
"""The methods of both rules, and what they make besides the files of the regression."""


for splits in SPLITS:
    for stage, (methods, more_files) in REGRESSIONS.items():

        rule:
            name:
                splits.rule_name(stage)
            input:
                unpack(splits.each_of(stages.artifact_files)),
            output:
                **splits.each(**REGRESSION_FILES, **more_files),
            params:
                **splits.each(
                    settings=stages.method_settings,
                ),
                code=code(
                    "regression.py",
                    "protocol.output_predictions",
                    "protocol.regression",
                    lambda wildcards: stages.modules_of_methods([wildcards.method]),
                ),
                module=lambda wildcards: stages.module_of(wildcards).name,
                of_classes=stages.predicts_scores,
                of_vectors=stages.predicts_vectors,
            log:
                splits.path("logs/regression/{experiment}-{split}-{method}.log"),
            benchmark:
                splits.path("results/timings/jobs/regression/{experiment}-{split}-{method}.tsv")
            resources:
                **resources_for("regression", splits),
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
