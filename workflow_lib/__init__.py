"""Output Fisher Embedding Regression and everything its evaluation computes.

The public names load on first use, so that a job imports only what it runs.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

_HOMES = {
    "GaussianModel": "workflow_lib.models.mixtures.gaussian",
    "GaussianMixtureModel": "workflow_lib.models.mixtures.mixture",
    "OnlineGaussianMixtureModel": "workflow_lib.models.mixtures.online_mixture",
    "FisherEmbedding": "workflow_lib.models.fisher",
    "IOKRegressor": "workflow_lib.solvers.iokr",
    "StateSpaceModel": "workflow_lib.models.state_spaces.state_space",
    "KernelRidgeRegressor": "workflow_lib.solvers.kernel_ridge",
    "OutputFisherRegressor": "workflow_lib.estimators.output_fisher",
    "KernelRidgeRegressorCV": "workflow_lib.estimators.cross_validated",
    "KernelRidgeClassifierCV": "workflow_lib.estimators.cross_validated",
    "OutputFisherRegressorCV": "workflow_lib.estimators.cross_validated",
    "LandmarkRegressorCV": "workflow_lib.estimators.landmark_regressor",
    "open_columns": "workflow_lib.tabular.stored_columns",
    "StackRegressor": "workflow_lib.estimators.stacks",
    "StackClassifier": "workflow_lib.estimators.stacks",
    "UserError": "workflow_lib.core.errors",
    "SavedModel": "workflow_lib.table.saved_model",
    "load_model": "workflow_lib.table.saved_model",
    "compare": "workflow_lib.table.comparison",
    "accuracy_interval": "workflow_lib.uncertainty.accuracy_interval",
}


@cache
def _homes() -> dict[str, str]:
    """Return the module of every public name: those above, and `PUBLIC_NAMES` of each paper."""
    homes = dict(_HOMES)
    for path in Path(__file__).parent.glob("papers/*/__init__.py"):
        package = f"{__name__}.papers.{path.parent.name}"
        names = getattr(import_module(package), "PUBLIC_NAMES", {})
        homes |= {name: f"{package}.{module}" for name, module in names.items()}
    return homes


def __getattr__(name: str):
    if name == "__all__":
        return sorted(_homes())
    if name == "__version__":
        return import_module("importlib.metadata").version("output-fisher-regression")
    if not name.startswith("_") and name in _homes():
        return getattr(import_module(_homes()[name]), name)
    raise AttributeError(f"module 'workflow_lib' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_homes()])
