"""Name the components of a mixture by the classes they hold."""

from adapter import job

with job(snakemake):
    from workflow_lib.report import component_names

    component_names.run(
        dataset=snakemake.input.dataset,
        models=snakemake.input.models[0],
        output_csv=snakemake.output.csv,
        output_latex=snakemake.output.tex,
        caption=snakemake.params.caption,
        dataset_title=snakemake.params.dataset_title,
        stand_in_for=snakemake.params.stand_in_for,
        label=snakemake.wildcards.named,
    )
