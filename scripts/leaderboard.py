"""Compare the methods, and say which to use."""

from adapter import job

with job(snakemake):
    from workflow_lib.table import leaderboard

    leaderboard.run(
        scores=snakemake.input.scores,
        choices=snakemake.input.choices,
        timings=snakemake.input.timings,
        data_profile=snakemake.input.data_profile,
        **snakemake.params.settings,
        output=snakemake.output.answer,
        output_with_seconds=snakemake.output.with_seconds,
    )
