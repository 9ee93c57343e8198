"""Draw the error of each output coordinate."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.figures import coordinates

    coordinates.run(
        coordinates=snakemake.input.coordinates,
        dataset=snakemake.input.dataset,
        output_svg=snakemake.output.svg,
        output_png=snakemake.output.png,
        dataset_title=snakemake.params.dataset_title,
        stand_in_for=snakemake.params.stand_in_for,
        methods=snakemake.params.methods,
        metric=snakemake.params.metric,
    )
