"""The task of outputs that are rows of numbers."""

import json
import math

from workflow_lib.core.result_columns import CROSS_VALIDATED, TRAINING
from workflow_lib.measures.base import Predictions
from workflow_lib.tasks.base import Fit, Task


class Numbers(Task):
    """An output is a row of numbers, of which some may be missing (NaN)."""

    order = 0
    description = "a row of numbers (`regression`, the most common)"
    outputs = "numbers"
    predicts = "rows of numbers"
    counts_outputs_apart = True
    methods = (
        "ofer-stack",
        "ofer-gmm",
        "ofer-density",
        "wofer-gmm",
        "m-krr",
        "m-krr-bagged",
        "m-krr-pc",
        "ridge",
        "m-rf",
        "extra-trees",
        "m-mean",
    )

    def test(self, fit: Fit) -> Predictions:
        """Return the outputs (m, d); errors are relative to those of the training mean."""
        from workflow_lib.measures.metrics import training_mean_errors

        truth = fit.data["outputs"][fit.partition["test"]]
        reference = training_mean_errors(truth, fit.data["outputs"][fit.train])
        return Predictions(truth, fit.within(fit.item["outputs"]), reference, fit.item)

    def training(self, fit: Fit) -> dict[str, Predictions]:
        """Return the outputs of the training rows, as far as the item has what was predicted.

        With the prefix `TRAINING` those of the fit to these rows, with errors relative to those of
        their own mean; with `CROSS_VALIDATED` those without the fold of each row, with errors
        relative to those of the folds' training means.
        """
        from workflow_lib.measures.metrics import reference_errors, training_mean_errors

        truth, found = fit.data["outputs"][fit.train], {}
        if "training_outputs" in fit.item:
            predicted, reference = fit.item["training_outputs"], training_mean_errors(truth, truth)
            found[TRAINING] = Predictions(truth, fit.within(predicted), reference)
        if "heldout_outputs" in fit.item:
            predicted, reference = fit.item["heldout_outputs"], reference_errors(truth, fit.folds)
            found[CROSS_VALIDATED] = Predictions(truth, fit.within(predicted), reference)
        return found

    def errors_of_parts(self, fit: Fit, rows: Predictions) -> list[tuple[int, str, float]]:
        """Return sqrt(errors_j / reference_j) of each output coordinate j that varies."""
        from workflow_lib.measures.metrics import squared_error_sums

        errors = squared_error_sums(rows.truth, rows.predicted)
        names = json.loads(fit.data["names"]["outputs"])
        return [
            (index, name, math.sqrt(error / base))
            for index, (name, error, base) in enumerate(
                zip(names, errors, rows.reference, strict=True)
            )
            if base > 0
        ]


TASK = Numbers()
