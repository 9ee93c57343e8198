"""Cross-validated shares of wrong or right classes against a hyper-parameter that methods share.

What is drawn is the share of the training rows whose class is wrong (or right) for a fit without
their fold. Parameters are not selected by it but by errors of class scores, which have another unit
in each method; of the grid points with one value it is that of the one that would be selected.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from workflow_lib.core.errors import UserError
from workflow_lib.fitting.validation_curves import ENTRY, ERROR_RATES
from workflow_lib.report.validation_lines import (
    Curve,
    curves_of_splits,
    draw_curves,
    fits_in_words,
    usual_kernel,
)


def draw_error_rates(
    kind: str,
    regressions: Mapping[str, Sequence[str | Path]],
    parameters: Sequence[str],
    *,
    title: str,
    methods: Mapping[str, Mapping],
    of_right_classes: bool = False,
):
    """Return the figure: a panel for each of the parameters that some method selects.

    Raises UserError if no method holds such shares.

    Parameters
    ----------
    kind : str
        Of the figure, for the error.
    regressions : mapping
        The "regression" artifacts of each method, in the order of the splits.
    parameters : sequence of str
        Names of hyper-parameters without what precedes the last two underscores: ``n_states`` is
        also ``estimator__n_states``.
    title : str
    methods : mapping
        The methods shown, with their label, color and marker.
    of_right_classes : bool, default=False
        Draw accuracies instead of error rates.
    """
    trees = {method: curves_of_splits(regressions.get(method, ())) for method in methods}
    kernels = {method: usual_kernel(found) for method, found in trees.items() if found}
    named = {}
    for method, kernel in kernels.items():
        held = [
            name
            for item in trees[method]
            for name in item[ENTRY].get(ERROR_RATES, {}).get(kernel, ())
        ]
        found = {name.rpartition("__")[2]: name for name in held}
        found = {part: found[part] for part in parameters if part in found}
        if found:
            named[method] = found
    if not named:
        raise UserError(
            location=f"a figure of the kind {kind}",
            found=f"no method holds error rates for several values of {' or '.join(parameters)}: "
            f"{', '.join(methods)}",
            expected="a method for classes whose grid has several such values",
            remedy="name such a method in the key methods of the figure, or leave the figure out; "
            "after an update run the fits again",
        )

    def shown(share: float) -> float:
        return 100.0 * (1.0 - share if of_right_classes else share)

    curves = {
        method: {
            part: Curve.of(trees[method], kernels[method], found.get(part, ""), ERROR_RATES, shown)
            for part in parameters
        }
        for method, found in named.items()
    }
    measure = "accuracy" if of_right_classes else "error rate"
    return draw_curves(
        curves,
        [part for part in parameters if any(part in found for found in named.values())],
        title=f"{title}\n{fits_in_words({method: trees[method] for method in named})}",
        axis_label=f"cross-validated {measure} (%)",
        kernels=kernels,
        methods=methods,
        higher_is_better=of_right_classes,
    )
