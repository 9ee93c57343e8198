"""Select and fit one method, and write what it predicts."""

from adapter import each_split, job

with job(snakemake):
    from workflow_lib.protocol import output_predictions, regression

    for split in each_split(snakemake):
        regression.run(
            split.params.module,
            artifacts=vars(split.input),
            settings=split.params.settings,
            output=split.output.regression,
            timings=split.output.timings,
        )
        if hasattr(split.output, "predictions"):
            output_predictions.run(
                regression=split.output.regression,
                output=split.output.predictions,
                timings=split.output.preimages,
                of_classes=split.params.of_classes,
                dataset=split.input.dataset if split.params.of_vectors else None,
            )
