"""The published numbers in the files are those in the text of the thesis."""

import csv
import re
from pathlib import Path

import pytest

from workflow_lib.report.published_tables import published_layouts

ROOT = Path(__file__).parents[3]
TABLES = ROOT / "config" / "papers" / "blaschko" / "paper_tables"
THESIS = ROOT.parent / "shared" / "papers" / "structured-output-blaschko.txt"


def rows_of(name: str) -> list[dict[str, str]]:
    with (TABLES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.skipif(not THESIS.is_file(), reason="the thesis is not at hand")
@pytest.mark.parametrize("number", ["4.1", "4.2", "4.3"])
def test_the_lines_of_the_tables_of_the_thesis_are_those_of_its_text(number):
    with (TABLES / "blaschko-4.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["table"] == f"Blaschko (2014) {number}"]
    text = THESIS.read_text(encoding="utf-8")
    caption = text[text.index(f"Table {number}: ") :]
    lines: dict[str, str] = {}
    for row in rows:
        numbers = f" {row['value']} \u00b1 {row['spread']}"
        lines[row["row"]] = lines.get(row["row"], row["row"]) + numbers
    heading = " ".join(dict.fromkeys(row["column"] for row in rows))
    assert len(lines) == 3
    assert "\n".join([heading, *lines.values()]) in caption[:1500]


@pytest.mark.skipif(not THESIS.is_file(), reason="the thesis is not at hand")
def test_the_numbers_of_graphs_are_those_of_the_text_of_the_thesis():
    rows = rows_of("blaschko-4-5")
    text = THESIS.read_text(encoding="utf-8")
    caption = text[text.index("Table 4.5: ") :]
    heading = " ".join(row["column"].removeprefix("h = ") for row in rows)
    numbers = " ".join(f"{row['value']}%" for row in rows)
    assert f"{rows[0]['row']}\n\nh {heading}\n\nAccuracy {numbers}" in caption[:500]


@pytest.mark.skipif(not THESIS.is_file(), reason="the thesis is not at hand")
@pytest.mark.parametrize(("name", "numbers"), [("blaschko-5-3", 3), ("blaschko-5-4", 4)])
def test_the_numbers_of_taxonomies_are_those_of_the_text(name, numbers):
    rows = rows_of(name)
    text = THESIS.read_text(encoding="utf-8")
    caption = text[text.index(f"Table {name[-3:].replace('-', '.')}: ") :][:1500]
    printed = [f"{row['value']}\u00b1 {row['spread']}" for row in rows]
    lines = [" ".join(printed[index : index + numbers]) for index in range(0, len(rows), numbers)]
    names = list(dict.fromkeys(row["row"] for row in rows))
    if len(lines) == 1:
        assert " ".join(names) in caption
        names = [""]
    for label, line in zip(names, lines, strict=True):
        assert f"{label} {line}".strip() in caption


@pytest.mark.skipif(not THESIS.is_file(), reason="the thesis is not at hand")
def test_the_numbers_of_queues_are_those_of_the_text():
    text = re.sub(r"\n+", "\n", THESIS.read_text(encoding="utf-8"))
    rows = rows_of("blaschko-5-1")
    overlaps = list(dict.fromkeys(row["column"] for row in rows))
    lines: dict[str, list[str]] = {}
    for row in rows:
        lines.setdefault(row["row"], [row["row"]]).append(row["value"])
    printed = "\n".join(" ".join(line) for line in (overlaps, *lines.values()))
    assert len(rows) == 9 and printed in text[text.index("Table 5.1: ") :][:400]
    rows = rows_of("blaschko-5-2")
    caption = text[text.index("Table 5.2: ") :][:1000]
    for overlap in overlaps:
        lines = {}
        for row in rows:
            if row["row"].startswith(overlap):
                name = row["row"].removeprefix(f"{overlap}, ")
                lines.setdefault(name, [name]).append(row["value"])
        columns = list(dict.fromkeys(row["column"] for row in rows))
        printed = "\n".join(" ".join(line) for line in ([overlap, *columns], *lines.values()))
        assert len(lines) == 3 and printed in caption


@pytest.mark.skipif(not THESIS.is_file(), reason="the thesis is not at hand")
def test_the_equal_error_rates_of_boxes_are_those_of_the_text():
    with (TABLES / "blaschko-3-1.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    lines: dict[str, list[str]] = {}
    for row in rows:
        lines.setdefault(row["row"], []).append(f"{float(row['value']):.0%}")
    text = THESIS.read_text(encoding="utf-8")
    before = text[: text.index("Table 3.1: Equal-Error Rates")][-400:]
    heading = " ".join(dict.fromkeys(row["column"].replace(" ", "") for row in rows))
    assert heading in before and len(lines) == 3
    for name, numbers in lines.items():
        assert " ".join([name.replace("chi-squared", "\u03c72"), *numbers]) in before


def test_tables_that_are_printed_twice_have_the_same_numbers():
    with (TABLES / "blaschko-4.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    first, second = (
        [(row["value"], row["spread"]) for row in rows if row["table"] == table]
        for table in ("Blaschko (2014) 4.1", "Blaschko (2014) 4.2")
    )
    assert first == second
    (layout, *_) = published_layouts([TABLES / "blaschko-4.csv"], {}, "other data")
    assert layout.title == "Published: table 4.1 of Blaschko (2014)"
    assert any("identical numbers" in note for note in layout.notes)


@pytest.mark.skipif(not THESIS.is_file(), reason="the thesis is not at hand")
def test_the_numbers_of_sparse_methods_are_those_of_the_text():
    text = " ".join(THESIS.read_text(encoding="utf-8").split())
    lasso, net, k_support = rows_of("blaschko-4-6")
    sentence = (
        f"LASSO achieves a maximum mean correlation of {lasso['value']} for "
        f"{lasso['column'].removesuffix(' voxels')} non-zero variables, elastic net a maximum mean "
        f"correlation of {net['value']} for {net['column'].removesuffix(' voxels')} non-zero "
        f"variables, while k-support norm a maximum of {k_support['value']} for "
        f"{k_support['column']}."
    )
    assert sentence in text


@pytest.mark.skipif(not THESIS.is_file(), reason="the thesis is not at hand")
def test_the_contents_are_all_captions_of_the_thesis():
    text = THESIS.read_text(encoding="utf-8")
    captions = re.findall(r"^(Figure|Table) (\d+\.\d+): ", text, re.MULTILINE)
    listed = [(row["kind"].capitalize(), row["number"]) for row in rows_of("contents")]
    assert captions and sorted(captions) == sorted(listed)
