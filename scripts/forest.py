"""Select and fit one random forest."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import forest_stage, output_predictions

    forest_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        features=snakemake.input.features,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
        max_features=snakemake.params.max_features,
        n_trees=snakemake.params.n_trees,
        metric=snakemake.params.metric,
        seed=snakemake.params.seed,
        kind=snakemake.params.kind,
    )
    output_predictions.run(
        regression=snakemake.output.regression,
        output=snakemake.output.predictions,
        timings=snakemake.output.preimages,
    )
