"""Fit least squares on the past values."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import past_stage

    past_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        features=snakemake.input.features,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
        metric=snakemake.params.metric,
    )
