"""Embedding or raw outputs: the same regressor with and without a generative model, compared.

The methods are those of `workflow_lib.report.regressor_pairs`.
"""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from workflow_lib.protocol.statistics import (
    corrected_resampled_t_test,
    mean_and_deviation,
    paired_t_test,
)
from workflow_lib.report.labels import count_of, format_signed, method_label
from workflow_lib.report.quantities import errors_of
from workflow_lib.report.regressor_pairs import Methods
from workflow_lib.report.results import outside_studies
from workflow_lib.report.variants import SELECTED

RISK = 0.05

COMPARISONS = {"embedding": ("raw", "embedded"), "weak": ("embedded", "weak")}
"""What is compared: the first method of `Methods` is the base of the second."""


def relative_differences(
    scores: Mapping[str, pd.DataFrame],
    experiments: Mapping[str, Mapping],
    pairs: Mapping[str, Sequence],
    methods: Mapping[str, Mapping],
) -> pd.DataFrame:
    """Return a row for each comparison, regressor, experiment and training size.

    Columns: ``comparison`` (a key of `COMPARISONS`), ``regressor``, ``label`` (of the method on
    the outputs themselves), ``experiment``, ``title``, ``is_stand_in``, ``training_size``,
    ``weak_size`` (0 but for ``weak``, where it is the largest), ``method`` and ``base`` (the two
    methods), ``error`` and ``base_error`` (means over the splits), ``n_splits``, ``n_lower``
    (splits on which `method` has the lower error), ``difference_percent`` and
    ``deviation_percent`` (mean and standard deviation over the splits of the difference relative
    to the base on the same split), ``p_student`` and ``p_corrected``.

    `experiments` have ``title``, ``stand_in_for`` and ``metric``, and `pairs` are those of
    `workflow_lib.report.regressor_pairs.pairs_of`. Only selected numbers of components count.
    """
    rows = []
    for name, settings in experiments.items():
        known = {"experiment": name, "title": settings["title"]}
        known["is_stand_in"] = bool(settings.get("stand_in_for"))
        for row in _of_experiment(scores[name], settings.get("metric") or "arrmse", pairs):
            label = method_label(Methods(*pairs[row["regressor"]]).raw, methods)
            rows.append(known | row | {"label": label})
    columns = ["comparison", "regressor", "label", "experiment", "title", "is_stand_in"]
    columns += ["training_size", "weak_size", "method", "base", "error", "base_error", "n_splits"]
    columns += ["n_lower", "difference_percent", "deviation_percent", "p_student", "p_corrected"]
    return pd.DataFrame(rows, columns=columns)


def in_words(found: pd.DataFrame) -> list[str]:
    """Return a sentence for each comparison and regressor."""
    sentences = []
    for (comparison, label), rows in found.groupby(["comparison", "label"], sort=False):
        what = "the embedding" if comparison == "embedding" else "weak rows"
        lower = rows["difference_percent"] < 0
        is_found = rows["p_corrected"] < RISK
        sentences.append(
            f"{label}: with {what} the mean error is lower in {lower.sum()} of "
            f"{count_of(len(rows), 'comparison')} (significantly in {(lower & is_found).sum()}) "
            f"and higher in {(rows['difference_percent'] > 0).sum()} (significantly in "
            f"{(~lower & is_found).sum()}); the differences have the mean "
            f"{format_signed(rows['difference_percent'].mean(), 1)} % and the median "
            f"{format_signed(rows['difference_percent'].median(), 1)} %."
        )
    return sentences


def _of_experiment(
    scores: pd.DataFrame, metric: str, pairs: Mapping[str, Sequence]
) -> Iterator[dict]:
    every = errors_of(outside_studies(scores), metric)
    every = every[every["components"] == SELECTED]
    most = every.groupby("method")["weak_size"].transform("max")
    every = every[every["weak_size"] == most].set_index(["method", "training_size"]).sort_index()
    sizes = every.index.unique("training_size").sort_values()
    for comparison, roles in COMPARISONS.items():
        for learner, names in pairs.items():
            base, method = (getattr(Methods(*names), role) for role in roles)
            for size in sizes:
                if (base, size) in every.index and (method, size) in every.index:
                    yield {
                        "comparison": comparison,
                        "regressor": learner,
                        "method": method,
                        "base": base,
                        "training_size": size,
                        **_compared(every.loc[[(method, size)]], every.loc[[(base, size)]]),
                    }


def _compared(ours: pd.DataFrame, others: pd.DataFrame) -> dict:
    paired = ours.merge(others, on="split", suffixes=("", "_of_base"))
    errors, base = paired["value"], paired["value_of_base"]
    mean, deviation = mean_and_deviation(100.0 * (errors / base - 1.0))
    n_train, n_test = int(paired["n_train"].max()), int(paired["n_test"].max())
    return {
        "weak_size": int(paired["weak_size"].max()),
        "error": errors.mean(),
        "base_error": base.mean(),
        "n_splits": len(paired),
        "n_lower": int((errors < base).sum()),
        "difference_percent": mean,
        "deviation_percent": deviation,
        "p_student": paired_t_test(errors, base).p_value,
        "p_corrected": corrected_resampled_t_test(errors, base, n_train, n_test).p_value,
    }
