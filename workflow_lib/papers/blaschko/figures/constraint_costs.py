"""What the most violated constraint of a structured machine costs, by iteration.

As in Figure 5.9 of Blaschko (2014), in multiplications instead of seconds.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.report.labels import count_of, method_label
from workflow_lib.report.style import ACCENT_COLOR, BASE_COLOR, WIDTH, applied_style, write_title

SHOWS = (
    "the multiplications for the most violated constraint of a structured machine, by iteration of "
    "its cutting planes"
)
CAPTION = (
    "Multiplications for the most violated constraint by iteration: by products of matrices, whose "
    "number does not change, and by sums over the coefficients of all planes with a weight, as "
    "SVMstruct has them. Lines are the fit of the first split at the largest training size. Figure "
    "5.9 of Blaschko (2014) has this form, with seconds relative to the first iteration; `make "
    "bench` measures seconds."
)
READS = {"all_regressions": "results/{experiment}/split-{split}/{shown_method}/regression.h5"}
METHOD_FIELDS = ("label",)
REQUIRES = {"task": {"classes"}}
BECAUSE = "a figure of kind constraint_costs shows machines of classes, and the task is {task}"


def draw(
    all_regressions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    shown_methods: Mapping[str, Mapping],
):
    """Return the figure, of the method by cutting planes with the most training rows.

    Raises UserError if there is none.
    """
    from matplotlib.figure import Figure

    items = [
        (item["training_size"], method, item)
        for method in shown_methods
        for path in list(all_regressions.get(method, ()))[:1]
        for item in read_artifact(path, "regression").values()
        if len(item.get("constraint_terms", ())) > 1
    ]
    if not items:
        raise UserError(
            location="a figure of the kind constraint_costs",
            found=f"no method by cutting planes: {', '.join(shown_methods)}",
            expected="a method with solver: cutting_planes, such as ssvm-cutting-planes",
            remedy="name such a method in the key methods of the figure, or leave the figure out",
        )
    size, method, item = max(items, key=lambda found: found[0])
    terms = np.asarray(item["constraint_terms"], dtype=float)
    constant, of_a_term = np.asarray(item["constraint_products"], dtype=float)
    # In the first iteration there is no plane to sum over.
    iterations = np.arange(2, len(terms) + 1)
    with applied_style():
        figure = Figure(figsize=(WIDTH, 4.0), layout="constrained")
        axis = figure.subplots()
        sums = {"color": ACCENT_COLOR, "label": "sums over the rows of all planes"}
        axis.plot(iterations, of_a_term * terms[1:], linestyle="--", **sums)
        products = {"color": BASE_COLOR, "label": "products of matrices"}
        axis.plot(iterations, np.full(len(iterations), constant), **products)
        axis.set_yscale("log")
        axis.set_xlabel("iteration")
        axis.set_ylabel("multiplications (log scale)")
        figure.legend(loc="outside lower left", ncols=2)
        rows = count_of(int(size), "training row")
        what = f"{method_label(method, shown_methods)}, {rows}, first split"
        write_title(figure, f"{title}\n{what}")
    return figure
