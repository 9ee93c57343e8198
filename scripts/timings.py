"""Collect the measured seconds of an experiment."""

from adapter import job

with job(snakemake):
    from workflow_lib.protocol import evaluation

    evaluation.run_timings(
        splits=snakemake.input.splits,
        predictions=evaluation.by_method(snakemake.params.methods, snakemake.input.predictions),
        seconds=evaluation.by_method(snakemake.params.methods, snakemake.input.timings),
        output=snakemake.output[0],
        experiment=snakemake.wildcards.experiment,
        dataset_name=snakemake.params.dataset,
    )
