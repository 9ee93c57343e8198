"""Compare the methods, and say which to use."""

from adapter import job

with job(snakemake):
    from workflow_lib.report import leaderboard

    # What follows from an answer must not depend on measured times, so one is without them.
    for timings, output in (
        (None, snakemake.output.answer),
        (next(iter(snakemake.input.timings), None), snakemake.output.with_seconds),
    ):
        leaderboard.run(
            scores=snakemake.input.scores,
            timings=timings,
            methods=snakemake.params.methods,
            experiment_settings=snakemake.params.experiment,
            n_folds=snakemake.params.n_folds,
            output=output,
        )
