"""Generative models of the training outputs, for all component counts and inner folds."""

for splits in SPLITS:

    rule:
        name:
            splits.rule_name("models")
        input:
            **splits.each(split=stages.split_file),
            dataset=stages.dataset_file,
        output:
            **splits.each(models="results/{experiment}/split-{split}/{model}/models.h5"),
        params:
            **splits.each(
                seed=lambda wildcards: stages.seed_of(wildcards, "training", wildcards.model),
            ),
            code=code("models.py", "protocol.generative_models"),
            settings=stages.models,
        log:
            splits.path("logs/models/{experiment}-{split}-{model}.log"),
        benchmark:
            splits.path("results/timings/jobs/models/{experiment}-{split}-{model}.tsv")
        resources:
            **resources_for("models", splits),
        wildcard_constraints:
            experiment=alternatives(splits.experiments),
        group:
            splits.path("{experiment}-split-{split}")
        conda:
            CONDA
        message:
            splits.message("models {wildcards.model} {wildcards.experiment}")
        script:
            "../scripts/models.py"
