"""Turn sequences or bags into the scores that generative models give them."""

from adapter import each_split, job

with job(snakemake):
    from workflow_lib.core.plugins import STAGES

    for split in each_split(snakemake):
        STAGES.load("input_scores").run(
            dataset=split.input.dataset,
            split=split.input.split,
            features=split.input.features,
            models=split.input.models,
            output=split.output.scores,
            keeps_map=split.params.keeps_map,
            **split.params.settings,
        )
