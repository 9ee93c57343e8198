"""The cross-validated error against each hyper-parameter, at the largest training size."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from workflow_lib.core.errors import UserError
from workflow_lib.fitting.validation_curves import ENTRY
from workflow_lib.report.validation_lines import (
    AXES,
    Curve,
    curves_of_splits,
    draw_curves,
    fits_in_words,
    usual_kernel,
)

SHOWS = "the cross-validated error against each hyper-parameter, of methods that select by it"
CAPTION = (
    "The cross-validated error of the training rows against each hyper-parameter, at the largest "
    "training size, minimised over the other hyper-parameters. Points are means over the splits, "
    "bars their sample standard deviation. Rings are at the chosen values, the larger the more "
    "splits chose them; a method that averages over numbers of components has one for each. Of "
    "several kernels the one is shown that was chosen most often. Penalties are in units of the "
    "size of the kernel where several compete."
)
READS = {"all_regressions": "results/{experiment}/split-{split}/{shown_method}/regression.h5"}
METHOD_FIELDS = ("label", "color", "marker")


def draw(
    all_regressions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    shown_methods: Mapping[str, Mapping],
):
    """Return the figure: a panel for each hyper-parameter that some method chose.

    A line has the values that were tried in every split: where a grid was extended, its further
    values have no line, but a ring where they were chosen. An infinite penalty is not kept. Of a
    method with several fits at the largest training size the one with most weak rows is shown, and
    with the number of components selected where it is.

    Raises UserError if no method holds such errors.
    """
    trees = {method: curves_of_splits(all_regressions.get(method, ())) for method in shown_methods}
    trees = {method: found for method, found in trees.items() if found}
    if not trees:
        raise UserError(
            location="a figure of the kind validation_curve",
            found=f"no method holds the errors of its grid: {', '.join(shown_methods)}",
            expected="a method that selects among several values",
            remedy="name such a method in the key methods of the figure, or leave the figure out",
        )
    kernels = {method: usual_kernel(found) for method, found in trees.items()}
    held = {
        name: None
        for method, found in trees.items()
        for item in found
        for name in item[ENTRY].get(kernels[method], {})
    }
    curves = {
        method: {name: Curve.of(found, kernels[method], name) for name in {**AXES, **held}}
        for method, found in trees.items()
    }
    names = [
        name for name in {**AXES, **held} if any(len(of[name].values) for of in curves.values())
    ]
    return draw_curves(
        curves,
        names,
        title=f"{title}\n{fits_in_words(trees)}",
        axis_label="cross-validated error",
        kernels=kernels,
        methods=shown_methods,
        is_error=True,
    )
