"""Fetch one source file, from a mirror or from its public address."""

from adapter import job

with job(snakemake):
    from workflow_lib.core.mirrors import mirrors_from_environment
    from workflow_lib.data.acquisition import acquire

    acquire(snakemake.params.source, snakemake.output[0], mirrors_from_environment())
