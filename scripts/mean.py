"""Predict the training mean."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import mean_stage, output_predictions

    mean_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
        metric=snakemake.params.metric,
    )
    output_predictions.run(
        regression=snakemake.output.regression,
        output=snakemake.output.predictions,
        timings=snakemake.output.preimages,
    )
