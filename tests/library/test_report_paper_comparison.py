"""Every table and figure of the paper has a row, which states what agrees, what not, and why."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from report_samples import (
    METHODS,
    base_accuracy,
    base_error,
    better_error,
    parse,
    scores_of,
    table_cells,
    write_accuracies,
    write_coordinates,
    write_published,
    write_scores,
    write_timings,
)

from workflow_lib.core.errors import UserError
from workflow_lib.page.paper_comparison import (
    COLUMNS,
    COLUMNS_OF_CONTENTS,
    paper_comparison_section,
)
from workflow_lib.report.agreement import comparisons, count_within
from workflow_lib.report.paper_contents import PaperItem, read_contents
from workflow_lib.report.published_tables import PAPER
from workflow_lib.report.reproduced_tables import (
    DRAWING,
    OWN_DATA,
    RECIPE,
    STAND_IN,
    data_kind,
    reproductions_of,
    tables_named,
)
from workflow_lib.report.results import read_coordinates, read_scores, read_timings
from workflow_lib.run.named_settings import contents_files
from workflow_lib.run.paper_runs import paper_runs

CONFIG = Path(__file__).parents[2] / "config"
HEADING = "paper,kind,number,title,data,quantity,drawn_as,paper_table\n"
ROWS = [("m-krr", "selected", 0, base_error), ("ofer-gmm", "selected", 0, better_error)]

OWN = {"title": "The own", "reader": "csv", "stand_in_for": None}
DRAWN = {"title": "The drawn", "reader": "series_synthetic", "stand_in_for": None}
OTHER = {"title": "Others", "reader": "csv", "stand_in_for": "videos of the paper's tables 7 and 8"}


@pytest.fixture(scope="module")
def contents():
    return contents_of(PAPER)


def contents_of(paper):
    found = (item for path in contents_files(CONFIG) for item in read_contents(path))
    return [item for item in found if item.paper == paper]


def publish(folder: Path, number: int, *lines: str) -> dict[str, Path]:
    path = folder / f"djerrab-{number}.csv"
    return {path.stem: write_published(path, *(f"{number},{line}" for line in lines))}


def settings_of(paper_table, kind="error", **keys):
    table = {"name": "first", "kind": kind, "paper_table": paper_table}
    return {"dataset": "toy", "tables": [table, {"name": "second"}], "figures": ()} | keys


def reproductions_on(data, published=(), cells=(), number=1, name="toy", kind="error", **keys):
    settings = settings_of(number and f"djerrab-{number}", kind, **keys)
    options = {"methods": METHODS, "published": published, "contents": contents_of(PAPER)}
    return reproductions_of(name, settings, data, {"first": cells}, **options)


def cells_of(kind, records, published, is_comparable=True, **options):
    options |= {"published_paths": published.values(), "is_comparable": is_comparable}
    return table_cells(kind, records, **options)


def error_cells(folder, published, is_comparable=True):
    return cells_of("error", scores_of(folder, ROWS), published, is_comparable)


def rows_of(section):
    """Return (name of the item, texts of the cells) of each row of the section."""
    return rows_in(section.html, f"{section.anchor}-comparison")


def listed_of(section):
    """Return the same of the second table, by the name of the item."""
    return dict(rows_in(section.html, f"{section.anchor}-contents"))


def without_minutes(text):
    """Return a text without the measured minutes of commands."""
    return re.sub(r" \(\d+ CPU min\)", "", text)


def rows_in(html, anchor):
    found = re.search(rf'<table class="words" id="{anchor}">.*?<tbody>(.*?)</tbody>', html, re.S)
    rows = []
    for row in re.findall(r"<tr>(.*?)</tr>", found[1] if found else ""):
        name = re.search(r"<strong>(.*?)\.</strong>", row)[1]
        cells = re.findall(r"<td>(.*?)</td>", row)
        texts = ["".join(parse(cell).text) for cell in cells]
        rows.append((name, [text.replace("\u00a0", " ") for text in texts]))
    return rows


def text_of(section):
    return "".join(parse(section.html).text).replace("\u00a0", " ")


def row_of(section, name):
    (row,) = [texts for item, texts in rows_of(section) if item == name]
    return row


def row_on(data, published, cells, contents, number=1, **options):
    """Return the row of a table that an experiment on these data reproduces."""
    found = reproductions_on(data, published, cells, number, **options)
    return row_of(paper_comparison_section(contents, found, published, {}), f"Table {number}")


def test_what_data_are_follows_from_their_settings():
    assert [data_kind(dataset) for dataset in (OWN, DRAWN, OTHER)] == [OWN_DATA, RECIPE, STAND_IN]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("the molecules of the paper's tables 9, 10, 17 and 18 (Su 2010)", ["9", "10", "17", "18"]),
        ("the images of tables 11 to 15", ["11", "12", "13", "14", "15"]),
        ("table 3", ["3"]),
        ("tables 5.3 and 5.4 to 5.6", ["5.3", "5.4", "5.5", "5.6"]),
        ("all 101 classes of Caltech101", []),
        ("the natural scenes in table 2 of Perina et al. (2009): grey copies", []),
        (None, []),
    ],
)
def test_the_tables_that_a_description_names(text, numbers):
    assert tables_named(text) == numbers


def test_tables_in_a_description_are_of_the_source_behind_them():
    text = "the videos of tables 3 to 5 of Palasek and Patras (2017), and those of table 7"
    assert tables_named(text, "Palasek and Patras (2017)") == ["3", "4", "5"]
    assert tables_named(text) == ["7"]


def test_every_table_and_figure_has_a_row_without_any_reproduction(contents):
    section = paper_comparison_section(contents, [], {}, {})
    names = [f"Table {n}" for n in range(1, 21)] + [f"Figure {n}" for n in range(1, 4)]
    assert list(listed_of(section)) == names
    assert {len(texts) for texts in listed_of(section).values()} == {len(COLUMNS_OF_CONTENTS) - 1}
    assert {texts[0] for texts in listed_of(section).values()} == {
        "not built",
        "without numbers, not drawn",
    }
    assert rows_of(section) == []
    assert f"Of {PAPER} this project lists 20 tables and 3 figures." in text_of(section)
    assert "0 are drawings without data, and 23 were not run" in text_of(section)
    assert "No number of this run can be compared with a published one." in text_of(section)


def test_numbers_of_a_recipe_are_counted(tmp_path, contents):
    published = publish(
        tmp_path,
        1,
        "a,20,0.70,0.02,RRMSE,ofer-gmm,selected,20,0",
        "a,50,0.40,0.02,RRMSE,ofer-gmm,selected,50,0",
        "b,20,1.00,0.02,RRMSE,m-krr,selected,20,0",
        "b,50,0.30,0.02,RRMSE,m-krr,selected,50,0",
        "b,90,0.30,0.02,RRMSE,m-krr,selected,90,0",
    )
    reproductions = reproductions_on(DRAWN, published, error_cells(tmp_path, published))
    (reproduction,) = reproductions
    labels = [f"{name}, n = {size}" for size in (20, 50) for name in ("m-KRR", "OFER-GMM")]
    assert list(reproduction.errors["label"]) == labels
    in_spreads = reproduction.errors["in_spreads"]
    assert [count_within(in_spreads, number) for number in (1, 2)] == [2, 2]
    section = paper_comparison_section(contents, reproductions, published, {})
    here, compared, within_one, within_two, largest, order, why = row_of(section, "Table 1")
    assert here == "toy: firstDrawn by the paper's recipe: The drawn"
    assert (compared, within_one, within_two) == ("4 of 5", "2", "2")
    assert re.fullmatch(r"\+0\.60\d \(\+2\d spreads\)m-KRR, n = 50", largest)
    # At 20 the order is the same, at 50 the paper has the other one.
    assert order == "1 of 2"
    assert why.startswith("The paper's recipe does not fully determine its data.")
    assert '<a href="#table-toy-first">' in section.html
    text = text_of(section)
    assert "Of the 4 numbers that can be compared with a published one, 2 are within one" in text
    assert "Of the 2 pairs of numbers that differ in the paper, 1 are in the same" in text
    assert "In this run 0 are reproduced on the paper's own data, 1 on data drawn" in text


def test_a_small_published_spread_is_named_as_the_reason(tmp_path, contents):
    line = "a,20,{},0.0001,RRMSE,ofer-gmm,selected,20,0"
    mean = sum(better_error(20, split) for split in range(5)) / 5
    # One split has no deviation, so that the published one alone is the spread.
    scores = read_scores(write_scores(tmp_path / "one.csv", ROWS, n_splits=1))
    published = publish(tmp_path, 1, line.format(round(mean + 0.02, 4)))
    cells = cells_of("error", scores, published)
    assert row_on(OWN, published, cells, contents)[-1] == (
        "Of the 1 number beyond two spreads, 1 is within 5 % of the published one, because the "
        "spreads are small."
    )


def test_own_data_that_differ_are_not_explained_away(tmp_path, contents):
    published = publish(tmp_path, 1, "a,20,0.2,0.001,RRMSE,ofer-gmm,selected,20,0")
    why = row_on(OWN, published, error_cells(tmp_path, published), contents)[-1]
    assert why == "The data are the paper's own; why the numbers differ is not known."


def test_numbers_that_agree_say_so(tmp_path, contents):
    published = publish(tmp_path, 1, "a,20,0.7,0.1,RRMSE,ofer-gmm,selected,20,0")
    row = row_on(OWN, published, error_cells(tmp_path, published), contents)
    assert row[1:4] == ["1 of 1", "1", "1"]
    assert row[-1] == "No number is more than two spreads away."


def test_an_error_of_another_definition_is_marked(tmp_path, contents):
    published = publish(tmp_path, 5, "a,20,9.4,,root_sum_rrmse,ofer-gmm,selected,20,0")
    scores, errors = scores_of(tmp_path, ROWS), ["root_sum_rrmse"]
    cells = cells_of("error", scores, published, errors=errors)
    why = row_on(DRAWN, published, cells, contents, number=5)[-1]
    assert why.startswith("That they are roots of sums is read from their size")


def test_a_stand_in_is_never_said_to_agree(tmp_path, contents):
    # The published number is that of this run to the last digit.
    mean = sum(better_error(20, split) for split in range(5)) / 5
    published = publish(tmp_path, 1, f"a,20,{mean!r},1,RRMSE,ofer-gmm,selected,20,0")
    cells = error_cells(tmp_path, published, is_comparable=False)
    reproductions = reproductions_on({**OTHER, "stand_in_for": "others"}, published, cells)
    section = paper_comparison_section(contents, reproductions, published, {})
    row = row_of(section, "Table 1")
    assert row[0] == "toy: firstA stand-in: Others"
    assert row[1:6] == ["not comparable: stand-in", *4 * ["\u2013"]]
    assert row[-1] == "Other data than the paper's."
    assert len(row) == len(COLUMNS) - 1
    assert listed_of(section)["Table 1"][0] == "a stand-in, not comparable; not built"
    assert "No number of this run can be compared with a published one." in text_of(section)


def test_experiments_that_only_stand_in_share_a_row(contents):
    # Table 8 has a reproduction; for Table 7 both experiments stand as they are.
    first = reproductions_on(OTHER, number=8, name="a")
    second = reproductions_on(OTHER, number=None, name="b")
    section = paper_comparison_section(contents, [*first, *second], {}, {})
    assert row_of(section, "Table 7")[0] == "a, bA stand-in: Others"
    assert row_of(section, "Table 8")[0] == "a: firstA stand-in: Others"
    assert 'href="#experiment-a"' in section.html
    assert 'href="#table-a-first"' in section.html


def test_times_count_in_the_order_alone(tmp_path, contents):
    published = publish(
        tmp_path,
        2,
        "a,Test time,60,6,s,ofer-gmm,selected,20,0",
        "b,Test time,0.006,0.001,s,m-krr,selected,20,0",
        "b,Training time,0.01,0.001,s,m-krr,selected,20,0",
    )
    timings = read_timings(write_timings(tmp_path / "t.csv", ["m-krr", "ofer-gmm"]))
    cells = cells_of("time", timings, published)
    row = row_on(DRAWN, published, cells, contents, number=2, kind="time")
    # Both take 6 ms here, so that they are in no order; one published number has no other.
    assert row[1:6] == [*4 * ["\u2013"], "0 of 1"]
    assert row[-1] == (
        "Another machine and other code: times are 0.0001 to 100 times the published ones "
        "(median 1)."
    )


@pytest.mark.parametrize("published", [{}, {"djerrab-4": CONFIG / "paper_tables/djerrab-4.csv"}])
def test_a_table_whose_numbers_are_absent_says_so(contents, published):
    row = row_on(DRAWN, published, [], contents, number=4)
    assert row[1:6] == 5 * ["\u2013"]
    assert row[-1].startswith("The text of the paper does not contain the numbers of this table")


def test_a_figure_that_is_drawn_again_is_linked(contents):
    drawn = [(item.drawn_as, item.number) for item in contents if item.drawn_as]
    assert drawn == [("steps", "1"), ("geometry", "2"), ("class_steps", "3")]
    figures = [{"name": "shape", "kind": "geometry"}, {"name": "curve", "kind": "learning_curve"}]
    reproductions = reproductions_on(OWN, number=None, figures=figures)
    assert [reproduction.item.name for reproduction in reproductions] == ["Figure 2"]
    section = paper_comparison_section(contents, reproductions, {}, {})
    assert row_of(section, "Figure 2")[0] == "toy: shapeDrawn by the paper's recipe"
    assert 'href="#figure-toy-shape"' in section.html


def test_a_drawing_shows_no_data(contents):
    figures = [{"name": "way", "kind": "class_steps"}]
    reproductions = reproductions_on(OTHER, number=None, figures=figures)
    # The data of the experiment stand in for others; the drawing shows none of them.
    drawn = [reproduction for reproduction in reproductions if reproduction.item.name == "Figure 3"]
    assert [reproduction.data_kind for reproduction in drawn] == [DRAWING]
    section = paper_comparison_section(contents, drawn, {}, {})
    assert row_of(section, "Figure 3")[0] == "toy: wayA drawing without data"
    assert "1 are drawings without data, and 22 were not run" in text_of(section)


def test_years_are_compared_with_the_coordinates_of_their_name(tmp_path, contents):
    published = publish(
        tmp_path,
        6,
        "m-KRR,2001,1.27,,RRMSE,m-krr,selected,,",
        "m-KRR,2002,1.33,,RRMSE,m-krr,selected,,",
        "m-KRR,Global,1.42,,RRMSE,m-krr,selected,,",
        "IOKR,2001,1.16,,RRMSE,iokr,selected,,",
    )
    names = ("after_2001_report", "after_2002_report")
    path = write_coordinates(tmp_path / "c.csv", [("m-krr", "selected", 0, base_error)], names)
    cells = table_cells("coordinates", read_coordinates(path))
    (reproduction,) = reproductions_on(OWN, published, cells, number=6, kind="coordinates")
    mean = sum(base_error(50, split) for split in range(5)) / 5
    assert dict(zip(reproduction.errors["label"], reproduction.errors["difference"])) == {
        "m-KRR, 2001": pytest.approx(mean - 1.27),
        "m-KRR, 2002": pytest.approx(mean + 0.1 - 1.33),
        "m-KRR, Global": pytest.approx(mean + 0.05 - 1.42),
    }
    row = row_of(paper_comparison_section(contents, [reproduction], published, {}), "Table 6")
    assert row[1] == "3 of 4"
    (other, *_) = reproductions_on(OTHER, published, cells, number=6, kind="coordinates")
    assert other.comparisons.empty


def test_weights_are_compared_on_their_dataset(tmp_path):
    published = publish(
        tmp_path,
        15,
        "wOFER Caltech101,0.1,52.35,0.01,accuracy_percent,wofer-gmm,selected,,100",
        "wOFER Caltech101,1,41.14,0.01,accuracy_percent,wofer-gmm,selected,,100",
        "wOFER AWA,0.1,50.35,0.01,accuracy_percent,wofer-gmm,selected,,100",
    )
    rows = [("class-krr", "selected", 0, base_accuracy)]
    rows += [("wofer-gmm", "selected", 100, base_accuracy)]
    rows += [("wofer-gmm", "selected", 100, base_accuracy, f"weak_weight={w}") for w in (0.1, 1.0)]
    scores = read_scores(write_accuracies(tmp_path / "scores.csv", rows))
    cells = table_cells("weak_weight", scores, metric="accuracy")
    options = {"number": 15, "kind": "weak_weight", "dataset": "caltech101"}
    reproduction = reproductions_on(OWN, published, cells, **options)[0]
    accuracy = 100 * sum(base_accuracy(5, split) for split in range(5)) / 5
    assert dict(zip(reproduction.errors["label"], reproduction.errors["difference"])) == {
        "wOFER-GMM, 100 weak rows, \u03bb\u2082 = 0.1": pytest.approx(accuracy - 52.35),
        "wOFER-GMM, 100 weak rows, \u03bb\u2082 = 1": pytest.approx(accuracy - 41.14),
    }
    assert set(reproduction.errors["column"]) == {"wOFER Caltech101"}


def test_differences_of_accuracies_are_in_points(contents):
    row = ("OFER, n = 1", "1", "accuracy", 30.0, math.nan, 38.22, math.nan)
    (reproduction,) = reproductions_on(OWN, number=11)
    reproduction = replace(reproduction, comparisons=comparisons([row]))
    published = {"djerrab-11": CONFIG / "paper_tables" / "djerrab-11.csv"}
    row = row_of(paper_comparison_section(contents, [reproduction], published, {}), "Table 11")
    assert row[4] == "\u22128.2 points (no spread known)OFER, n = 1"
    assert row[1] == "1 of 35"


def test_what_was_not_run_names_its_commands(contents):
    found = listed_of(paper_comparison_section(contents, [], {}, paper_runs(CONFIG)))
    assert re.search(r"snakemake --cores 2 \(\d+ CPU min\)", found["Table 1"][-1])
    others = {name: [state, without_minutes(text)] for name, (state, text) in found.items()}
    assert others["Table 5"][-1] == ("By its recipe: snakemake --cores 2 --config study=series.")
    assert others["Table 1"][-1] == "By its recipe: snakemake --cores 2."
    assert others["Table 6"][-1] == (
        "On the paper's own data: snakemake --cores 2 --config study=kogan10k, with "
        "files that you supply (config/datasets/kogan10k.yaml). On a stand-in: snakemake --cores 2 "
        "--config study=earnings-calls."
    )
    # The Mulan sets have no table of the same form, but stand in for it.
    assert "--config study=mulan." in others["Table 7"][-1]
    assert "config/datasets/awa.yaml" in others["Table 12"][-1]
    assert others["Figure 1"] == ["not in this run", "A drawing without data: snakemake --cores 2."]
    assert others["Table 6"][0] == "needs data"


def test_an_item_says_what_nobody_can_download():
    item = PaperItem(PAPER, "table", "3", "Title", "Data", "RRMSE", "", "djerrab-3", "weights")
    section = paper_comparison_section([item], [], {}, {})
    assert listed_of(section)["Table 3"][0] == "needs weights"


def test_a_table_that_nothing_runs_on_the_data_of_the_paper_says_so():
    item = PaperItem(PAPER, "table", "3", "Title", "Data", "RRMSE", "", "djerrab-3")
    section = paper_comparison_section([item], [], {}, {})
    assert listed_of(section)["Table 3"][-1] == "No study runs it on the paper's data."


def test_the_section_is_well_formed_and_escaped():
    item = PaperItem("Someone (1999)", "table", 3, "A < B & C", "D <3>", "RRMSE", "", "a")
    section = paper_comparison_section([item], [], {}, {})
    assert section.anchor == "someone-1999"
    assert f'id="{section.anchor}"' in section.html
    assert "A &lt; B &amp; C" in section.html
    assert set(parse(section.html).cells_per_row) == {len(COLUMNS_OF_CONTENTS)}
    assert re.findall(r"<th(?![^>]*scope=)[ >]", section.html) == []


@pytest.mark.parametrize(
    "text",
    [
        None,
        "paper,kind,number,title,data,quantity,drawn_as\nP,table,1,T,D,RRMSE,\n",
        f"{HEADING}P,list,1,T,D,RRMSE,,1\n",
        f"{HEADING}P,table,1,T\n",
    ],
)
def test_contents_that_are_none_are_refused(tmp_path, text):
    path = tmp_path / "contents.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match="cannot be read"):
        read_contents(path)


def test_an_experiment_without_ofer_stands_in_for_no_table_of_its_paper():
    for keys, is_one in (
        ({"methods": ["m-krr", "ofer-gmm"]}, True),
        ({"methods": ["class-krr"]}, False),
        ({"methods": ["ofer-gmm"], "unpaired_sizes": [50]}, False),
    ):
        assert bool(reproductions_on(OTHER, number=None, **keys)) is is_one
