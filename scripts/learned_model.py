"""Choose the penalties, fit to all rows, and save the model."""

from adapter import job

with job(snakemake):
    from workflow_lib.table import many_rows

    many_rows.model(
        plan=snakemake.input.plan,
        solutions=snakemake.input.solutions,
        errors=list(snakemake.input.errors),
        data=snakemake.input.data,
        request=snakemake.params.request,
        title=snakemake.wildcards.table,
        output=snakemake.output.model,
        summary=snakemake.output.summary,
    )
