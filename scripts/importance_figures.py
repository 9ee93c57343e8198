"""Draw which inputs matter to the winner, and how its predictions change with them."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.run_figures import effects, importance

    output = snakemake.output
    importance.run(
        answer=snakemake.input.answer,
        importance=snakemake.input.importance,
        files={
            "svg": output.importance_svg,
            "png": output.importance_png,
            "csv": output.importance_csv,
        },
    )
    effects.run(
        importance=snakemake.input.importance,
        files={"svg": output.effects_svg, "png": output.effects_png, "csv": output.effects_csv},
    )
