"""Embed the training outputs."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import embedding

    embedding.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        models=snakemake.input.models,
        output=snakemake.output[0],
        form=snakemake.params.form,
        covariance_block=snakemake.params.covariance_block,
    )
