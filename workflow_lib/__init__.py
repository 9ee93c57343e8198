"""Output Fisher Embedding Regression and everything its evaluation computes.

The public names load on first use, so that a job imports only what it runs.
"""

from __future__ import annotations

from importlib import import_module

_HOMES = {
    "GaussianModel": "workflow_lib.generative.gaussian",
    "GaussianMixtureModel": "workflow_lib.generative.mixture",
    "OnlineGaussianMixtureModel": "workflow_lib.generative.online_mixture",
    "FisherVectorNetwork": "workflow_lib.fisher_network",
    "FisherEmbedding": "workflow_lib.embeddings.fisher",
    "TopicModel": "workflow_lib.generative.topic_model",
    "ScoreSpace": "workflow_lib.embeddings.score_space",
    "IOKRegressor": "workflow_lib.baselines.iokr",
    "StateSpaceModel": "workflow_lib.generative.state_space",
    "HiddenMarkovModel": "workflow_lib.generative.hidden_markov",
    "KernelRidgeRegressor": "workflow_lib.regression.kernel_ridge",
    "OutputFisherRegressor": "workflow_lib.ofer",
    "SavedModel": "workflow_lib.experiments.saved_model",
    "load_model": "workflow_lib.experiments.saved_model",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'workflow_lib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
