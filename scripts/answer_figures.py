"""Draw the figures of the answer on a user's own table."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.run_figures import answer

    answer.run(
        scores=snakemake.input.scores,
        answer=snakemake.input.answer,
        calibration=snakemake.input.calibration,
        dataset=snakemake.input.dataset,
        methods=snakemake.params.methods,
        metric=snakemake.params.metric,
        files=answer.by_figure(dict(snakemake.output.items())),
    )
