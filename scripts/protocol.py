"""Draw the evaluation protocol of the run, with its numbers."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.run_figures import protocol

    protocol.run(
        scores=dict(zip(snakemake.params.experiments, snakemake.input.scores, strict=True)),
        experiments=snakemake.params.experiments,
        n_folds=snakemake.params.n_folds,
        output_svg=snakemake.output.svg,
        output_png=snakemake.output.png,
    )
