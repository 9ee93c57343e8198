"""The columns of the files of results: scores, choices, coordinates and seconds.

Every row belongs to a fit, which the columns `FIT` identify:

``experiment``, ``dataset``, ``method``
    their names;
``components``
    ``selected``, or a fixed number of components;
``training_size``
    labelled training rows or, where rows are split per class, labelled examples per class;
``weak_size``
    weakly labelled rows;
``setting``
    what a study fixes, for example ``weak_noise=0.2`` or ``unpaired_size=100``; empty outside of
    studies;
``split``
    its number, from 0.
"""

FIT = (
    *("experiment", "dataset", "method", "components"),
    *("training_size", "weak_size", "setting", "split"),
)
"""The columns that identify a fit."""

TRAINING, CROSS_VALIDATED = "training_", "cross_validated_"
"""Prefixes of the quantities that were measured on the training rows: by the fit to these rows, and
by fits without the fold of each row."""

OF_ROWS = "_of_rows"
"""Suffix of the metrics of experiments whose training sizes count rows, where others of the task
count examples per class."""

SCORES = (*FIT, "n_train", "n_test", "quantity", "value")
"""Columns of ``scores.csv``: one row for each fit and quantity.

``n_train`` and ``n_test`` count rows. The quantities are the measures (`workflow_lib.measures`) of
the task, as far as the test rows have them, and what the task adds, such as ``guess_accuracy``, the
accuracy of predicting the most frequent class of the training rows. These are measured on the test
rows; those with the prefixes `TRAINING` and `CROSS_VALIDATED` on the training rows, where a method
has them.
"""

CHOICES = (*FIT, "name", "value")
"""Columns of ``choices.csv``: one row for each fit and selected setting.

A value is a number or a text. ``kernel``, ``width``, ``alpha_rest`` and others are the selected
hyper-parameters, ``edges`` names those on the edge of their grid, ``n_landmarks`` and
``n_random_features`` count the features where no Gram matrix of all rows was used,
``weight_METHOD`` are the weights of the members of a stack, ``estimator__NAME`` the arguments of an
estimator of another library, and ``feature_learner__NAME`` those of a transformer of inputs.
"""

COORDINATES = (*FIT, "n_train", "n_test", "coordinate", "name", "error")
"""Columns of ``coordinates.csv``: one row for each fit and output coordinate, or class.

``coordinate`` counts from 0 and ``name`` is that of the output; an error of 1 is that of the
training mean. The error of a class is the share of its test rows that are wrong.
"""

SECONDS = ("selection_seconds", "fit_seconds", "prediction_seconds", "preimage_seconds")

QUEUE_COSTS = (
    *("method", "training_size", "split", "row", "n_cells", "max_overlap"),
    *("reset_before", "detection", "n_dequeued"),
)
"""Columns of ``queue-costs.csv``: one row for each detection of a box after each reset.

``row`` is the number of a test row, the image, which is searched on a grid of ``n_cells`` cells a
side for boxes that overlap no earlier one by ``max_overlap`` or more. ``n_dequeued`` sets of boxes
are taken from the queue to find detection number ``detection``, from 1, where the queue was last
reset before detection ``reset_before``; before the first one it is new.
"""

TIMINGS = (*FIT, "n_train", "n_test", *SECONDS)
"""Columns of the files of seconds: one row for each fit.

The whole cross-validation, one fit at the selected settings, and the two parts of predicting all
test rows.
"""
