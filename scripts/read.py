"""Read a dataset's sources into one artifact."""

from adapter import job

with job(snakemake):
    from workflow_lib.core.artifacts import write_artifact
    from workflow_lib.data.class_losses import with_class_losses
    from workflow_lib.data.reading import read_dataset

    tree = read_dataset(
        **snakemake.params.settings,
        sources=list(snakemake.input.sources),
        features=dict(zip(snakemake.params.feature_kinds, snakemake.input.features, strict=True)),
    )
    write_artifact(
        snakemake.output[0],
        with_class_losses(tree, snakemake.params.class_tree, snakemake.params.class_costs),
        "dataset",
        seed=snakemake.params.settings["seed"],
        inputs=[
            *snakemake.input.sources,
            *snakemake.input.files,
            *snakemake.input.features,
        ],
        allow_nan=("inputs", "outputs", "lagged_values/values"),
    )
