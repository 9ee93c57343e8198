"""The proposal for a table: all decisions, before they are written for the user."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from workflow_lib.data.column_kinds import ColumnKind
from workflow_lib.table.data_profile import TEST_SHARE


@dataclass
class Proposal:
    """The decisions about a table.

    ``name`` is that of the dataset, of the experiment and of their files, ``request`` the checked
    request, ``reader`` ``table``, or ``bag_table`` for bags of rows, and ``options`` are those of
    the reader: columns in lists, in the order of the file. ``columns`` are all columns of the
    table, with the `ColumnKind` of each in ``kinds``, ``levels`` those of each category, and
    ``facts`` the result of `data_profile`. ``task``, ``split``, ``metric`` and the sizes are as in
    the configuration of datasets and experiments, ``inputs`` the ``scale``, ``kernel`` and
    ``lagged_values`` of the inputs, and ``minutes`` the approximate duration of `answer`.

    ``methods`` are names and summaries, ``methods_left_out`` names and reasons, and ``left_out``
    the columns that are not inputs, and why. ``notes`` are decisions that the user might take
    differently, ``warnings`` probable mistakes in the table.
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
