"""The published numbers in the files are those in the text of the paper."""

import re
from functools import partial

import published
import pytest

from workflow_lib.report.paper_contents import read_contents
from workflow_lib.report.published_tables import published_layouts

TABLES = published.tables_of("perina")
rows_of = partial(published.rows_of, "perina")


def perina_text() -> str:
    """Return the text with points in numbers, and no empty lines."""
    text = re.sub(r"(\d),(\d)", r"\1.\2", published.text_of("fess-perina-2009"))
    return re.sub(r"\n+", "\n", text)


def test_the_numbers_of_promoters_are_those_of_the_text():
    rows = rows_of("perina-1")
    text = perina_text()
    line = " ".join(f"{row['value']}%" for row in rows)
    names = "\n".join(row["row"] for row in rows[1:])
    assert f"Accuracy\n\u03bbHMM\n{line}\n{names}\nTable 1:" in text


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


def test_the_contents_name_every_table_and_figure_once():
    names = [item.name for item in read_contents(TABLES / "contents.csv")]
    tables = ["Table 1", "Table 2 (Graz)", "Table 2 (scenes)"]
    assert names == [*tables, "Figure 1 A", "Figure 1 B", "Figure 1 C"]
