"""The contract of a table: what its module defines, and what is known of it before it is loaded.

A kind of table is a module of this package, or of the folder ``table_kinds`` of a paper; its name
is that of the kind. It has

``SHOWS``
    what it shows, for the reference of the configuration;
``READS``
    the results of an experiment that it takes, as a mapping of names to the patterns of their
    files (`workflow_lib.report.reads`);
``COLUMNS``
    what its CSV file has of each cell;
``cells``
    which returns all numbers of the table, as a list of objects with the attributes `COLUMNS`, or
    as a frame with these columns. Its parameters are the names in `READS`, in their order, and
    ``options``, a `workflow_lib.report.table_text.TableOptions`. What
    `workflow_lib.report.table_files.READERS` names is given as a frame, all else as
    `workflow_lib.report.reads.arranged` gives it. It raises UserError where the results do not
    hold what it shows;
``layout``
    which returns the `workflow_lib.report.table_markup.Layout` of the cells with the same options,
    and computes no number;

and may have

``SHOWS_ERRORS``
    whether its cells are `workflow_lib.report.tables.Cell` of errors, whose decimals can be set;
``REQUIRES`` and ``BECAUSE``, ``NEEDS_METHOD`` and ``METHOD_IN_WORDS``
    what an experiment and one of its methods must satisfy, as `workflow_lib.report.figures.base`
    says of figures.

A kind with keys of its own in the configuration has a module of its name in the folder ``keys``
beside it, with the class

``Keys``
    a `workflow_lib.core.settings.Settings` of keys that no other kind has. One whose value is empty
    by default must be given;

and, where these name methods, the functions

``named_methods(table)``
    which returns them, for the settings of a table;
``limited_to(table, methods)``
    which returns the keys without those of other methods, for a table of a user, or None where
    nothing is left.

`cells` and `layout` find the values in ``options.keys``.

All but ``COLUMNS``, ``cells`` and ``layout`` are literals. They are read from the source, because
importing pandas takes a second, and every command needs them.
"""

from dataclasses import dataclass, field
from functools import cache

from workflow_lib.core.plugins import TABLE_KINDS


@dataclass(frozen=True)
class TableKind:
    """What the module of a kind of table declares."""

    name: str
    shows: str
    reads: dict[str, str]
    shows_errors: bool = False
    requires: dict[str, set] = field(default_factory=dict)
    because: str = ""
    needs_method: dict[str, set] = field(default_factory=dict)
    method_in_words: str = ""


@cache
def table_kinds() -> dict[str, TableKind]:
    """Return what the module of every kind declares, without importing any.

    Raises UserError if a member is missing.
    """
    members = ("SHOWS", "READS", "COLUMNS", "cells", "layout")
    return TABLE_KINDS.declarations(TableKind, members, "docs/add-a-table.md")
