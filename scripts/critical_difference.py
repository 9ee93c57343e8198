"""Rank the methods over the datasets of the run, and draw the critical-difference diagram."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.run_figures import critical_difference

    critical_difference.run(
        scores=dict(zip(snakemake.params.experiments, snakemake.input.scores, strict=True)),
        experiments=snakemake.params.experiments,
        methods=snakemake.params.methods,
        output_svg=snakemake.output.svg,
        output_png=snakemake.output.png,
        output_csv=snakemake.output.csv,
        output_latex=snakemake.output.tex,
    )
