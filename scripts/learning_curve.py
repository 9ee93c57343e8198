"""Draw the learning curves of an experiment."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.figures import learning_curves

    learning_curves.run(
        scores=snakemake.input.scores,
        output_svg=snakemake.output.svg,
        output_png=snakemake.output.png,
        dataset_title=snakemake.params.dataset_title,
        stand_in_for=snakemake.params.stand_in_for,
        methods=snakemake.params.methods,
        metric=snakemake.params.metric,
    )
