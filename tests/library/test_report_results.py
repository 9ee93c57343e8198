"""Files of results are read into frames; a fault is reported with its file and line."""

import math

import pytest
from each_case import each_case
from report_samples import (
    base_error,
    write_choices,
    write_coordinates,
    write_published,
    write_scores,
    write_timings,
)

from workflow_lib.core.errors import UserError
from workflow_lib.report.results import (
    by_size,
    outside_studies,
    read_choices,
    read_coordinates,
    read_published,
    read_published_apart,
    read_scores,
    read_timings,
)
from workflow_lib.report.variants import Variant, order_variants, study_of

ROW = [("m-krr", "selected", 0, base_error)]
KINDS = {"scores": (write_scores, read_scores)}
KINDS["coordinates"] = write_coordinates, read_coordinates
PUBLISHED = "table,row,column,value,spread,unit,method,components,training_size\n"


def replace_in_line(path, line: int, old: str, new: str) -> None:
    lines = path.read_text().splitlines()
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    path.write_text("\n".join(lines) + "\n")


def test_scores_are_typed_and_sorted(tmp_path):
    rows = [("ofer-gmm", "4", 0, base_error), ("m-krr", "selected", 0, base_error)]
    scores = read_scores(write_scores(tmp_path / "scores.csv", rows, sizes=(50, 20)))
    fits = scores[["method", "training_size", "split"]].drop_duplicates()
    assert list(fits["method"]) == ["m-krr"] * 10 + ["ofer-gmm"] * 10
    assert set(scores["training_size"].iloc[: len(scores) // 4]) == {20}
    first = scores[(scores["training_size"] == 20) & (scores["split"] == 0)]
    first = first[first["method"] == "m-krr"]
    values = dict(zip(first["quantity"], first["value"], strict=True))
    assert values["arrmse"] == base_error(20, 0)
    assert values["root_sum_rrmse"] == 3 * base_error(20, 0)
    assert values["norm_rrmse"] == base_error(20, 0) / 4
    assert set(first["setting"]) == {""} and set(first["components"]) == {"selected"}


def test_settings_of_studies_make_rows_of_their_own(tmp_path):
    rows = [
        ("wofer-gmm", "selected", 100, base_error),
        ("wofer-gmm", "selected", 100, base_error, "weak_weight=0.01"),
    ]
    scores = read_scores(write_scores(tmp_path / "scores.csv", rows))
    scores = scores[scores["quantity"] == "arrmse"]
    assert (len(scores), len(outside_studies(scores))) == (15, 10)
    assert scores["setting"].iloc[-1] == "weak_weight=0.01"
    errors = read_coordinates(write_coordinates(tmp_path / "coordinates.csv", rows[1:]))
    assert set(errors["setting"]) == {"weak_weight=0.01"}
    path = write_timings(tmp_path / "timings.csv", ["m-krr"], setting="weak_noise=0.2")
    assert set(read_timings(path)["setting"]) == {"weak_noise=0.2"}


def test_choices_are_texts_and_may_be_none_at_all(tmp_path):
    rows = [("ofer-stack", "selected", 0, base_error)]
    path = write_choices(tmp_path / "choices.csv", rows, **{"weight_m-krr": 0.7, "alpha": "inf"})
    choices = read_choices(path)
    assert set(choices.loc[choices["name"] == "weight_m-krr", "value"]) == {"0.7"}
    assert set(choices.loc[choices["name"] == "alpha", "value"]) == {"inf"}
    assert read_choices(write_choices(tmp_path / "none.csv", [])).empty


def test_settings_are_a_study_and_a_value():
    assert study_of("weak_noise=0.2") == ("weak_noise", 0.2)
    assert study_of("weak_weight=1e-05") == ("weak_weight", 1e-5)
    assert study_of("") == ("", 0.0)


def test_timings_are_read(tmp_path):
    timings = read_timings(write_timings(tmp_path / "timings.csv", ["m-krr"]))
    assert timings["selection_seconds"][1] == 20.0
    assert timings["preimage_seconds"][1] == 0.004


def test_coordinates_are_typed_and_sorted(tmp_path):
    rows = [("ofer-gmm", "4", 0, base_error), ("m-krr", "selected", 0, base_error)]
    path = write_coordinates(tmp_path / "coordinates.csv", rows, names=["b, c", "a"])
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], *reversed(lines[1:])]))
    errors = read_coordinates(path)
    assert list(errors["method"]) == ["m-krr"] * 20 + ["ofer-gmm"] * 20
    first = errors[["split", "coordinate", "name"]].head(3)
    assert first.to_numpy().tolist() == [[0, 0, "b, c"], [0, 1, "a"], [1, 0, "b, c"]]
    assert errors["error"][1] == base_error(20, 0) + 0.1


def test_a_file_that_is_missing_or_no_text_is_named(tmp_path):
    with pytest.raises(UserError, match="scores.csv"):
        read_scores(tmp_path / "scores.csv")
    (tmp_path / "scores.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="UTF-8"):
        read_scores(tmp_path / "scores.csv")


def test_a_missing_column_is_named(tmp_path):
    path = write_scores(tmp_path / "scores.csv", ROW)
    replace_in_line(path, 1, "quantity", "error")
    with pytest.raises(UserError, match="line 1: there is no column quantity"):
        read_scores(path)


def test_a_short_line_is_reported(tmp_path):
    path = write_scores(tmp_path / "scores.csv", ROW)
    n_lines = path.read_text().count("\n")
    path.write_text(path.read_text() + "toy,toy-data,m-krr\n")
    with pytest.raises(UserError, match=f"line {n_lines + 1}, column components: found nothing"):
        read_scores(path)


@each_case("kind", KINDS)
def test_a_file_without_rows_is_refused(tmp_path, kind):
    write, read = KINDS[kind]
    with pytest.raises(UserError, match="no rows"):
        read(write(tmp_path / "file.csv", []))


@each_case(
    ("kind", "rows", "reason"),
    [
        ("scores", ROW, "line {}: method m-krr, .* is on line 4 already"),
        ("scores", [(*ROW[0], "weak_noise=0.2")], r"setting weak_noise=0\.2, split 0"),
        ("coordinates", ROW, "split 0, coordinate 2 is on line 4 already"),
    ],
)
def test_a_fit_or_coordinate_named_twice_is_refused(tmp_path, kind, rows, reason):
    write, read = KINDS[kind]
    path = write(tmp_path / "file.csv", rows)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[3]]) + "\n")
    with pytest.raises(UserError, match=reason.format(len(lines) + 1)):
        read(path)


@each_case(
    ("old", "new", "column"),
    [
        (f"{base_error(20, 0)}", "nan", "value"),
        (f"{base_error(20, 0)}", "", "value"),
        (f"{base_error(20, 0)}", "low", "value"),
        (f"arrmse,{base_error(20, 0)}", "accuracy,1.5", "value"),
        (",arrmse,", ",,", "quantity"),
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
    path = write_scores(tmp_path / "scores.csv", ROW)
    replace_in_line(path, 2, old, new)
    with pytest.raises(UserError, match=f"scores.csv, line 2, column {column}"):
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
    line = "8,Task 1,+644,0.36,,RRMSE,wofer,selected,100,644"
    path = write_published(tmp_path / "table-8.csv", line)
    assert read_published([path])[0].weak_size == 644


def test_values_are_found_by_size_row_and_split(tmp_path):
    path = write_scores(tmp_path / "scores.csv", ROW)
    scores = read_scores(path)
    found = by_size(scores[scores["quantity"] == "arrmse"])
    assert list(found) == [20, 50]
    assert found[20] == {
        Variant("m-krr", "selected", 0): {split: base_error(20, split) for split in range(5)}
    }


def test_rows_follow_the_methods_then_components_then_weak_rows():
    expected = [
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
    for variants in (expected, expected[::-1], expected[::2] + expected[1::2]):
        assert order_variants(variants, ["m-krr", "ofer"]) == expected
