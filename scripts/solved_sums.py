"""Solve the regressions without each fold."""

from adapter import job

with job(snakemake):
    from workflow_lib.table import many_rows

    many_rows.solve(
        plan=snakemake.input.plan, sums=snakemake.input.sums, output=snakemake.output[0]
    )
