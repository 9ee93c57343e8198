"""Score the predictions of an experiment."""

from adapter import job

with job(snakemake):
    from workflow_lib.protocol import evaluation

    evaluation.run_scores(
        dataset=snakemake.input.dataset,
        splits=snakemake.input.splits,
        predictions=evaluation.by_method(snakemake.params.methods, snakemake.input.predictions),
        output=snakemake.output.scores,
        choices=snakemake.output.choices,
        coordinates=snakemake.output.coordinates,
        experiment=snakemake.wildcards.experiment,
        dataset_name=snakemake.params.dataset,
        positive_class=snakemake.params.positive_class,
    )
