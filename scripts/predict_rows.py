"""Predict the outputs of new rows."""

from adapter import job

with job(snakemake):
    from workflow_lib.table import table_predictions_stage

    table_predictions_stage.run(
        model=snakemake.input.model,
        rows=snakemake.input.rows,
        output=snakemake.output[0],
        trusted=snakemake.params.trusted,
        joint=snakemake.params.joint,
        keep=snakemake.params.keep or (),
    )
