"""Draw which inputs matter to the winner."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.run_figures import importance

    importance.run(
        answer=snakemake.input.answer,
        importance=snakemake.input.importance,
        files=dict(snakemake.output.items()),
    )
