"""Split a dataset into training pool, weak pool, test set and folds."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import splitting

    splitting.run(
        dataset=snakemake.input.dataset,
        output=snakemake.output[0],
        training_sizes=snakemake.params.training_sizes,
        weak_sizes=snakemake.params.weak_sizes,
        test_size=snakemake.params.test_size,
        n_folds=snakemake.params.n_folds,
        seed=snakemake.params.seed,
        experiment=snakemake.wildcards.experiment,
        kind=snakemake.params.kind,
    )
