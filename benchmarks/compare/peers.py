"""The methods of other libraries, each with its usual tuning.

A peer is a function that lists candidates: the settings that are compared by cross-validation. All
peers are tuned and fitted by the same function (`tune`): on the folds of the split, with the same
preparation of the inputs as for our methods (missing values by the training mean; standardised
where the table says so), with outputs standardised by their training rows, and by the score by
which our methods are selected. Until it predicts, a peer uses training rows only.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import itertools
import math
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas

from workflow_lib.core.seeds import derive_seed
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.measures.metrics import (
    average_relative_error,
    reference_errors,
    squared_error_sums,
)
from workflow_lib.solvers.stacking import combined, stack_weights

N_TREES = 300
N_TREES_OF_TUNING = 100
"""Trees while a forest is tuned; ranking its settings needs fewer than predicting."""

BINS = 32
"""Bins of an input for boosted trees; two hundred rows need no more, and each takes time."""


class Candidate(NamedTuple):
    """Settings to choose from, as shown; the estimator that is cross-validated, cloned before each
    fit; and what is fitted to all training rows instead, None for the same."""

    settings: dict[str, Any]
    estimator: Any
    final: Any = None


Candidates = Callable[[int, int, int], list[Candidate]]
"""From the training rows of a fold, the number of inputs and a seed to the candidates."""


@dataclass(frozen=True)
class Peer:
    """A method of another library.

    Attributes
    ----------
    label, color, marker : str
        How it is shown.
    candidates : function or None
        None for a stack of others.
    package : str
        What must be installed, as imported; it has a ``__version__``.
    most_inputs : int or None
        Above this number of inputs it is left out, for `because`.
    members : tuple of str
        The peers that a stack combines.
    code : tuple of functions and classes
        What of this module the candidates use; a result depends on it.
    """

    label: str
    color: str
    marker: str
    candidates: Candidates | None = None
    package: str = "sklearn"
    most_inputs: int | None = None
    because: str = ""
    members: tuple[str, ...] = ()
    code: tuple[Any, ...] = ()

    @property
    def is_installed(self) -> bool:
        """Whether its package can be imported."""
        try:
            return find_spec(self.package) is not None
        except ModuleNotFoundError:
            # The package above it is missing.
            return False

    @property
    def summary(self) -> str:
        """What it is and how it is tuned, in a sentence or two."""
        return " ".join((inspect.getdoc(self.candidates or stacked) or "").split())


def _grid(make: Callable[..., Any], **values: Sequence) -> list[Candidate]:
    """Return a candidate for every combination of values; `make` takes them as arguments."""
    points = [dict(zip(values, point)) for point in itertools.product(*values.values())]
    return [Candidate(point, make(**point)) for point in points]


def ridge(n_rows: int, n_inputs: int, seed: int) -> list[Candidate]:
    """Linear ridge regression; 17 penalties from 1e-3 to 1e5."""
    from sklearn.linear_model import Ridge

    return _grid(Ridge, alpha=[float(f"{alpha:.3g}") for alpha in np.logspace(-3, 5, 17)])


def partial_least_squares(n_rows: int, n_inputs: int, seed: int) -> list[Candidate]:
    """Partial least squares; 1, 2, 3, 4, 6, 8, 12, 16 or 24 components, as far as they exist."""
    from sklearn.cross_decomposition import PLSRegression

    most = min(n_rows - 1, n_inputs)
    counts = [count for count in (1, 2, 3, 4, 6, 8, 12, 16, 24) if count <= most]
    return _grid(lambda n_components: PLSRegression(n_components, scale=False), n_components=counts)


def random_forest(n_rows: int, n_inputs: int, seed: int) -> list[Candidate]:
    """Random forest of 300 trees (tuned with 100); a third of the inputs or all at a cut."""
    from sklearn.ensemble import RandomForestRegressor

    return _forests(RandomForestRegressor, seed)


def extra_trees(n_rows: int, n_inputs: int, seed: int) -> list[Candidate]:
    """Extra trees, 300 of them (tuned with 100); a third of the inputs or all at a cut."""
    from sklearn.ensemble import ExtraTreesRegressor

    return _forests(ExtraTreesRegressor, seed)


def _forests(kind: type, seed: int) -> list[Candidate]:
    def forest(n_trees: int, share: float) -> Any:
        return kind(n_trees, max_features=share, random_state=seed, n_jobs=1)

    return [
        Candidate({"max_features": share}, forest(N_TREES_OF_TUNING, share), forest(N_TREES, share))
        for share in (0.33, 1.0)
    ]


def histogram_boosting(n_rows: int, n_inputs: int, seed: int) -> list[Candidate]:
    """Histogram gradient boosting of scikit-learn, a model for each output, 100 rounds, at least 5
    rows in a leaf; learning rates 0.05 and 0.15, 6 leaves."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.multioutput import MultiOutputRegressor

    settings = {"max_leaf_nodes": 6, "min_samples_leaf": 5, "max_bins": BINS}
    settings |= {"early_stopping": False, "random_state": seed}

    def boosting(**chosen) -> Any:
        return MultiOutputRegressor(HistGradientBoostingRegressor(**settings, **chosen))

    return _grid(boosting, learning_rate=[0.05, 0.15])


def kernel_ridge(n_rows: int, n_inputs: int, seed: int) -> list[Candidate]:
    """Kernel ridge regression with an rbf kernel; 6 values of gamma from 1e-4 to 10, divided by the
    number of inputs, and 9 penalties from 1e-6 to 100."""
    from sklearn.kernel_ridge import KernelRidge

    return _grid(
        lambda gamma, alpha: KernelRidge(kernel="rbf", gamma=gamma / n_inputs, alpha=alpha),
        gamma=[1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0],
        alpha=[1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0],
    )


def gaussian_process(n_rows: int, n_inputs: int, seed: int) -> list[Candidate]:
    """Gaussian process with a width for each input and a noise, shared by the outputs; chosen by
    the marginal likelihood, in at most 50 iterations of L-BFGS-B."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    widths = RBF(np.full(n_inputs, math.sqrt(n_inputs)), (1e-2, 1e4))
    kernel = ConstantKernel(1.0, (1e-3, 1e3)) * widths + WhiteKernel(0.1, (1e-6, 1e1))
    regressor = GaussianProcessRegressor(kernel, normalize_y=True, optimizer=_fifty_iterations)
    return [Candidate({}, regressor)]


def _fifty_iterations(obj_func, initial_theta, bounds):
    """Minimise as scikit-learn does, with an end."""
    from scipy.optimize import minimize

    found = minimize(
        obj_func, initial_theta, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 50}
    )
    return found.x, found.fun


def nearest_neighbours(n_rows: int, n_inputs: int, seed: int) -> list[Candidate]:
    """Nearest neighbours: 1, 2, 3, 5, 8, 12, 20 or 40, as far as there are rows, with equal weights
    or by the inverse distance."""
    from sklearn.neighbors import KNeighborsRegressor

    counts = [count for count in (1, 2, 3, 5, 8, 12, 20, 40) if count <= n_rows]
    return _grid(KNeighborsRegressor, n_neighbors=counts, weights=["uniform", "distance"])


def catboost(n_rows: int, n_inputs: int, seed: int) -> list[Candidate]:
    """CatBoost, one model for all outputs, 100 rounds of trees of depth 4; learning rates 0.1 and
    0.3."""
    from catboost import CatBoostRegressor

    settings = {"iterations": 100, "depth": 4, "border_count": BINS, "random_seed": seed % 2**31}
    settings |= {"loss_function": "MultiRMSE", "thread_count": 1, "verbose": False}
    make = functools.partial(CatBoostRegressor, allow_writing_files=False, **settings)
    return _grid(make, learning_rate=[0.1, 0.3])


def lightgbm(n_rows: int, n_inputs: int, seed: int) -> list[Candidate]:
    """LightGBM, a model for each output, 100 rounds, at least 5 rows in a leaf; learning rates 0.05
    and 0.15, 4 or 8 leaves."""
    from lightgbm import LGBMRegressor
    from sklearn.multioutput import MultiOutputRegressor

    settings = {"n_estimators": 100, "min_child_samples": 5, "max_bin": BINS, "n_jobs": 1}
    settings |= {"random_state": seed % 2**31, "verbose": -1}

    def boosting(**chosen) -> Any:
        return MultiOutputRegressor(LGBMRegressor(**settings, **chosen))

    return _grid(boosting, learning_rate=[0.05, 0.15], num_leaves=[4, 8])


def xgboost(n_rows: int, n_inputs: int, seed: int) -> list[Candidate]:
    """XGBoost, a tree for each output, 100 rounds; learning rates 0.05 and 0.15, depth 2 or 3."""
    from xgboost import XGBRegressor

    settings = {"n_estimators": 100, "max_bin": BINS, "random_state": seed % 2**31, "n_jobs": 1}
    make = functools.partial(XGBRegressor, **settings)
    return _grid(make, learning_rate=[0.05, 0.15], max_depth=[2, 3])


class AutoGluonOutputs:
    """AutoGluon-tabular as an estimator of scikit-learn's kind: a predictor for each output."""

    TIME_LIMIT = 30
    """Seconds of each predictor, the same for every table: more than our slowest method takes for
    all outputs of a table on average (`docs/comparison.md`), so that the limit favours none of
    ours."""

    def __sklearn_clone__(self) -> AutoGluonOutputs:
        return AutoGluonOutputs()

    def fit(self, X: np.ndarray, Y: np.ndarray) -> AutoGluonOutputs:
        """Fit to inputs (n, q) and outputs (n, d)."""
        from autogluon.tabular import TabularPredictor

        # Its models are files, which it reads to predict.
        self._folder, self._predictors = tempfile.TemporaryDirectory(), []
        for number, y in enumerate(Y.T):
            path = f"{self._folder.name}/{number}"
            predictor = TabularPredictor("y", problem_type="regression", path=path, verbosity=0)
            table = pandas.DataFrame(X).add_prefix("x").assign(y=y)
            predictor.fit(table, time_limit=self.TIME_LIMIT, num_cpus=1, num_gpus=0)
            self._predictors.append(predictor)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the predicted outputs (m, d) of inputs (m, q)."""
        table = pandas.DataFrame(X).add_prefix("x")
        return np.column_stack([predictor.predict(table) for predictor in self._predictors])


def autogluon(n_rows: int, n_inputs: int, seed: int) -> list[Candidate]:
    """AutoGluon-tabular with its usual preset, a predictor for each output, 30 seconds each; it
    chooses and combines its models itself, by training rows that it holds out."""
    return [Candidate({"time_limit": AutoGluonOutputs.TIME_LIMIT}, AutoGluonOutputs())]


STACK = "sklearn-stack"

PEERS: dict[str, Peer] = {
    "sklearn-ridge": Peer("Ridge (scikit-learn)", "#777777", "s", ridge),
    "sklearn-pls": Peer("PLS (scikit-learn)", "#a6761d", "D", partial_least_squares),
    "sklearn-forest": Peer(
        "Random forest (scikit-learn)", "#1b9e77", "v", random_forest, code=(_forests,)
    ),
    "sklearn-extra-trees": Peer(
        "Extra trees (scikit-learn)", "#66a61e", "^", extra_trees, code=(_forests,)
    ),
    "sklearn-boosting": Peer("Boosting (scikit-learn)", "#d95f02", "<", histogram_boosting),
    "sklearn-kernel-ridge": Peer("Kernel ridge (scikit-learn)", "#7570b3", "o", kernel_ridge),
    "sklearn-gaussian-process": Peer(
        "Gaussian process (scikit-learn)",
        "#e7298a",
        "P",
        gaussian_process,
        code=(_fifty_iterations,),
        most_inputs=60,
        because="a width for each of hundreds of inputs takes minutes to choose and cannot be "
        "estimated from few rows",
    ),
    "sklearn-neighbours": Peer("Neighbours (scikit-learn)", "#999933", "X", nearest_neighbours),
    STACK: Peer(
        "Stack of four (scikit-learn)",
        "#000000",
        "*",
        members=("sklearn-forest", "sklearn-extra-trees", "sklearn-ridge", "sklearn-kernel-ridge"),
    ),
    "catboost": Peer("CatBoost", "#882255", "<", catboost, package="catboost"),
    "lightgbm": Peer("LightGBM", "#44aa99", "<", lightgbm, package="lightgbm"),
    "xgboost": Peer("XGBoost", "#332288", "<", xgboost, package="xgboost"),
    "autogluon": Peer(
        "AutoGluon",
        "#cc6677",
        ">",
        autogluon,
        package="autogluon.tabular",
        code=(AutoGluonOutputs,),
    ),
}
"""The peers by name."""


# --- tuning and fitting --------------------------------------------------------------------------


class Rows(NamedTuple):
    """Training rows: inputs (n, q), NaN where missing; outputs (n, d); the fold that holds out each
    row (n,); and the preparation of the inputs, ``standard`` or ``none``."""

    inputs: np.ndarray
    outputs: np.ndarray
    folds: np.ndarray
    scale: str


Predict = Callable[[np.ndarray], np.ndarray]
"""From inputs (m, q) to the outputs (m, d) that are predicted."""


def fitted(estimator: Any, inputs: np.ndarray, outputs: np.ndarray, scale: str) -> Predict:
    """Fit a clone of an estimator to rows (n, q), (n, d), with all that comes before it.

    An output that is constant in these rows is predicted by its mean.
    """
    from sklearn.base import clone

    preparation = fit_preparation(inputs, scale)

    def prepared(rows: np.ndarray) -> np.ndarray:
        # Zero in columns that are constant in these rows alone. So every fold has the same columns,
        # and an estimator with a setting for each can be cloned.
        values = np.zeros(rows.shape)
        values[:, preparation.scale > 0] = preparation.apply(rows)
        return values

    mean, deviation = outputs.mean(axis=0), outputs.std(axis=0)
    varies = deviation > 1e-12 * np.abs(outputs).max(axis=0)
    if varies.any():
        standardised = (outputs - mean)[:, varies] / deviation[varies]
        model = clone(estimator).fit(prepared(inputs), standardised)

    def predict(rows: np.ndarray) -> np.ndarray:
        found = np.tile(mean, (len(rows), 1))
        if varies.any():
            predicted = np.reshape(model.predict(prepared(rows)), (len(rows), -1))
            found[:, varies] += predicted * deviation[varies]
        return found

    return predict


@dataclass(frozen=True)
class Tuned:
    """A peer that has been tuned and fitted: the settings that were chosen; predictions (n, d) of
    the training rows by fits without their fold, zero where nothing competed; those of the fit to
    all training rows; and the processor time of all that."""

    settings: dict[str, Any]
    heldout: np.ndarray
    predict: Predict
    seconds: float


def tune(candidates: Candidates, rows: Rows, seed: int) -> Tuned:
    """Choose among candidates by cross-validation over the folds of the training rows, and fit.

    The score is the mean over outputs of the relative error on held-out rows, as in our own
    methods; of equal candidates the first is chosen.
    """
    started = time.process_time()
    fewest = len(rows.folds) - int(np.bincount(rows.folds).max())
    competing = candidates(fewest, rows.inputs.shape[1], seed)
    heldout = np.zeros((len(competing), *rows.outputs.shape))
    # Where nothing competes, only a stack would ask for predictions of held-out rows.
    for fold in range(int(rows.folds.max()) + 1 if len(competing) > 1 else 0):
        out = rows.folds == fold
        for number, candidate in enumerate(competing):
            known = rows.inputs[~out], rows.outputs[~out]
            predict = fitted(candidate.estimator, *known, rows.scale)
            heldout[number, out] = predict(rows.inputs[out])
    errors = squared_error_sums(rows.outputs, heldout)
    scores = average_relative_error(errors, reference_errors(rows.outputs, rows.folds))
    best = int(np.argmin(np.nan_to_num(scores, nan=np.inf)))
    chosen = competing[best]
    final = chosen.estimator if chosen.final is None else chosen.final
    predict = fitted(final, rows.inputs, rows.outputs, rows.scale)
    return Tuned(chosen.settings, heldout[best], predict, time.process_time() - started)


def stacked(members: Mapping[str, Tuned], rows: Rows) -> Tuned:
    """Convex combination of random forest, extra trees, ridge and kernel ridge that predicts
    held-out rows best, with the settings that each of them chose by itself."""
    started = time.process_time()
    heldout = [member.heldout for member in members.values()]
    weights = stack_weights(heldout, rows.outputs)
    seconds = time.process_time() - started + sum(each.seconds for each in members.values())
    return Tuned(
        settings={name: round(float(w), 4) for name, w in zip(members, weights)},
        heldout=combined(weights, heldout),
        predict=lambda inputs: combined(
            weights, [each.predict(inputs) for each in members.values()]
        ),
        seconds=seconds,
    )


class Bench:
    """Peers on the same training rows; the members that stacks share are fitted once."""

    def __init__(self, rows: Rows, seed: int) -> None:
        # The preparation drops columns that are constant in all training rows.
        self._columns = fit_preparation(rows.inputs, rows.scale).scale > 0
        self._rows = rows._replace(inputs=rows.inputs[:, self._columns])
        self._seed = seed
        self._known: dict[str, Tuned] = {}

    def tuned(self, name: str) -> Tuned:
        """Return the peer `name`, tuned and fitted."""
        if name in self._known:
            return self._known[name]
        peer = PEERS[name]
        with warnings.catch_warnings():
            # Of widths at their bounds, and of components with nothing left to explain.
            warnings.simplefilter("ignore")
            if peer.members:
                found = stacked({member: self.tuned(member) for member in peer.members}, self._rows)
            else:
                seed = derive_seed(self._seed, "peer", name)
                found = tune(peer.candidates, self._rows, seed)
        self._known[name] = found
        return found

    def predict(self, name: str, inputs: np.ndarray) -> np.ndarray:
        """Return the outputs (m, d) that the peer `name` predicts for rows (m, q)."""
        return self.tuned(name).predict(inputs[:, self._columns])


# Reading source code takes milliseconds, and every cell needs the digest of every peer.
@functools.cache
def fingerprint(name: str) -> str:
    """Return a digest of a peer: its code, that of tuning, the version of its package."""
    peer = PEERS[name]
    code = (peer.candidates or stacked, tune, fitted, _grid, *peer.code)
    parts = [inspect.getsource(each) for each in code] + list(map(fingerprint, peer.members))
    parts += [importlib.import_module(each).__version__ for each in ("sklearn", peer.package)]
    parts += map(str, (BINS, N_TREES, N_TREES_OF_TUNING))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
