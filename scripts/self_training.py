"""Select and fit one method that trains itself on the classes of weak rows."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import output_predictions, self_training_stage

    self_training_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        features=snakemake.input.features,
        models=snakemake.input.models,
        weak_labels=snakemake.input.weak_labels,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
        kind=snakemake.params.kind,
        kernel=snakemake.params.kernel,
        kernels=snakemake.params.kernels,
        widths=snakemake.params.widths,
        penalties=snakemake.params.penalties,
        components=snakemake.params.components,
        component_counts=snakemake.params.component_counts,
        center=snakemake.params.center,
        fixed=snakemake.params.fixed,
    )
    output_predictions.run(
        regression=snakemake.output.regression,
        output=snakemake.output.predictions,
        timings=snakemake.output.preimages,
        of_classes=True,
    )
