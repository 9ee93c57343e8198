"""Draw a figure of an experiment."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.figures.base import draw
    from workflow_lib.report.style import save_figure

    figure = draw(snakemake.params.kind, files=snakemake.input, settings=snakemake.params.settings)
    save_figure(figure, snakemake.output.svg, snakemake.output.png, snakemake.output.csv)
