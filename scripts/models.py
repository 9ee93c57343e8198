"""Fit the generative models of the training outputs."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import generative_models

    generative_models.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        output=snakemake.output[0],
        kind=snakemake.params.kind,
        covariance_type=snakemake.params.covariance_type,
        variance_floor=snakemake.params.variance_floor,
        n_init=snakemake.params.n_init,
        component_counts=snakemake.params.component_counts,
        output_scale=snakemake.params.output_scale,
        seed=snakemake.params.seed,
    )
