"""Measure the errors of a block of rows after the pre-image."""

from adapter import job

with job(snakemake):
    from workflow_lib.table import many_rows

    many_rows.errors(
        plan=snakemake.input.plan,
        solutions=snakemake.input.solutions,
        data=snakemake.input.data,
        request=snakemake.params.request,
        block=int(snakemake.wildcards.block),
        n_blocks=snakemake.params.n_blocks,
        output=snakemake.output[0],
    )
