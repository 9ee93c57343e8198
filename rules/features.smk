"""The inputs of a split: imputation and scaling as fitted in each fold."""

for splits in SPLITS:

    rule:
        name:
            splits.rule_name("features")
        input:
            **splits.each(split=stages.split_file),
            dataset=stages.dataset_file,
        output:
            **splits.each(features="results/{experiment}/split-{split}/features.h5"),
        params:
            **splits.each(
                seed=lambda wildcards: stages.seed_of(wildcards, "encoders"),
            ),
            code=code("features.py", "protocol.features_stage"),
            settings=stages.features,
        log:
            splits.path("logs/features/{experiment}-{split}.log"),
        benchmark:
            splits.path("results/timings/jobs/features/{experiment}-{split}.tsv")
        resources:
            **resources_for("features", splits),
        wildcard_constraints:
            experiment=alternatives(splits.experiments),
        group:
            splits.path("{experiment}-split-{split}")
        conda:
            CONDA
        message:
            splits.message("features {wildcards.experiment}")
        script:
            "../scripts/features.py"
