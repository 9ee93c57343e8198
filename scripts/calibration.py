"""Calibrate intervals and the novelty score on held-out rows."""

from adapter import job

with job(snakemake):
    from workflow_lib.protocol.evaluation import by_method
    from workflow_lib.table import calibration_stage

    calibration_stage.run(
        answer=snakemake.input.answer,
        dataset=snakemake.input.dataset,
        splits=list(snakemake.input.splits),
        features=list(snakemake.input.features),
        predictions=by_method(snakemake.params.methods, snakemake.input.predictions),
        output=snakemake.output.artifact,
        table=snakemake.output.table,
        **snakemake.params.settings,
    )
