"""Tables of output coordinates: their means and tests, fitting columns, and published columns."""

import math

import numpy as np
import pytest
from report_samples import (
    METHODS,
    base_error,
    better_error,
    html_table,
    noisy_error,
    parse,
    table_cells,
    worse_error,
    write_coordinates,
    write_published,
    write_table,
    write_timings,
)
from scipy import stats

from workflow_lib.report.coordinate_tables import coordinate_table
from workflow_lib.report.published_tables import published_layouts
from workflow_lib.report.render import html_markup
from workflow_lib.report.results import read_coordinates, read_timings

ROWS = [
    ("m-krr", "selected", 0, base_error),
    ("m-rf", "selected", 0, worse_error),
    ("ofer-gmm", "selected", 0, better_error),
]
MANY = [f"y_{number}" for number in range(13)]


def read(tmp_path, rows=ROWS, **options):
    return read_coordinates(write_coordinates(tmp_path / "coordinates.csv", rows, **options))


def cell_of(cells, method, quantity="coordinate", coordinate=None):
    wanted = (method, quantity, coordinate)
    (cell,) = [c for c in cells if (c.method, c.quantity, c.coordinate) == wanted]
    return cell


def heads_of(html):
    head = html[html.index("<thead>") : html.index("</thead>") + len("</thead>")]
    return [text for text in parse(head).text if text.strip()]


def test_means_are_those_of_the_largest_training_size(tmp_path):
    cells = coordinate_table(read(tmp_path))
    assert {cell.training_size for cell in cells} == {50}
    errors = [base_error(50, split) + 0.2 for split in range(5)]
    cell = cell_of(cells, "m-krr", coordinate=2)
    assert cell.name == "week_3"
    assert cell.mean == pytest.approx(np.mean(errors))
    assert cell.deviation == pytest.approx(np.std(errors, ddof=1))
    assert (cell.n_splits, cell.n_test) == (5, 10)
    of_all = cell_of(cells, "m-krr", "global")
    assert of_all.mean == pytest.approx(np.mean(errors) - 0.1)
    assert of_all.deviation == pytest.approx(cell.deviation)


def test_studies_of_weak_labels_are_left_out(tmp_path):
    study = ("ofer-gmm", "selected", 0, lambda n, s: 0.01, "weak_noise=0.2")
    path = write_coordinates(tmp_path / "c.csv", [*ROWS, study])
    assert set(read_coordinates(path)["setting"]) == {"", "weak_noise=0.2"}
    assert coordinate_table(read_coordinates(path)) == coordinate_table(read(tmp_path))


def test_summaries_are_taken_in_each_split_before_the_mean(tmp_path):
    path = write_coordinates(tmp_path / "c.csv", ROWS[:1], names=("a", "b"), n_splits=2)
    # In the second split the other coordinate is the best one.
    text = path.read_text().replace(
        f"50,0,,1,50,10,0,a,{base_error(50, 1)}", "50,0,,1,50,10,0,a,5.0"
    )
    path.write_text(text)
    cells = coordinate_table(read_coordinates(path))
    expected = (base_error(50, 0) + base_error(50, 1) + 0.1) / 2
    assert cell_of(cells, "m-krr", "minimum").mean == pytest.approx(expected)
    assert cell_of(cells, "m-krr", "maximum").mean == pytest.approx(
        (base_error(50, 0) + 0.1 + 5.0) / 2
    )


def test_rows_are_compared_within_their_coordinate(tmp_path):
    def crossing(size, split):
        return base_error(size, split) + 0.001 * split

    cells = coordinate_table(read(tmp_path, [*ROWS, ("wofer-gmm", "selected", 0, crossing)]))
    for quantity, coordinate in [("coordinate", 0), ("coordinate", 2), ("global", None)]:
        best = cell_of(cells, "ofer-gmm", quantity, coordinate)
        assert best.bold
        assert best.mark == "lower"
        assert best.opponent in ("m-krr/selected/0", "wofer-gmm/selected/0")
        assert cell_of(cells, "m-rf", quantity, coordinate).mark == "higher"
    assert sum(cell.bold for cell in cells if cell.quantity == "coordinate") == 3
    differences = [better_error(50, s) - base_error(50, s) for s in range(5)]
    statistic = np.mean(differences) / math.sqrt((1 / 5 + 10 / 50) * np.var(differences, ddof=1))
    cell = cell_of(cells, "ofer-gmm", coordinate=1)
    assert cell.p_reference_corrected == pytest.approx(2 * stats.t.sf(abs(statistic), 4))


def test_no_number_is_bold_where_the_runner_up_is_close(tmp_path):
    rows = [ROWS[0], ("m-rf", "selected", 0, noisy_error)]
    cells = coordinate_table(read(tmp_path, rows))
    assert not any(cell.bold for cell in cells)
    assert "none is lower than every other in its column" in html_table(cells, "coordinates")


def test_a_constant_coordinate_of_one_split_is_missing_there_only(tmp_path):
    path = write_coordinates(tmp_path / "c.csv", ROWS, n_splits=3)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "50,0,,1,50,10,2," not in line))
    cells = coordinate_table(read_coordinates(path))
    assert cell_of(cells, "m-krr", coordinate=2).n_splits == 2
    expected = [base_error(50, 0) + 0.1, base_error(50, 1) + 0.05, base_error(50, 2) + 0.1]
    assert cell_of(cells, "m-krr", "global").mean == pytest.approx(np.mean(expected))


def test_columns_are_the_coordinates_in_order_and_global(tmp_path):
    names = [f"week_{number}" for number in range(1, 12)]
    cells = coordinate_table(read(tmp_path, names=names), method_order=METHODS)
    html = html_table(cells, "coordinates")
    assert heads_of(html) == ["Method", *(f"week {n}" for n in range(1, 12)), "Global"]
    assert "<caption>Errors; 50 training rows, the largest size</caption>" in html
    mean = np.mean([better_error(50, split) + 1.0 for split in range(5)])
    assert f"<strong>{mean:.3f} ±" in html
    assert set(parse(html).cells_per_row) == {13}


def test_many_coordinates_are_summarised_in_the_table_and_all_in_the_csv(tmp_path):
    scores = write_coordinates(tmp_path / "coordinates.csv", ROWS, names=MANY)
    cells = coordinate_table(read_coordinates(scores), method_order=METHODS)
    html = html_table(cells, "coordinates")
    assert heads_of(html) == ["Method", "Minimum", "Median", "Maximum", "Global"]
    assert "too many output coordinates for a column each" in html
    assert "y 12" not in html
    mean = np.mean([base_error(50, split) for split in range(5)])
    assert all(f"{mean + shift:.3f} ±" in html for shift in (0.0, 0.6, 1.2))
    rows, _ = write_table(scores, "coordinates", tmp_path)
    assert [r["name"] for r in rows if r["method"] == "m-krr" and r["name"]] == MANY
    assert float(rows[0]["mean"]) == np.mean([base_error(50, s) for s in range(5)])
    first = [rows[0][name] for name in ("quantity", "coordinate", "method")]
    assert first == ["coordinate", "0", "m-krr"]


def test_twelve_coordinates_still_have_a_column_each(tmp_path):
    html = html_table(coordinate_table(read(tmp_path, names=MANY[:12])), "coordinates")
    assert len(heads_of(html)) == 1 + 12 + 1


@pytest.fixture
def table_6(tmp_path):
    return write_published(
        tmp_path / "table-6.csv",
        "6,m-KRR,2001,1.27,,RRMSE,m-krr,selected,",
        "6,m-KRR,Global,1.4,,RRMSE,m-krr,selected,",
        "6,OFER-GMM_x,Global,1.25,,RRMSE,ofer-gmm,selected,",
        "6,IOKR,2001,1.16,,RRMSE,iokr,selected,",
    )


def test_a_published_table_of_other_columns_is_shown_below_as_printed(table_6):
    (layout,) = published_layouts([table_6], METHODS, None)
    html = html_markup(layout)
    assert heads_of(html) == ["Method", "2001", "Global"]
    assert "<caption>Published: table 6 of Djerrab et al. (2018)</caption>" in html
    rows = [row for row in parse(html).text if row.strip()]
    assert rows[4:7] == ["m-KRR", "1.27", "1.40"]
    assert rows[7:10] == ["OFER-GMM_x (here: OFER-GMM)", "–", "1.25"]
    assert rows[10:13] == ["IOKR", "1.16", "–"]
    assert "on the data of the authors" in html
    assert "stand in" not in html


def test_a_stand_in_is_shown_next_to_published_numbers(table_6):
    (layout,) = published_layouts([table_6], METHODS, "the reports")
    assert "only stand in for theirs" in html_markup(layout)


def test_published_numbers_are_not_mixed_with_ours(tmp_path, table_6):
    scores = write_coordinates(tmp_path / "coordinates.csv", ROWS)
    cells = table_cells("coordinates", read_coordinates(scores), published_paths=[table_6])
    assert cells == coordinate_table(read_coordinates(scores), method_order=METHODS)
    options = {"stand_in_for": "x", "published": [table_6]}
    _, latex = write_table(scores, "coordinates", tmp_path, **options)
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 2
    assert latex.count(r"\begin{table}") == latex.count(r"\caption{") == 1
    ours, theirs = latex.split(r"\end{tabular}", 1)
    assert {line.count("&") for line in ours.splitlines() if line.endswith(r"\\")} == {0, 4}
    assert r"Method & 2001 & Global \\" in theirs
    assert r"OFER-GMM\_x (here: OFER-GMM) & -- & 1.25 \\" in theirs
    assert "only stand in for theirs" in ours
    assert "1.27" not in (tmp_path / "t.csv").read_text()


def test_published_times_without_a_training_size_are_shown_below(tmp_path):
    path = write_published(
        tmp_path / "table-16.csv",
        "16,m-KRR,Learning,57.30,7.46,s,m-krr,selected,",
        "16,m-KRR,Test,0.12,0.01,s,m-krr,selected,",
    )
    timings = read_timings(write_timings(tmp_path / "timings.csv", ["m-krr"]))
    cells = table_cells("time", timings, published_paths=[path])
    html = html_table(cells, "time", below=published_layouts([path], METHODS, None))
    assert html.count("<caption>") == html.count("</table>") == 2
    assert "<td>57.30 ± 7.46 s</td><td>0.12 ± 0.01 s</td>" in html
    assert 'class="published"' not in html
    assert "the machine of the authors" in html


def test_tables_with_training_sizes_have_nothing_below(tmp_path):
    line = "1,a,20,1.15,0.02,RRMSE,ofer-gmm,selected,20"
    path = write_published(tmp_path / "table-1.csv", line)
    assert published_layouts([path], METHODS, None) == []
