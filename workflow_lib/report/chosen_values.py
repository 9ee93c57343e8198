"""Which kernels the folds chose, and which chosen values lie on the edge of their grid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from workflow_lib.report.labels import count_of, format_share, join_words, method_label
from workflow_lib.report.scores import Score


def kernel_sentence(scores: Sequence[Score], kernel: str) -> str:
    """Return the kernels on the inputs, and how often each was chosen where several competed.

    Parameters
    ----------
    scores : sequence of Score
    kernel : str
        That of the experiment.
    """
    counts = Counter(score.kernel for score in scores if score.kernel)
    text = f"Kernel on the inputs: {kernel}"
    if set(counts) <= {kernel}:
        return f"{text}."
    shares = [
        f"{name} in {format_share(count / counts.total())}" for name, count in counts.most_common()
    ]
    return f"{text}; of the fits that record their kernel it is {join_words(shares)}."


def edge_sentence(scores: Sequence[Score], methods: Mapping[str, Mapping]) -> str:
    """Return which methods have chosen values on the edge of their grid; empty for none.

    Those of the largest training size count. Beyond the edge a better value may lie; where the
    method's kernels are a list, the grid has been extended once already.

    Parameters
    ----------
    scores : sequence of Score
    methods : mapping of method name to mapping
        With their ``label``.
    """
    largest = max(score.training_size for score in scores)
    at_size = [score for score in scores if score.training_size == largest]
    fits = Counter(score.method for score in at_size)
    on_edge = Counter(score.method for score in at_size if score.edges)
    if not on_edge:
        return ""
    parts = []
    for method, count in on_edge.items():
        names = sorted(
            {
                value.strip()
                for score in at_size
                if score.method == method and score.edges
                for part in score.edges.split(";")
                for value in part.rpartition(":")[2].split(",")
            }
        )
        label = method_label(method, methods)
        parts.append(f"{label} ({join_words(names)}) in {count} of {count_of(fits[method], 'fit')}")
    return (
        f"Chosen values that lie on the edge of their grid, beyond which a better one may lie: "
        f"{join_words(parts)}."
    )
