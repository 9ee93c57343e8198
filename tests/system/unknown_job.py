"""A script like those of rules that fetches a file with short timeouts.

Run by `one_job.run_jobs` in a process of its own.
"""

from adapter import job

with job(snakemake):
    from workflow_lib.data.acquisition import acquire

    acquire(snakemake.params.source, snakemake.output[0], timeout=2, retries=1, pause=0)
