"""Any scikit-learn estimator as a method: its class, its settings and its grid are in a YAML file.

With a generative model its targets are the Fisher embeddings of the outputs: OFER over any
regressor. The grid is searched by plain refits, over the folds and by the score of every method.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from workflow_lib.artifacts import read_artifact
from workflow_lib.config.method_file import MethodFile
from workflow_lib.embeddings.fisher import FisherEmbedding
from workflow_lib.errors import UserError, nearest_name
from workflow_lib.experiments.class_rows import has_one_example
from workflow_lib.experiments.class_selection import scaled_squared_error
from workflow_lib.experiments.heldout_errors import heldout_error
from workflow_lib.experiments.items import components_group, size_group
from workflow_lib.experiments.kernel_ridge_items import Item, component_settings, items_of
from workflow_lib.experiments.kernel_ridge_rows import KernelRidgeRows
from workflow_lib.experiments.missing_outputs import filled
from workflow_lib.experiments.output_items import OutputItems
from workflow_lib.experiments.preimages import Decoder
from workflow_lib.experiments.prepared_inputs import PreparedInputs, prepared_inputs
from workflow_lib.generative.storage import model_from_tree, scaling_from_tree
from workflow_lib.metrics import SMALLEST_GAIN
from workflow_lib.regression.any_estimator import class_scores, fit_outputs, predict_outputs

REGRESSORS = ("estimator",)
TASKS = ("regression", "series", "classes")
NEEDS = {"minutes": 10, "cubic_minutes": 1.0, "more_mb": 500}

DOTTED = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$"

OF_MODEL = ("n_components", "state_dim")
"""Keys of the grid that belong to the generative model where there is one."""

OF_ESTIMATOR = "estimator__"
"""Before the name of a parameter of the estimator that is named like one of `OF_MODEL`."""

Point = dict[str, Any]


class Parameters(MethodFile):
    """A method whose regressor is a scikit-learn estimator."""

    regressor: Literal["estimator"]
    """`estimator`: a class with the interface of scikit-learn."""

    estimator: Annotated[str, Field(pattern=DOTTED)]
    """The class, with its module, such as `sklearn.cross_decomposition.PLSRegression`. A regressor
    predicts outputs, Fisher embeddings (with `model`) or class vectors; one of single outputs is
    fitted once for each. A classifier predicts classes."""

    settings: dict[str, Any] = {}
    """Arguments of the class that do not change. The seed of the split goes to `random_state`, and
    the number of threads, 1, to `n_jobs`, where the class has these and nothing is given here."""

    grid: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = {}
    """Values of arguments that compete. With a mixture as `model`, `n_components` are its numbers
    of components (`state_dim` those of a state-space model); an argument of the class with that
    name is then written `estimator__n_components`."""

    decoder: Literal["euclidean", "cosine"] | None = None
    """How a class is found from a class vector that a regressor predicts; null (the default) is
    `euclidean`."""

    combine: Literal["best", "average"] = "best"
    """Whether the numbers of components compete, or the predictions of all are averaged."""

    def grid_values(self, key: str) -> tuple:
        return self.grid.get(key, ()) if self.model and key in OF_MODEL else ()

    def plain_grid(self) -> dict[str, Any]:
        return {key: list(values) for key, values in self.grid.items()}

    def one_example_values(self) -> dict[str, Any]:
        return {key: values[0] for key, values in self.grid.items()}

    def library_modules(self) -> list[str]:
        module = self.estimator.rpartition(".")[0]
        package, _, rest = module.partition(".")
        return [rest] if package == "workflow_lib" and rest else []

    def points(self) -> list[Point]:
        """Return the grid points of the estimator."""
        return grid_points(self.grid, bool(self.model))

    def faults(self) -> list[tuple[str, str, str, str]]:
        """Return what is wrong with the class and its arguments, as far as that can be known."""
        try:
            found = imported_class(self.estimator)
        except ImportError as error:
            package = self.estimator.partition(".")[0]
            remedy = _NOT_INSTALLED.get(package, f"install the package {package}, or mend the name")
            is_there = getattr(error, "name", None) != package
            return [
                (
                    "estimator",
                    f"'{self.estimator}' cannot be imported ({error})",
                    "a class that Python can import, with its module",
                    "mend the name" if is_there else remedy,
                )
            ]
        if not inspect.isclass(found) or not all(hasattr(found, name) for name in _INTERFACE):
            return [
                (
                    "estimator",
                    f"'{self.estimator}' is no scikit-learn estimator",
                    f"a class with the methods {', '.join(_INTERFACE)}",
                    "name a regressor or a classifier",
                )
            ]
        faults = [*self._unknown_arguments(found), *self._repeated_arguments()]
        return faults or self._refused_values(found)

    def _unknown_arguments(self, found: type) -> Iterator[tuple[str, str, str, str]]:
        known = argument_names(found)
        own = {name for point in self.points()[:1] for name in point}
        written = {f"settings.{name}": name for name in self.settings}
        written |= {
            f"grid.{name}": name.removeprefix(OF_ESTIMATOR)
            for name in self.grid
            if name.removeprefix(OF_ESTIMATOR) in own
        }
        for key, name in written.items():
            if known is not None and name.partition("__")[0] not in known:
                nearest = nearest_name(name, known)
                yield (
                    key,
                    f"{self.estimator} has no argument '{name}'",
                    f"one of: {', '.join(sorted(known))}",
                    f"write '{nearest}'" if nearest else "remove it",
                )

    def _repeated_arguments(self) -> Iterator[tuple[str, str, str, str]]:
        for name in sorted(set(self.settings) & set(self.points()[0])):
            yield (
                f"settings.{name}",
                "the argument stands in settings and in grid",
                "each argument in one of the two",
                f"remove it from settings, or from grid to keep {self.settings[name]!r}",
            )

    def _refused_values(self, found: type) -> list[tuple[str, str, str, str]]:
        for point in self.points():
            try:
                estimator = new_estimator(found, self.settings, point, 0)
                # What scikit-learn does when it fits; other packages check in their own way.
                if hasattr(estimator, "_parameter_constraints"):
                    estimator._validate_params()
            except Exception as error:
                name = next((name for name in point if f"'{name}'" in str(error)), None)
                key = f"grid.{name}" if name else "settings"
                return [
                    (
                        key,
                        f"{self.estimator} refuses {written_point(self.settings | point)}: {error}",
                        "values that the class accepts",
                        f"change {key}",
                    )
                ]
        return []

    def reasons_against(self, task: str) -> list[str]:
        """Return why the estimator cannot predict what a task asks for; none where it can."""
        if not is_classifier(imported_class(self.estimator)):
            if self.decoder and task != "classes":
                return [f"the decoder {self.decoder} finds a class, and the task is {task}"]
            return []
        if task != "classes":
            return [f"{self.estimator} predicts classes, and the task is {task}"]
        if self.model or self.decoder:
            return [
                f"{self.estimator} predicts classes, not vectors, so model and decoder must be null"
            ]
        return []

    def predicts_scores(self, task: str) -> bool:
        return task == "classes" and is_classifier(imported_class(self.estimator))


_INTERFACE = ("fit", "predict", "get_params", "set_params")

_NOT_INSTALLED = dict.fromkeys(
    ("lightgbm", "xgboost", "catboost"),
    "install it: python -m pip install '.[boosting]' in the folder of the workflow",
)


def imported_class(path: str):
    """Return what a dotted path names, such as ``sklearn.linear_model.Ridge``.

    Raises
    ------
    ImportError
        If the module cannot be imported, or has nothing of that name.
    """
    module, _, name = path.rpartition(".")
    found = importlib.import_module(module)
    if not hasattr(found, name):
        raise ImportError(f"the module {module} has no {name}")
    return getattr(found, name)


def argument_names(found: type) -> set[str] | None:
    """Return the names of the arguments of a class; None where it takes any."""
    parameters = inspect.signature(found.__init__).parameters.values()
    if any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return {parameter.name for parameter in parameters} - {"self"}


def is_classifier(found: type) -> bool:
    """Return whether a class is a classifier, as it says itself."""
    from sklearn.base import ClassifierMixin

    return issubclass(found, ClassifierMixin) or (
        getattr(found, "_estimator_type", None) == "classifier"
    )


def new_estimator(found: type, settings: Mapping, point: Mapping, seed: int):
    """Return an estimator with settings, those of a grid point, a seed and one thread."""
    arguments = dict(settings) | dict(point)
    plain = {name: value for name, value in arguments.items() if "__" not in name}
    nested = {name: value for name, value in arguments.items() if "__" in name}
    estimator = found(**plain)
    known = dict.fromkeys(inspect.signature(found.__init__).parameters) | estimator.get_params()
    # One thread is what scikit-learn takes where nothing is given.
    given = set(plain) | ({"n_jobs"} if found.__module__.startswith("sklearn.") else set())
    usual = {"random_state": seed % 2**32, "n_jobs": 1}
    usual = {name: value for name, value in usual.items() if name in known and name not in given}
    return estimator.set_params(**usual, **nested)


def grid_points(grid: Mapping[str, Sequence], has_model: bool) -> list[Point]:
    """Return every combination of the values of the estimator's own arguments."""
    own = {
        name.removeprefix(OF_ESTIMATOR): values
        for name, values in grid.items()
        if not (has_model and name in OF_MODEL)
    }
    return [dict(zip(own, values, strict=True)) for values in itertools.product(*own.values())]


def written_point(point: Mapping) -> str:
    """Return arguments as Python writes them in a call."""
    return ", ".join(f"{name}={value!r}" for name, value in point.items()) or "no arguments"


def run(
    dataset: Path,
    split: Path,
    features: Path,
    output: Path,
    timings: Path,
    estimator: str,
    settings: Mapping[str, Any],
    grid: Mapping[str, Sequence],
    metric: str,
    seed: int,
    method_file: str,
    projections: Sequence[bool] = (False,),
    components: str | Sequence[int] = "selected",
    component_counts: Sequence[int] = (1,),
    combine: str = "best",
    covariance_block: str | None = None,
    embeddings: Path | None = None,
    models: Path | None = None,
) -> None:
    """Select and fit an estimator for every training size, and every number of components.

    A grid point that fails in a fold, or predicts what is not finite, does not compete, and the log
    says so. With one labelled example per class nothing can be selected: the first grid point is
    used.

    Writes the "regression" artifact: for each item what was chosen (``estimator__NAME`` for each
    argument), the predictions of the test rows and those of each training row without its fold;
    and the seconds of each item, as JSON. Of a classifier these are scores of the classes, else
    outputs or, with `embeddings`, embeddings.

    Parameters
    ----------
    estimator, settings, grid
        As of `Parameters`.
    metric : {"arrmse", "rrmse"}
        Error that is minimised; of a classifier it is `scaled_squared_error` of the scores.
    method_file : str
        The YAML file, as errors name it.
    projections : sequence of bool
        Whether predicted memberships are projected on the simplex before they are scored; the last
        counts.
    components, component_counts, combine
        As of `workflow_lib.methods.kernel_ridge.run`.

    Raises
    ------
    UserError
        If every grid point fails.
    """
    rows = KernelRidgeRows(dataset, split, features, embeddings, models, None, "", True, None)
    labels, n_classes = None, 0
    found = imported_class(estimator)
    if is_classifier(found):
        classes = read_artifact(dataset, "dataset")["classes"]
        labels, n_classes = classes["labels"][rows.partition["train"]], len(classes["vectors"])
    points = grid_points(grid, models is not None)
    items = OutputItems()
    settings_of_components = component_settings(components, component_counts, models is not None)
    for item in items_of(rows.sizes, [0], settings_of_components, {}):
        size = item.training_size
        is_fixed = rows.has_one_example(size) or (
            labels is not None and has_one_example(labels[:size])
        )
        inputs = prepared_inputs(rows.features, rows.partition["folds"][size_group(size)], size)
        if labels is None:
            targets = _Outputs(rows, item, metric, projections[-1], covariance_block)
        else:
            targets = _Labels(labels[:size], n_classes)
        search = _Search(inputs, targets, found, settings, seed, method_file)
        _add_item(items, item, search, points[:1] if is_fixed else points, combine, is_fixed)
    items.write(output, timings, [dataset, split, features, embeddings, models], seed)


def _add_item(items, item, search, points, combine, is_fixed) -> None:
    """Select, fit and predict one item, and add it."""
    started = time.perf_counter()
    choices = [search.best(points, count) for count in item.counts]
    if combine == "best" or len(choices) == 1:
        least = choices[0]
        for choice in choices[1:]:
            if choice.score < least.score * (1.0 - SMALLEST_GAIN):
                least = choice
        choices = [least]
    selected = time.perf_counter()
    fitted_estimators = [search.refit(choice) for choice in choices]
    fitted = time.perf_counter()
    parts = [
        choice.entries()
        | {"test_embedding": search.predict(estimator), "heldout_outputs": choice.heldout}
        for choice, estimator in zip(choices, fitted_estimators, strict=True)
    ]
    seconds = (started, selected, fitted, time.perf_counter())
    place = {"components": item.components}
    if len(parts) == 1:
        (part,) = parts
        predicted = part.pop("test_embedding"), part.pop("heldout_outputs")
        part["score"] = None if is_fixed else part["score"]
        items.add(item.training_size, *predicted, seconds, **place, **part)
        return
    average = np.mean([choice.heldout for choice in choices], axis=0)
    members = {
        components_group(choice.n_components): part
        for choice, part in zip(choices, parts, strict=True)
    }
    score = search.targets.error(average, search.inputs.folds)
    items.add(item.training_size, None, average, seconds, **place, score=score, members=members)


@dataclass(frozen=True)
class _Choice:
    """A grid point, its error, and what it predicts for each training row without its fold."""

    point: Point
    n_components: int | None
    score: float
    heldout: np.ndarray

    def entries(self) -> dict[str, Any]:
        """Return what was chosen, by the names of the artifact."""
        chosen = {
            f"{OF_ESTIMATOR}{name}": value
            if isinstance(value, int | float) and not isinstance(value, bool)
            else str(value)
            for name, value in self.point.items()
        }
        if self.n_components is not None:
            chosen["n_components"] = self.n_components
        return chosen | {"score": self.score}


class _Search:
    """The grid points of an estimator on the rows of one item."""

    def __init__(
        self,
        inputs: PreparedInputs,
        targets: _Outputs | _Labels,
        found: type,
        settings: Mapping[str, Any],
        seed: int,
        method_file: str,
    ) -> None:
        self.inputs, self.targets = inputs, targets
        self._found, self._settings, self._seed = found, settings, seed
        self._method_file = method_file
        self._fold_rows = list(inputs.fold_rows())

    def best(self, points: Sequence[Point], count: int | None) -> _Choice:
        """Return the grid point with the least error, the first of those that are equal."""
        best, failures = None, []
        for point in points:
            try:
                heldout = self._heldout(point, count)
            except _Failure as failure:
                failures.append(str(failure))
                print(f"left out: {failure}")
                continue
            error = self.targets.error(heldout, self.inputs.folds)
            score = error if np.isfinite(error) else np.inf
            if best is None or score < best.score * (1.0 - SMALLEST_GAIN):
                best = _Choice(point, count, score, heldout)
        if best is None:
            raise self._refusal(failures[0])
        return best

    def _heldout(self, point: Point, count: int | None) -> np.ndarray:
        """Return what is predicted of each training row by an estimator without its fold."""
        heldout = self.targets.empty()
        folds = self.inputs.folds
        for fold, (X_train, X_heldout) in enumerate(self._fold_rows):
            predicted = self._tried(point, fold, count, X_train, X_heldout)
            heldout[folds == fold] = self.targets.decoded(predicted, count, fold)
        return heldout

    def _tried(self, point, fold, count, X_train, X_heldout) -> np.ndarray:
        try:
            fitted = self._fitted(point, X_train, count, fold)
            predicted = self.targets.predict(fitted, X_heldout)
        except Exception as error:
            raise _Failure(f"{self._called(point)} failed in fold {fold + 1}: {error}") from error
        if not np.isfinite(predicted).all():
            raise _Failure(f"{self._called(point)} predicts what is not finite in fold {fold + 1}")
        return predicted

    def refit(self, choice: _Choice):
        """Return the estimator of a choice, fitted to all training rows."""
        rows = self.inputs.refit_rows()[0]
        try:
            return self._fitted(choice.point, rows, choice.n_components, None)
        except Exception as error:
            called = self._called(choice.point)
            raise self._refusal(f"{called} failed on all training rows: {error}") from error

    def predict(self, fitted) -> np.ndarray:
        """Return what a fitted estimator predicts for the test rows."""
        return self.targets.predict(fitted, self.inputs.refit_rows()[1])

    def _fitted(self, point, X, count, fold):
        known = slice(None) if fold is None else self.inputs.folds != fold
        estimator = new_estimator(self._found, self._settings, point, self._seed)
        return self.targets.fit(estimator, X, count, fold, known)

    def _called(self, point: Point) -> str:
        size = len(self.inputs.folds)
        return f"{self._found.__name__}({written_point(point)}) with {size} training rows"

    def _refusal(self, failure: str) -> UserError:
        return UserError(
            place=f"{self._method_file}, keys estimator, settings and grid",
            found=failure,
            expected="at least one grid point that can be fitted in every fold",
            remedy="change settings or grid, or leave the method out of the experiment",
        )


class _Failure(Exception):
    """A grid point that cannot be fitted, or predicts nothing that is finite."""


class _Outputs:
    """Outputs as the targets of regressors, or their embeddings."""

    def __init__(
        self,
        rows: KernelRidgeRows,
        item: Item,
        metric: str,
        projected: bool,
        covariance_block: str | None,
    ) -> None:
        self._rows, self._size, self._metric = rows, item.training_size, metric
        self._preimage = "projected" if projected else "closed_form"
        self._covariance_block = covariance_block or "constrained"
        self._outputs = rows.train[: item.training_size]

    def empty(self) -> np.ndarray:
        """Return an array for what is predicted of the training rows."""
        return np.empty_like(self._outputs)

    def fit(self, estimator, X, count, fold, known):
        """Return an estimator fitted to the targets of a fold (None: of all rows)."""
        if count is None:
            mask = None if fold is None else known
            targets = filled(self._outputs, mask)[known]
        else:
            targets = self._rows.embedded(self._size, count, fold)
        return fit_outputs(estimator, X, targets)

    def predict(self, fitted, X) -> np.ndarray:
        """Return the predicted outputs, or embeddings."""
        return predict_outputs(fitted, X)

    def decoded(self, predicted, count, fold) -> np.ndarray:
        """Return the outputs (h, d) of predictions under the model of a fold."""
        if count is None:
            return predicted
        stored = self._rows.stored_model(self._size, count, fold)
        form = self._rows.embeddings["form"]
        embedding = FisherEmbedding(model_from_tree(stored), form, self._covariance_block)
        member = {"test_embedding": predicted}
        return Decoder(embedding, scaling_from_tree(stored)).outputs(member, self._preimage, None)

    def error(self, heldout: np.ndarray, folds: np.ndarray) -> float:
        """Return the relative error of predictions of the training rows."""
        return heldout_error(self._outputs, heldout, folds, self._metric)


class _Labels:
    """Classes as the targets of classifiers."""

    def __init__(self, labels: np.ndarray, n_classes: int) -> None:
        self._labels, self._n_classes = labels, n_classes

    def empty(self) -> np.ndarray:
        """Return an array for the scores of the training rows."""
        return np.empty((len(self._labels), self._n_classes))

    def fit(self, estimator, X, count, fold, known):
        """Return a classifier fitted to the training rows of a fold (None: to all)."""
        labels = self._labels[known]
        return estimator.fit(X, labels) if len(np.unique(labels)) > 1 else int(labels[0])

    def predict(self, fitted, X) -> np.ndarray:
        """Return scores of the classes; of a single class its indicator."""
        if isinstance(fitted, int):
            return np.tile(np.eye(self._n_classes)[fitted], (len(X), 1))
        return class_scores(fitted, X, self._n_classes)

    def decoded(self, predicted, count, fold) -> np.ndarray:
        """Return the scores as they are."""
        return predicted

    def error(self, heldout: np.ndarray, folds: np.ndarray) -> float:
        """Return the `scaled_squared_error` of the scores."""
        return scaled_squared_error(heldout, self._labels)
