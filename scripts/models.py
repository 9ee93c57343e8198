"""Fit the generative models of the training outputs."""

from adapter import each_split, job

with job(snakemake):
    from workflow_lib.protocol import generative_models

    for split in each_split(snakemake):
        generative_models.run(
            dataset=split.input.dataset,
            split=split.input.split,
            output=split.output.models,
            kind=split.params.kind,
            covariance_type=split.params.covariance_type,
            variance_floor=split.params.variance_floor,
            n_init=split.params.n_init,
            component_counts=split.params.component_counts,
            output_scale=split.params.output_scale,
            seed=split.params.seed,
        )
