"""The cross-validated error of linear methods against the number of inputs that they use."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.fitting.validation_curves import ENTRY, USED_INPUTS
from workflow_lib.protocol.statistics import mean_and_deviation
from workflow_lib.report.labels import PLUS_MINUS, count_of, method_label
from workflow_lib.report.lines import Line, draw_curve
from workflow_lib.report.style import WIDTH, line_style
from workflow_lib.report.validation_lines import curves_of_splits, usual_kernel

SHOWS = "the cross-validated error against the number of inputs that linear methods use"
CAPTION = (
    "The cross-validated error of the training rows against the number of inputs with a "
    "coefficient other than zero, at the largest training size. Each point is a value of the "
    "penalty, minimised over the other hyper-parameters: means over the splits of both, the bars "
    "the sample standard deviation of the error. Figure 4.6 of Blaschko (2014) has this form, with "
    "correlations of held-out volumes instead of errors."
)
READS = {"all_regressions": "results/{experiment}/split-{split}/{shown_method}/regression.h5"}
METHOD_FIELDS = ("label", "color", "marker")


def draw(
    all_regressions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    shown_methods: Mapping[str, Mapping],
):
    """Return the figure: a line for each method that holds numbers of used inputs.

    The penalty is the hyper-parameter with the most values. Points without any input are left out:
    they have no place on a logarithmic axis.

    Raises UserError if no method holds such numbers.
    """
    trees = {method: curves_of_splits(all_regressions.get(method, ())) for method in shown_methods}
    points = {method: _points(found) for method, found in trees.items() if found}
    points = {method: found for method, found in points.items() if len(found)}
    if not points:
        raise UserError(
            location="a figure of the kind sparsity",
            found=f"no method holds numbers of inputs: {', '.join(shown_methods)}",
            expected="a linear method that selects a penalty, such as k-support or elastic-net",
            remedy="name such a method in the key methods of the figure, or leave the figure out",
        )
    items = [item for method in points for item in trees[method]]
    size = max(int(item["training_size"]) for item in items)
    n_splits = max(len(trees[method]) for method in points)
    lines = [
        Line(
            method_label(method, shown_methods),
            *found.T,
            line_style(method, shown_methods),
            value=float(found[:, 1].min()),
        )
        for method, found in points.items()
    ]
    return draw_curve(
        {"": lines},
        size=(WIDTH, 4.4),
        axes=("number of inputs used (log scale)", "cross-validated error"),
        scale=lambda axis, _: axis.set_xscale("log"),
        title=f"{title}\n{count_of(size, 'training row')}, {count_of(n_splits, 'split')}, mean "
        f"{PLUS_MINUS} standard deviation",
        is_error=True,
    )


def _points(items: Sequence[Mapping]) -> np.ndarray:
    """Return numbers of inputs, errors and their deviations (k, 3) of one method, by the number."""
    kernel = usual_kernel(items)
    used = [item[ENTRY].get(USED_INPUTS, {}).get(kernel, {}) for item in items]
    names = set.intersection(*map(set, used))
    if not names:
        return np.empty((0, 3))
    name = max(sorted(names), key=lambda name: len(used[0][name]))
    numbers = [dict(each[name].tolist()) for each in used]
    errors = [dict(item[ENTRY][kernel][name].tolist()) for item in items]
    found = []
    for value in sorted(set.intersection(*map(set, numbers))):
        mean, deviation = mean_and_deviation([each[value] for each in errors])
        found.append((np.mean([each[value] for each in numbers]), mean, deviation))
    found = np.nan_to_num(np.array([point for point in found if point[0] > 0])).reshape(-1, 3)
    return found[np.argsort(found[:, 0])]
