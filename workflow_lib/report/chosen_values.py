"""Which kernels the folds chose, and which chosen values lie on the edge of their grid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pandas as pd

from workflow_lib.report.labels import count_of, format_share, join_words, method_label
from workflow_lib.result_columns import FIT


def kernel_sentence(choices: pd.DataFrame, kernel: str) -> str:
    """Return the kernels on the inputs, and how often each was chosen where several competed.

    `choices` are the rows of a ``choices.csv``, and `kernel` is that of the experiment.
    """
    counts = Counter(choices.loc[choices["name"] == "kernel", "value"])
    text = f"Kernel on the inputs: {kernel}"
    if set(counts) <= {kernel}:
        return f"{text}."
    shares = [
        f"{name} in {format_share(count / counts.total())}" for name, count in counts.most_common()
    ]
    return f"{text}; of the fits that record their kernel it is {join_words(shares)}."


def edge_sentence(
    scores: pd.DataFrame, choices: pd.DataFrame, methods: Mapping[str, Mapping]
) -> str:
    """Return which methods have chosen values on the edge of their grid; empty for none.

    Those of the largest training size count. Beyond the edge a better value may lie; where the
    method's kernels are a list, the grid has been extended once already.

    `scores` and `choices` are the rows of a ``scores.csv`` and of a ``choices.csv``.
    """
    at_size = scores[scores["training_size"] == scores["training_size"].max()]
    fits = at_size.drop_duplicates(list(FIT))["method"].value_counts()
    is_edge = (choices["name"] == "edges") & (choices["value"] != "")
    edges = choices[is_edge & (choices["training_size"] == scores["training_size"].max())]
    parts = []
    for method, rows in edges.groupby("method"):
        names = {
            value.strip()
            for text in rows["value"]
            for part in text.split(";")
            for value in part.rpartition(":")[2].split(",")
        }
        label, number = method_label(method, methods), count_of(fits[method], "fit")
        parts.append(f"{label} ({join_words(sorted(names))}) in {len(rows)} of {number}")
    if not parts:
        return ""
    return (
        f"Chosen values that lie on the edge of their grid, beyond which a better one may lie: "
        f"{join_words(parts)}."
    )
