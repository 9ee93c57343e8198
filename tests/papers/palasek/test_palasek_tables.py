"""The published numbers in the files are those in the text of the paper."""

import re

import pytest
from published import ROOT, by_row, rows_of, tables_of, text_of

from workflow_lib.report.paper_contents import read_contents
from workflow_lib.report.published_tables import published_layouts
from workflow_lib.run.named_settings import SettingsFolder

TABLES = tables_of("palasek")


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


@pytest.mark.parametrize("number", range(1, 7))
def test_the_numbers_of_fisher_vector_networks_are_those_of_the_text(number):
    text = text_of("ssfvn-palasek-2017")
    caption = text[text.index(f"Table {number}: Classification results") :]
    lines = by_row(rows_of("palasek", f"palasek-{number}"))
    printed = [line.split("\t") for line in caption[:1500].splitlines() if "%" in line]
    printed = [line for line in printed if len(line) > 1][: len(lines)]
    for (name, numbers), cells in zip(lines.items(), printed, strict=True):
        assert cells[-len(numbers) :] == [f"{number}%" for number in numbers]
        name = re.sub("batches of | (un)?labelled", "", name)
        layer, _, trained = name.partition(", ")
        assert cells[0] == layer and (not trained or trained in cells)


def test_the_contents_name_every_table_and_figure_once():
    names = [item.name for item in read_contents(TABLES / "contents.csv")]
    assert names == [f"Table {n}" for n in range(1, 7)] + [f"Figure {n}" for n in range(1, 8)]
