"""Fetch one source file, from a mirror or from its public address."""

from adapter import job

with job(snakemake):
    from workflow_lib.datasets.acquisition import acquire
    from workflow_lib.datasets.mirrors import mirrors_from_environment

    acquire(snakemake.params.source, snakemake.output[0], mirrors_from_environment())
