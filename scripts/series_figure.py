"""Draw predicted series beside the true ones."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments.evaluation import by_method
    from workflow_lib.report.figures import series

    methods = list(snakemake.params.methods)
    series.run(
        dataset=snakemake.input.dataset,
        splits=snakemake.input.splits,
        predictions=by_method(methods, snakemake.input.predictions),
        output_svg=snakemake.output.svg,
        output_png=snakemake.output.png,
        dataset_title=snakemake.params.dataset_title,
        stand_in_for=snakemake.params.stand_in_for,
        methods=snakemake.params.methods,
    )
