"""Compare what the jobs asked of a scheduler with what they used."""

from adapter import job

with job(snakemake):
    from workflow_lib.report import resource_usage

    resource_usage.run(
        manifest=snakemake.input.manifest,
        benchmarks=snakemake.params.benchmarks,
        datasets=snakemake.params.datasets,
        output=snakemake.output[0],
    )
