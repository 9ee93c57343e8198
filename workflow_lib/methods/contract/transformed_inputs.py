"""A method whose inputs are made by another step, the settings of which compete.

`workflow_lib.methods.input_steps.learned_features` learns features in each fit,
`workflow_lib.papers.perina.input_steps.stored_scores` reads scores that were made before.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from workflow_lib.core.errors import UserError, key_location
from workflow_lib.core.named_class import Point, combinations, written_point
from workflow_lib.fitting.class_selection import error_rate
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec
from workflow_lib.fitting.prepared_inputs import kernel_gamma
from workflow_lib.fitting.validation_curves import (
    ENTRY,
    NO_KERNEL,
    GridErrors,
    chosen_error_rate,
    joined_curves,
)
from workflow_lib.measures.metrics import MIN_GAIN
from workflow_lib.methods.contract import base
from workflow_lib.solvers.gram import gram_matrix


class OnChangedInputs(base.Method):
    """A method on inputs that each grid point of another step makes.

    Every grid point competes by the score of what the method selects on its inputs; the first of
    those that are equal is chosen. One that fails, such as more components than rows, does not
    compete, and the log says so.

    Parameters
    ----------
    method : Method
    grid : mapping
        Values of arguments of the step.
    method_file : str
        The YAML file, as errors name it.
    """

    prefix: ClassVar[str]
    """Before the name of a chosen argument in the artifact."""

    step: ClassVar[str]
    """The key of the step in the YAML file."""

    def __init__(self, method: base.Method, grid: Mapping[str, Sequence], method_file: str) -> None:
        self._method, self._grid, self._method_file = method, grid, method_file
        self.not_finite = method.not_finite

    def specs(self, split: SplitData) -> list[FitSpec]:
        """Return the fits of the method."""
        return self._method.specs(split)

    def select(self, data: FitData) -> base.Selection:
        """Return what the method selects on the inputs with the least score.

        Raises UserError if no grid point can be used.
        """
        best, failures, curves = None, [], GridErrors()
        for point in combinations(self._grid):
            try:
                changed = self.data(data, point)
                changed.inputs.learn_all()
            except Exception as error:
                failures.append(f"{self.named()}({written_point(point)}): {error}")
                print(f"left out: {failures[-1]}")
                continue
            selection = self._method.select(changed)
            score = selection.entries.get("score")
            score = np.inf if score is None else score
            names = {self.prefix + name: [value] for name, value in point.items()}
            curves.add(NO_KERNEL, names, score, error_rates=self._error_rate(data, selection))
            if best is None or score < best[0] * (1.0 - MIN_GAIN):
                best = score, point, selection
        if best is None:
            raise self._refusal(failures[0])
        _, point, selection = best
        chosen = {f"{self.prefix}{name}": plain(value) for name, value in point.items()}
        parts = [replace(part, entries=part.entries | chosen) for part in selection.parts]
        tree = joined_curves(selection.entries.get(ENTRY) or {}, curves, chosen)
        entries = selection.entries | chosen | {ENTRY: tree or None}
        return replace(selection, entries=entries, parts=tuple(parts))

    def named(self) -> str:
        """Return what makes the inputs, as the log names it."""
        return self.step

    @abstractmethod
    def data(self, data: FitData, point: Point) -> FitData:
        """Return the data of a fit with the inputs of a grid point."""

    def changed(self, data: FitData, entries: Mapping) -> FitData:
        """Return the data of a fit with the inputs that entries of the artifact name."""
        point = next(
            point
            for point in combinations(self._grid)
            if all(entries[f"{self.prefix}{name}"] == plain(value) for name, value in point.items())
        )
        return self.data(data, point)

    def _error_rate(self, data: FitData, selection: base.Selection) -> float | None:
        """Return the share of held-out rows whose class is wrong; None where it is not known."""
        predicts_scores = sys.modules[type(self._method).__module__].TASKS == ("classes",)
        if predicts_scores and selection.heldout is not None:
            return error_rate(selection.heldout, data.labels)
        return chosen_error_rate(selection.entries.get(ENTRY) or {})

    def _refusal(self, failure: str) -> UserError:
        return UserError(
            location=key_location(self._method_file, self.step),
            found=failure,
            expected="at least one grid point that can be fitted to the inputs of every fold",
            remedy=f"change settings or grid of {self.step}, or leave the method out of the "
            "experiment",
        )


def plain(value: Any) -> Any:
    """Return a value as the artifact holds it."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else str(value)


class FittedOnChangedInputs(base.Fitted):
    """A fitted method that predicts from inputs that another step makes.

    Parameters
    ----------
    fitted : Fitted
        Of the method, on these inputs.
    """

    def __init__(self, fitted: base.Fitted) -> None:
        self.fitted = fitted
        self.has_training_error = fitted.has_training_error

    @abstractmethod
    def on(self, rows: Any) -> Any:
        """Return rows with these inputs instead of their own."""

    def predict(self, rows):
        return self.fitted.predict(self.on(rows))

    def predictions(self, rows):
        return self.fitted.predictions(self.on(rows))

    def entries(self):
        return self.fitted.entries()


class RowsOfFeatures:
    """Rows for which a fitted method predicts, with other vectors as inputs.

    Parameters
    ----------
    rows : RowsOfTest, or rows of `workflow_lib.table.saved_inputs`
    found : array (m, k)
        Their vectors.
    known : array (n, k)
        Those of the rows that the method learned from.
    """

    def __init__(self, rows: Any, found: np.ndarray, known: np.ndarray) -> None:
        self._rows, self._found, self._known = rows, found, known

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows, name)

    def __len__(self) -> int:
        return len(self._rows)

    def test_rows(self) -> np.ndarray:
        return self._found

    def test_gram(self, kernel: str, width: float | None, weak_size: int = 0) -> np.ndarray:
        gamma = kernel_gamma(kernel, width, self._found.shape[1])
        return gram_matrix(self._found, self._known, kernel, gamma)

    def vectors(self, directions: Any) -> np.ndarray:
        return self._found
