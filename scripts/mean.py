"""Predict the training mean."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import mean_stage

    mean_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
        metric=snakemake.params.metric,
    )
