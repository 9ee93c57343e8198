"""Draw the figures of the answer on a user's own table."""

from adapter import job

with job(snakemake):
    from workflow_lib.report.run_figures import answer

    output = snakemake.output
    answer.run(
        scores=snakemake.input.scores,
        answer=snakemake.input.answer,
        calibration=snakemake.input.calibration,
        dataset=snakemake.input.dataset,
        methods=snakemake.params.methods,
        metric=snakemake.params.metric,
        files={
            "methods": {
                "svg": output.methods_svg,
                "png": output.methods_png,
                "csv": output.methods_csv,
            },
            "outputs": {
                "svg": output.outputs_svg,
                "png": output.outputs_png,
                "csv": output.outputs_csv,
            },
            "curve": {"svg": output.curve_svg, "png": output.curve_png, "csv": output.curve_csv},
        },
    )
