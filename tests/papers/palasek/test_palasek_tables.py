"""The published numbers in the files are those in the text of the paper."""

import csv
import re
from pathlib import Path

import pytest

from workflow_lib.report.paper_contents import read_contents
from workflow_lib.report.published_tables import published_layouts
from workflow_lib.run.named_settings import SettingsFolder

ROOT = Path(__file__).parents[3]
TABLES = ROOT / "config" / "papers" / "palasek" / "paper_tables"
PALASEK = ROOT.parent / "shared" / "papers" / "ssfvn-palasek-2017.txt"


def rows_of(name: str) -> list[dict[str, str]]:
    with (TABLES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_table_of_trained_networks_says_that_features_were_trained():
    (layout,) = published_layouts([TABLES / "palasek-2.csv"], {}, None)
    assert any("fixed features" in note for note in layout.notes)


def test_published_rows_of_classifiers_of_maps_name_ours():
    methods = SettingsFolder(ROOT / "config" / "methods")
    known = {name: {"label": methods.keys(name)["label"]} for name in methods.names}
    (layout,) = published_layouts([TABLES / "palasek-1.csv"], known, "images of CIFAR-10")
    found = {row.label: row.ours[0].text for block in layout.blocks for row in block.all_rows}
    assert found["conv_3_3, SVM (here: maps, SVM)"] == "69.96"
    assert found["conv_3_3 + conv layer, all (here: maps, convolution)"] == "81.99"
    assert found["conv_3_3 + FC layer, all (here: maps, fully connected)"] == "82.33"
    assert any("on fixed features" in note for note in layout.notes)


@pytest.mark.skipif(not PALASEK.is_file(), reason="the paper is not at hand")
@pytest.mark.parametrize("number", range(1, 7))
def test_the_numbers_of_fisher_vector_networks_are_those_of_the_text(number):
    text = PALASEK.read_text(encoding="utf-8")
    caption = text[text.index(f"Table {number}: Classification results") :]
    lines: dict[str, list[str]] = {}
    for row in rows_of(f"palasek-{number}"):
        lines.setdefault(row["row"], []).append(f"{row['value']}%")
    printed = [line.split("\t") for line in caption[:1500].splitlines() if "%" in line]
    printed = [line for line in printed if len(line) > 1][: len(lines)]
    for (name, numbers), cells in zip(lines.items(), printed, strict=True):
        assert cells[-len(numbers) :] == numbers
        name = re.sub("batches of | (un)?labelled", "", name)
        layer, _, trained = name.partition(", ")
        assert cells[0] == layer and (not trained or trained in cells)


def test_the_contents_name_every_table_and_figure_once():
    names = [item.name for item in read_contents(TABLES / "contents.csv")]
    assert names == [f"Table {n}" for n in range(1, 7)] + [f"Figure {n}" for n in range(1, 8)]
