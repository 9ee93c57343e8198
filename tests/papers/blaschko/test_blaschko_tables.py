"""The published numbers in the files are those in the text of the thesis."""

import re
from functools import partial

import published
import pytest

from workflow_lib.report.published_tables import published_layouts

rows_of = partial(published.rows_of, "blaschko")


def text_from(start: str, length: int) -> str:
    """Return so much of the text of the thesis, from some words on."""
    text = published.text_of("structured-output-blaschko")
    return text[text.index(start) :][:length]


@pytest.mark.parametrize("number", ["4.1", "4.2", "4.3"])
def test_the_lines_of_the_tables_of_the_thesis_are_those_of_its_text(number):
    rows = [row for row in rows_of("blaschko-4") if row["table"] == f"Blaschko (2014) {number}"]
    lines: dict[str, str] = {}
    for row in rows:
        numbers = f" {row['value']} \u00b1 {row['spread']}"
        lines[row["row"]] = lines.get(row["row"], row["row"]) + numbers
    heading = " ".join(dict.fromkeys(row["column"] for row in rows))
    assert len(lines) == 3
    assert "\n".join([heading, *lines.values()]) in text_from(f"Table {number}: ", 1500)


def test_the_numbers_of_graphs_are_those_of_the_text_of_the_thesis():
    rows = rows_of("blaschko-4-5")
    heading = " ".join(row["column"].removeprefix("h = ") for row in rows)
    numbers = " ".join(f"{row['value']}%" for row in rows)
    printed = f"{rows[0]['row']}\n\nh {heading}\n\nAccuracy {numbers}"
    assert printed in text_from("Table 4.5: ", 500)


@pytest.mark.parametrize(("name", "numbers"), [("blaschko-5-3", 3), ("blaschko-5-4", 4)])
def test_the_numbers_of_taxonomies_are_those_of_the_text(name, numbers):
    rows = rows_of(name)
    caption = text_from(f"Table {name[-3:].replace('-', '.')}: ", 1500)
    printed = [f"{row['value']}\u00b1 {row['spread']}" for row in rows]
    lines = [" ".join(printed[index : index + numbers]) for index in range(0, len(rows), numbers)]
    names = list(dict.fromkeys(row["row"] for row in rows))
    if len(lines) == 1:
        assert " ".join(names) in caption
        names = [""]
    for label, line in zip(names, lines, strict=True):
        assert f"{label} {line}".strip() in caption


def test_the_numbers_of_queues_are_those_of_the_text():
    rows = rows_of("blaschko-5-1")
    overlaps = list(dict.fromkeys(row["column"] for row in rows))
    lines = [overlaps, *([name, *values] for name, values in published.by_row(rows).items())]
    text = re.sub(r"\n+", "\n", text_from("Table 5.1: ", 3000))
    assert len(rows) == 9 and "\n".join(map(" ".join, lines)) in text[:400]
    rows = rows_of("blaschko-5-2")
    caption = re.sub(r"\n+", "\n", text_from("Table 5.2: ", 3000))[:1000]
    for overlap in overlaps:
        own = published.by_row([row for row in rows if row["row"].startswith(overlap)])
        columns = dict.fromkeys(row["column"] for row in rows)
        lines = [[overlap, *columns]]
        lines += [[name.removeprefix(f"{overlap}, "), *values] for name, values in own.items()]
        assert len(lines) == 4 and "\n".join(map(" ".join, lines)) in caption


def test_the_equal_error_rates_of_boxes_are_those_of_the_text():
    rows, text = rows_of("blaschko-3-1"), published.text_of("structured-output-blaschko")
    before = text[: text.index("Table 3.1: Equal-Error Rates")][-400:]
    heading = " ".join(dict.fromkeys(row["column"].replace(" ", "") for row in rows))
    lines = published.by_row(rows)
    assert heading in before and len(lines) == 3
    for name, values in lines.items():
        numbers = [f"{float(value):.0%}" for value in values]
        assert " ".join([name.replace("chi-squared", "\u03c72"), *numbers]) in before


def test_tables_that_are_printed_twice_have_the_same_numbers():
    first, second = (
        [(row["value"], row["spread"]) for row in rows_of("blaschko-4") if row["table"] == table]
        for table in ("Blaschko (2014) 4.1", "Blaschko (2014) 4.2")
    )
    assert first == second
    path = published.tables_of("blaschko") / "blaschko-4.csv"
    (layout, *_) = published_layouts([path], {}, "other data")
    assert layout.title == "Published: table 4.1 of Blaschko (2014)"
    assert any("identical numbers" in note for note in layout.notes)


def test_the_numbers_of_sparse_methods_are_those_of_the_text():
    lasso, net, k_support = rows_of("blaschko-4-6")
    sentence = (
        f"LASSO achieves a maximum mean correlation of {lasso['value']} for "
        f"{lasso['column'].removesuffix(' voxels')} non-zero variables, elastic net a maximum mean "
        f"correlation of {net['value']} for {net['column'].removesuffix(' voxels')} non-zero "
        f"variables, while k-support norm a maximum of {k_support['value']} for "
        f"{k_support['column']}."
    )
    assert sentence in " ".join(published.text_of("structured-output-blaschko").split())


def test_the_contents_are_all_captions_of_the_thesis():
    text = published.text_of("structured-output-blaschko")
    captions = re.findall(r"^(Figure|Table) (\d+\.\d+): ", text, re.MULTILINE)
    listed = [(row["kind"].capitalize(), row["number"]) for row in rows_of("contents")]
    assert captions and sorted(captions) == sorted(listed)
