"""Save everything that is needed to predict new rows in one file."""

from adapter import job

with job(snakemake):
    from workflow_lib.table import saved_model_stage

    saved_model_stage.run(
        answer=snakemake.input.answer,
        calibration=snakemake.input.calibration,
        importance=snakemake.input.importance,
        dataset=snakemake.input.dataset,
        split=snakemake.input.split,
        features=snakemake.input.features,
        **snakemake.params.settings,
        output=snakemake.output[0],
    )
