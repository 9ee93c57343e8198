"""Name the component of every weak row."""

from adapter import each_split, job

with job(snakemake):
    from workflow_lib.protocol import annotation

    for split in each_split(snakemake):
        annotation.run(
            dataset=split.input.dataset,
            split=split.input.split,
            models=split.input.models,
            output_models=split.output.models,
            output_labels=split.output.labels,
            label_kind=split.params.label_kind,
            seed=split.params.seed,
        )
