"""Compute outputs from predicted embeddings."""

from adapter import each_split, job

with job(snakemake):
    from workflow_lib.protocol import preimages

    for split in each_split(snakemake):
        preimages.run(
            regression=split.input.regression,
            models=split.input.models or None,
            output=split.output.predictions,
            timings=split.output.timings,
            **split.params.settings,
            dataset=split.input.dataset or None,
        )
