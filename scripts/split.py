"""Split a dataset into training pool, weak pool, test set and folds."""

from adapter import each_split, job

with job(snakemake):
    from workflow_lib.protocol import splitting

    for split in each_split(snakemake):
        splitting.run(
            dataset=split.input.dataset,
            output=split.output.split,
            **split.params.settings,
            **split.params.numbered,
            experiment=snakemake.wildcards.experiment,
        )
