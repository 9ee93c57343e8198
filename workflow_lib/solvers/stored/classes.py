"""The classes whose objects a stored estimator may hold: an exact list, and no prefix of names."""

import sys
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from workflow_lib.core.named_class import imported_class

SAFE_TO_LOAD = "safe_to_load"
"""Attribute by which a class of this library says that a stored estimator may hold its objects:
their attributes are set as they stand in the file, and nothing is called. Other classes of this
library have to be trusted by the user, as those of other packages."""

OF_PACKAGES = {"lightgbm": ("lightgbm.basic.Booster",), "xgboost": ("xgboost.core.Booster",)}
"""Further classes that the estimators of a package hold, for a class that the user trusts."""

_OF_SKLEARN = {
    "sklearn._loss.link": "HalfLogitLink IdentityLink Interval LogitLink LogLink MultinomialLogit",
    "sklearn._loss.loss": "AbsoluteError ExponentialLoss HalfBinomialLoss HalfGammaLoss "
    "HalfMultinomialLoss HalfPoissonLoss HalfSquaredError HalfTweedieLoss HalfTweedieLossIdentity "
    "HuberLoss PinballLoss",
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.gaussian_process._gpc": "_BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels": "CompoundKernel ConstantKernel DotProduct ExpSineSquared "
    "Exponentiation Matern PairwiseKernel Product RBF RationalQuadratic Sum WhiteKernel",
    "sklearn.metrics._dist_metrics": "ChebyshevDistance64 EuclideanDistance64 "
    "ManhattanDistance64 MinkowskiDistance64",
    "sklearn.multiclass": "_ConstantPredictor",
    "sklearn.neighbors._ball_tree": "BallTree",
    "sklearn.neighbors._kd_tree": "KDTree",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
}
_LOSSES = {
    "sklearn._loss._loss": "CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss "
    "CyHalfMultinomialLoss CyHalfPoissonLoss CyHalfSquaredError CyHalfTweedieLoss "
    "CyHalfTweedieLossIdentity CyHuberLoss CyPinballLoss",
    "sklearn.linear_model._sgd_fast": "EpsilonInsensitive Hinge ModifiedHuber "
    "SquaredEpsilonInsensitive SquaredHinge",
}
_FUNCTIONS = {
    "numpy": "mean",
    "sklearn.feature_selection._univariate_selection": "f_classif f_regression",
}
_SPARSE = {f"scipy.sparse._{form}": f"{form}_array {form}_matrix" for form in ("csr", "csc")}


def _names(modules: dict[str, str]) -> frozenset[str]:
    return frozenset(
        f"{module}.{name}" for module, text in modules.items() for name in text.split()
    )


_SCALARS = _names(
    {"numpy": "bool float16 float32 float64 int8 int16 int32 int64 str_ uint8 uint16 uint32 uint64"}
)
_PLAIN = _names({"builtins": "bool float int str", "collections": "OrderedDict"})

CLASSES_OF_NODES = {
    "JsonNode": None,
    "ListNode": _names({"builtins": "list"}),
    "TupleNode": _names({"builtins": "tuple"}),
    "SetNode": _names({"builtins": "set"}),
    "DictNode": _names(
        {"builtins": "dict", "collections": "OrderedDict", "sklearn.utils._bunch": "Bunch"}
    ),
    "DefaultDictNode": _names({"collections": "defaultdict"}),
    "SliceNode": _names({"builtins": "slice"}),
    "BytesNode": _names({"builtins": "bytes"}),
    "BytearrayNode": _names({"builtins": "bytearray"}),
    "NdArrayNode": _SCALARS | _names({"numpy": "ndarray"}),
    "MaskedArrayNode": _names({"numpy.ma": "MaskedArray"}),
    "DTypeNode": _names({"numpy": "dtype"}),
    "RandomStateNode": _names({"numpy.random.mtrand": "RandomState"}),
    "RandomGeneratorNode": _names({"numpy.random._generator": "Generator"}),
    "SparseMatrixNode": _names(_SPARSE),
    "TreeNode": _names({"sklearn.tree._tree": "Tree"}),
    "LossNode": _names(_LOSSES),
    "TypeNode": _PLAIN | _SCALARS,
    "FunctionNode": _names(_FUNCTIONS),
}
"""For every kind of node of skops that is read the names that it may have, with their modules; None
for a plain value, of which the name has no effect. The names of an ``ObjectNode`` are those of
`is_allowed_object`. Methods, partial functions, operators, references and objects that are made by
calling a constructor are refused."""


def is_allowed_object(module: str, name: str, trusted: Collection[str]) -> bool:
    """Return whether a stored estimator may hold objects of a class.

    These are the estimators that scikit-learn lists (`sklearn.utils.all_estimators`), a few classes
    that they hold, the classes of this library that are `SAFE_TO_LOAD`, and those that are
    `trusted`, as from `names_of_classes`. A module is imported only if its class may be allowed.
    """
    full = f"{module}.{name}"
    if full in trusted:
        return True
    if full in _names(_OF_SKLEARN) or full in _estimators():
        return _is_class(module, name)
    if module.partition(".")[0] != "workflow_lib" or not _is_own_module(module):
        return False
    return _is_class(module, name) and getattr(imported_class(full), SAFE_TO_LOAD, False) is True


def names_of_classes(paths: Iterable[str]) -> frozenset[str]:
    """Return the names of the classes that dotted paths name, each with its module, and those of
    the classes that they hold (`OF_PACKAGES`).

    Raises ImportError if a path names nothing.
    """
    found = [imported_class(path) for path in paths]
    names = {f"{each.__module__}.{each.__qualname__}" for each in found}
    packages = {name.partition(".")[0] for name in names}
    return frozenset(names.union(*(OF_PACKAGES.get(package, ()) for package in packages)))


@cache
def _estimators() -> frozenset[str]:
    from sklearn.utils import all_estimators

    return frozenset(f"{found.__module__}.{found.__qualname__}" for _, found in all_estimators())


def _is_class(module: str, name: str) -> bool:
    """Return whether a name stands for a class that says the same of itself."""
    try:
        found: Any = imported_class(f"{module}.{name}")
    except ImportError:
        return False
    return isinstance(found, type) and (found.__module__, found.__qualname__) == (module, name)


def _is_own_module(module: str) -> bool:
    """Return whether a module of this library has a source file; nothing is imported."""
    package, *parts = module.split(".")
    folder = Path(sys.modules[package].__file__).parent
    return all(part.isidentifier() for part in parts) and (
        folder.joinpath(*parts).with_suffix(".py").is_file()
    )
