"""Select and fit kernel ridge regression with a penalty per output component."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import output_predictions, principal_component_stage

    principal_component_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        features=snakemake.input.features,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
        kernel=snakemake.params.kernel,
        kernels=snakemake.params.kernels,
        widths=snakemake.params.widths,
        penalties=snakemake.params.penalties,
        center=snakemake.params.center,
        metric=snakemake.params.metric,
    )
    output_predictions.run(
        regression=snakemake.output.regression,
        output=snakemake.output.predictions,
        timings=snakemake.output.preimages,
    )
