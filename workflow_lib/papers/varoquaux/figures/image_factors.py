"""Factors of patches of photographs: figures 2.1 and 2.2 of the slides of Varoquaux (2019)."""

import numpy as np

from workflow_lib.papers.varoquaux.subsampled_factorisation import SubsampledFactorisation
from workflow_lib.report import style

SHOWS = "factors of patches of photographs, and how fast a subsampled factorisation learns them"
CAPTION = (
    "Patches of the two photographs of scikit-learn, without their mean. Above: their mixing "
    "vectors by independent components (FastICA), and the atoms of a sparse dictionary. Below: "
    "what a dictionary of patches of 64 by 64 pixels minimises, on others of the same photographs, "
    "while it is learned once from batches of 10, with all p pixels or p / r of them in a step. Of "
    "a step with b patches and k atoms multiplications of pixels are counted: 2 b k p for codes "
    "and sums, and for the dictionary 2.5 k^2 p (r = 1) or 3.5 k^2 p / r, as implemented. The "
    "slides (Varoquaux 2019) have time instead, and other large images."
)
READS = {}

PATCHES, STREAMED, TEST = 10_000, 2000, 200
SIDE, LARGE, ATOMS, ALPHA, BATCH = 12, 64, 49, 0.1, 10
COLORS = {1: "#333333", 4: style.BASE_COLOR, 12: style.ACCENT_COLOR}


def patches(side: int, n: int, seed: int) -> np.ndarray:
    """Return n patches (n, side^2) in random order, centred, and of length 1 where not flat."""
    from sklearn.datasets import load_sample_images
    from sklearn.feature_extraction.image import extract_patches_2d

    of_each = {"patch_size": (side, side), "max_patches": n // 2, "random_state": seed}
    images = [image.mean(axis=2) for image in load_sample_images().images]
    found = np.concatenate([extract_patches_2d(image, **of_each) for image in images])
    found = np.random.default_rng(seed).permutation(found.reshape(n, -1))
    found -= found.mean(axis=1, keepdims=True)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 10 * side)


def draw(seed: int):
    """Return the figure: two sheets of factors above, the objectives below."""
    from matplotlib.figure import Figure
    from sklearn.decomposition import FastICA

    small, large = patches(SIDE, PATCHES, seed), patches(LARGE, STREAMED + TEST, seed)
    components = FastICA(ATOMS, whiten="unit-variance", tol=1e-3, random_state=seed).fit(small)
    dictionary = SubsampledFactorisation(ATOMS, ALPHA, batch_size=100, random_state=seed)
    sheets = {"Independent components": components.mixing_.T}
    sheets["Sparse dictionary"] = dictionary.fit(small).components_
    with style.applied_style():
        figure = Figure(figsize=(style.WIDTH, 6.6), layout="constrained")
        axes = figure.subplot_mosaic("ab;cc", height_ratios=[5, 4])
        for axis, (title, factors) in zip((axes["a"], axes["b"]), sheets.items(), strict=True):
            factors = factors / np.abs(factors).max(axis=1, keepdims=True)
            sheet = factors.round(3).reshape(7, 7, SIDE, SIDE)
            sheet = np.pad(sheet, [(0, 0)] * 2 + [(0, 1)] * 2, constant_values=np.nan)
            sheet = sheet.swapaxes(1, 2).reshape(7 * (SIDE + 1), -1)
            axis.imshow(sheet, cmap="gray", vmin=-1, vmax=1, interpolation="nearest", label=title)
            axis.set(title=title, xticks=[], yticks=[])
            axis.grid(False)
            axis.spines[:].set_visible(False)
        for r, color in COLORS.items():
            name = f"1 / {r} of the pixels in a step" if r > 1 else "all pixels in a step"
            axes["c"].plot(*_learned(large, r, seed), "o-", color=color, label=name)
        axes["c"].set(xscale="log", xlabel="multiplications of pixels (log scale)")
        axes["c"].set(ylabel="objective on other patches")
        figure.legend(loc="outside lower left", ncols=3)
        style.write_title(figure, "Factors of patches of two photographs")
    return figure


def _learned(rows: np.ndarray, r: int, seed: int) -> tuple[list[float], list[float]]:
    """Return multiplications and objectives after more and more rows."""
    settings = {"batch_size": BATCH, "reduction": r, "random_state": seed}
    model, (test, train) = SubsampledFactorisation(ATOMS, ALPHA, **settings), np.split(rows, [TEST])
    of_a_step = rows.shape[1] * ATOMS * (2 * BATCH + (2.5 if r == 1 else 3.5 / r) * ATOMS)
    ends = [STREAMED >> halvings for halvings in range(5, -1, -1)]
    objectives = [model.partial_fit(part).objective(test) for part in np.split(train, ends)[:-1]]
    return [of_a_step * end / BATCH for end in ends], objectives
