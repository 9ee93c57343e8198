"""The key ``feature_learner`` of a method: a transformer of the inputs that its fits learn."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from workflow_lib.core.named_class import DOTTED, NamedClass, combinations
from workflow_lib.core.settings import Settings
from workflow_lib.core.values import Flag


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
