"""Results are compared with the published tables of this paper, in a section of its own."""

import pytest
from report_samples import METHODS, base_accuracy, table_cells, write_accuracies
from test_paper_runs import tables_of_studies
from test_report_paper_comparison import (
    CONFIG,
    OTHER,
    contents_of,
    listed_of,
    settings_of,
    text_of,
    without_minutes,
)

from workflow_lib.page.paper_comparison import paper_comparison_section
from workflow_lib.report.published_tables import published_layouts
from workflow_lib.report.reproduced_tables import STAND_IN, reproductions_of
from workflow_lib.report.results import read_scores
from workflow_lib.run.paper_runs import paper_runs

PALASEK = "Palasek and Patras (2017)"
TABLES = CONFIG / "papers" / "palasek" / "paper_tables"


def test_another_paper_has_its_own_section_and_commands():
    section = paper_comparison_section(contents_of(PALASEK), [], {}, paper_runs(CONFIG))
    assert (section.anchor, section.heading) == (
        "palasek-and-patras-2017",
        "Comparison with Palasek and Patras (2017)",
    )
    assert "Of Palasek and Patras (2017) this project lists 6 tables and 7 figures." in text_of(
        section
    )
    commands = {name: without_minutes(texts[-1]) for name, texts in listed_of(section).items()}
    line = "snakemake --cores 2 --config study=bags-paper."
    absent = "No study runs it on the paper's data."
    by_feature = line.replace("bags-paper", "bags-features")
    assert commands == {
        **{f"Table {number}": f"On a stand-in: {by_feature} {absent}" for number in (1, 2)},
        **{f"Table {number}": f"On a stand-in: {line} {absent}" for number in range(3, 7)},
        **{f"Figure {number}": f"By its recipe: {line}" for number in range(1, 4)},
        "Figure 4": f"A drawing without data: {line}",
        **{f"Figure {number}": f"On a stand-in: {line} {absent}" for number in range(5, 8)},
    }


@pytest.mark.parametrize(
    ("name", "items"),
    [
        ("djerrab-3", []),
        ("palasek-3", ["Table 3", "Figure 5", "Figure 6", "Figure 7"]),
        ("palasek-4", ["Table 4"]),
    ],
)
def test_a_number_belongs_to_one_paper_only(name, items):
    found = reproductions_of(
        "toy",
        settings_of(name, figures=[{"name": "epochs", "kind": "accuracy_by_epoch"}]),
        {**OTHER, "stand_in_for": "videos of Palasek and Patras (2017)"},
        {},
        methods=METHODS,
        published={},
        contents=contents_of(PALASEK),
    )
    assert [reproduction.item.name for reproduction in found] == items
    assert {reproduction.data_kind for reproduction in found} <= {STAND_IN}


def test_a_table_by_unlabelled_rows_and_components_is_shown_above_the_published_one(tmp_path):
    methods = {"ssfv-network-paper": {"label": "network", "weak": False, "unlabelled": True}}
    rows = [
        ("ssfv-network-paper", components, weak_size, base_accuracy)
        for components in ("8", "16")
        for weak_size in (0, 100)
    ]
    paths = [TABLES / "palasek-3.csv"]
    options = {"methods": methods, "metric": "accuracy"}
    cells = table_cells(
        "error",
        read_scores(write_accuracies(tmp_path / "scores.csv", rows)),
        published_paths=paths,
        errors=["accuracy"],
        is_comparable=False,
        **options,
    )
    shown = {(cell.variant.components, cell.variant.weak_size) for cell in cells}
    assert shown == {("8", 0), ("8", 100), ("16", 0), ("16", 100)}
    (below,) = published_layouts(paths, methods, "videos of UCF-101")
    assert below.title == "Published: table 3 of Palasek and Patras (2017)"
    assert below.heads == ["64 components", "128 components", "256 components"]
    assert "so that the numbers are not comparable." in " ".join(below.notes)


def test_tables_of_trained_networks_are_run_by_some_study():
    assert tables_of_studies() >= {f"palasek-{number}" for number in range(3, 7)}
