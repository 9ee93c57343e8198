"""Describe a user's table before any model is fitted."""

from adapter import job

with job(snakemake):
    from workflow_lib.table import data_profile_stage

    data_profile_stage.run(
        dataset=snakemake.input.dataset,
        file=snakemake.input.files[0],
        output=snakemake.output[0],
        **snakemake.params.settings,
    )
