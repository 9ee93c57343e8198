"""Write the report of the run."""

from adapter import job

with job(snakemake):
    from workflow_lib.page import assembly

    assembly.run(
        output=snakemake.output[0],
        manifest=snakemake.input.manifest,
        title=snakemake.params.title,
        author=snakemake.params.author,
        experiments=snakemake.params.experiments,
        datasets=snakemake.params.datasets,
        methods=snakemake.params.methods,
        published=snakemake.params.published,
        n_folds=snakemake.params.n_folds,
        contents=list(snakemake.input.contents),
        runs=snakemake.params.runs,
        ranked=snakemake.params.ranked,
        protocol=snakemake.params.protocol,
        pairs=snakemake.params.pairs,
        cross_dataset=snakemake.params.cross_dataset,
    )
