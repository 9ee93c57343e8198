"""Count what searches for several boxes take from their queues."""

from adapter import job

with job(snakemake):
    from workflow_lib.core.plugins import STAGES

    STAGES.load("queue_costs").run(
        dataset=snakemake.input.dataset,
        splits=snakemake.input.splits,
        regressions=snakemake.input.regressions,
        output=snakemake.output[0],
        method=snakemake.params.method,
    )
