"""A script like those of rules, for other tasks: unpack an archive, or fetch with short timeouts.

Run by `one_job.run_jobs` in a process of its own.
"""

from adapter import job

with job(snakemake):
    from workflow_lib.datasets.acquisition import acquire, unpack_archive

    if snakemake.params.archive:
        unpack_archive(snakemake.params.archive, snakemake.output[0])
    else:
        acquire(snakemake.params.source, snakemake.output[0], timeout=2, retries=1, pause=0)
