"""The contract of measures: numbers that say how good the predictions of a fit are.

A module of `workflow_lib.measures`, or of the folder ``measures`` of a paper, has one measure, or
a few that share an intermediate result:

``MEASURES``
    a tuple of `Measure`, in the order of tables;
``values``
    a function that takes `Predictions` and returns the values by name, without those that these
    predictions do not have.

The columns of ``scores.csv``, tables, sentences and the keys of the configuration follow from them.
Lists of measures are by task, by the names of the modules and in the order of ``MEASURES``. Such
a module loads NumPy only where `values` needs it: the configuration names all measures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Measure:
    """An error of predicted outputs, or a score of which the error is 1 minus the score."""

    name: str
    """Its name in ``scores.csv`` and in the configuration."""

    title: str
    """Its name in sentences and figures."""

    heading: str
    """The heading of a block of a table."""

    description: str
    """Its definition in the reference of the configuration."""

    outputs: str = "numbers"
    """What it measures, as `workflow_lib.tasks.base.Task.outputs`."""

    higher_is_better: bool = False
    """Whether it is a score, which is 1 for perfect predictions."""

    is_share: bool = False
    """Whether it lies between 0 and 1."""

    is_accuracy: bool = False
    """Whether it is the share of right rows, which is compared as the share of wrong rows, and with
    guessing."""

    is_percent: bool = False
    """Whether a score is shown in per cent."""

    may_be_absent: bool = False
    """Whether some data do not have it, such as those without losses between classes."""

    is_usual: bool = False
    """Whether tables show it that name no errors."""

    reading: str = ""
    """The sentence under published numbers that are taken for this measure because of their
    size."""

    selects_by: str = ""
    """The error of `workflow_lib.measures.metrics.METRICS` that selection minimises where this
    measure is the metric of an experiment; empty where it cannot be."""

    as_metric: str = ""
    """The sentence on it in the description of the key ``metric``."""

    plain_name: str = ""
    """Its name in the answer on a user table, of metrics."""

    scale: str = ""
    """The sentence that names a value to compare it with, of metrics; ``{guess}`` and ``{chance}``
    are the best guess that uses no input and its accuracy."""


@dataclass(frozen=True)
class Predictions:
    """What measures compare."""

    truth: np.ndarray
    """Array (n, d), or int array (n,) of classes: the true outputs. Missing numbers are NaN."""

    predicted: np.ndarray
    """Array of the same shape."""

    reference: np.ndarray | None = None
    """Array (d,) or None, default=None: squared errors of the training mean on the same rows; None
    for classes."""

    entries: Mapping[str, Any] = field(default_factory=dict)
    """Mapping, default={}: what else is known of these predictions, by name, such as the scores of
    classes."""
