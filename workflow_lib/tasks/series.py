"""The task of outputs that are short time series."""

from workflow_lib.tasks.regression import Numbers


class Series(Numbers):
    """An output is a series, whose steps are its numbers."""

    order = 1
    description = "a short time series"
    predicts = "series"
    # A predicted series may lie outside the convex hull of the training series, and so outside
    # the simplex.
    projects_memberships = False
    counts_outputs_apart = False
    methods = ("ofer-gssm", "m-krr", "m-krr-pc", "m-rf", "m-mean")


TASK = Series()
