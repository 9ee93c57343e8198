"""A method by the name of its module, after the step that changes its inputs, if any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workflow_lib.core.plugins import INPUT_STEPS, METHODS

if TYPE_CHECKING:
    from workflow_lib.methods.contract.base import Fitted, Method

LEARNER, LEARNED_FEATURES = "feature_learner", "learned_features"
"""The key of a method with a learner of features, and the step that only such methods load."""

SCORES, STORED_SCORES = "score_space", "stored_scores"
"""The key of a method on scores of generative models, and the step for these methods alone."""


def method_of(module: str, settings: Mapping[str, Any]) -> Method:
    """Return the method of a module, on learned features or on scores where its settings say so.

    Parameters
    ----------
    module : str
    settings : mapping
        Fields of its ``Method``; and `LEARNER` with the arguments of ``OnLearnedFeatures`` besides
        the method, or `SCORES` with those of ``OnStoredScores``.
    """
    own = {name: value for name, value in settings.items() if name not in (LEARNER, SCORES)}
    method = METHODS.load(module).Method(**own)
    if LEARNER in settings:
        return INPUT_STEPS.load(LEARNED_FEATURES).OnLearnedFeatures(method, **settings[LEARNER])
    if SCORES in settings:
        return INPUT_STEPS.load(STORED_SCORES).OnStoredScores(method, **settings[SCORES])
    return method


def saved_fit(module: str, arrays: Mapping[str, Any]) -> Fitted:
    """Return the fitted method of a module that its `to_arrays` described."""
    fitted = METHODS.load(module).Fitted
    if LEARNER in arrays:
        return INPUT_STEPS.load(LEARNED_FEATURES).Fitted.from_arrays(arrays, fitted)
    if SCORES in arrays:
        return INPUT_STEPS.load(STORED_SCORES).Fitted.from_arrays(arrays, fitted)
    return fitted.from_arrays(arrays)
