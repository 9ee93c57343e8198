"""Compare the methods, and say which to use."""

from adapter import job

with job(snakemake):
    from workflow_lib.table import leaderboard

    leaderboard.run(
        scores=snakemake.input.scores,
        choices=snakemake.input.choices,
        timings=snakemake.input.timings,
        data_profile=snakemake.input.data_profile,
        methods=snakemake.params.methods,
        experiment_settings=snakemake.params.experiment,
        n_folds=snakemake.params.n_folds,
        output=snakemake.output.answer,
        output_with_seconds=snakemake.output.with_seconds,
    )
