"""Fit the preparation of the inputs in every fold."""

from adapter import each_split, job

with job(snakemake):
    from workflow_lib.protocol import features_stage

    for split in each_split(snakemake):
        features_stage.run(
            dataset=split.input.dataset,
            split=split.input.split,
            output=split.output.features,
            scale=split.params.scale,
            kernel=split.params.kernel,
            lagged_values=split.params.lagged_values,
            seed=split.params.seed,
        )
