"""Select and fit kernel ridge regression of the first output components."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import output_predictions, reduced_rank_stage

    reduced_rank_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        features=snakemake.input.features,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
        kernel=snakemake.params.kernel,
        widths=snakemake.params.widths,
        penalties=snakemake.params.penalties,
        ranks=snakemake.params.ranks,
        center=snakemake.params.center,
        metric=snakemake.params.metric,
    )
    output_predictions.run(
        regression=snakemake.output.regression,
        output=snakemake.output.predictions,
        timings=snakemake.output.preimages,
    )
