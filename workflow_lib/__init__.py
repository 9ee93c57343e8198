"""Output Fisher Embedding Regression and everything its evaluation computes.

The public names load on first use, so that a job imports only what it runs.
"""

from __future__ import annotations

from importlib import import_module

_HOMES = {
    "GaussianModel": "workflow_lib.models.mixtures.gaussian",
    "GaussianMixtureModel": "workflow_lib.models.mixtures.mixture",
    "OnlineGaussianMixtureModel": "workflow_lib.models.mixtures.online_mixture",
    "FisherVectorNetwork": "workflow_lib.papers.palasek.fisher_network",
    "FisherEmbedding": "workflow_lib.models.fisher",
    "TopicModel": "workflow_lib.papers.perina.topic_model",
    "ScoreSpace": "workflow_lib.papers.perina.score_space",
    "IOKRegressor": "workflow_lib.solvers.iokr",
    "StateSpaceModel": "workflow_lib.models.state_spaces.state_space",
    "HiddenMarkovModel": "workflow_lib.papers.perina.hidden_markov.model",
    "KernelRidgeRegressor": "workflow_lib.solvers.kernel_ridge",
    "OutputFisherRegressor": "workflow_lib.estimators.output_fisher",
    "SavedModel": "workflow_lib.table.saved_model",
    "load_model": "workflow_lib.table.saved_model",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'workflow_lib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
