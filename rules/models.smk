"""Generative models of the training outputs, for all component counts and inner folds."""

for splits in SPLITS:

    rule:
        name:
            splits.rule_name("models")
        input:
            **splits.each(split=split_file),
            dataset=dataset_of,
        output:
            **splits.each(models="results/{experiment}/split-{split}/{model}/models.h5"),
        params:
            **splits.each(
                seed=lambda wildcards: seed_of(wildcards, "training", wildcards.model),
            ),
            code=code("models.py", "protocol.generative_models"),
            kind=lambda wildcards: settings.models[wildcards.model].kind,
            covariance_type=lambda wildcards: settings.models[wildcards.model].covariance_type,
            variance_floor=lambda wildcards: settings.models[wildcards.model].variance_floor,
            n_init=lambda wildcards: settings.models[wildcards.model].n_init,
            component_counts=lambda wildcards: list(
                settings.component_counts(wildcards.experiment, wildcards.model)
            ),
            output_scale=lambda wildcards: settings.dataset_of(wildcards.experiment).outputs.scale,
        log:
            splits.path("logs/models/{experiment}-{split}-{model}.log"),
        benchmark:
            splits.path("results/timings/jobs/models/{experiment}-{split}-{model}.tsv")
        threads: 1
        resources:
            mem_mb=memory_for("models"),
            runtime=minutes_for("models", splits),
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
