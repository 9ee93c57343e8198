"""Select and fit one classifier."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments import classifier_stage

    classifier_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        features=snakemake.input.features,
        output=snakemake.output.regression,
        timings=snakemake.output.timings,
        classifier=snakemake.params.classifier,
        kernel=snakemake.params.kernel,
        grid=snakemake.params.grid,
        fixed=snakemake.params.fixed,
        seed=snakemake.params.seed,
    )
