"""Small synthetic result files and an HTML parser for the tests of the report.

None of the numbers is a result.
"""

import csv
import itertools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.plugins import TABLE_KINDS
from workflow_lib.core.result_columns import (
    CHOICES,
    COORDINATES,
    CROSS_VALIDATED,
    SCORES,
    TIMINGS,
    TRAINING,
)
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.output_scaling import fit_output_scaling
from workflow_lib.models.storage import model_to_tree
from workflow_lib.report import table_files
from workflow_lib.report.published_tables import beside
from workflow_lib.report.render import html_markup
from workflow_lib.report.results import read_scores
from workflow_lib.report.table_markup import Layout, latex_markup
from workflow_lib.report.table_text import TableOptions
from workflow_lib.run.models import OWNERS_OF_KEYS
from workflow_lib.tasks.found import measures_of
from workflow_lib.uncertainty.row_intervals import RowIntervals

METHODS = {
    "m-krr": {"label": "m-KRR", "color": "#E69F00", "marker": "^", "summary": "Kernel ridge."},
    "m-rf": {"label": "m-RF", "color": "#009E73", "marker": "v", "summary": "Forest."},
    "ofer-gmm": {"label": "OFER-GMM", "color": "#0072B2", "marker": "o", "summary": "Ours."},
    "wofer-gmm": {"label": "wOFER-GMM", "color": "#CC79A7", "marker": "D", "summary": "Weak."},
}

CLASS_METHODS = {
    "class-krr": {"label": "one-hot KRR", "color": "#228833", "marker": "o", "summary": "Ridge."},
    "m-svm": {"label": "m-SVM", "color": "#BB5566", "marker": "d", "summary": "Vectors."},
    "ofer-gmm": METHODS["ofer-gmm"],
    "wofer-gmm": METHODS["wofer-gmm"],
}

FACTORS = {"rrmse": 2, "root_sum_rrmse": 3, "norm_rrmse": 1 / 4}
"""Other errors in the samples, as multiples of the aRRMSE; 1 for those not listed."""

Row = tuple[str, str, int, Callable[[int, int], float]]
"""Method, components, weak size and the error of (training size, split); a setting may follow."""

NOISE = (0.011, -0.007, 0.004, -0.012, 0.009, 0.002, -0.005, 0.013, -0.003, 0.006)


def _write(path: Path, columns: Sequence[str], lines: Iterable[Sequence]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *lines])
    return path


def _lines(
    rows: Sequence[Row],
    sizes: Sequence[int],
    n_splits: int,
    numbers: Callable[[int, float], list],
    of_settings: Sequence[int] | None = None,
) -> Iterator[list]:
    """Yield the key of every size and split of the rows, and then `numbers` of size and error."""
    for method, components, weak_size, error, *setting in rows:
        for size in (of_settings or sizes[-1:]) if setting else sizes:
            for split in range(n_splits):
                key = ["toy", "toy-data", method, components, size, weak_size, *(setting or [""])]
                yield [*key, split, *numbers(size, error(size, split))]


def write_scores(
    path: Path,
    rows: Sequence[Row],
    sizes: Sequence[int] = (20, 50),
    n_splits: int = 5,
    n_test: int = 10,
) -> Path:
    """Write the scores of some rows; those with a setting have the largest training size only."""

    lines = [
        [*key, size, n_test, name, FACTORS.get(name, 1) * value]
        for *key, size, value in _lines(rows, sizes, n_splits, lambda size, value: [size, value])
        for name in measures_of("numbers")
    ]
    return _write(path, SCORES, lines)


def scores_of(folder: Path, rows: Sequence[Row], **options):
    """Return the scores of some rows as a frame; `options` are those of `write_scores`."""
    return read_scores(write_scores(folder / "scores.csv", rows, **options))


def write_published(path: Path, *lines: str) -> Path:
    """Write a published table; its lines may end before the training size or the weak rows."""
    head = "table,row,column,value,spread,unit,method,components,training_size,weak_size"
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


def write_choices(
    path: Path,
    rows: Sequence[Row],
    sizes: Sequence[int] = (20, 50),
    n_splits: int = 5,
    **chosen: object,
) -> Path:
    """Write what was chosen in some rows, the same in every split: by default RBF kernels."""
    chosen = {"kernel": "rbf", "n_components": 4, "alpha_rest": 0.01} | chosen
    lines = [
        [*key, name, value]
        for key in _lines(rows, sizes, n_splits, lambda size, value: [])
        for name, value in chosen.items()
    ]
    return _write(path, CHOICES, lines)


def write_accuracies(
    path: Path,
    rows: Sequence[Row],
    sizes: Sequence[int] = (1, 5),
    n_splits: int = 5,
    n_test: int = 100,
    n_classes: int = 10,
) -> Path:
    """Write the scores of classes, rows as in `write_scores` with the accuracy as their number.

    Sizes are examples per class.
    """

    def score(size, accuracy):
        return [n_classes * size, n_test, "accuracy", accuracy]

    return _write(path, SCORES, _lines(rows, sizes, n_splits, score))


def add_rankings(path: Path, without: Collection[int] = ()) -> Path:
    """Add an AUC, a quarter of the way above each accuracy, and a median RFP, which is the rest.

    They are missing in the splits `without`.
    """
    lines = path.read_text().splitlines()
    for line in lines[1:]:
        *key, _, value = line.split(",")
        if int(key[SCORES.index("split")]) not in without:
            auc = 0.75 * float(value) + 0.25
            lines += [",".join([*key, "auc", repr(auc)])]
            lines += [",".join([*key, "median_rfp", repr(1 - auc)])]
    path.write_text("\n".join(lines) + "\n")
    return path


def add_training_rows(path: Path, factor: float, folds: float | None = None) -> Path:
    """Add the errors of training rows, as parts of those of test rows."""
    lines = path.read_text().splitlines()
    factors = {TRAINING: factor} | ({CROSS_VALIDATED: folds} if folds else {})
    for line in lines[1:]:
        *key, name, value = line.split(",")
        lines += [
            ",".join([*key, prefix + name, repr(part * float(value))])
            for prefix, part in factors.items()
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_coordinates(
    path: Path,
    rows: Sequence[Row],
    names: Sequence[str] = ("week_1", "week_2", "week_3"),
    sizes: Sequence[int] = (20, 50),
    n_splits: int = 5,
    n_classes: int = 1,
) -> Path:
    """Write errors of coordinates, rows as in `write_scores`; coordinate j adds j / 10.

    With `n_classes` sizes are examples per class.
    """
    lines = [
        [*key, n_train, 10, number, name, error + number / 10]
        for *key, n_train, error in _lines(
            rows, sizes, n_splits, lambda size, error: [n_classes * size, error], of_settings=sizes
        )
        for number, name in enumerate(names)
    ]
    return _write(path, COORDINATES, lines)


def write_timings(
    path: Path, methods: Sequence[str], sizes=(20, 50), n_splits: int = 3, setting: str = ""
) -> Path:
    """Write timings: selection 10, fit 0.5, prediction 0.001, pre-image 0.002, times split + 1."""
    lines = [
        ["toy", "toy-data", method, "selected", size, 0, setting, split, size, 10]
        + [number * (split + 1) for number in (10, 0.5, 0.001, 0.002)]
        for method, size, split in itertools.product(methods, sizes, range(n_splits))
    ]
    return _write(path, TIMINGS, lines)


def base_error(size: int, split: int) -> float:
    """Return an error that falls with the training size and differs from split to split."""
    return 1.0 - 0.1 * (size > 20) + NOISE[split]


def better_error(size: int, split: int) -> float:
    """Return an error far below the base in every split, by an amount that varies a little."""
    return base_error(size, split) - 0.3 - 0.1 * NOISE[(split + 3) % 10]


def worse_error(size: int, split: int) -> float:
    """Return an error far above the base in every split."""
    return base_error(size, split) + 0.2 + 0.1 * NOISE[(split + 5) % 10]


def noisy_error(size: int, split: int) -> float:
    """Return an error that is now above and now below the base."""
    return base_error(size, split) + (0.02 if split % 2 else -0.02)


def base_accuracy(size: int, split: int) -> float:
    """Return an accuracy that rises with the examples and differs from split to split."""
    return 0.5 + 0.1 * (size > 1) + NOISE[split]


def better_accuracy(size: int, split: int) -> float:
    """Return an accuracy far above the base in every split, by an amount that varies a little."""
    return base_accuracy(size, split) + 0.2 + 0.1 * NOISE[(split + 3) % 10]


def worse_accuracy(size: int, split: int) -> float:
    """Return an accuracy far below the base in every split."""
    return base_accuracy(size, split) - 0.3 - 0.1 * NOISE[(split + 5) % 10]


def write_class_results(
    folder: Path,
    *,
    n_classes: int = 6,
    n_components: int = 3,
    n_splits: int = 2,
    names: Sequence[str] | None = None,
    shares: Mapping[str, float] | None = None,
    with_images: bool = True,
) -> dict:
    """Write a dataset of classes, splits, a mixture, and predictions at 1 and 2 examples per class.

    Every class has five rows: two for training, three for testing. Classes k and k + C are in one
    component where their number is a multiple of C. The predictions of each method of `shares` are
    right in that share of the test rows and name the class k + C in the others; at 1 example per
    class none is right. Of ``wofer-gmm`` the "regression" artifact of split 0 holds memberships.

    Returns
    -------
    dict
        The paths ``dataset``, ``splits``, ``predictions``, ``regressions`` and ``models``, and the
        arrays ``labels`` and ``components`` (of the classes).
    """
    folder.mkdir(parents=True, exist_ok=True)
    shares = shares or {"class-krr": 0.5, "wofer-gmm": 0.75}
    names = names or [f"class_{number}" for number in range(n_classes)]
    random = np.random.default_rng(0)
    components = np.arange(n_classes) % n_components
    # Components far apart, whose classes differ a little.
    vectors = 10.0 * np.eye(n_components)[components] + 0.3 * random.normal(
        size=(n_classes, n_components)
    )
    labels = np.repeat(np.arange(n_classes), 5)
    tree = {
        "inputs": np.zeros((len(labels), 1)),
        "outputs": vectors[labels],
        "classes": {"labels": labels, "vectors": vectors},
        "names": {"outputs": "[]", "classes": json.dumps(list(names)), "rows": "[]"},
        "report": {"rows_read": len(labels), "rows_dropped": 0},
    }
    if with_images:
        shape = (len(labels), 8, 8, 3)
        tree["images"] = {"thumbnails": random.integers(0, 256, shape, dtype=np.uint8)}
    paths: dict = {"dataset": folder / "data.h5", "splits": [], "predictions": {}}
    write_artifact(paths["dataset"], tree, "dataset")
    by_class = np.arange(len(labels)).reshape(n_classes, 5)
    test = by_class[:, 2:].ravel()
    sizes = np.array([n_classes, 2 * n_classes])
    for split in range(n_splits):
        partition = {"train": by_class[:, :2].T.ravel(), "test": test, "sizes": sizes}
        paths["splits"].append(folder / f"split-{split}.h5")
        write_artifact(paths["splits"][-1], partition | {"examples": np.array([1, 2])}, "split")
    following = (np.arange(n_classes) + n_components) % n_classes
    for method, share in shares.items():
        weak_size = 100 if method.startswith("w") else 0
        for split in range(n_splits):
            predicted = labels[test].copy()
            order = np.random.default_rng(split).permutation(len(test))
            wrong = order[round(share * len(test)) :]
            predicted[wrong] = following[predicted[wrong]]
            items = {}
            for size, classes in zip(sizes, (following[labels[test]], predicted)):
                entries = {"training_size": int(size), "weak_size": weak_size, "setting": ""}
                entries |= {"components": "selected", "classes": classes}
                entries["class_scores"] = np.eye(n_classes)[classes]
                items[f"n-{size}_w-{weak_size}_C-selected"] = entries
            path = folder / f"split-{split}" / method / "predictions.h5"
            write_artifact(path, items, "predictions")
            paths["predictions"].setdefault(method, []).append(path)
    probabilities = (
        np.full((len(test), n_components), 0.1)
        + 0.7 * np.eye(n_components)[components][labels[test]]
    )
    items = {f"n-{sizes[-1]}_w-100_C-selected": {"test_memberships": probabilities}}
    paths["regressions"] = {"wofer-gmm": folder / "split-0/wofer-gmm/regression.h5"}
    write_artifact(paths["regressions"]["wofer-gmm"], items, "regression")
    rows = vectors[labels]
    scaling = fit_output_scaling(rows, "center")
    model = GaussianMixtureModel(n_components, "tied_spherical", 1e-3, n_init=5)
    stored = model_to_tree(model.fit(scaling.apply(rows)), scaling)
    fitted = {f"n-{size}": {f"C-{n_components}": {"all": stored}} for size in sizes}
    write_artifact(folder / "models.h5", fitted, "models")
    return paths | {
        "models": folder / "models.h5",
        "labels": labels,
        "vectors": vectors,
        "components": components,
    }


def write_calibration(
    folder, n_outputs=2, n_test=15, n_splits=3, half_width=1.5, names=None, far=3.0
):
    """Write a calibration of synthetic numbers and its dataset; return their paths.

    The noise of output j grows with j. In every split the first row lacks its first output and
    the last row is novel, `far` times the limit.
    """
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    widths = np.full(n_outputs, half_width)
    intervals = RowIntervals.constant(widths, 0.9)
    tree = {
        "level": 0.9,
        "intervals": intervals.tree(),
        "method": "ofer-gmm",
        "training_size": 40,
        "half_widths": widths,
        "coverage": np.full((n_splits, n_outputs), 0.9),
        "novelty_limit": 2.0,
    }
    for split in range(n_splits):
        truth = 3 * generator.normal(size=(n_test, n_outputs))
        noise = generator.normal(size=truth.shape) * (1 + np.arange(n_outputs) / n_outputs)
        truth[0, 0] = np.nan
        novelty = generator.uniform(0.1, 1.9, size=n_test)
        novelty[-1] = 2.0 * far
        tree[f"split-{split}"] = {
            "rows": generator.permutation(60)[:n_test],
            "predicted": np.nan_to_num(truth) + noise,
            "truth": truth,
            "novelty": novelty,
            "levels_that_hold": np.tile(novelty[:, None] / 1.9 % 1.0, n_outputs),
            "lower": np.nan_to_num(truth) + noise - widths,
            "upper": np.nan_to_num(truth) + noise + widths,
            "errors": np.nansum((np.nan_to_num(noise) * ~np.isnan(truth)) ** 2, axis=0),
            "reference": np.nansum(truth**2, axis=0),
        }
    allow_nan = ("truth", "half_widths", "factors", "lower", "upper")
    write_artifact(folder / "calibration.h5", tree, "calibration", allow_nan=allow_nan)
    names = names or [f"output_{number}" for number in range(n_outputs)]
    write_artifact(folder / "data.h5", {"names": {"outputs": json.dumps(names)}}, "dataset")
    return folder / "calibration.h5", folder / "data.h5"


def names_of_lines(axis) -> list[str]:
    """Return the names at the ends of the lines of an axis, in one line each, from the bottom."""
    names = [text for text in axis.texts if text.get_text()]
    names.sort(key=lambda text: text.xy[1])
    return [text.get_text().replace("\n", " ").replace("\u00a0", " ") for text in names]


class StrictParser(HTMLParser):
    """A parser that fails on tags that are not closed in order, and collects the text."""

    VOID = ("meta", "br", "img")

    def __init__(self):
        super().__init__()
        self.open = []
        self.text = []
        self.cells_per_row = []

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.cells_per_row.append(0)
        if tag in ("td", "th"):
            self.cells_per_row[-1] += int(dict(attributes).get("colspan", 1))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parse(text: str) -> StrictParser:
    """Return the parser after it has read all of `text`."""
    parser = StrictParser()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


@dataclass(frozen=True)
class _Options(TableOptions):
    title: str = ""


def _own_keys(options: dict) -> dict:
    """Take the keys of single kinds of tables out of options."""
    return {key: options.pop(key) for key in OWNERS_OF_KEYS if key in options}


def table_cells(kind, records, *, published_paths=(), is_comparable=False, **options) -> list:
    """Return the cells of a kind of table that reads one result."""
    options = {"methods": METHODS} | options
    options |= {"published": published_paths, "stand_in_for": None if is_comparable else "others"}
    options["keys"] = _own_keys(options)
    return TABLE_KINDS.load(kind).cells(records, TableOptions(**options))


def _layout_of(cells, kind, options: dict) -> Layout:
    options = {"methods": METHODS, "title": "Errors"} | options
    return TABLE_KINDS.load(kind).layout(cells, _Options(**options))


def html_table(cells, kind, below=(), **options) -> str:
    """Return a table as the page shows it, followed by the tables `below`."""
    return html_markup(_layout_of(cells, kind, options), below)


def html_of(kind, records, title="Errors", **options) -> str:
    """Return a table of a kind that reads one result, as the page shows it."""
    shown = {name: options[name] for name in ("methods", "metric", "decimals") if name in options}
    return html_table(table_cells(kind, records, **options), kind, title=title, **shown)


def latex_table(cells, kind, *, label="tab:x", below=(), **options) -> str:
    """Return a table as LaTeX, followed by the tables `below`."""
    layout, below = beside(_layout_of(cells, kind, options), below)
    return latex_markup(layout, label, below)


def write_table(result, kind, folder: Path, **options) -> tuple[list[dict[str, str]], str]:
    """Write a table of a kind that reads one result; return the rows of its CSV, and its LaTeX."""
    tidy, latex = folder / "t.csv", folder / "t.tex"
    options = {"caption": "Errors.", "dataset_title": "Toy", "methods": METHODS} | options
    options["keys"] = _own_keys(options)
    results = dict.fromkeys(TABLE_KINDS.load(kind).READS, result)
    table_files.run(kind, results, tidy, latex, "tab:t", **options)
    with open(tidy, newline="") as file:
        return list(csv.DictReader(file)), latex.read_text()
