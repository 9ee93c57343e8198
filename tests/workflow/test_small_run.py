"""A run of the whole workflow and its results."""

import base64
import csv
import html
import json
import re
import shutil
import subprocess
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.metadata import version
from platform import python_version

import pytest
from small_run import DEFAULT_METHODS, EXPERIMENTS, RUN, files_below

from workflow_lib.core.result_columns import CROSS_VALIDATED, TRAINING
from workflow_lib.tasks.found import measures_of

LOADING_ATTRIBUTES = {"src", "srcset", "data", "poster", "background", "action", "xlink:href"}
WITH_WEAK_ROWS = {
    "self-training",
    "wofer-class-block",
    "wofer-gmm",
    "m-krr-imputed",
    "m-krr-laplacian",
}
LOADING_TAGS = {"link", "iframe", "object", "embed", "base"}

CROSS_DATASET = {
    f"{name}.{suffix}"
    for name in ("best", "headline", "curves", "ranks", "protocol")
    for suffix in ("svg", "png", "csv")
} - {"ranks.csv", "protocol.csv"}


class Page(HTMLParser):
    """What a page would load, its captions and its headings."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.pictures: list[bytes] = []
        self.tags: list[str] = []
        self.texts: dict[str, list[str]] = {"caption": [], "figcaption": [], "h2": []}
        self.open: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loaded += [value or "" for name, value in attributes if name in LOADING_ATTRIBUTES]
        for name, value in attributes:
            if tag == "img" and name == "data-packed":
                self.pictures.append(zlib.decompress(base64.b64decode(value)))
            elif tag == "img" and name == "src":
                self.pictures.append(base64.b64decode(value.partition(";base64,")[2]))
        self.open = tag if tag in self.texts else self.open
        if tag in self.texts:
            self.texts[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self.open = None if tag == self.open else self.open

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open][-1] += data


def parts(kind: str) -> Iterator[tuple[str, dict]]:
    """Yield (experiment, table or figure) of the small run."""
    for name, experiment in EXPERIMENTS.items():
        for part in experiment[kind]:
            yield name, part


@pytest.fixture(scope="module")
def page(first_folder):
    return Page((first_folder / "results" / "report.html").read_text())


def test_the_run_succeeds(first_run):
    folder, outcome = first_run
    assert outcome.status == 0, outcome.text
    assert re.search(r"^\d+ jobs finished in ", outcome.stderr, flags=re.MULTILINE)
    assert "Traceback" not in outcome.text


def test_it_leaves_the_tables_the_figures_and_nothing_half_written(first_folder):
    expected = {
        f"results/tables/{name}-{table['name']}.{suffix}"
        for name, table in parts("tables")
        for suffix in ("csv", "tex")
    }
    assert files_below(first_folder, "results/tables") == expected | {
        f"results/tables/ranks.{suffix}" for suffix in ("csv", "tex")
    }
    expected = {
        f"results/figures/{name}-{figure['name']}.{suffix}"
        for name, figure in parts("figures")
        for suffix in ("svg", "png", "csv")
    }
    expected |= {f"results/figures/{name}" for name in CROSS_DATASET}
    assert files_below(first_folder, "results/figures") == expected
    left = files_below(first_folder, "results", "resources")
    assert [name for name in left if name.endswith((".part", ".tmp"))] == []
    assert [name for name in left if not (first_folder / name).stat().st_size] == []


def test_the_report_loads_nothing(page, first_folder):
    assert LOADING_TAGS.isdisjoint(page.tags)
    assert page.loaded and all(address.startswith("data:") for address in page.loaded)
    text = (first_folder / "results" / "report.html").read_text()
    assert "@import" not in text and "url(" not in text
    for picture in page.pictures:
        assert re.findall(r"(?:src|href)=\"(?!#|data:)[^\"]*\"", picture.decode()) == []


def test_the_report_holds_every_table_and_figure(page, first_folder):
    captions = "\n".join(page.texts["caption"])
    for _, table in parts("tables"):
        assert table["caption"] in captions
    expected = [fig["caption"] for _, fig in parts("figures")]
    others = set(page.texts["figcaption"]) - set(expected)
    beginnings = ("Average ranks", "From the rows", "Mean and standard", "The best method")
    beginnings += ("The difference of the",)
    # The pictures of predictions that open the page are called as their data.
    named = {text for text in others if text[:13] in {text[:13] for text in beginnings}}
    assert len(named) == len(beginnings) and 2 <= len(others - named) <= 5
    assert sorted(page.texts["figcaption"]) == sorted([*expected, *others])
    files = [*(first_folder / "results" / "figures").glob("*.svg")]
    assert set(page.pictures) == {path.read_bytes() for path in files}
    for name, experiment in EXPERIMENTS.items():
        assert f"{name}: {experiment['title']}" in page.texts["h2"]
    text = html.unescape((first_folder / "results" / "report.html").read_text())
    assert RUN["report"]["title"] in text and RUN["report"]["author"] in text


def test_every_combination_is_scored(first_folder):
    for name, experiment in EXPERIMENTS.items():
        methods = experiment["methods"]
        methods = DEFAULT_METHODS if methods == "default" else methods
        expected = {
            (method, str(size), str(weak_size), str(split))
            for method in methods
            for size in experiment["training_sizes"]
            for weak_size in (experiment["weak_sizes"] if method in WITH_WEAK_ROWS else [0])
            + [0] * (method == "m-krr-laplacian")
            for split in range(experiment.get("n_splits", RUN["n_splits"]))
        }
        for path in (f"results/{name}/scores.csv", f"results/timings/{name}.csv"):
            if not (first_folder / path).exists():
                assert "time" not in {table["kind"] for table in experiment["tables"]}
                continue
            with open(first_folder / path, newline="") as file:
                rows = [row for row in csv.DictReader(file) if not row["setting"]]
            # Some methods have no error on their training rows.
            prefixes = (TRAINING, CROSS_VALIDATED)
            rows = [row for row in rows if not row.get("quantity", "").startswith(prefixes)]
            keys = ("method", "training_size", "weak_size", "split")
            quantities = {row.get("quantity") for row in rows}
            found = sorted(tuple(row[key] for key in keys) for row in rows)
            assert found == sorted(list(expected) * len(quantities))
    with open(first_folder / "results" / "clusters" / "scores.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["quantity"] == "arrmse"]
    assert rows and all(0 < float(row["value"]) < 3 for row in rows)


def test_classes_are_ranked(first_folder):
    with open(first_folder / "results" / "objects" / "scores.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["quantity"] in measures_of("classes")]
    (table,) = (table for table in EXPERIMENTS["objects"]["tables"] if table["name"] == "right")
    assert {row["quantity"] for row in rows} == set(table["errors"])
    assert all(0 <= float(row["value"]) <= 1 for row in rows)
    text = html.unescape((first_folder / "results" / "report.html").read_text())
    headings = [text.find(measures_of("classes")[name].heading) for name in table["errors"]]
    assert -1 not in headings and headings == sorted(headings)


def test_the_record_of_the_run(first_folder):
    record = json.loads((first_folder / "results" / "run.json").read_text())
    assert record["versions"]["python"] == python_version()
    for package in ("numpy", "scikit-learn", "snakemake"):
        assert record["versions"][package] == version(package)
    assert "host" not in record["machine"]
    assert record["seeds"]["main"] == RUN["seed"]
    assert {"split clusters 0", "split clusters 1"} <= set(record["seeds"])
    assert len(set(record["seeds"].values())) == len(record["seeds"])
    merged = record["configuration"]
    assert merged["run"]["n_splits"] == 2
    # config/config.yaml sets it, config/small.yaml does not.
    assert merged["run"]["defaults"]["test_size"] == 0.4
    assert merged["sources"] == ["config/config.yaml", "config/small.yaml"]
    assert set(merged["methods"]) == {
        *DEFAULT_METHODS,
        *EXPERIMENTS["calls"]["methods"],
        *EXPERIMENTS["levers"]["methods"],
        *EXPERIMENTS["objects"]["methods"],
        *EXPERIMENTS.get("sequences", {"methods": []})["methods"],
        "ofer-gaussian-full",
    }
    assert merged["methods"]["ofer-gmm"]["grid"]["alpha"] == [0.001, 0.1, ".inf"]


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_the_record_names_the_commit(first_folder):
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=first_folder, capture_output=True, text=True, check=True
    ).stdout.strip()
    record = json.loads((first_folder / "results" / "run.json").read_text())
    assert record["git"] == {"commit": head, "is_dirty": False}


def test_no_result_names_the_folder_it_was_made_in(first_folder):
    for name in files_below(first_folder, "results"):
        content = (first_folder / name).read_bytes()
        assert str(first_folder).encode() not in content, name
