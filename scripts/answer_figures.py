"""Draw the figures of the answer on a user's own table."""

from adapter import job

with job(snakemake):
    from workflow_lib.core.plugins import PREDICTION_FIGURES
    from workflow_lib.report.run_figures import answer

    output = snakemake.output
    answer.run(
        scores=snakemake.input.scores,
        answer=snakemake.input.answer,
        calibration=snakemake.input.calibration,
        dataset=snakemake.input.dataset,
        methods=snakemake.params.methods,
        metric=snakemake.params.metric,
        files={
            name: {suffix: getattr(output, f"{name}_{suffix}") for suffix in ("svg", "png", "csv")}
            for name in ("methods", "outputs", "curve", *PREDICTION_FIGURES.paths)
        },
    )
