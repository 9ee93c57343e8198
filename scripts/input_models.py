"""Fit the generative models of the inputs."""

from adapter import each_split, job

with job(snakemake):
    from workflow_lib.core.plugins import STAGES

    for split in each_split(snakemake):
        STAGES.load("input_models").run(
            dataset=split.input.dataset,
            split=split.input.split,
            features=split.input.features,
            output=split.output.models,
            seed=split.params.seed,
            **split.params.settings,
        )
