"""The published numbers in the files are those in the text of the paper, in their order."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from each_case import each_case

from workflow_lib.report.paper_contents import read_contents
from workflow_lib.report.published_tables import PAPER as PAPER_NAME
from workflow_lib.report.published_tables import published_layouts, source_and_name
from workflow_lib.report.results import read_published, read_published_apart
from workflow_lib.run.published import published_tables

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "config" / "paper_tables"
PAPER = ROOT.parent / "shared" / "papers" / "ofer-djerrab-2018.txt"

NUMBERS = (1, 2, 3, *range(5, 21))
"""The tables whose numbers are in the text."""

LABELLED_BY_COLUMN = (15,)
"""Tables that are printed transposed: a line for each of our columns."""

BEHIND_A_STAR = {3: "1e-5"}
"""Spreads that are given by a star and a footnote."""

NUMBER = re.compile(r"(?<![\w.+^-])\d+(?:\.\d+)?(?:e-\d+)?(?![\w.-])")
"""A number that is no part of a name such as IOKR2, 2-GMM, Caltech101 or wOFER+700."""

PERINA = ROOT.parent / "shared" / "papers" / "fess-perina-2009.txt"

PALASEK = ROOT.parent / "shared" / "papers" / "ssfvn-palasek-2017.txt"

THESIS = ROOT.parent / "shared" / "papers" / "structured-output-blaschko.txt"

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
    places = range(len(longer) - len(shorter) + 1)
    return any(longer[place : place + len(shorter)] == shorter for place in places)


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
    place = len(expected) // 2
    changed = expected[:place] + [expected[place] + "1"] + expected[place + 1 :]
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
    assert not (TABLES / "djerrab-4.csv").exists()


def test_the_contents_name_every_table_and_figure_once():
    contents = read_contents(TABLES / "contents.csv")
    found = [(item.paper, item.name) for item in contents]
    assert len(set(found)) == len(found)
    for paper, n_tables, n_figures in ((PAPER_NAME, 20, 3), ("Palasek and Patras (2017)", 6, 7)):
        expected = [(paper, f"Table {number}") for number in range(1, n_tables + 1)]
        expected += [(paper, f"Figure {number}") for number in range(1, n_figures + 1)]
        assert [(source, name) for source, name in found if source == paper] == expected
    of_perina = [name for source, name in found if source == "Perina et al. (2009)"]
    tables = ["Table 1", "Table 2 (Graz)", "Table 2 (scenes)"]
    assert of_perina == [*tables, "Figure 1 A", "Figure 1 B", "Figure 1 C"]
    assert all(item.title and item.quantity for item in contents)


def test_the_numbers_of_every_table_of_the_contents_are_of_its_paper():
    published = published_tables(TABLES.parent)
    contents = read_contents(TABLES / "contents.csv")
    sharing = {
        name: [item for item in contents if item.kind == "table" and item.paper_table == name]
        for name in published
    }
    for item in contents:
        if item.kind == "table" and item.paper_table not in ("", "djerrab-4"):
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
    quantities = {
        item.number: item.quantity for item in read_contents(TABLES / "contents.csv")[:20]
    }
    for number in NUMBERS:
        units = dict.fromkeys(names[row["unit"]] for row in published_rows(number))
        assert set(units) <= set(re.findall(r"RRMSE|accuracy|seconds", quantities[str(number)])), (
            number
        )


@needs_the_paper
def test_figures_of_the_contents_are_those_of_the_text():
    text = PAPER.read_text(encoding="utf-8")
    captions = re.findall(r"^Fig\. (\d+)", text, re.MULTILINE)
    assert sorted(set(captions)) == ["1", "2", "3"]


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
    lines = [" ".join(printed[place : place + numbers]) for place in range(0, len(rows), numbers)]
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


def rows_of(name: str) -> list[dict[str, str]]:
    with (TABLES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def perina_text() -> str:
    """Return the text with points in numbers, and no empty lines."""
    text = re.sub(r"(\d),(\d)", r"\1.\2", PERINA.read_text(encoding="utf-8"))
    return re.sub(r"\n+", "\n", text)


@pytest.mark.skipif(not PERINA.is_file(), reason="the paper is not at hand")
def test_the_numbers_of_promoters_are_those_of_the_text():
    rows = rows_of("perina-1")
    text = perina_text()
    line = " ".join(f"{row['value']}%" for row in rows)
    names = "\n".join(row["row"] for row in rows[1:])
    assert f"Accuracy\n\u03bbHMM\n{line}\n{names}\nTable 1:" in text


@pytest.mark.skipif(not PERINA.is_file(), reason="the paper is not at hand")
@pytest.mark.parametrize(("name", "n_methods"), [("perina-2", 5), ("perina-2-graz", 5)])
def test_the_numbers_of_images_are_those_below_their_heading(name, n_methods):
    columns: dict[str, list[str]] = {}
    for row in rows_of(name):
        number = f"{row['value']}%" + (f" ({row['spread']})" if row["spread"] else "")
        # As in the text: of Lazebnik et al. [16] the number of the reference.
        heading = re.sub(r".*(\[\d+\])", r"\1", row["row"])
        columns.setdefault(heading, []).append(number)
    assert len(columns) == n_methods
    text = perina_text()
    for heading, numbers in columns.items():
        assert "\n".join([heading, *numbers]) in text


@pytest.mark.skipif(not PERINA.is_file(), reason="the paper is not at hand")
def test_the_numbers_of_experiments_are_those_of_the_text():
    rows = rows_of("perina-experiment-2")
    text = " ".join(perina_text().split())
    after = {"Jebara et al. [10]": "the results obtained in [10] (overall error rate, OER, {}%)"}
    after |= {"\u03bbHMM": "the HMM model (\u03bbHMM , OER {}%)"}
    after |= {"our method": "obtained by our method (OER {}%)", "FK": "with FK (OER {}%)"}
    after |= {"TK": "and TK (OER {}%) kernels"}
    assert {row["row"] for row in rows} == set(after)
    for row in rows:
        assert after[row["row"]].format(row["value"]) in text
    rows = rows_of("perina-experiment-3")
    assert [row["row"] for row in rows] == ["PSI-Blast", "SAM", "FK"]
    assert f"p-values of {', '.join(row['value'] for row in rows)}, respectively" in text
    for printed in ("trained a single generative model", "There is no statistical difference"):
        assert printed in text


@pytest.mark.parametrize("name", ["perina-1", "perina-2", "perina-2-graz", "perina-experiment-2"])
def test_rows_of_free_energies_are_those_of_one_model_and_the_notes_say_so(name):
    labels = {row["row"]: row["method"] for row in rows_of(name)}
    found = {label: method for label, method in labels.items() if "fess" in method}
    assert found and all(method.endswith("-one-model") for method in found.values())
    (layout,) = published_layouts([TABLES / f"{name}.csv"], {}, None)
    assert any("a single generative model" in note for note in layout.notes)
    assert layout.title.startswith(("Published: table ", "Published: experiment "))


def test_the_table_of_trained_networks_says_that_features_were_trained():
    (layout,) = published_layouts([TABLES / "palasek-2.csv"], {}, None)
    assert any("fixed features" in note for note in layout.notes)


def test_rows_of_a_published_table_without_a_method_of_ours_are_shown():
    methods = {"lda-fess-one-model": {"label": "FESS of topics, one model"}}
    (layout,) = published_layouts([TABLES / "perina-2.csv"], methods, None)
    assert layout.title == "Published: table 2 (scenes) of Perina et al. (2009)"
    (block,) = layout.blocks
    labels = [row[0] if isinstance(row, tuple) else row.label for row in block.rows]
    assert (
        labels[1] == "FESS (here: FESS of topics, one model)"
        and labels[-1] == "Lazebnik et al. [16]"
    )
    assert "Accuracies are in percent." in layout.notes


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
