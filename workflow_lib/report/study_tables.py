"""The error in a study of weak labels, value by value, and what it is compared with."""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from workflow_lib.core.errors import UserError
from workflow_lib.report.quantities import REFERENCE_METHOD, errors_by_size
from workflow_lib.report.results import most_test_rows
from workflow_lib.report.tables import Cell, compared_cell
from workflow_lib.report.variants import SELECTED, Variant, order_variants, study_of


def study_table(
    scores: pd.DataFrame,
    study: str,
    *,
    metric: str = "arrmse",
    method_order: Iterable[str] = (),
    reference: str = REFERENCE_METHOD,
) -> list[Cell]:
    """Return the cells of a study: by method the values, ascending, then what is selected.

    A study has one training size and one weak size, the largest. Besides the methods that it varies
    it includes the reference method without weak rows, at the same training size.

    `study` is ``weak_weight`` or ``weak_noise``, and `metric` a key of
    `workflow_lib.report.quantities.QUANTITIES`; every cell is compared with the `reference`.

    Raises UserError if the scores contain no such study.
    """
    study_names = scores["setting"].str.partition("=")[0]
    fixed = scores[study_names == study]
    if fixed.empty:
        raise UserError(
            f"a table or figure of kind {study}",
            f"scores in which no method was run with fixed values of {study}",
            f"an experiment whose key studies gives values of {study}, with a method that uses "
            "weak rows and with weak sizes that fit the data",
            "give it these, or remove the table or figure",
        )
    size = int(fixed["training_size"].max())
    fixed = fixed[fixed["training_size"] == size]
    weak_size = int(fixed["weak_size"].max())
    rows = ["method", "components"]
    is_varied = scores.set_index(rows).index.isin(fixed.set_index(rows).index)
    shown = scores[
        (scores["training_size"] == size)
        & (
            ((scores["weak_size"] == weak_size) & is_varied)
            | ((scores["weak_size"] == 0) & (scores["method"] == reference))
        )
        & study_names.isin(["", study])
    ]
    column = errors_by_size(shown, metric)[size]
    options = {"size": size, "n_train": int(fixed["n_train"].iloc[0]), "study": study}
    options |= {"n_test": most_test_rows(shown), "reference": reference}
    cells = []
    for variant in _in_order(column, method_order):
        value = study_of(variant.setting)[1] if variant.setting else None
        cells.append(compared_cell(metric, column, variant, value=value, **options))
    return cells


def varied_variants(cells: Sequence[Cell]) -> list[Variant]:
    """Return the variants whose values the study fixed, in the order of the cells."""
    return list(dict.fromkeys(cell.variant for cell in cells if cell.value is not None))


def reference_cell(cells: Sequence[Cell], variant: Variant) -> Cell | None:
    """Return the cell without weak rows that a variant is compared with, None without any.

    Its components are chosen as in `workflow_lib.report.tables.reference_variant`.
    """
    without = {cell.components: cell for cell in cells if not cell.weak_size}
    return without.get(variant.components) or without.get(SELECTED)


def _in_order(variants: Mapping[Variant, object], method_order: Iterable[str]) -> list[Variant]:
    """Return the variants by method, in each the values of the study before what is selected."""
    ordered = order_variants(variants, method_order)
    rows = list(dict.fromkeys(variant._replace(setting="") for variant in ordered))
    return sorted(ordered, key=lambda v: (rows.index(v._replace(setting="")), not v.setting))
