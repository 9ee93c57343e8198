"""Split a dataset into training pool, weak pool, test set and folds."""

from adapter import each_split, job

with job(snakemake):
    from workflow_lib.protocol import splitting

    for split in each_split(snakemake):
        splitting.run(
            dataset=split.input.dataset,
            output=split.output.split,
            training_sizes=split.params.training_sizes,
            weak_sizes=split.params.weak_sizes,
            unpaired_sizes=split.params.unpaired_sizes,
            test_size=split.params.test_size,
            n_folds=split.params.n_folds,
            seed=split.params.seed,
            experiment=snakemake.wildcards.experiment,
            kind=split.params.kind,
            whole_groups=split.params.whole_groups,
            wrong_labels=split.params.wrong_labels,
            outer_folds=split.params.outer_folds,
            fold=split.params.fold,
            partition_seeds=split.params.partition_seeds,
        )
