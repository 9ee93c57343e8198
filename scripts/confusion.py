"""Draw which classes are taken for which."""

from adapter import job

with job(snakemake):
    from workflow_lib.experiments.evaluation import by_method
    from workflow_lib.report.figures import confusion

    methods = list(snakemake.params.methods)
    confusion.run(
        dataset=snakemake.input.dataset,
        splits=snakemake.input.splits,
        predictions=by_method(methods, snakemake.input.predictions),
        models=next(iter(snakemake.input.models), None),
        output_svg=snakemake.output.svg,
        output_png=snakemake.output.png,
        dataset_title=snakemake.params.dataset_title,
        stand_in_for=snakemake.params.stand_in_for,
        methods=snakemake.params.methods,
    )
