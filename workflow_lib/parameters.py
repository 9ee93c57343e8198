"""Constructor parameters of a model, as in scikit-learn but without importing it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
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

        Raises
        ------
        ValueError
            If a name is not a parameter of this model.
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

        `n_columns` are those of `X`; None, in `fit`, takes over the names of a frame.
        """
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


def check_parameters(estimator) -> None:
    """Raise ValueError unless every parameter has a value that the class allows.

    The class names, in `allowed`, a check of each parameter: a function of its name and value,
    from this module.
    """
    for name, check in estimator.allowed.items():
        check(name, getattr(estimator, name))


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise ValueError unless `value` is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {choices}; found {value!r}.")


def one_of(choices: tuple[str, ...]) -> Callable[[str, Any], None]:
    """Return the check of a parameter with named choices."""
    return lambda name, value: check_choice(name, value, choices)


def or_none(check: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
    """Return the check of a parameter that may be None."""

    def check_unless_none(name, value):
        if value is not None:
            check(name, value)

    return check_unless_none


def whole(least: int = 1) -> Callable[[str, Any], None]:
    """Return the check of whole numbers from `least` on, also those of numpy."""

    def check(name, value):
        if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
            raise ValueError(f"{name} must be a whole number; found {value!r}.")
        if value < least:
            raise ValueError(f"{name} must be at least {least}; found {value!r}.")

    return check


def real(must: str, condition: Callable[[float], bool]) -> Callable[[str, Any], None]:
    """Return the check of numbers with a `condition`; `must` says it, as in ``be positive``."""

    def check(name, value):
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise ValueError(f"{name} must {must}; found {value!r}, which is not a number.")
        if not condition(value):
            raise ValueError(f"{name} must {must}; found {value!r}.")

    return check


def check_flag(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; found {value!r}.")


def check_seed(name: str, value: Any) -> None:
    """Raise ValueError unless `random_generator` takes `value`."""
    if value is None or isinstance(value, np.random.Generator | np.random.RandomState):
        return
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or value < 0:
        raise ValueError(
            f"{name} must be a whole number from 0 on, a Generator, a RandomState or None; "
            f"found {value!r}."
        )


check_positive = real("be positive", lambda value: value > 0)
"""Infinity is allowed, as an infinite penalty has a meaning."""
check_finite_positive = real("be positive", lambda value: 0 < value < np.inf)
check_not_negative = real("not be negative", lambda value: 0 <= value < np.inf)
check_number = real("be a number", lambda value: value == value)
