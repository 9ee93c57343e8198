"""The task of outputs that are classes, each with a class vector."""

import json

from workflow_lib.core.result_columns import TRAINING
from workflow_lib.measures.base import Predictions
from workflow_lib.tasks.base import PER_CLASS, Fit, Task


class Classes(Task):
    """An output is a class. The vectors of classes are the outputs that methods learn."""

    order = 3
    description = "a class with a class vector"
    outputs = "classes"
    predicts = "classes"
    entry = "classes"
    splits = (PER_CLASS, "stratified", "grouped", "given", "k_fold")
    plural = "classes"
    selection = (
        "scored by a squared error, never by the number of right classes: of the class scores, up "
        "to a common factor where they are decoded, or of class vectors where these are predicted."
    )
    grouped = (
        "Every class has about its share of the test rows, as far as whole groups allow, and of "
        "the training rows."
    )
    decoder = "euclidean"
    reference = "class-krr"
    part, parts = "class", "classes"
    baseline = "chance"
    methods = ("class-krr", "m-svm", "m-rf-classes")
    output_of_row = known_of_row = known_of_complete_row = "a class"
    learns_from_outputs_alone = False

    def test(self, fit: Fit) -> Predictions:
        """Return the classes (m,), with their scores and the losses between classes, if any."""
        classes = fit.data["classes"]
        known = {"losses": classes.get("losses", {}), "positive": fit.positive}
        if "class_scores" in fit.item:
            known["class_scores"] = fit.item["class_scores"]
        truth = classes["labels"][fit.partition["test"]]
        return Predictions(truth, fit.item["classes"], entries=known)

    def training(self, fit: Fit) -> dict[str, Predictions]:
        """Return the classes of the fit to the training rows, if the item has them."""
        if "training_classes" not in fit.item:
            return {}
        truth = fit.data["classes"]["labels"][fit.train]
        return {TRAINING: Predictions(truth, fit.item["training_classes"])}

    def errors_of_parts(self, fit: Fit, rows: Predictions) -> list[tuple[int, str, float]]:
        """Return the share of the test rows of each class that are wrong."""
        right = rows.predicted == rows.truth
        return [
            (index, name, 1.0 - float(right[rows.truth == index].mean()))
            for index, name in enumerate(json.loads(fit.data["names"]["classes"]))
            if (rows.truth == index).any()
        ]

    def further_quantities(self, fit: Fit) -> dict[str, float]:
        """Return the accuracy of predicting the most frequent class of the training rows.

        In the folds of a partition that of all rows with a known output. Splits with as many rows
        of each class have none.
        """
        import numpy as np

        if "examples" in fit.partition:
            return {}
        labels = fit.data["classes"]["labels"]
        # In a partition a class is rarer in training where it is frequent in the test fold: with as
        # many rows of each class, the guess would always be wrong in leave-one-out.
        is_partition = "outer_folds" in fit.partition
        counted = ~np.isnan(fit.data["outputs"]).all(axis=1) if is_partition else fit.train
        most_frequent = np.bincount(labels[counted]).argmax()
        guess = (labels[fit.partition["test"]] == most_frequent).mean()
        return {"guess_accuracy": float(guess)}


TASK = Classes()
