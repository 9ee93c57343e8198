"""Inspect a new table, and write its configuration."""

from adapter import job

with job(snakemake):
    from workflow_lib.table import new_table

    new_table.run(request=snakemake.params.request, config_folder=snakemake.params.folder)
