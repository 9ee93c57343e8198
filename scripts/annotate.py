"""Name the component of every weak row."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import annotation

    annotation.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        models=snakemake.input.models,
        output_models=snakemake.output.models,
        output_labels=snakemake.output.labels,
        label_kind=snakemake.params.label_kind,
        seed=snakemake.params.seed,
    )
