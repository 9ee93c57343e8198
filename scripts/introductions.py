"""Fetch the introductions of the pages about the classes of a dataset."""

from adapter import job

with job(snakemake):
    from workflow_lib.data.wikipedia import write_introductions

    write_introductions(snakemake.params.titles, snakemake.params.cache, snakemake.output[0])
