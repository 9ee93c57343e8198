"""Write one table of an experiment as CSV and LaTeX."""

from adapter import job

with job(snakemake):
    from workflow_lib.report import table_files

    table_files.run(
        kind=snakemake.params.kind,
        results=snakemake.input,
        output_csv=snakemake.output.csv,
        output_latex=snakemake.output.tex,
        label=f"{snakemake.wildcards.experiment}-{snakemake.wildcards.table}",
        caption=snakemake.params.caption,
        published=snakemake.input.published,
        **snakemake.params.options,
    )
