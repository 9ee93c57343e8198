"""The selection of a method for one fit, and the fitted method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import numpy as np

    from workflow_lib.fitting.fit_data import RowsOfTest


@dataclass
class Selection:
    """The selection of a method for one fit."""

    heldout: np.ndarray | None
    """Array (n, d), or None: what is predicted for each training row without its fold: outputs, or
    scores of classes. None where the selection is read from an artifact."""

    entries: dict[str, Any]
    """What was chosen, by the names of the artifact; what is None means nothing for the method. The
    entry ``score`` is the error of `heldout`, lower is better."""

    parts: tuple[Selection, ...] = ()
    """Where predictions are averaged over component counts: the selection for each of them, with
    the entry ``n_components``. `entries` then describe the average."""

    more_seconds: Mapping[str, float] = field(default_factory=dict)
    """Seconds, by the names of the stage of regression, that this fit would need and that were
    spent elsewhere."""

    fitting: Any = None
    """What `Method.fit` needs besides, in the same job."""


class Fitted(ABC):
    """A fitted method, which predicts without the rows that it was fitted to."""

    has_training_error: ClassVar[bool] = True
    """Whether the regression stage lets it predict its own training rows too, for their error.
    False where this has no meaning (a stack, whose weights are fitted to predictions without the
    fold of each row) or costs more than the fit (features of many rows, a search for each row)."""

    is_faster: ClassVar[bool] = False
    """Whether it predicts the same as what `from_arrays` makes of its arrays, in less time."""

    @abstractmethod
    def predict(self, rows: RowsOfTest) -> np.ndarray:
        """Return what is predicted for `rows`: outputs (m, d), their embeddings, or class scores.

        `rows` are the test rows of a split, or new rows of a saved model
        (`workflow_lib.table.saved_inputs`).
        """

    def predictions(self, rows: RowsOfTest) -> dict[str, np.ndarray]:
        """Return what the artifact holds of the test rows: ``test_targets``, and more by name."""
        return {"test_targets": self.predict(rows)}

    def entries(self) -> dict[str, Any]:
        """Return the arrays that the "regression" artifact holds; by default none."""
        return {}

    @abstractmethod
    def to_arrays(self) -> dict[str, Any]:
        """Return all that `from_arrays` needs, as a tree for an artifact."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Fitted:
        """Return the fitted method that `to_arrays` described."""


class ArraysOfFit(dict):
    """The arrays of a fit that this process has made, and the fit, which predicts for them."""

    def __init__(self, fit: Fitted) -> None:
        super().__init__(fit.to_arrays())
        self.fit = fit
