"""Fit the generative models of the training outputs."""

from adapter import each_split, job

with job(snakemake):
    from workflow_lib.protocol import generative_models

    for split in each_split(snakemake):
        generative_models.run(
            dataset=split.input.dataset,
            split=split.input.split,
            output=split.output.models,
            **split.params.settings,
            seed=split.params.seed,
        )
