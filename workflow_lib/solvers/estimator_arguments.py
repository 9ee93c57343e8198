"""The arguments of an estimator in a grid that has keys of other things, too.

Every command needs this, so that nothing is imported here that takes long.
"""

from collections.abc import Collection, Mapping, Sequence

OF_MODEL = ("n_components", "state_dim")
"""Keys of the grid that belong to the generative model where there is one."""

WEAK_WEIGHT = "weak_weight"
"""Key of the grid that belongs to weak rows where there are some."""

OF_ESTIMATOR = "estimator__"
"""Before the name of a parameter of the estimator that is named like one of these keys."""


def own_arguments(grid: Mapping[str, Sequence], reserved: Collection[str]) -> dict[str, Sequence]:
    """Return the values of the estimator's own arguments; `reserved` are keys of other things."""
    return {
        name.removeprefix(OF_ESTIMATOR): values
        for name, values in grid.items()
        if name not in reserved
    }


def is_classifier(found: type) -> bool:
    """Return whether a class is a classifier, as it says itself."""
    from sklearn.base import ClassifierMixin

    return issubclass(found, ClassifierMixin) or (
        getattr(found, "_estimator_type", None) == "classifier"
    )
