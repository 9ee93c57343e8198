"""Calls of the public classes with arrays and parameters of other kinds than they take."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from each_case import each_case
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted
from small_data import regression_data

import workflow_lib
from workflow_lib import (
    FisherEmbedding,
    FisherVectorNetwork,
    GaussianMixtureModel,
    GaussianModel,
    HiddenMarkovModel,
    IOKRegressor,
    KernelRidgeRegressor,
    OnlineGaussianMixtureModel,
    OutputFisherRegressor,
    ScoreSpace,
    StateSpaceModel,
    TopicModel,
)
from workflow_lib.core.convergence import GAP_AT_LIMIT, gap_at_limit
from workflow_lib.papers.blaschko import linear_structured_svm
from workflow_lib.papers.blaschko.linear_structured_svm import LinearStructuredSVM
from workflow_lib.papers.blaschko.preference_constraints import PreferenceGraph
from workflow_lib.papers.blaschko.ranking_machine import RankingMachine
from workflow_lib.papers.blaschko.structured_machine import fit_structured_machine

X, Y = regression_data(20)
Y = np.abs(Y[:, :2]) + 0.1
SERIES = np.cumsum(np.random.default_rng(0).normal(size=(20, 8)), axis=1)
COUNTS = np.random.default_rng(0).integers(1, 5, size=(20, 3)).astype(float)
BAGS = [np.random.default_rng(i).normal(i % 2, 1, (5, 2)) for i in range(20)]
CLASSES = np.arange(20) % 2
MIXTURE = GaussianMixtureModel(2, n_init=1).fit(Y)
EMBEDDED = FisherEmbedding(MIXTURE).transform(Y)

OF_ROWS = ("fit", "score_samples", "responsibilities")
OF_SEQUENCES = ("fit", "score_samples", "posteriors")
OF_BAGS = ("fit", "partial_fit", "objective", "score", "transform", "predict")
LETTERS = [bag[:, 0].astype(int).clip(0) for bag in BAGS]
OFER = OutputFisherRegressor(MIXTURE, alpha={"pi": 1.0, "mu": 1.0})

CASES = {
    "gaussian": (GaussianModel(), Y, OF_ROWS),
    "mixture": (GaussianMixtureModel(2, n_init=1), Y, OF_ROWS),
    "in batches": (GaussianMixtureModel(2, n_init=1, batch_size=8), Y, OF_ROWS),
    "online": (OnlineGaussianMixtureModel(2), Y, (*OF_ROWS, "partial_fit")),
    "series": (StateSpaceModel(1, n_iter=2, n_init=1), SERIES, (*OF_ROWS[:2], "filter", "smooth")),
    "topics": (TopicModel(2, max_iter=2), COUNTS, (*OF_ROWS[:2], "proportions")),
    "embedding": (FisherEmbedding(MIXTURE), Y, ("fit", "transform")),
    "pre-image": (FisherEmbedding(MIXTURE), EMBEDDED, ("inverse_transform",)),
    "letters": (HiddenMarkovModel(2, n_init=1, max_iter=2), LETTERS, OF_SEQUENCES),
    "vectors": (HiddenMarkovModel(2, "gaussian", n_init=1, max_iter=2), BAGS, OF_SEQUENCES),
    "score space": (ScoreSpace(TopicModel(2, max_iter=2)), COUNTS, ("fit", "transform")),
    "network": (FisherVectorNetwork(2, n_epochs=1), BAGS, OF_BAGS),
    "kernel ridge": (KernelRidgeRegressor(), X, ("fit", "predict", "score")),
    "iokr": (IOKRegressor(), X, ("fit", "predict", "predict_weights")),
    "ofer": (OFER, X, ("fit", "predict", "predict_embedding")),
}
"""Name -> an estimator, the items that it takes, and the methods that take them."""

REGRESSORS = ("kernel ridge", "iokr", "ofer")
WITH_TARGET = {"fit", "partial_fit", "score", "objective"}


def target_of(name: str):
    """Return what a case learns from beside its items."""
    return {"network": CLASSES, **dict.fromkeys(REGRESSORS, Y)}.get(name)


@pytest.fixture(scope="module")
def fitted():
    return {
        name: clone(estimator).fit(items, target_of(name))
        for name, (estimator, items, _) in CASES.items()
        if name != "pre-image"
    } | {"pre-image": FisherEmbedding(MIXTURE)}


def call(fitted, name: str, method: str, items):
    """Call a method with these items; `fit` that of an estimator that is not fitted."""
    estimator = clone(CASES[name][0]) if method == "fit" else fitted[name]
    targets = (target_of(name),) if method in WITH_TARGET and target_of(name) is not None else ()
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
    ("letters", "masked"): "unknown",
    ("topics", "sparse"): "documented",
    ("score space", "sparse"): "documented",
    ("series", "other width"): "series of other lengths",
    ("pre-image", "no rows"): "no embeddings have no outputs",
    ("letters", "no columns"): "a sequence has one axis",
    ("letters", "other width"): "a sequence has one axis",
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
        errors = (ValueError, TypeError) if name in REGRESSORS else ValueError
        with pytest.raises(errors):
            call(fitted, name, method, wrong)


WEAK = (X[:2], np.array([[1.0, 0.0], [0.5, 0.5]]))
SHARES = Y / Y.sum(axis=1, keepdims=True)
NETWORK = FisherVectorNetwork(2, n_epochs=0)
SECOND = {
    "outputs": [(CASES[name][0], lambda model, Y: model.fit(X, Y), Y) for name in REGRESSORS],
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
    "weights": [(NETWORK, lambda model, w: model.fit(BAGS, CLASSES, sample_weight=w), np.ones(20))],
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
    letters = np.array([[0, 1, 1], [1, 0, 1]])
    unknown = np.where(hidden[:2, :3], -1, letters)
    given = np.ma.masked_array(letters, hidden[:2, :3])
    model = HiddenMarkovModel(2, n_symbols=2, max_iter=2)
    np.testing.assert_array_equal(
        clone(model).fit(given).initial_, clone(model).fit(unknown).initial_
    )


@each_case("name", sorted(set(CASES) - set(REGRESSORS) - {"network", "pre-image"}))
def test_an_ignored_second_argument_is_no_other_argument(name):
    estimator, items, _ = CASES[name]
    with pytest.raises(ValueError, match="20 items"):
        clone(estimator).fit(items, [10, 10])


def test_a_column_that_may_be_one_sequence_is_refused():
    column = np.array([0, 1] * 5)[:, None]
    for emission in ("categorical", "gaussian"):
        model = HiddenMarkovModel(2, emission, max_iter=2)
        with pytest.raises(ValueError, match="may be one sequence"):
            model.fit(column)
        assert model.fit([column[:, 0]]).score_samples([column[:, 0]]).shape == (1,)


def test_frames_of_other_columns_are_refused():
    frame = pd.DataFrame(Y, columns=["a", "b"])
    counts = pd.DataFrame(COUNTS, columns=["a", "b", "c"])
    for model, given, method in (
        (GaussianModel(), frame, "score_samples"),
        (GaussianMixtureModel(2), frame, "responsibilities"),
        (GaussianMixtureModel(2, batch_size=8), frame, "score_samples"),
        (OnlineGaussianMixtureModel(2), frame, "partial_fit"),
        (TopicModel(2, max_iter=2), counts, "proportions"),
        (StateSpaceModel(1, n_iter=2, n_init=1), frame, "smooth"),
    ):
        model.fit(given)
        getattr(model, method)(given)
        with pytest.raises(ValueError, match="feature names should match"):
            getattr(model, method)(given[given.columns[::-1]])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            getattr(model, method)(given.to_numpy())


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
    targets = () if target_of(name) is None else (target_of(name),)
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
    assert is_classifier(estimator) == (name == "network")


def test_searches_and_scores():
    scores = cross_val_score(FisherVectorNetwork(2, n_epochs=1), BAGS, CLASSES, cv=2)
    assert scores.shape == (2,) and (scores >= 0.5).all()
    for model, grid, items in (
        (GaussianMixtureModel(n_init=1), {"n_components": [1, 2]}, Y),
        (
            HiddenMarkovModel(n_init=1, n_symbols=9, max_iter=2),
            {"n_states": [1, 2]},
            CASES["letters"][1],
        ),
        (StateSpaceModel(n_iter=2, n_init=1), {"state_dim": [1, 2]}, SERIES),
    ):
        search = GridSearchCV(
            model,
            grid,
            cv=2,
            scoring=lambda model, items, y=None: model.score_samples(items).mean(),
        )
        assert search.fit(items).best_params_.keys() == grid.keys()
    nested = ScoreSpace(TopicModel(2)).set_params(models__n_topics=3)
    assert nested.get_params()["models__n_topics"] == 3


def test_every_public_class_is_called_here():
    called = {type(estimator).__name__ for estimator, *_ in CASES.values()}
    assert called == set(workflow_lib.__all__) - {"SavedModel", "UserError", "load_model"}


def test_fits_that_stop_at_their_limit_warn_and_keep_their_gap(monkeypatch):
    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(30, 3)), random.integers(3, size=30)
    losses, gram = 1.0 - np.eye(3), rows @ rows.T
    graph = PreferenceGraph(random.normal(size=30))
    monkeypatch.setattr(linear_structured_svm, "MOST_ROUNDS", 1)
    outputs = np.eye(30)[:, :3]

    def oracle(example, weights):
        best = (1.0 - outputs @ outputs[example] + outputs @ weights).argmax()
        return outputs[best], float(1.0 - outputs[best] @ outputs[example])

    fits = (
        lambda: fit_structured_machine(gram, labels, losses, np.eye(3), 100.0, most_passes=1).gap,
        lambda: LinearStructuredSVM(outputs, oracle).fit(100.0).gap,
        lambda: RankingMachine(graph, gram.__matmul__).solve(10.0, most_planes=1).relative_gap,
    )
    for fit in fits:
        with pytest.warns(ConvergenceWarning, match="the duality gap is"):
            gap = fit()
        assert gap_at_limit(gap, 1e-2) == {GAP_AT_LIMIT: gap}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_structured_machine(gram, labels, losses, np.eye(3), 1.0)
        RankingMachine(graph, gram.__matmul__).solve(1.0)
    assert gap_at_limit(1e-3, 1e-2) == {}
