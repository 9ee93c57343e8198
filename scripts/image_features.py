"""Extract one kind of features from all images of a dataset."""

from adapter import job

with job(snakemake):
    from workflow_lib.protocol import image_features_stage

    image_features_stage.run(
        source=snakemake.params.source,
        output=snakemake.output[0],
        kind=snakemake.wildcards.feature,
        left_out_classes=snakemake.params.left_out_classes,
        codebook_classes=snakemake.params.codebook_classes,
        seed=snakemake.params.seed,
        parts=snakemake.params.parts,
        members=snakemake.params.members,
        weights=next(iter(snakemake.params.weights), None),
    )
