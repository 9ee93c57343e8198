"""Draw the geometry of the Gaussian Fisher embedding."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.figures import geometry

    geometry.run(snakemake.output.svg, snakemake.output.png, snakemake.params.seed)
