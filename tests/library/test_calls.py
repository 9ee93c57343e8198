"""Calls of the public classes with arrays and parameters of other kinds than they take."""

import inspect

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from each_case import each_case
from paper_folders import paper_modules
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted
from small_data import regression_data

import workflow_lib
from workflow_lib import (
    FisherEmbedding,
    GaussianMixtureModel,
    GaussianModel,
    IOKRegressor,
    KernelRidgeClassifierCV,
    KernelRidgeRegressor,
    KernelRidgeRegressorCV,
    LandmarkRegressorCV,
    OnlineGaussianMixtureModel,
    OutputFisherRegressor,
    OutputFisherRegressorCV,
    StackClassifier,
    StackRegressor,
    StateSpaceModel,
)

X, Y = regression_data(20)
Y = np.abs(Y[:, :2]) + 0.1
SERIES = np.cumsum(np.random.default_rng(0).normal(size=(20, 8)), axis=1)
MIXTURE = GaussianMixtureModel(2, n_init=1).fit(Y)
EMBEDDED = FisherEmbedding(MIXTURE).transform(Y)

OF_ROWS = ("fit", "score_samples", "responsibilities")
OFER = OutputFisherRegressor(MIXTURE, alpha={"pi": 1.0, "mu": 1.0})

LABELS = np.where(Y[:, 0] > np.median(Y[:, 0]), "high", "low")
GRID = {"kernels": ["rbf"], "widths": [1.0], "alphas": [1e-3, 1e-2]}

OF_PAPERS = paper_modules("samples/calls.py")

CASES = {
    "gaussian": (GaussianModel(), Y, OF_ROWS),
    "mixture": (GaussianMixtureModel(2, n_init=1), Y, OF_ROWS),
    "in batches": (GaussianMixtureModel(2, n_init=1, batch_size=8), Y, OF_ROWS),
    "online": (OnlineGaussianMixtureModel(2), Y, (*OF_ROWS, "partial_fit")),
    "series": (StateSpaceModel(1, n_iter=2, n_init=1), SERIES, (*OF_ROWS[:2], "filter", "smooth")),
    "embedding": (FisherEmbedding(MIXTURE), Y, ("fit", "transform")),
    "pre-image": (FisherEmbedding(MIXTURE), EMBEDDED, ("inverse_transform",)),
    "kernel ridge": (KernelRidgeRegressor(), X, ("fit", "predict", "score")),
    "iokr": (IOKRegressor(), X, ("fit", "predict", "predict_weights")),
    "ofer": (OFER, X, ("fit", "predict", "predict_embedding")),
    "kernel ridge, chosen": (KernelRidgeRegressorCV(**GRID), X, ("fit", "predict", "score")),
    "ofer, chosen": (OutputFisherRegressorCV(2, n_init=1, **GRID), X, ("fit", "predict")),
    "landmarks": (LandmarkRegressorCV(**GRID), X, ("fit", "predict", "score")),
    "stack": (StackRegressor(["ridge"]), X, ("fit", "predict", "transform")),
    "classes, chosen": (KernelRidgeClassifierCV(**GRID), X, ("fit", "predict")),
    "stack of classes": (StackClassifier(["class-krr"]), X, ("fit", "predict", "predict_proba")),
    **{name: case for module in OF_PAPERS for name, case in module.CASES.items()},
}
"""Name -> an estimator, the items that it takes, and the methods that take them."""

REGRESSORS = ("kernel ridge", "iokr", "ofer")
CHOSEN = ("kernel ridge, chosen", "ofer, chosen", "landmarks", "stack")
OF_CLASSES = ("classes, chosen", "stack of classes")
CLASSIFIERS = {name: labels for module in OF_PAPERS for name, labels in module.CLASSIFIERS.items()}
CLASSIFIERS |= dict.fromkeys(OF_CLASSES, LABELS)
"""Name of a case -> the classes of its items."""
TARGETS = CLASSIFIERS | dict.fromkeys(REGRESSORS + CHOSEN, Y)
"""Name of a case -> what it learns from beside its items."""
WITH_TARGET = {"fit", "partial_fit", "score", "objective"}


@pytest.fixture(scope="module")
def fitted():
    return {
        name: clone(estimator).fit(items, TARGETS.get(name))
        for name, (estimator, items, _) in CASES.items()
        if name != "pre-image"
    } | {"pre-image": FisherEmbedding(MIXTURE)}


def call(fitted, name: str, method: str, items):
    """Call a method with these items; `fit` that of an estimator that is not fitted."""
    estimator = clone(CASES[name][0]) if method == "fit" else fitted[name]
    targets = (TARGETS[name],) if method in WITH_TARGET and name in TARGETS else ()
    return getattr(estimator, method)(items, *targets)


def with_value(array, value, dtype):
    changed = np.asarray(array).astype(dtype)
    changed[(0,) * changed.ndim] = value
    return changed


def masked(array):
    return np.ma.masked_array(array, mask=np.arange(array.size).reshape(array.shape) == 0)


FAULTS = {
    "complex": lambda array: array + 1j,
    "text": lambda array: array.astype(str),
    "text among objects": lambda array: with_value(array, "many", object),
    "number as text": lambda array: with_value(array, "1", object),
    "objects": lambda array: with_value(array, {"a": 1}, object),
    "dates": lambda array: array.astype(int).astype("M8[s]"),
    "infinity": lambda array: with_value(array, np.inf, float),
    "masked": masked,
    "sparse": scipy.sparse.csr_array,
    "one axis more": lambda array: array[None, None],
    "no rows": lambda array: array[:0],
    "no columns": lambda array: array[:, :0],
    "other width": lambda array: array[:, :-1],
}
ALLOWED = {
    ("series", "masked"): "missing",
    ("series", "other width"): "series of other lengths",
    ("pre-image", "no rows"): "no embeddings have no outputs",
    **dict.fromkeys([(name, "masked") for name in CHOSEN + OF_CLASSES], "missing"),
    **{case: reason for module in OF_PAPERS for case, reason in module.ALLOWED.items()},
}


@each_case("name", CASES)
@each_case("fault", FAULTS)
@pytest.mark.filterwarnings("ignore:.*components were asked for")
def test_arrays_of_other_kinds_are_refused(fitted, name, fault):
    _, items, methods = CASES[name]
    if (name, fault) in ALLOWED:
        return
    wrong = FAULTS[fault]
    wrong = [wrong(items[0]), *items[1:]] if isinstance(items, list) else wrong(items)
    for method in methods:
        # Another width is right in fit, where it is that of all.
        if fault == "other width" and method == "fit" and not isinstance(items, list):
            continue
        # scikit-learn's own checks of inputs.
        is_checked = name in REGRESSORS + CHOSEN + OF_CLASSES
        errors = (ValueError, TypeError) if is_checked else ValueError
        with pytest.raises(errors):
            call(fitted, name, method, wrong)


WEAK = (X[:2], np.array([[1.0, 0.0], [0.5, 0.5]]))
SHARES = Y / Y.sum(axis=1, keepdims=True)
SECOND = {
    "outputs": [(CASES[name][0], lambda model, Y: model.fit(X, Y), Y) for name in REGRESSORS],
    "outputs with gaps": [(CASES[name][0], lambda model, Y: model.fit(X, Y), Y) for name in CHOSEN],
    "scored outputs": [(KernelRidgeRegressor().fit(X, Y), lambda model, Y: model.score(X, Y), Y)],
    "candidates": [(IOKRegressor().fit(X, Y), lambda model, Y: model.predict(X, Y), Y)],
    "weak inputs": [(OFER, lambda model, X_weak: model.fit(X, Y, X_weak, WEAK[1]), WEAK[0])],
    "weak memberships": [(OFER, lambda model, weak: model.fit(X, Y, WEAK[0], weak), WEAK[1])],
    "outputs without inputs": [(OFER, lambda model, more: model.fit(X, Y, Y_unpaired=more), Y)],
    "memberships": [
        (
            MIXTURE,
            lambda model, q: clone(model).fit_from_responsibilities(Y, q),
            Y / Y.sum(1)[:, None],
        )
    ],
    **{name: calls for module in OF_PAPERS for name, calls in module.SECOND.items()},
}
"""Name -> a model, a call with an array beside the items, and that array."""

SECOND_FAULTS = {
    **{name: FAULTS[name] for name in ("complex", "text", "text among objects", "dates")},
    **{name: FAULTS[name] for name in ("infinity", "masked", "one axis more")},
    "NaN": lambda array: with_value(array, np.nan, float),
    "sparse": lambda array: scipy.sparse.csr_array(np.atleast_2d(array)),
    "other number of rows": lambda array: array[:-1],
    "negative": lambda array: -array,
}
SECOND_ALLOWED = {
    *((name, "negative") for name in ("outputs", "scored outputs", "candidates", "weak inputs")),
    ("outputs without inputs", "negative"),
    *(("outputs with gaps", fault) for fault in ("NaN", "masked", "negative")),
    ("candidates", "other number of rows"),
    ("outputs without inputs", "other number of rows"),
}


@each_case("name", SECOND)
@each_case("fault", SECOND_FAULTS)
def test_second_arrays_of_other_kinds_are_refused(name, fault):
    if (name, fault) in SECOND_ALLOWED:
        return
    for model, use, values in SECOND[name]:
        use(model, values)
        with pytest.raises((ValueError, TypeError) if fault == "sparse" else ValueError):
            use(model, SECOND_FAULTS[fault](values))


def test_masked_values_are_missing_where_a_model_knows_missing_values():
    hidden = np.random.default_rng(1).random(SERIES.shape) < 0.1
    with_nan = np.where(hidden, np.nan, SERIES)
    model = CASES["series"][0]
    for given in (np.ma.masked_array(SERIES, hidden), list(np.ma.masked_array(SERIES, hidden))):
        found = clone(model).fit(given)
        np.testing.assert_array_equal(
            found.score_samples(given), clone(model).fit(with_nan).score_samples(with_nan)
        )


@each_case("name", sorted(set(CASES) - set(TARGETS) - {"pre-image"}))
def test_an_ignored_second_argument_is_no_other_argument(name):
    estimator, items, _ = CASES[name]
    with pytest.raises(ValueError, match="20 items"):
        clone(estimator).fit(items, [10, 10])


def assert_other_columns_are_refused(model, method: str, frame: pd.DataFrame) -> None:
    """Assert that a model knows the columns on which it was fitted by their names."""
    model.fit(frame)
    getattr(model, method)(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        getattr(model, method)(frame[frame.columns[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        getattr(model, method)(frame.to_numpy())


def test_frames_of_other_columns_are_refused():
    frame = pd.DataFrame(Y, columns=["a", "b"])
    for model, method in (
        (GaussianModel(), "score_samples"),
        (GaussianMixtureModel(2), "responsibilities"),
        (GaussianMixtureModel(2, batch_size=8), "score_samples"),
        (OnlineGaussianMixtureModel(2), "partial_fit"),
        (StateSpaceModel(1, n_iter=2, n_init=1), "smooth"),
    ):
        assert_other_columns_are_refused(model, method, frame)


ODD = {
    "text": "scale",
    "list": [0.1, 1.0],
    "array": np.array([0.1, 1.0]),
    "NaN": np.nan,
    "object": object(),
    "negative": -1.5,
    "fraction": 2.5,
    "whole as fraction": 2.0,
    "flag": True,
    "None": None,
}
ANY_VALUE = {"random_state": {"None"}, "tol": {"negative"}}
ANY_VALUE |= dict.fromkeys(("alphas", "widths", "weak_weights"), {"list", "array"})
"""Odd values that mean something, for parameters beside those whose default they are like."""
NUMBERS = {"fraction", "whole as fraction"}
CLASSES_CHECKED = {
    name: value for name, (value, *_) in CASES.items() if name not in ("embedding", "pre-image")
}


def meaning(parameter: str, default) -> set[str]:
    """Return the odd values that a parameter with this default takes."""
    if isinstance(default, bool):
        return {"flag"}
    if isinstance(default, float):
        return NUMBERS
    return {"None"} if default is None else set()


@each_case("name", CLASSES_CHECKED)
def test_odd_parameters_are_named(name):
    estimator, items = CASES[name][:2]
    parameters = inspect.signature(type(estimator).__init__).parameters
    defaults = {key: value.default for key, value in parameters.items() if key != "self"}
    not_checked = set(defaults) - set(estimator.allowed)
    assert not_checked <= {"model", "models"}, "each parameter has a check"
    targets = () if name not in TARGETS else (TARGETS[name],)
    for parameter in estimator.allowed:
        takes = meaning(parameter, defaults[parameter]) | ANY_VALUE.get(parameter, set())
        if parameter in ("gamma", "output_gamma", "max_gram_rows", "step"):
            takes |= NUMBERS
        if parameter in ("divide_by_length",):
            takes |= {"flag"}
        for kind in set(ODD) - takes:
            odd = clone(estimator).set_params(**{parameter: ODD[kind]})
            with pytest.raises(ValueError, match=f"^{parameter} must"):
                odd.fit(items, *targets)


def test_numbers_of_numpy_are_numbers():
    model = GaussianMixtureModel(
        np.int64(2), variance_floor=np.float32(0.1), n_init=np.uint8(1), random_state=np.int32(3)
    )
    assert model.fit(Y).n_components_ == 2
    assert KernelRidgeRegressor(gamma=np.float32(1), center=np.True_).fit(X, Y).predict(X).shape


@each_case("name", CLASSES_CHECKED)
def test_tools_of_scikit_learn_take_every_class(fitted, name):
    estimator, items, _ = CASES[name]
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(estimator))
    check_is_fitted(fitted[name])
    assert type(estimator).__name__ in make_pipeline(clone(estimator))._repr_html_()
    assert type(estimator).__name__ in clone(estimator)._repr_html_()
    method = next(each for each in CASES[name][2] if each not in WITH_TARGET)
    with pytest.raises(NotFittedError):
        getattr(clone(estimator), method)(items)
    assert is_classifier(estimator) == (name in CLASSIFIERS)


def assert_searched(model, grid: dict, items) -> None:
    """Assert that the search of scikit-learn chooses the parameters of a model by likelihood."""
    search = GridSearchCV(
        model, grid, cv=2, scoring=lambda model, items, y=None: model.score_samples(items).mean()
    )
    assert search.fit(items).best_params_.keys() == grid.keys()


def test_searches():
    assert_searched(GaussianMixtureModel(n_init=1), {"n_components": [1, 2]}, Y)
    assert_searched(StateSpaceModel(n_iter=2, n_init=1), {"state_dim": [1, 2]}, SERIES)


def test_every_public_class_is_called_here():
    called = {type(estimator).__name__ for estimator, *_ in CASES.values()}
    assert called == {
        name for name in workflow_lib.__all__ if hasattr(getattr(workflow_lib, name), "set_params")
    }
