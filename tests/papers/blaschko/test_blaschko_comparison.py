"""Results are compared with the published tables of this paper."""

import pandas as pd
from report_samples import METHODS, base_error, table_cells, write_coordinates
from test_report_paper_comparison import CONFIG, OWN, contents_of, row_of, settings_of

from workflow_lib.page.paper_comparison import paper_comparison_section
from workflow_lib.report.reproduced_tables import reproductions_of
from workflow_lib.report.results import read_coordinates

TABLES = CONFIG / "papers" / "blaschko" / "paper_tables"


def test_numbers_are_compared_with_those_of_their_own_table_of_a_file(tmp_path):
    rows = [("kcca-spectra", "selected", 0, base_error)]
    path = write_coordinates(tmp_path / "c.csv", rows, ("Faces", "Color"))
    cells = table_cells("coordinates", read_coordinates(path), methods=METHODS)
    thesis = contents_of("Blaschko (2014)")
    published = {"blaschko-4": TABLES / "blaschko-4.csv"}
    options = {"methods": METHODS, "published": published, "contents": thesis}
    settings = settings_of("blaschko-4", kind="coordinates")
    found = reproductions_of("toy", settings, OWN, {"first": cells}, **options)
    assert {each.item.number: len(each.errors) for each in found} == {"4.1": 0, "4.2": 2, "4.3": 0}
    section = paper_comparison_section(thesis, found, published, {})
    assert row_of(section, "Table 4.2")[1] == "2 of 18"


def test_cells_without_errors_are_not_compared():
    cells = pd.DataFrame({"quantity": ["resets"], "value": [1.0]})
    published = {"blaschko-5-1": TABLES / "blaschko-5-1.csv"}
    options = {"methods": METHODS, "published": published}
    options |= {"contents": contents_of("Blaschko (2014)")}
    settings = settings_of("blaschko-5-1", kind="queue_resets")
    (found,) = reproductions_of("toy", settings, OWN, {"first": cells}, **options)
    assert found.item.number == "5.1" and found.comparisons.empty
