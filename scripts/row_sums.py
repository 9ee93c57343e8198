"""Add up what a fit needs of a block of rows."""

from adapter import job

with job(snakemake):
    from workflow_lib.table import many_rows

    many_rows.sums(
        plan=snakemake.input.plan,
        data=snakemake.input.data,
        request=snakemake.params.request,
        block=int(snakemake.wildcards.block),
        n_blocks=snakemake.params.n_blocks,
        output=snakemake.output[0],
    )
