"""Draw when each job of the workflow ran."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.figures import timeline

    timeline.run(
        output_csv=snakemake.output.csv,
        output_svg=snakemake.output.svg,
        output_png=snakemake.output.png,
    )
