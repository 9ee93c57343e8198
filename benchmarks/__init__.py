"""Benchmarks: the speed of the library beside others', and the coverage of its intervals.

A benchmark is a module named in `TITLES`, with a function ``measurements(quick)``, which lists what
is measured, and the functions that it names, which return rows (`benchmarks.measuring.row`).
"""

TITLES = {
    "box_search": "Branch and bound for boxes in images",
    "em_of_series": "EM for series and sequences",
    "fisher_scores": "Fisher scores and vectors",
    "interval_coverage": "Coverage of intervals",
    "linear_penalties": "Linear penalties",
    "matrix_factorisation": "Matrix factorisation of a stream of rows",
    "random_features": "Many rows",
    "selection": "Selection",
    "structured_machine": "The structured support vector machine",
    "support_training": "Training of joint kernel support",
}
