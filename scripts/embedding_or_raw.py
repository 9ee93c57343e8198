"""Compare each regressor with and without the Fisher embedding over the experiments of the run."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.run_figures import embedding_or_raw

    embedding_or_raw.run(
        scores=dict(zip(snakemake.params.experiments, snakemake.input.scores, strict=True)),
        experiments=snakemake.params.experiments,
        pairs=snakemake.params.pairs,
        methods=snakemake.params.methods,
        output_svg=snakemake.output.svg,
        output_png=snakemake.output.png,
        output_csv=snakemake.output.csv,
    )
