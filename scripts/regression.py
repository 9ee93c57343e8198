"""Select and fit one method, and write what it predicts."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import output_predictions, regression

    regression.run(
        snakemake.params.module,
        artifacts=dict(snakemake.input.items()),
        settings=snakemake.params.settings,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
    )
    if "predictions" in snakemake.output.keys():
        output_predictions.run(
            regression=snakemake.output.regression,
            output=snakemake.output.predictions,
            timings=snakemake.output.preimages,
            of_classes=snakemake.params.of_classes,
            dataset=snakemake.input.dataset if snakemake.params.of_vectors else None,
        )
