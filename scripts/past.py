"""Fit least squares on the past values."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import output_predictions, past_stage

    past_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        features=snakemake.input.features,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
        metric=snakemake.params.metric,
    )
    output_predictions.run(
        regression=snakemake.output.regression,
        output=snakemake.output.predictions,
        timings=snakemake.output.preimages,
    )
