"""Read a dataset's sources into one artifact."""

from adapter import job

with job(snakemake):
    from workflow_lib.data import read_stage

    read_stage.run(
        **snakemake.params.settings,
        output=snakemake.output[0],
        sources=snakemake.input.sources,
        features=dict(zip(snakemake.params.feature_kinds, snakemake.input.features, strict=True)),
        files=snakemake.input.files,
    )
