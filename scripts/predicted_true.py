"""Draw predicted against true outputs."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.figures import predicted_true

    predicted_true.run(
        calibration=snakemake.input.calibration,
        dataset=snakemake.input.dataset,
        output_svg=snakemake.output.svg,
        output_png=snakemake.output.png,
        dataset_title=snakemake.params.dataset_title,
        stand_in_for=snakemake.params.stand_in_for,
        methods=snakemake.params.methods,
    )
