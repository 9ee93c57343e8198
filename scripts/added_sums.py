"""Add up the sums of several blocks of rows."""

from adapter import job

with job(snakemake):
    from workflow_lib.table import many_rows

    many_rows.add_sums(parts=list(snakemake.input), output=snakemake.output[0])
