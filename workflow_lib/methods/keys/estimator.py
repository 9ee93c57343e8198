"""The keys of a method with the regressor `estimator`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from workflow_lib.core.grids import CombinesCounts, WeaklySupervised
from workflow_lib.core.named_class import DOTTED, NamedClass, Point, combinations, imported_class
from workflow_lib.core.requirement import NEEDS_VECTORS, Requirement
from workflow_lib.methods.contract.method_file import EmbeddingMethod
from workflow_lib.solvers.estimator_arguments import (
    OF_ESTIMATOR,
    OF_MODEL,
    WEAK_WEIGHT,
    is_classifier,
    own_arguments,
)


class Parameters(EmbeddingMethod, WeaklySupervised, CombinesCounts):
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
    name is then written `estimator__n_components`. With `weak: true`, `weak_weight` are weights of
    a weak row relative to a labelled one, whose `fit` must take `sample_weight`."""

    decoder: Literal["euclidean", "cosine"] | None = None
    """How a class is found from a class vector that a regressor predicts; null (the default) is
    `euclidean`."""

    requirements = (
        Requirement(
            {"weak": {True}},
            {"model": {"gaussian_mixture"}, "form": {"reduced"}},
            "weak labels are component memberships: an estimator needs the reduced form of a "
            "mixture for them",
        ),
        Requirement(
            {"weak": {True}},
            {"has_weak_weight": {True}},
            "a weakly supervised method needs grid.weak_weight",
        ),
    )
    needs_of_data = (
        NEEDS_VECTORS,
        Requirement(
            {"weak": {True}},
            {"scale": {"none", "standard"}},
            "weak rows join an estimator as rows of numbers, and the inputs are texts or inner "
            "products",
        ),
    )

    def reserved_keys(self) -> tuple[str, ...]:
        """Return the keys of `grid` that are no arguments of the class."""
        return (OF_MODEL if self.model else ()) + ((WEAK_WEIGHT,) if self.weak else ())

    def grid_values(self, key: str) -> tuple:
        return self.grid.get(key, ()) if key in self.reserved_keys() else ()

    def plain_grid(self) -> dict[str, Any]:
        return {key: list(values) for key, values in self.grid.items()}

    def one_example_values(self) -> dict[str, Any]:
        return {key: values[0] for key, values in self.grid.items()}

    def library_modules(self) -> list[str]:
        return super().library_modules() + self._named_class().library_modules()

    def named_classes(self) -> list[str]:
        return [*super().named_classes(), self.estimator]

    def faults(self) -> list[tuple[str, str, str, str]]:
        """Return what is wrong with the class and its arguments, as far as that can be known."""
        faults = super().faults() + self._named_class().faults()
        return faults or list(self._faults_of_weak_rows(imported_class(self.estimator)))

    def points(self) -> list[Point]:
        """Return the grid points of the estimator."""
        return combinations(own_arguments(self.grid, self.reserved_keys()))

    def _named_class(self) -> NamedClass:
        points = self.points()
        return NamedClass(
            "estimator",
            self.estimator,
            ("fit", "predict", "get_params", "set_params"),
            "a regressor or a classifier",
            self.settings,
            points,
            names={name: f"{OF_ESTIMATOR}{name}" for name in points[0] if name not in self.grid},
        )

    def _faults_of_weak_rows(self, found: type) -> Iterator[tuple[str, str, str, str]]:
        if not self.weak:
            return
        # No command loads NumPy unless it has to.
        from workflow_lib.solvers.any_estimator import TAKE_WEIGHTS, takes_weights

        if not takes_weights(found):
            yield (
                "weak",
                f"{self.estimator} cannot learn from weak rows: its fit takes no sample_weight",
                f"a regressor whose fit takes it, such as {TAKE_WEIGHTS}",
                "name another estimator, or write weak: false",
            )
        for value in self.grid_values(WEAK_WEIGHT):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not 0 < value < float("inf"):
                yield (
                    f"grid.{WEAK_WEIGHT}",
                    f"{value!r} is no weight of a weak row",
                    "finite numbers above 0",
                    f"change grid.{WEAK_WEIGHT}",
                )

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
