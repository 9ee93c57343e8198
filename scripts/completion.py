"""Draw completed images beside the true ones."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.figures import completion

    completion.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        predictions=dict(zip(snakemake.params.methods, snakemake.input.predictions)),
        output_svg=snakemake.output.svg,
        output_png=snakemake.output.png,
        dataset_title=snakemake.params.dataset_title,
        stand_in_for=snakemake.params.stand_in_for,
        methods=snakemake.params.methods,
        training_size=snakemake.params.training_size,
        weak_size=snakemake.params.weak_size,
    )
