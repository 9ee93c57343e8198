"""Fit the preparation of the inputs in every fold."""

from adapter import each_split, job

with job(snakemake):
    from workflow_lib.protocol import features_stage

    for split in each_split(snakemake):
        features_stage.run(
            dataset=split.input.dataset,
            split=split.input.split,
            output=split.output.features,
            **split.params.settings,
            seed=split.params.seed,
        )
