"""The proposal for a table: all decisions, before they are written for the user."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from workflow_lib.data.column_kinds import ColumnKind
from workflow_lib.table.data_profile import TEST_SHARE


@dataclass
class Proposal:
    """The decisions about a table.

    Attributes
    ----------
    name : str
        Name of the dataset, of the experiment and of their files.
    request : dict
        The checked request.
    reader : str
        ``table``, or ``bag_table`` for bags of rows.
    options : dict
        Options of the reader; columns in lists, in the order of the file.
    columns : list of str
        All columns of the table.
    kinds : dict
        The `ColumnKind` of each column.
    levels : dict
        The levels of each category.
    facts : dict
        The result of `data_profile`.
    task, split, metric : str
        As in the configuration of datasets and experiments.
    inputs : dict
        ``scale``, ``kernel`` and ``lagged_values`` of the inputs.
    outputs_scale : str
    test_size : int or float
    n_splits, splits_per_job : int
    minutes : float
        Approximate duration of `answer`.
    training_sizes, weak_sizes, unpaired_sizes : list of int
    methods : list of (str, str)
        Names and summaries of the methods.
    methods_left_out : list of (str, str)
        Names of methods that are left out, and why.
    left_out : list of (str, str)
        Columns that are not inputs, and why.
    notes : list of str
        Decisions that the user might take differently.
    warnings : list of str
        Probable mistakes in the table.
    """

    name: str
    request: dict[str, Any]
    options: dict[str, Any]
    columns: list[str]
    kinds: dict[str, ColumnKind]
    levels: dict[str, list[str]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    reader: str = "table"
    task: str = "regression"
    split: str = "random"
    metric: str = "arrmse"
    inputs: dict[str, str] = field(default_factory=dict)
    outputs_scale: str = "standard"
    test_size: int | float = TEST_SHARE
    n_splits: int = 1
    splits_per_job: int = 1
    minutes: float = 0.0
    training_sizes: list[int] = field(default_factory=list)
    weak_sizes: list[int] = field(default_factory=list)
    unpaired_sizes: list[int] = field(default_factory=list)
    methods: list[tuple[str, str]] = field(default_factory=list)
    methods_left_out: list[tuple[str, str]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
