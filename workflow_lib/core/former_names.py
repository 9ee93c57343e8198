"""Former names of modules with classes that YAML files and saved models name."""

from __future__ import annotations

_FORMER_MODULES = {
    "baselines.iokr": "solvers.iokr",
    "baselines.position_naive_bayes": "solvers.position_naive_bayes",
    "embeddings.averaged_kernels": "papers.blaschko.averaged_kernels",
    "embeddings.bag_shares": "inputs.bag_shares",
    "embeddings.fisher": "models.fisher",
    "embeddings.forward": "models.forward",
    "embeddings.identity": "models.identity",
    "embeddings.mixture": "models.mixtures.scores",
    "embeddings.neighbour_graphs": "papers.blaschko.neighbour_graphs",
    "embeddings.numbers_beside": "papers.blaschko.extra_features",
    "embeddings.score_space": "papers.perina.score_space",
    "embeddings.scores": "models.scores",
    "embeddings.sequence_length": "inputs.sequence_length",
    "embeddings.standardised": "inputs.standardised",
    "embeddings.state_space": "models.state_spaces.scores",
    "embeddings.weisfeiler_lehman": "papers.blaschko.weisfeiler_lehman",
    "embeddings.weisfeiler_lehman_pyramid": "papers.blaschko.weisfeiler_lehman_pyramid",
    "embeddings.word_shares": "inputs.word_shares",
    "features.tangent_space": "inputs.tangent_space",
    "fisher_network": "papers.palasek.fisher_network",
    "generative.covariance": "models.covariance",
    "generative.gaussian": "models.mixtures.gaussian",
    "generative.hidden_markov": "papers.perina.hidden_markov.model",
    "generative.mixture": "models.mixtures.mixture",
    "generative.online_mixture": "models.mixtures.online_mixture",
    "generative.state_space": "models.state_spaces.state_space",
    "generative.topic_model": "papers.perina.topic_model",
    "ofer": "estimators.output_fisher",
    "parameters": "core.parameters",
    "regression.gaussian_process": "solvers.gaussian_process",
    "regression.kernel_ridge": "solvers.kernel_ridge",
    "regression.pretrained": "solvers.pretrained",
}


def current_module(module: str) -> str:
    """Return the present name of a module, which may be given by a former one.

    Examples
    --------
    >>> current_module("workflow_lib.features.tangent_space")
    'workflow_lib.inputs.tangent_space'
    """
    package, _, rest = module.partition(".")
    if package != "workflow_lib" or rest not in _FORMER_MODULES:
        return module
    return f"{package}.{_FORMER_MODULES[rest]}"
