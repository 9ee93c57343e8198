"""Select and fit one method of output kernel regression."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import output_kernel_stage, output_predictions

    output_kernel_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        features=snakemake.input.features,
        alignments=snakemake.input.alignments or None,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
        kernel=snakemake.params.kernel,
        kernels=snakemake.params.kernels,
        widths=snakemake.params.widths,
        penalties=snakemake.params.penalties,
        output_kernel=snakemake.params.output_kernel,
        output_widths=snakemake.params.output_widths,
        preimage=snakemake.params.preimage,
        center=snakemake.params.center,
        metric=snakemake.params.metric,
    )
    output_predictions.run(
        regression=snakemake.output.regression,
        output=snakemake.output.predictions,
        timings=snakemake.output.preimages,
    )
