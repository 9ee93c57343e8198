"""Draw errors against how unlike the training rows a row is."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.figures import residuals_novelty

    residuals_novelty.run(
        calibration=snakemake.input.calibration,
        output_svg=snakemake.output.svg,
        output_png=snakemake.output.png,
        dataset_title=snakemake.params.dataset_title,
        stand_in_for=snakemake.params.stand_in_for,
        methods=snakemake.params.methods,
    )
