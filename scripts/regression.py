"""Select and fit one method, and write what it predicts."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import output_predictions
    from workflow_lib.methods import registry

    registry.run(
        snakemake.params.module,
        artifacts={
            "dataset": snakemake.input.dataset,
            "split": snakemake.input.split,
            "features": snakemake.input.features,
        },
        settings=snakemake.params.settings,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
    )
    output_predictions.run(
        regression=snakemake.output.regression,
        output=snakemake.output.predictions,
        timings=snakemake.output.preimages,
    )
