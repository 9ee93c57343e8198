"""Select and fit Laplacian-regularised kernel ridge regression on unlabelled inputs."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import laplacian_stage, output_predictions

    laplacian_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        features=snakemake.input.features,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
        kernel=snakemake.params.kernel,
        widths=snakemake.params.widths,
        penalties=snakemake.params.penalties,
        laplacian_weights=snakemake.params.laplacian_weights,
        neighbours=snakemake.params.neighbours,
        center=snakemake.params.center,
        metric=snakemake.params.metric,
    )
    output_predictions.run(
        regression=snakemake.output.regression,
        output=snakemake.output.predictions,
        timings=snakemake.output.preimages,
    )
