"""The key ``score_space`` of a method: what generative models see in an input is its input."""

from __future__ import annotations

from typing import Literal

from workflow_lib.core.settings import Settings
from workflow_lib.core.values import Flag, Name


class ScoreSpaceSettings(Settings):
    """A map from sequences or bags to vectors, by generative models of them.

    See `workflow_lib.papers.perina.score_space.ScoreSpace`."""

    models: Name
    """The generative model of the inputs, a file of `config/input_models`."""

    kind: Literal["free_energy", "fisher", "top", "expected_counts", "log_likelihood"] = (
        "free_energy"
    )
    """The terms of the free energy, the derivatives of the log-likelihood in the parameters
    (`fisher`), the log odds of the classes with their derivatives (`top`), the expected sufficient
    statistics, or the log-likelihoods alone."""

    level: Literal["position", "state", "symbol", "term"] = "state"
    """How far free energies and counts are summed: not at all (`position`, for sequences of one
    length), over the steps (`state`), the same with emissions by letter (`symbol`), or to one
    number for each block (`term`)."""

    posterior: Literal["exact", "mean_field"] = "exact"
    """The posterior of the hidden states: exact, or independent steps."""

    parametrization: Literal["softmax", "free"] = "softmax"
    """Of Fisher scores: in the logits of probabilities, or in the probabilities as if they need not
    sum to one."""

    divide_by_length: Flag | None = None
    """Whether vectors are divided by the length of the input; null (the default): free energies and
    counts that are summed over steps are, nothing else is."""

    standardise: Flag = True
    """Whether each column gets mean 0 and variance 1 over the training rows of its fold, as for all
    maps that are compared."""
