"""Draw a study of weak labels."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.figures import weak_studies

    weak_studies.run(
        scores=snakemake.input.scores,
        output_svg=snakemake.output.svg,
        output_png=snakemake.output.png,
        kind=snakemake.params.kind,
        dataset_title=snakemake.params.dataset_title,
        stand_in_for=snakemake.params.stand_in_for,
        methods=snakemake.params.methods,
        metric=snakemake.params.metric,
    )
