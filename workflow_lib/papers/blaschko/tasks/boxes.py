"""The task of outputs that are boxes of objects in images."""

from workflow_lib.tasks.regression import Numbers


class Boxes(Numbers):
    """An output is a box, four numbers."""

    order = 2
    description = (
        "the box of an object in an image (`boxes`: left, top, right and bottom in pixels)"
    )
    outputs = "boxes"
    further_outputs = ("numbers",)
    predicts = "boxes"
    entry = "boxes"
    baseline = "no overlap"
    counts_outputs_apart = False
    methods = ()
    regressors = ("kernel_ridge", "training_mean")


TASK = Boxes()
