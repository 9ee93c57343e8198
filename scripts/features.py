"""Fit the preparation of the inputs in every fold."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import features_stage

    features_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        output=snakemake.output[0],
        scale=snakemake.params.scale,
        kernel=snakemake.params.kernel,
        lagged_values=snakemake.params.lagged_values,
    )
