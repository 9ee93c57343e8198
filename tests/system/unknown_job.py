"""A script like those of rules that fetches a file with short timeouts.

Run by `one_job.run_jobs` in a process of its own.
"""

from adapter import job

with job(snakemake):
    from workflow_lib.data import acquisition

    acquisition.TIMEOUT, acquisition.RETRIES, acquisition.PAUSE = 2, 1, 0
    acquisition.acquire(snakemake.params.source, snakemake.output[0])
