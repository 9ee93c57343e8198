"""The key ``feature_learner`` of a method: a transformer of the inputs that its fits learn."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from workflow_lib.config.base import Settings
from workflow_lib.config.values import Flag
from workflow_lib.named_class import DOTTED, NamedClass, combinations


class FeatureLearner(Settings):
    """A transformer of the prepared inputs, learned in each fold from inputs alone."""

    transformer: Annotated[str, Field(pattern=DOTTED)]
    """The class, with its module, such as `sklearn.decomposition.PCA`. One that takes no negative
    values gets inputs that are divided by their standard deviations, but not centred."""

    settings: dict[str, Any] = {}
    """Arguments of the class that do not change, as those of the regressor `estimator`."""

    grid: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = {}
    """Values of arguments that compete, each with everything that the method itself selects."""

    unlabelled: Flag = True
    """Whether the inputs of weak rows are learned from too, where the experiment has `weak_sizes`:
    the method then has a fit for each of them."""

    def named_class(self) -> NamedClass:
        """Return the class with its arguments."""
        return NamedClass(
            "feature_learner.transformer",
            self.transformer,
            ("fit", "transform", "get_params", "set_params"),
            "a transformer",
            self.settings,
            combinations(self.grid),
            before="feature_learner.",
        )
