"""Constructor parameters of a model, as in scikit-learn but without importing it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np


class ParameterMixin:
    """What scikit-learn's tools ask of an estimator, without importing scikit-learn.

    Its parameters can be read, set and checked; it can be cloned, searched and shown. A model is
    used in thousands of short jobs, and importing scikit-learn's base class would add a second or
    more to each: it is imported by the methods that only scikit-learn or a notebook calls.
    Subclasses store every constructor argument unchanged under its own name.
    """

    safe_to_load = True
    allowed: ClassVar[dict[str, Callable[[str, Any], None]]] = {}
    """The check of each parameter, see `check_parameters`."""

    estimator_type: ClassVar[str | None] = "density_estimator"
    input_tags: ClassVar[dict[str, bool]] = {}
    """Of `sklearn.utils.InputTags`, where they differ from the defaults."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        signature = inspect.signature(cls.__init__)
        return sorted(name for name in signature.parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict:
        """Return the constructor parameters; with `deep`, also those of models among them.

        The latter are named as in scikit-learn: ``model__n_components``.
        """
        found = {name: getattr(self, name) for name in self._parameter_names()}
        for name, value in list(found.items()) if deep else ():
            if hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{inner}": own for inner, own in value.get_params().items()}
        return found

    def set_params(self, **parameters) -> ParameterMixin:
        """Set constructor parameters and return the model.

        Raises ValueError if a name is not a parameter of this model.
        """
        valid = self._parameter_names()
        for name, value in sorted(parameters.items()):
            own, _, inner = name.partition("__")
            if own not in valid or (inner and not hasattr(getattr(self, own), "set_params")):
                raise ValueError(
                    f"Invalid parameter {name!r} for {type(self).__name__}. "
                    f"Valid parameters are: {valid!r}."
                )
            if inner:
                getattr(self, own).set_params(**{inner: value})
            else:
                setattr(self, own, value)
        return self

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags, TransformerTags

        is_classifier = self.estimator_type == "classifier"
        return Tags(
            estimator_type=self.estimator_type,
            target_tags=TargetTags(required=is_classifier),
            transformer_tags=TransformerTags() if hasattr(self, "transform") else None,
            classifier_tags=ClassifierTags() if is_classifier else None,
            input_tags=InputTags(**self.input_tags),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return any(name.endswith("_") and not name.startswith("__") for name in vars(self))

    def _repr_html_(self) -> str:
        from sklearn.utils import estimator_html_repr

        return estimator_html_repr(self)

    def _check_is_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"This {type(self).__name__} is not fitted. Call fit first.")

    def _check_columns(self, X, n_columns: int | None = None, name: str = "Y") -> None:
        """Check that `X` has the columns of fit, by number and, of pandas frames, by name.
        `n_columns` are those of `X`; None, in `fit`, takes over the names of a frame."""
        has_names = hasattr(self, "feature_names_in_")
        if hasattr(X, "columns") or (has_names and n_columns is not None):
            from sklearn.utils.validation import validate_data

            validate_data(self, X, reset=n_columns is None, skip_check_array=True, ensure_2d=False)
        elif has_names:
            del self.feature_names_in_
        if n_columns is not None and n_columns != self.n_features_in_:
            columns = "1 column" if n_columns == 1 else f"{n_columns} columns"
            raise ValueError(f"{name} has {columns}; the model has {self.n_features_in_}.")

    def __repr__(self) -> str:
        arguments = ", ".join(
            f"{name}={value!r}" for name, value in self.get_params(deep=False).items()
        )
        return f"{type(self).__name__}({arguments})"


def random_generator(random_state) -> np.random.Generator:
    """Return a numpy Generator from a seed, a Generator, a RandomState or None."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


KINDS: dict[str, tuple[type, str, str, Callable[[Any], bool]]] = {
    "whole": (Integral, "be a whole number", "be at least 1", lambda value: value >= 1),
    "folds": (Integral, "be a whole number", "be at least 2", lambda value: value >= 2),
    "jobs": (Integral, "be a whole number", "not be 0", lambda value: value != 0),
    "count": (Integral, "be a whole number", "be at least 0", lambda value: value >= 0),
    "number": (Real, "be a number", "be a number", lambda value: value == value),
    "positive": (Real, "be positive", "be positive", lambda value: 0 < value < np.inf),
    "penalty": (Real, "be positive", "be positive", lambda value: value > 0),
    "not_negative": (Real, "not be negative", "not be negative", lambda value: 0 <= value < np.inf),
    "limit": (Real, "be at least 1 or None", "be at least 1 or None", lambda value: value >= 1),
    "share": (Real, "be in (0, 1]", "be in (0, 1]", lambda value: 0 < value <= 1),
    "flag": (bool | np.bool_, "be True or False", "", lambda value: True),
}
"""Kind of parameter -> its type, what to say of another type and of a value without the condition,
and the condition. Numbers may be those of numpy, and no flag is a number."""


def check_kind(kind: str, name: str, value: Any) -> None:
    """Raise ValueError unless a parameter has a value of one of `KINDS`."""
    of_type, must_be, must, condition = KINDS[kind]
    is_flag = isinstance(value, bool | np.bool_)
    if not isinstance(value, of_type) or (is_flag and kind != "flag"):
        raise ValueError(f"{name} must {must_be}; found {value!r}.")
    if not condition(value):
        raise ValueError(f"{name} must {must}; found {value!r}.")


def check_each(check: Callable[[str, Any], None], name: str, values: Any) -> None:
    """Raise ValueError unless `values` are None, or several that each pass a check."""
    if values is None:
        return
    if isinstance(values, str) or not hasattr(values, "__len__") or len(values) == 0:
        raise ValueError(f"{name} must be a list of values, or None; found {values!r}.")
    for value in values:
        check(name, value)


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise ValueError unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {choices}; found {value!r}.")


def checks(**parameters: str | tuple[str, ...]) -> dict[str, Callable[[str, Any], None]]:
    """Return the checks of parameters for `ParameterMixin.allowed`.

    A tuple is the choices of the parameter that is its key. A text names parameters of the kind
    that is its key: one of `KINDS`, ``seed``, a kind with ``_or_none``, or with ``each_`` where
    several values compete, or None.

    Examples
    --------
    >>> sorted(checks(whole="n_init max_iter", engine=("fast", "exact"), seed="random_state"))
    ['engine', 'max_iter', 'n_init', 'random_state']
    """
    found: dict[str, Callable[[str, Any], None]] = {}
    for key, value in parameters.items():
        if isinstance(value, tuple):
            found[key] = partial(check_choice, choices=value)
            continue
        kind = key.removesuffix("_or_none").removeprefix("each_")
        check = _check_seed if kind == "seed" else partial(check_kind, kind)
        if key.startswith("each_"):
            check = partial(check_each, check)
        check = partial(_check_unless_none, check) if key.endswith("_or_none") else check
        found |= dict.fromkeys(value.split(), check)
    return found


def check_parameters(estimator) -> None:
    """Raise ValueError unless every parameter has a value that the class allows (`allowed`)."""
    for name, check in estimator.allowed.items():
        check(name, getattr(estimator, name))


def _check_unless_none(check: Callable[[str, Any], None], name: str, value: Any) -> None:
    if value is not None:
        check(name, value)


def _check_seed(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, np.random.Generator | np.random.RandomState):
        check_kind("count", name, value)
