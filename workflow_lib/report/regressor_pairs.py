"""Pairs of methods with one regressor: one predicts the outputs, the other embeddings."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

MIN_REGRESSORS = 2
"""With a single pair, the differences from the reference method say the same."""

SAME_CLASSES = {
    "extra_trees": "sklearn.ensemble.ExtraTreesRegressor",
    "random_forest": "sklearn.ensemble.RandomForestRegressor",
}
"""Regressors of the workflow, and the class of an estimator that is the same."""


class Methods(NamedTuple):
    """The methods with one regressor; ``weak`` is None where none learns from weak rows."""

    raw: str
    embedded: str
    weak: str | None


def pairs_of(
    methods: Mapping[str, Mapping], compared: Iterable[Sequence[str]]
) -> dict[str, Methods]:
    """Return the methods of each regressor that has a pair; none with fewer regressors than two.

    Parameters
    ----------
    methods : mapping from names to mappings
        ``regressor``, ``estimator``, ``form``, ``weak``, ``weak_outputs`` and ``decoder`` of each
        method, as in its file.
    compared : iterable of sequences of str
        The methods of each experiment. Of several methods with the same regressor and the same
        targets the first counts.
    """
    found: dict[str, dict[str, str]] = {}
    for name in dict.fromkeys(name for names in compared for name in names):
        method = methods[name]
        if method["weak_outputs"] or method["decoder"] or (method["weak"] and not method["form"]):
            continue
        learner = method["estimator"] or method["regressor"]
        role = "weak" if method["weak"] else "embedded" if method["form"] else "raw"
        found.setdefault(SAME_CLASSES.get(learner, learner), {}).setdefault(role, name)
    pairs = {
        learner: Methods(roles["raw"], roles["embedded"], roles.get("weak"))
        for learner, roles in found.items()
        if {"raw", "embedded"} <= set(roles)
    }
    return pairs if len(pairs) >= MIN_REGRESSORS else {}
