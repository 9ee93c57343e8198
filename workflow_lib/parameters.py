"""Constructor parameters of a model, as in scikit-learn but without importing it."""

from __future__ import annotations

import inspect

import numpy as np


class ParameterMixin:
    """Provide `get_params` and `set_params`, so that scikit-learn can clone and search a model.

    A model is used in thousands of short jobs; importing scikit-learn's base class would add a
    second to each. Subclasses store every constructor argument unchanged under its own name.
    """

    safe_to_load = True

    @classmethod
    def _parameter_names(cls) -> list[str]:
        signature = inspect.signature(cls.__init__)
        return sorted(name for name in signature.parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict:
        """Return the constructor parameters as a dictionary (`deep` changes nothing here)."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **parameters) -> ParameterMixin:
        """Set constructor parameters and return the model.

        Raises
        ------
        ValueError
            If a name is not a parameter of this model.
        """
        valid = self._parameter_names()
        for name, value in parameters.items():
            if name not in valid:
                raise ValueError(
                    f"Invalid parameter {name!r} for {type(self).__name__}. "
                    f"Valid parameters are: {valid!r}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({arguments})"


def random_generator(random_state) -> np.random.Generator:
    """Return a numpy Generator from a seed, a Generator, a RandomState or None."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def as_output_matrix(Y, name: str = "Y") -> np.ndarray:
    """Return outputs as a finite float64 matrix (n, d); a vector becomes one column.

    Raises
    ------
    ValueError
        If `Y` has more than two axes, no rows, no columns, or values that are not finite.
    """
    matrix = np.asarray(Y, dtype=np.float64)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2:
        raise ValueError(f"{name} must be a matrix (rows, outputs); found {matrix.ndim} axes.")
    if matrix.shape[0] < 1 or matrix.shape[1] < 1:
        raise ValueError(f"{name} must have rows and columns; found the shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        row = int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])
        raise ValueError(f"{name} must be finite; row {row} holds NaN or infinity.")
    return matrix


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise ValueError unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {choices}; found {value!r}.")
