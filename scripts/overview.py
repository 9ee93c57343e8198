"""Draw the figures that open the report."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.run_figures import overview

    output = snakemake.output
    overview.run(
        scores=dict(zip(snakemake.params.experiments, snakemake.input.scores, strict=True)),
        experiments=snakemake.params.experiments,
        methods=snakemake.params.methods,
        best={"svg": output.best_svg, "png": output.best_png, "csv": output.best_csv},
        headline={"svg": output.svg, "png": output.png, "csv": output.csv},
        curves={"svg": output.curves_svg, "png": output.curves_png, "csv": output.curves_csv},
    )
