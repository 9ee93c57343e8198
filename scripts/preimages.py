"""Compute outputs from predicted embeddings."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import preimages

    preimages.run(
        regression=snakemake.input.regression,
        models=snakemake.input.models or None,
        output=snakemake.output.predictions,
        timings=snakemake.output.timings,
        form=snakemake.params.form,
        covariance_block=snakemake.params.covariance_block,
        preimage=snakemake.params.preimage,
        start=snakemake.params.start,
        dataset=snakemake.input.dataset or None,
        distance=snakemake.params.distance,
    )
