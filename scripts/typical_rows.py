"""Describe the components of a mixture by their most typical rows."""

from adapter import job

with job(snakemake):
    from workflow_lib.report import typical_rows

    typical_rows.run(
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        models=snakemake.input.models[0],
        data_profile=snakemake.input.data_profile,
        output_csv=snakemake.output.csv,
        output_latex=snakemake.output.tex,
        caption=snakemake.params.caption,
        dataset_title=snakemake.params.dataset_title,
        stand_in_for=snakemake.params.stand_in_for,
        label=snakemake.wildcards.typical,
    )
