"""Score files are read into records; a fault is reported with its file and line."""

from __future__ import annotations

import math

import pytest
from report_samples import base_error, write_coordinates, write_scores, write_timings

from workflow_lib.errors import UserError
from workflow_lib.report.scores import (
    Variant,
    group_by_cell,
    order_variants,
    outside_studies,
    read_coordinates,
    read_published,
    read_published_apart,
    read_scores,
    read_timings,
    study_of,
)

PUBLISHED = "table,row,column,value,spread,unit,method,components,training_size\n"


def replace_in_line(path, line: int, old: str, new: str) -> None:
    lines = path.read_text().splitlines()
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    path.write_text("\n".join(lines) + "\n")


def test_scores_are_typed_and_sorted(tmp_path):
    rows = [("ofer-gmm", "4", 0, base_error), ("m-krr", "selected", 0, base_error)]
    scores = read_scores(write_scores(tmp_path / "scores.csv", rows, sizes=(50, 20)))
    assert [s.method for s in scores] == ["m-krr"] * 10 + ["ofer-gmm"] * 10
    assert [s.training_size for s in scores[:6]] == [20] * 5 + [50]
    assert scores[0].errors["arrmse"] == base_error(20, 0)
    assert scores[0].errors["root_sum_rrmse"] == 3 * base_error(20, 0)
    assert scores[0].alpha_leading == math.inf
    assert scores[0].errors["norm_rrmse"] == base_error(20, 0) / 4
    assert scores[0].weak_weight is None
    assert scores[0].projected is True
    assert scores[0].weights is None
    assert scores[0].setting == ""
    assert scores[-1].variant == Variant("ofer-gmm", "4", 0)


def test_settings_of_studies_make_rows_of_their_own(tmp_path):
    rows = [
        ("wofer-gmm", "selected", 100, base_error),
        ("wofer-gmm", "selected", 100, base_error, "weak_weight=0.01"),
    ]
    scores = read_scores(write_scores(tmp_path / "scores.csv", rows))
    assert len(scores) == 15
    assert [score.setting for score in outside_studies(scores)] == [""] * 10
    assert scores[-1].variant == Variant("wofer-gmm", "selected", 100, "weak_weight=0.01")
    errors = read_coordinates(write_coordinates(tmp_path / "coordinates.csv", rows[1:]))
    assert errors[0].variant.setting == "weak_weight=0.01"
    path = write_timings(tmp_path / "timings.csv", ["m-krr"], setting="weak_noise=0.2")
    assert read_timings(path)[0].variant.setting == "weak_noise=0.2"


def test_settings_are_a_study_and_a_value():
    assert study_of("weak_noise=0.2") == ("weak_noise", 0.2)
    assert study_of("weak_weight=1e-05") == ("weak_weight", 1e-5)
    assert study_of("") == ("", 0.0)


def test_weights_of_a_stack_are_a_text(tmp_path):
    path = write_scores(tmp_path / "scores.csv", [("ofer-stack", "selected", 0, base_error)])
    replace_in_line(path, 2, ",1,", ",,")
    lines = path.read_text().splitlines()
    lines[1] += "m-krr=0.7 ofer-gmm=0.3"
    path.write_text("\n".join(lines) + "\n")
    scores = read_scores(path)
    assert (scores[0].weights, scores[0].projected) == ("m-krr=0.7 ofer-gmm=0.3", None)
    assert scores[1].weights is None


def test_timings_are_read(tmp_path):
    timings = read_timings(write_timings(tmp_path / "timings.csv", ["m-krr"]))
    assert timings[1].selection_seconds == 20.0
    assert timings[1].preimage_seconds == 0.004


def test_coordinates_are_typed_and_sorted(tmp_path):
    rows = [("ofer-gmm", "4", 0, base_error), ("m-krr", "selected", 0, base_error)]
    path = write_coordinates(tmp_path / "coordinates.csv", rows, names=["b, c", "a"])
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], *reversed(lines[1:])]))
    errors = read_coordinates(path)
    assert [error.method for error in errors] == ["m-krr"] * 20 + ["ofer-gmm"] * 20
    assert [(e.split, e.coordinate, e.name) for e in errors[:3]] == [
        (0, 0, "b, c"),
        (0, 1, "a"),
        (1, 0, "b, c"),
    ]
    assert errors[1].error == base_error(20, 0) + 0.1


def test_a_coordinate_named_twice_is_refused(tmp_path):
    rows = [("m-krr", "selected", 0, base_error)]
    path = write_coordinates(tmp_path / "coordinates.csv", rows)
    path.write_text(path.read_text() + path.read_text().splitlines()[3] + "\n")
    with pytest.raises(UserError, match="split 0, coordinate 2 is on line 4 already"):
        read_coordinates(path)


def test_coordinates_without_rows_are_refused(tmp_path):
    with pytest.raises(UserError, match="no rows"):
        read_coordinates(write_coordinates(tmp_path / "coordinates.csv", []))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match="scores.csv"):
        read_scores(tmp_path / "scores.csv")


def test_a_file_that_is_not_text_is_named(tmp_path):
    (tmp_path / "scores.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="UTF-8"):
        read_scores(tmp_path / "scores.csv")


def test_a_missing_column_is_named(tmp_path):
    path = write_scores(tmp_path / "scores.csv", [("m-krr", "selected", 0, base_error)])
    replace_in_line(path, 1, "arrmse", "error")
    with pytest.raises(UserError, match="line 1: there is no column arrmse"):
        read_scores(path)


def test_a_file_without_rows_is_refused(tmp_path):
    path = write_scores(tmp_path / "scores.csv", [])
    with pytest.raises(UserError, match="no rows"):
        read_scores(path)


@pytest.mark.parametrize(
    ("old", "new", "column"),
    [
        (f"{base_error(20, 0)}", "nan", "arrmse"),
        (f"{base_error(20, 0)}", "", "arrmse"),
        (f"{base_error(20, 0)}", "low", "arrmse"),
        (",0.01,,1,", ",0.01,,2,", "projected"),
        (",20,0,,", ",20,0,weak_noise,", "setting"),
        (",20,0,,", ",20,0,weak_noise=much,", "setting"),
        (",20,0,,", ",20,0,=0.2,", "setting"),
        (",20,", ",-20,", "training_size"),
        (",20,", ",20.5,", "training_size"),
        (",20,", ",inf,", "training_size"),
        ("m-krr", "", "method"),
    ],
)
def test_a_wrong_value_is_reported_with_line_and_column(tmp_path, old, new, column):
    path = write_scores(tmp_path / "scores.csv", [("m-krr", "selected", 0, base_error)])
    replace_in_line(path, 2, old, new)
    with pytest.raises(UserError, match=f"scores.csv, line 2, column {column}"):
        read_scores(path)


def test_a_short_line_is_reported(tmp_path):
    path = write_scores(tmp_path / "scores.csv", [("m-krr", "selected", 0, base_error)])
    path.write_text(path.read_text() + "toy,toy-data,m-krr\n")
    with pytest.raises(UserError, match="line 12, column components: found nothing"):
        read_scores(path)


def test_a_fit_named_twice_is_refused(tmp_path):
    path = write_scores(tmp_path / "scores.csv", [("m-krr", "selected", 0, base_error)])
    path.write_text(path.read_text() + path.read_text().splitlines()[3] + "\n")
    with pytest.raises(UserError, match="line 12: .* weak size 0, split 2 is on line 4 already"):
        read_scores(path)
    study = [("m-krr", "selected", 9, base_error, "weak_noise=0.2")]
    path = write_scores(tmp_path / "study.csv", study)
    path.write_text(path.read_text() + path.read_text().splitlines()[3] + "\n")
    with pytest.raises(UserError, match=r"weak size 9, weak_noise=0\.2, split 2 is on line"):
        read_scores(path)


def test_published_numbers_without_a_counterpart_are_left_out(tmp_path):
    path = tmp_path / "table-1.csv"
    path.write_text(
        PUBLISHED
        + "1,φ,10,1.15,0.02,RRMSE,ofer-gaussian,,10\n"
        + "1,global,all,1.42,,RRMSE,m-krr,selected,\n"
        + "1,unknown,10,1.42,,RRMSE,,selected,10\n"
        + "1,φ,20,1.1,,RRMSE,ofer-gaussian,4,20\n"
    )
    first, second = read_published([path])
    assert (first.method, first.components, first.weak_size) == ("ofer-gaussian", "selected", 0)
    assert (first.value, first.spread) == (1.15, 0.02)
    assert second.components == "4"
    assert math.isnan(second.spread)
    (apart,) = read_published_apart([path])
    assert (apart.row, apart.column, apart.value) == ("global", "all", 1.42)
    assert apart.training_size is None


def test_published_numbers_may_have_weak_rows(tmp_path):
    path = tmp_path / "table-8.csv"
    path.write_text(
        PUBLISHED.strip() + ",weak_size\n8,Task 1,+644,0.36,,RRMSE,wofer,selected,100,644\n"
    )
    assert read_published([path])[0].weak_size == 644


def test_cells_hold_the_splits(tmp_path):
    path = write_scores(tmp_path / "scores.csv", [("m-krr", "selected", 0, base_error)])
    cells = group_by_cell(read_scores(path))
    assert list(cells) == [
        (Variant("m-krr", "selected", 0), 20),
        (Variant("m-krr", "selected", 0), 50),
    ]
    assert sorted(cells[Variant("m-krr", "selected", 0), 20]) == [0, 1, 2, 3, 4]


def test_rows_follow_the_methods_then_components_then_weak_rows():
    variants = [
        Variant("zeta", "selected", 0),
        Variant("ofer", "10", 0),
        Variant("ofer", "2", 300),
        Variant("ofer", "2", 0),
        Variant("ofer", "selected", 0),
        Variant("alpha", "selected", 0),
        Variant("ofer", "2", 300, "weak_weight=10"),
        Variant("ofer", "2", 300, "weak_weight=9"),
        Variant("m-krr", "selected", 0),
    ]
    assert order_variants(variants, ["m-krr", "ofer"]) == [
        Variant("m-krr", "selected", 0),
        Variant("ofer", "selected", 0),
        Variant("ofer", "2", 0),
        Variant("ofer", "2", 300),
        Variant("ofer", "2", 300, "weak_weight=9"),
        Variant("ofer", "2", 300, "weak_weight=10"),
        Variant("ofer", "10", 0),
        Variant("alpha", "selected", 0),
        Variant("zeta", "selected", 0),
    ]
