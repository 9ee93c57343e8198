"""Which methods can be saved as one file that predicts new rows, and why the others cannot.

On a table of the user's own only such a method may win, so that what is recommended is what
predicts. `snakemake new`, the leaderboard and the stage that saves the winner all ask here.
"""

from __future__ import annotations

from collections.abc import Mapping

SAVED_REGRESSORS = (
    "kernel_ridge",
    "principal_component_ridge",
    "output_kernel_regression",
    "reduced_rank_ridge",
    "laplacian_ridge",
    "random_forest",
    "extra_trees",
    "least_squares",
    "training_mean",
    "stack",
    "class_ridge",
    "self_training",
    "support_vector_machine",
    "perceptron",
    "random_forest_classifier",
)
"""Regressors of which `workflow_lib.experiments.saved_model_stage` can keep what they learned."""


def why_not_saved(name: str, methods: Mapping[str, Mapping]) -> str:
    """Return why a method cannot be saved, as the end of a sentence about it; "" where it can.

    Parameters
    ----------
    name : str
    methods : mapping from the names of methods
        ``regressor``, ``weak_outputs`` and ``members`` of each, as in `config/methods`; the members
        of a stack are among them. What is not given speaks for the method: names alone are no
        reason against it.
    """
    method = methods.get(name, {})
    if method.get("weak_outputs") == "true":
        return "it learns from outputs of weak rows, which are hidden in use"
    regressor = method.get("regressor")
    if regressor is not None and regressor not in SAVED_REGRESSORS:
        return f"what the regressor {regressor} learns is not kept in a file"
    for member in method.get("members") or ():
        reason = why_not_saved(member, methods)
        if reason:
            return f"its member {member} cannot be saved: {reason}"
    return ""
