"""Select and fit one kernel ridge method."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import kernel_ridge_stage

    kernel_ridge_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        features=snakemake.input.features,
        embeddings=snakemake.input.embeddings or None,
        models=snakemake.input.models or None,
        weak_labels=snakemake.input.weak_labels or None,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
        components=snakemake.params.components,
        component_counts=snakemake.params.component_counts,
        combine=snakemake.params.combine,
        kernel=snakemake.params.kernel,
        kernels=snakemake.params.kernels,
        widths=snakemake.params.widths,
        penalties=snakemake.params.penalties,
        penalty=snakemake.params.penalty,
        weak=snakemake.params.weak,
        weak_weights=snakemake.params.weak_weights,
        weak_outputs=snakemake.params.weak_outputs,
        projections=snakemake.params.projections,
        studies=snakemake.params.studies,
        center=snakemake.params.center,
        metric=snakemake.params.metric,
        one_example=snakemake.params.one_example,
        landmarks=snakemake.params.landmarks,
        precision=snakemake.params.precision,
    )
