"""Plan a fit to the rows of a large table, from a sample of them."""

from adapter import job

with job(snakemake):
    from workflow_lib.table import many_rows

    many_rows.plan(
        data=snakemake.input.data,
        request=snakemake.params.request,
        output=snakemake.output[0],
        seed=snakemake.params.seed,
    )
