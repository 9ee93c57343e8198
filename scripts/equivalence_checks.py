"""Check numerically when the method equals kernel ridge regression, and when not."""

from adapter import job

with job(snakemake):
    from workflow_lib.protocol import equivalence_stage

    equivalence_stage.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        features=snakemake.input.features,
        output=snakemake.output[0],
        kernel=snakemake.params.kernel,
        seed=snakemake.params.seed,
    )
