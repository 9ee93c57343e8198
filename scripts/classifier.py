"""Select and fit one classifier."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import classifier_stage, output_predictions

    classifier_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        features=snakemake.input.features,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
        classifier=snakemake.params.classifier,
        kernel=snakemake.params.kernel,
        grid=snakemake.params.grid,
        fixed=snakemake.params.fixed,
        seed=snakemake.params.seed,
    )
    output_predictions.run(
        regression=snakemake.output.regression,
        output=snakemake.output.predictions,
        timings=snakemake.output.preimages,
        of_classes=True,
    )
