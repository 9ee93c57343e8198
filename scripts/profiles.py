"""Draw true and predicted outputs of some test rows."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.figures import profiles

    profiles.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        predictions=dict(zip(snakemake.params.methods, snakemake.input.predictions)),
        output_svg=snakemake.output.svg,
        output_png=snakemake.output.png,
        dataset_title=snakemake.params.dataset_title,
        stand_in_for=snakemake.params.stand_in_for,
        methods=snakemake.params.methods,
        output_scale=snakemake.params.output_scale,
    )
