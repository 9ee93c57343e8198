"""Record the versions, seeds and configuration of the run."""

from adapter import job

with job(snakemake):
    from workflow_lib.report import manifest

    manifest.run(
        output=snakemake.output[0],
        merged_configuration=snakemake.params.configuration,
        seeds=snakemake.params.seeds,
        repository=snakemake.scriptdir,
        host=snakemake.params.host,
    )
