"""Draw when each job of the workflow ran, and compare what it requested with what it used."""

from adapter import job

with job(snakemake):
    from workflow_lib.report import resource_usage
    from workflow_lib.report.run_figures import timeline

    timeline.run(
        output_csv=snakemake.output.csv,
        output_svg=snakemake.output.svg,
        output_png=snakemake.output.png,
    )
    resource_usage.run(
        manifest=snakemake.input.manifest,
        jobs_csv=snakemake.output.csv,
        datasets=snakemake.params.datasets,
        output=snakemake.output.resource_usage,
    )
