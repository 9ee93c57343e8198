"""Measure which inputs matter to the winner."""

from adapter import job

with job(snakemake, n_threads=1):
    from workflow_lib.table import importance_stage

    importance_stage.run(
        answer=snakemake.input.answer,
        dataset=snakemake.input.dataset,
        splits=list(snakemake.input.splits),
        features=list(snakemake.input.features),
        output=snakemake.output.artifact,
        table=snakemake.output.table,
        n_jobs=snakemake.threads,
        in_copies=True,
        **snakemake.params.settings,
    )
