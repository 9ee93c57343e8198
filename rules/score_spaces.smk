"""Generative models of inputs that are sequences or bags, and the scores that they give the rows."""

for splits in SPLITS:

    rule:
        name:
            splits.rule_name("input_models")
        input:
            **splits.each(split=stages.split_file, features=stages.feature_file),
            dataset=stages.dataset_file,
        output:
            **splits.each(models="results/{experiment}/split-{split}/{input_model}/input_models.h5"),
        params:
            **splits.each(
                seed=lambda wildcards: stages.seed_of(
                    wildcards, "training", wildcards.input_model
                ),
            ),
            code=code("input_models.py", stage_module("input_models")),
            settings=stages.input_models,
        log:
            splits.path("logs/input_models/{experiment}-{split}-{input_model}.log"),
        benchmark:
            splits.path("results/timings/jobs/input_models/{experiment}-{split}-{input_model}.tsv")
        resources:
            **resources_for("input_models", splits),
        wildcard_constraints:
            experiment=alternatives(splits.experiments),
        group:
            splits.path("{experiment}-split-{split}")
        conda:
            CONDA
        message:
            splits.message("models of inputs {wildcards.input_model} {wildcards.experiment}")
        script:
            "../scripts/input_models.py"

    rule:
        name:
            splits.rule_name("input_scores")
        input:
            **splits.each(
                split=stages.split_file,
                features=stages.feature_file,
                models=stages.input_model_file,
            ),
            dataset=stages.dataset_file,
        output:
            **splits.each(scores="results/{experiment}/split-{split}/{method}/input_scores.h5"),
        params:
            **splits.each(
                keeps_map=lambda wildcards: wildcards.split == FINAL,
            ),
            code=code("input_scores.py", stage_module("input_scores")),
            settings=stages.scores_of_inputs,
        log:
            splits.path("logs/input_scores/{experiment}-{split}-{method}.log"),
        benchmark:
            splits.path("results/timings/jobs/input_scores/{experiment}-{split}-{method}.tsv")
        resources:
            **resources_for("input_scores", splits),
        wildcard_constraints:
            experiment=alternatives(splits.experiments),
        group:
            splits.path("{experiment}-split-{split}")
        conda:
            CONDA
        message:
            splits.message("scores of inputs {wildcards.method} {wildcards.experiment}")
        script:
            "../scripts/input_scores.py"
