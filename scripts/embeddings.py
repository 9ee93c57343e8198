"""Embed the training outputs."""

from adapter import each_split, job

with job(snakemake):
    from workflow_lib.protocol import embedding

    for split in each_split(snakemake):
        embedding.run(
            dataset=split.input.dataset,
            split=split.input.split,
            models=split.input.models,
            output=split.output.embeddings,
            **split.params.settings,
        )
