"""Generative models of inputs that are sequences or bags, and the scores that they give the rows."""

for splits in SPLITS:

    rule:
        name:
            splits.rule_name("input_models")
        input:
            **splits.each(split=split_file, features=feature_file),
            dataset=dataset_of,
        output:
            **splits.each(models="results/{experiment}/split-{split}/{input_model}/input_models.h5"),
        params:
            **splits.each(
                seed=lambda wildcards: seed_of(wildcards, "training", wildcards.input_model),
            ),
            code=code("input_models.py", stage_module("input_models")),
            settings=settings_of_input_model,
        log:
            splits.path("logs/input_models/{experiment}-{split}-{input_model}.log"),
        benchmark:
            splits.path("results/timings/jobs/input_models/{experiment}-{split}-{input_model}.tsv")
        threads: 1
        resources:
            mem_mb=memory_for("input_models"),
            runtime=minutes_for("input_models", splits),
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
            **splits.each(split=split_file, features=feature_file, models=input_model_file),
            dataset=dataset_of,
        output:
            **splits.each(scores="results/{experiment}/split-{split}/{method}/input_scores.h5"),
        params:
            **splits.each(
                keeps_map=lambda wildcards: wildcards.split == FINAL,
            ),
            code=code("input_scores.py", stage_module("input_scores")),
            settings=settings_of_scores,
        log:
            splits.path("logs/input_scores/{experiment}-{split}-{method}.log"),
        benchmark:
            splits.path("results/timings/jobs/input_scores/{experiment}-{split}-{method}.tsv")
        threads: 1
        resources:
            mem_mb=memory_for("input_scores"),
            runtime=minutes_for("input_scores", splits),
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
