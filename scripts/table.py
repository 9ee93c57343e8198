"""Write one table of an experiment as CSV and LaTeX."""

from adapter import job

with job(snakemake):
    from workflow_lib.report import table_text

    table_text.run(
        results=snakemake.input.results,
        output_csv=snakemake.output.csv,
        output_latex=snakemake.output.tex,
        kind=snakemake.params.kind,
        caption=snakemake.params.caption,
        dataset_title=snakemake.params.dataset_title,
        stand_in_for=snakemake.params.stand_in_for,
        label=f"{snakemake.wildcards.experiment}-{snakemake.wildcards.table}",
        methods=snakemake.params.methods,
        published_paths=snakemake.input.published,
        errors=snakemake.params.errors,
        metric=snakemake.params.metric,
        decimals=snakemake.params.decimals,
        comparisons=snakemake.params.comparisons,
    )
