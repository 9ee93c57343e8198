"""Combine the predictions of other methods."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import output_predictions, stack_stage

    stack_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        members=stack_stage.by_member(
            snakemake.params.members,
            snakemake.input.regressions,
            snakemake.input.predictions,
            snakemake.input.timings,
        ),
        member_sizes=snakemake.params.member_sizes,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
        metric=snakemake.params.metric,
        seed=snakemake.params.seed,
    )
    output_predictions.run(
        regression=snakemake.output.regression,
        output=snakemake.output.predictions,
        timings=snakemake.output.preimages,
    )
