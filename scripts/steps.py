"""Draw the steps of the method."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.figures import steps

    steps.run(snakemake.output.svg, snakemake.output.png, snakemake.params.kind)
