"""Compare what the jobs asked of a scheduler with what they used."""

from pathlib import Path

from adapter import job

with job(snakemake):
    from workflow_lib.report import resource_usage

    resource_usage.run(
        manifest=snakemake.input.manifest,
        benchmarks=Path(snakemake.output[0]).parent,
        datasets=snakemake.params.datasets,
        output=snakemake.output[0],
    )
