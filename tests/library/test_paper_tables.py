"""The published numbers in the files are those in the text of the paper, in their order."""

import csv
import re
from pathlib import Path

import pytest
from each_case import each_case

from workflow_lib.report.paper_contents import read_contents
from workflow_lib.report.published_tables import PAPER as PAPER_NAME
from workflow_lib.report.published_tables import published_layouts, source_and_name
from workflow_lib.report.results import read_published, read_published_apart
from workflow_lib.run.named_settings import contents_files, published_tables

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "config" / "paper_tables"
CONTENTS = [item for path in contents_files(TABLES.parent) for item in read_contents(path)]
PAPER = ROOT.parent / "shared" / "papers" / "ofer-djerrab-2018.txt"

NUMBERS = (1, 2, 3, *range(5, 21))
"""The tables whose numbers are in the text."""

LABELLED_BY_COLUMN = (15,)
"""Tables that are printed transposed: a line for each of our columns."""

BEHIND_A_STAR = {3: "1e-5"}
"""Spreads that are given by a star and a footnote."""

NUMBER = re.compile(r"(?<![\w.+^-])\d+(?:\.\d+)?(?:e-\d+)?(?![\w.-])")
"""A number that is no part of a name such as IOKR2, 2-GMM, Caltech101 or wOFER+700."""

needs_the_paper = pytest.mark.skipif(not PAPER.is_file(), reason="the paper is not at hand")


def published_rows(number: int) -> list[dict[str, str]]:
    with (TABLES / f"djerrab-{number}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def texts_from_captions(number: int) -> list[str]:
    """Return what follows each line that begins as a caption does, up to the next caption.

    Powers of ten are written as in the files, ``7.01 × 10−5`` as ``7.01e-5``.
    """
    text = re.sub(r"(\d[\d.]*) × 10\u2212(\d+)", r"\1e-\2", PAPER.read_text(encoding="utf-8"))
    starts = [match.start() for match in re.finditer(r"^Table \d+ ", text, re.MULTILINE)]
    ends = [*starts[1:], len(text)]
    return [
        text[start:end]
        for start, end in zip(starts, ends, strict=True)
        if text[start:end].startswith(f"Table {number} ")
    ]


def printed_numbers(number: int) -> list[str]:
    """Return the numbers of a file as its table prints them: labels, values and spreads."""
    found: list[str] = []
    row_before = None
    for row in published_rows(number):
        if number in LABELLED_BY_COLUMN:
            found += NUMBER.findall(row["column"])
        elif row["row"] != row_before:
            found += NUMBER.findall(row["row"])
        row_before = row["row"]
        found.append(row["value"])
        if row["spread"] and row["spread"] != BEHIND_A_STAR.get(number):
            found.append(row["spread"])
    return found


def holds_in_order(longer: list[str], shorter: list[str]) -> bool:
    """Return whether `shorter` is a contiguous part of `longer`."""
    starts = range(len(longer) - len(shorter) + 1)
    return any(longer[index : index + len(shorter)] == shorter for index in starts)


def plain(name: str) -> str:
    """Return a name without the characters that the text of the paper omits: spaces, ^ and _."""
    return re.sub(r"[\s^_]", "", name)


@needs_the_paper
@each_case("number", NUMBERS)
def test_the_numbers_of_a_file_are_those_of_the_text_one_after_the_other(number):
    expected = printed_numbers(number)
    assert len(expected) >= len(published_rows(number))
    found = [NUMBER.findall(text) for text in texts_from_captions(number)]
    assert any(holds_in_order(numbers, expected) for numbers in found), (expected, found)


@needs_the_paper
@each_case("number", NUMBERS)
def test_a_changed_digit_is_detected(number):
    expected = printed_numbers(number)
    index = len(expected) // 2
    changed = expected[:index] + [expected[index] + "1"] + expected[index + 1 :]
    for text in texts_from_captions(number):
        assert not holds_in_order(NUMBER.findall(text), changed)


@needs_the_paper
@each_case("number", NUMBERS)
def test_the_columns_of_a_file_occur_in_the_text_in_their_order(number):
    columns = list(dict.fromkeys(row["column"] for row in published_rows(number)))
    if number == 3:
        # A heading over two columns: the errors of both embeddings, then their times.
        assert [column.split()[-1] for column in columns] == 2 * ["φ_Fisher", "φ^M_Fisher"]
        columns = ["φFisher", "φM Fisher", "φFisher", "φM Fisher"]
    pattern = ".*?".join(re.escape(plain(column)) for column in columns)
    assert any(re.search(pattern, plain(text), re.DOTALL) for text in texts_from_captions(number))


@needs_the_paper
@each_case("number", NUMBERS)
def test_the_rows_of_a_file_occur_in_the_text_in_their_order(number):
    rows = list(dict.fromkeys(row["row"] for row in published_rows(number)))
    if number in (2, 3):
        # The name of a method is printed once, before the training sizes.
        parts = [row.rsplit(" ", 1) for row in rows]
        rows = [f"{name} {size}" if size == "10" else size for name, size in parts]
    if number in LABELLED_BY_COLUMN:
        rows = [row.split(" ", 1)[1] for row in rows]
    pattern = ".*?".join(re.escape(plain(row)) for row in rows)
    assert any(re.search(pattern, plain(text), re.DOTALL) for text in texts_from_captions(number))


@needs_the_paper
def test_the_star_of_table_3_is_the_spread_of_the_file():
    text = "\n".join(texts_from_captions(3))
    assert "Means that the standard deviation is of order 10\u22125" in text
    starred = re.findall(r"(\d+\.\d+)∗", text)
    rows = [row for row in published_rows(3) if row["spread"] == BEHIND_A_STAR[3]]
    assert [row["value"] for row in rows] == starred
    assert len(starred) == 9


@needs_the_paper
def test_the_stars_of_table_10_have_no_spread():
    text = "\n".join(texts_from_captions(10))
    assert "Means that Std is lower than 10\u22124" in text
    starred = re.findall(r"(\d+\.\d+)∗", text)
    assert [row["value"] for row in published_rows(10) if not row["spread"]] == starred


@needs_the_paper
def test_published_spreads_are_standard_deviations():
    assert "average performance with the empirical" in PAPER.read_text(encoding="utf-8")
    for number in (1, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20):
        text = "\n".join(texts_from_captions(number))
        assert re.search(r"mean ± std|± std|Mean accuracy % ± std", text), number


@needs_the_paper
def test_the_text_has_no_numbers_of_table_4():
    assert "Table 4 presents" in PAPER.read_text(encoding="utf-8")
    assert texts_from_captions(4) == []
    rows = published_rows(4)
    assert {row["value"] for row in rows} == {""}
    (layout,) = published_layouts([TABLES / "djerrab-4.csv"], {}, None)
    cells = {row.label: [cell.text for cell in row.ours] for row in layout.blocks[0].all_rows}
    assert cells == {row["row"]: ["missing in the text"] for row in rows}
    assert any("its numbers are missing in the text" in note for note in layout.notes)


def test_the_contents_name_every_table_and_figure_once():
    found = [(item.paper, item.name) for item in CONTENTS]
    assert len(set(found)) == len(found)
    expected = [(PAPER_NAME, f"Table {number}") for number in range(1, 21)]
    expected += [(PAPER_NAME, f"Figure {number}") for number in range(1, 4)]
    assert [(source, name) for source, name in found if source == PAPER_NAME] == expected
    assert all(item.title and item.quantity for item in CONTENTS)


def test_the_numbers_of_every_table_of_the_contents_are_of_its_paper():
    published = published_tables(TABLES.parent)
    sharing = {
        name: [item for item in CONTENTS if item.kind == "table" and item.paper_table == name]
        for name in published
    }
    for item in CONTENTS:
        if item.kind == "table" and item.paper_table:
            numbers = read_published([published[item.paper_table]])
            numbers += read_published_apart([published[item.paper_table]])
            found = {source_and_name(number.table) for number in numbers}
            assert (item.paper, item.number) in found
            assert found <= {(item.paper, each.number) for each in sharing[item.paper_table]}


def test_the_contents_say_what_the_numbers_of_each_file_are():
    names = {
        "RRMSE": "RRMSE",
        "root_sum_rrmse": "RRMSE",
        "norm_rrmse": "RRMSE",
        "accuracy_percent": "accuracy",
        "s": "seconds",
    }
    quantities = {item.number: item.quantity for item in CONTENTS[:20]}
    for number in NUMBERS:
        units = dict.fromkeys(names[row["unit"]] for row in published_rows(number))
        assert set(units) <= set(re.findall(r"RRMSE|accuracy|seconds", quantities[str(number)])), (
            number
        )


@each_case("paper", sorted({item.paper for item in CONTENTS}))
def test_the_contents_have_every_number_that_the_text_mentions(paper):
    texts = list(PAPER.parent.glob(f"*-{paper.split()[0].lower()}*.txt"))
    if not texts:
        pytest.skip("the paper is not at hand")
    text = texts[0].read_text(encoding="utf-8")
    mentioned = re.findall(r"\b(Table|Fig\.|Figure)\s+(\d+(?:\.\d+)?)", text)
    if not mentioned:
        pytest.skip("slides without numbers")
    # A table of two parts, as ``2 (scenes)``, has one number.
    listed = {(item.kind[0], item.number.split()[0]) for item in CONTENTS if item.paper == paper}
    assert {(kind[0].lower(), number) for kind, number in mentioned} == listed
