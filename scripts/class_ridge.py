"""Select and fit one kernel ridge method on the indicators of classes."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import class_ridge_stage, output_predictions

    class_ridge_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        features=snakemake.input.features,
        models=snakemake.input.models or None,
        weak_labels=snakemake.input.weak_labels or None,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
        decoder=snakemake.params.decoder,
        components=snakemake.params.components,
        component_counts=snakemake.params.component_counts,
        kernel=snakemake.params.kernel,
        kernels=snakemake.params.kernels,
        widths=snakemake.params.widths,
        penalties=snakemake.params.penalties,
        output_widths=snakemake.params.output_widths,
        block_weights=snakemake.params.block_weights,
        weak=snakemake.params.weak,
        weak_weights=snakemake.params.weak_weights,
        center=snakemake.params.center,
        fixed=snakemake.params.fixed,
    )
    output_predictions.run(
        regression=snakemake.output.regression,
        output=snakemake.output.predictions,
        timings=snakemake.output.preimages,
        of_classes=True,
    )
