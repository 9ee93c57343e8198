"""Polynomials fitted to few rows: figures 1.1 to 1.3 of the slides of Varoquaux (2019)."""

import numpy as np
from numpy.polynomial import Chebyshev

from workflow_lib.report import style

SHOWS = "polynomials of several degrees fitted to few rows, their learning and validation curves"
CAPTION = (
    "Rows of a polynomial of degree 9 with noise, and polynomials fitted to them. Above: one draw "
    "of 20 rows. Below: mean squared errors of the outputs, as medians over 200 draws, on training "
    "rows (dashed) and on others (lines), against the number of rows and, of 20 rows, against the "
    "degree; dotted is the variance of the noise. The slides (Varoquaux 2019) state neither "
    "coefficients nor noise, which are chosen here."
)
READS = {}

TRUTH = Chebyshev([0.0, 0.4, 0.6, -0.5, 0.0, -0.2, 0.0, 0.1, 0.0, 0.1])
NOISE, ROWS, DRAWS = 0.3, 20, 200
COLORS = {1: style.BASE_COLOR, 3: "#009E73", 9: style.ACCENT_COLOR}


def errors(random: np.random.Generator, n_rows: int, degree: int) -> np.ndarray:
    """Return the median errors on training rows and on 1000 others, (2,), of a degree."""
    found = []
    for _ in range(DRAWS):
        samples = [rows(random, n) for n in (n_rows, 1000)]
        fitted = Chebyshev.fit(*samples[0], degree, domain=[-1, 1])
        found.append([np.mean((y - fitted(x)) ** 2) for x, y in samples])
    return np.median(found, axis=0)


def rows(random: np.random.Generator, n: int) -> np.ndarray:
    """Return inputs and outputs (2, n); inputs are uniform from -1 to 1."""
    x = random.uniform(-1, 1, n)
    return np.array([x, TRUTH(x) + NOISE * random.normal(size=n)])


def draw(seed: int):
    """Return the figure: fits above, learning curves and validation curves below."""
    from matplotlib.figure import Figure

    random = np.random.default_rng(seed)
    x, y = rows(random, ROWS)
    grid, sizes, degrees = np.linspace(-1, 1, 300), [12, 15, 20, 30, 50, 100, 300], range(1, 13)
    with style.applied_style():
        figure = Figure(figsize=(style.WIDTH, 6.4), layout="constrained")
        axes = figure.subplot_mosaic("aa;bc")
        axes["a"].plot(grid, TRUTH(grid), "k:", label="true")
        axes["a"].plot(x, y, "ko", markersize=4, label="rows")
        for degree, color in COLORS.items():
            fitted = Chebyshev.fit(x, y, degree, domain=[-1, 1])(grid)
            axes["a"].plot(grid, fitted, color=color, label=f"degree {degree}")
            _draw_errors(axes["b"], sizes, [errors(random, n, degree) for n in sizes], color)
        _draw_errors(axes["c"], degrees, [errors(random, ROWS, d) for d in degrees], "#333333")
        axes["a"].set(xlabel="input", ylabel="output", ylim=(y.min() - 0.7, y.max() + 0.7))
        axes["b"].set(xlabel="training rows", title="Learning curves")
        axes["b"].set(ylabel="mean squared error (dashed: training)")
        style.scale_sizes(axes["b"], sizes, 1.15)
        axes["c"].set(xlabel=f"degree, {ROWS} training rows", title="Validation curves")
        axes["c"].set_xticks(degrees)
        figure.legend(*axes["a"].get_legend_handles_labels(), loc="outside lower left", ncols=5)
        style.write_title(figure, "Polynomials fitted to few rows (made data)")
    return figure


def _draw_errors(axis, values, found, color: str) -> None:
    for name, dashes, errors_of in zip(
        ("training", "other rows"), ("--", "-"), np.transpose(found)
    ):
        axis.plot(values, errors_of, dashes, color=color, label=name)
    axis.axhline(NOISE**2, color="k", linestyle=":", linewidth=1)
    axis.set(yscale="log", ylim=(0.005, 3))
