"""The table of predictions holds those of the model, one line per row."""

import json

import numpy as np
import pytest
from each_case import each_case
from saved_model_samples import Final, small_table, table_dataset
from scipy.special import softmax
from small_assay import write_table

from workflow_lib import load_model
from workflow_lib.core.errors import UserError
from workflow_lib.table import table_predictions_stage
from workflow_lib.table.saved_model import SavedModel
from workflow_lib.tabular.table_file import read_table

ROLES = {"numbers": ["dose, mg", "weight"], "categories": ["colour"]}


@pytest.fixture(scope="module")
def final(tmp_path_factory):
    """A saved model with intervals of one of its two outputs; its table names the rows."""
    dataset = table_dataset(small_table(), **ROLES)
    final = Final(tmp_path_factory.mktemp("model"), dataset)
    final.ridge("ridge", kind=None)
    calibration = final.calibration("ridge", [0.25, np.inf], novelty_limit=3.0)
    options = {"row_name": "name", "missing_values": ["", "-99"], "delimiter": None}
    final.saved("ridge", calibration=calibration, options=options)
    return final


def predicted(final, folder, columns, name="new.csv"):
    """Run the stage; return the table that it writes."""
    output = folder / "predictions" / f"{name}.csv"
    table_predictions_stage.run(final.path("model"), write_table(folder / name, columns), output)
    return read_table(output)


def test_numbers_have_the_digits_that_their_intervals_justify(final, tmp_path):
    columns = small_table(seed=2, n_rows=5)
    table = predicted(final, tmp_path, columns)
    expected = load_model(final.path("model")).predict(tmp_path / "new.csv")
    # A thousandth of half the width, which is a quarter, has four decimals.
    assert np.ptp(expected.upper[:, 0] - expected.lower[:, 0]) == pytest.approx(0, abs=1e-12)
    for name, values in (
        ("y1", expected.outputs),
        ("y1 lower", expected.lower),
        ("y1 upper", expected.upper),
    ):
        np.testing.assert_array_equal(table.numbers(name), values[:, 0].round(4))
    # No interval could be calibrated for the second output: of its range a ten-thousandth.
    assert np.isnan(table.numbers("y2 lower")).all() and np.isnan(table.numbers("y2 upper")).all()
    errors = np.abs(table.numbers("y2") - expected.outputs[:, 1])
    assert 0 < errors.max() <= np.ptp(expected.outputs[:, 1]) / 20_000
    np.testing.assert_allclose(table.numbers("novelty"), expected.novelty, atol=5e-5)
    assert table.numbers("line").tolist() == [2, 3, 4, 5, 6]


def test_columns_of_the_rows_are_kept(final, tmp_path):
    names = {"name": ["b", "a"], "plot, a": ["007", "1.5"], "remark": ["=1+1", ""]}
    columns = small_table(n_rows=2) | names
    rows = write_table(tmp_path / "new.csv", columns)
    output = tmp_path / "new.xlsx"
    table_predictions_stage.run(final.path("model"), rows, output, keep="plot, a,rem*,y1")
    table = read_table(output)
    kept = ["y1 (of the row)", "plot, a", "remark"]
    assert table.names[:6] == ["name", "line", *kept, "y1"]
    assert table.strings("plot, a").tolist() == ["007", "1.5"]
    assert table.strings("remark").tolist() == ["=1+1", ""]
    # A workbook holds 15 digits of a number.
    known = [float(y) for y in columns["y1"]]
    np.testing.assert_allclose(table.numbers("y1 (of the row)"), known, rtol=1e-14)
    before = output.read_bytes()
    table_predictions_stage.run(final.path("model"), rows, output, keep="plot, a,rem*,y1")
    assert output.read_bytes() == before
    with pytest.raises(UserError, match="option keep: there is no column 'remrk'.*'remark'"):
        table_predictions_stage.run(final.path("model"), rows, output, keep="remrk")


def test_rows_that_are_unlike_the_training_rows_are_marked(final, tmp_path, capsys):
    columns = small_table(n_rows=4)
    columns["weight"][2] = -50.0
    table = predicted(final, tmp_path, columns)
    assert table.strings("unlike_training").tolist() == ["no", "no", "yes", "no"]
    assert "1 of 4 rows is unlike the training rows" in capsys.readouterr().out


def test_rows_keep_their_order_and_their_names(final, tmp_path, capsys):
    columns = small_table(n_rows=3) | {"name": ["b", "a, first", "c"], "remark": ["x", "y", "z"]}
    table = predicted(final, tmp_path, columns)
    assert table.names[:2] == ["name", "line"]
    assert table.strings("name").tolist() == ["b", "a, first", "c"]
    printed = capsys.readouterr().out
    assert "columns that are not inputs, ignored: y1, y2, remark" in printed


def test_marks_of_missing_values_are_those_of_the_training_table(final, tmp_path):
    columns = small_table(n_rows=2)
    marked, empty = (
        predicted(final, tmp_path, columns | {"dose, mg": [mark, 1.0]}) for mark in ("-99", "")
    )
    np.testing.assert_array_equal(marked.numbers("y1"), empty.numbers("y1"))


def test_a_frame_holds_what_the_table_does(final, tmp_path):
    columns = small_table(seed=2, n_rows=5)
    table = predicted(final, tmp_path, columns)
    predictions = load_model(final.path("model")).predict(tmp_path / "new.csv")
    frame = table_predictions_stage.rounded(predictions).to_frame()
    assert ["line", *frame.columns] == list(table.names)
    for name in ("y1", "y1 lower", "y1 upper", "y2", "novelty"):
        np.testing.assert_array_equal(frame[name], table.numbers(name))
    assert frame["y2 lower"].tolist() == [-np.inf] * 5
    assert frame["unlike_training"].map({True: "yes", False: "no"}).tolist() == (
        table.strings("unlike_training").tolist()
    )
    for name in ("note", "method"):
        assert frame[name].tolist() == table.strings(name).tolist()
    assert any(frame["note"]) and frame["method"].tolist() == ["RIDGE"] * 5


def test_what_cannot_be_read_is_reported_and_nothing_is_written(final, tmp_path):
    columns = small_table(n_rows=2)
    with pytest.raises(UserError, match="'tall' is not a finite number"):
        predicted(final, tmp_path, columns | {"weight": ["tall", 1.0]})
    del columns["colour"]
    with pytest.raises(UserError, match="colour"):
        predicted(final, tmp_path, columns)
    with pytest.raises(UserError, match="0 rows"):
        predicted(final, tmp_path, {name: [] for name in columns})
    assert not (tmp_path / "predictions").exists()


def test_a_spreadsheet_with_semicolons_is_read(final, tmp_path):
    columns = small_table(n_rows=3)
    names = ["dose, mg", "weight", "colour"]
    rows = zip(*(columns[name] for name in names), strict=True)
    lines = [";".join(names), *(";".join(map(str, row)) for row in rows)]
    path = tmp_path / "new.csv"
    path.write_text("\ufeff" + "\r\n".join(lines), encoding="utf-8")
    output = tmp_path / "out.csv"
    table_predictions_stage.run(final.path("model"), path, output)
    expected = predicted(final, tmp_path, columns, "comma.csv")
    np.testing.assert_array_equal(read_table(output).numbers("y1"), expected.numbers("y1"))


@pytest.fixture
def of_classes(tmp_path):
    """Return a method of classes, the columns of its table and their labels."""
    columns = small_table()
    labels = (np.array(columns["weight"]) > 0).astype(int)
    dataset = table_dataset(columns, **ROLES)
    vectors = np.eye(2)
    dataset |= {"outputs": vectors[labels], "classes": {"labels": labels, "vectors": vectors}}
    dataset["names"]["classes"] = json.dumps(["ant", "bee"])
    final = Final(tmp_path, dataset, metric="accuracy")
    final.class_ridge("ridge")
    return final, columns, labels


def test_classes_replace_values(of_classes, tmp_path):
    final, columns, labels = of_classes
    final.saved("ridge")
    table = predicted(final, tmp_path, columns)
    assert table.names == ["line", "class", "novelty", "unlike_training", "note", "method"]
    right = table.strings("class") == np.array(["ant", "bee"])[labels]
    assert right.mean() > 0.9


@pytest.mark.parametrize(
    ("limit", "decoder"), [(0.6, "scores"), (np.inf, "scores"), (0.6, "cosine")]
)
def test_classes_have_probabilities_and_sets_where_their_scores_were_calibrated(
    of_classes, tmp_path, limit, decoder
):
    final, columns, _ = of_classes
    sets = {"level": 0.9, "inverse_temperature": 3.0, "decoder": decoder}
    sets |= {"limits": np.array([limit]), "cuts": np.empty(0), "of_logarithms": False}
    measured = {"set_coverage": np.array([0.8, 0.9]), "set_size": np.array([1.0, 2.0])}
    model = final.saved("ridge", calibration=final.calibration("ridge", sets=sets, **measured))
    table = predicted(final, tmp_path, columns)
    found = load_model(final.path("model")).predict(columns)
    if decoder != "scores":
        # Other scores were calibrated than those that the model has.
        assert "probability" not in table.names and found.class_probabilities is None
        assert model.coverage is None
        return
    assert (model.coverage, model.set_size) == (pytest.approx(0.85), 1.5)
    assert found.level == 0.9
    expected = softmax(3.0 * found.class_scores, axis=1)
    np.testing.assert_allclose(found.class_probabilities, expected, rtol=1e-12)
    highest = found.class_probabilities.max(axis=1)
    np.testing.assert_array_equal(table.numbers("probability"), highest.round(4))
    if not np.isfinite(limit):
        assert "set" not in table.names and found.class_sets is None
        return
    assert table.names[:4] == ["line", "class", "probability", "set"]
    is_sure = expected.min(axis=1) < 0.4
    assert is_sure.any() and not is_sure.all()
    for row, names in enumerate(table.strings("set")):
        first = table.strings("class")[row]
        other = {"ant": "bee", "bee": "ant"}[first]
        assert names == (first if is_sure[row] else f"{first}|{other}")


OF_ROW, OF_INTERVAL = " (of the row)", " (of the interval)"


@each_case(
    ("outputs", "row_name", "others"),
    [
        (("note", "line"), None, ["line" + OF_ROW, "note" + OF_ROW]),
        (("y lower", "y"), None, ["line", "y lower" + OF_INTERVAL, "y lower lower", "y upper"]),
        (("y", "y upper"), None, ["line", "y lower", "y upper" + OF_INTERVAL, "y upper upper"]),
        (
            ("y", "y lower" + OF_INTERVAL),
            "y lower",
            ["y lower" + OF_ROW, "line", "y lower", "y lower" + OF_INTERVAL + " lower"],
        ),
        (("y lower" + OF_INTERVAL, "y lower"), "line", ["line", "line" + OF_ROW]),
        (("novelty", "novelty" + OF_ROW), "novelty" + OF_ROW * 2, ["novelty" + OF_ROW * 2]),
        (("class", "set"), "method", ["method" + OF_ROW, "line", "method", "class upper"]),
        (("unlike_training", "probability"), "note", ["note", "note" + OF_ROW]),
    ],
)
def test_columns_have_different_names_and_outputs_keep_theirs(
    final, tmp_path, monkeypatch, outputs, row_name, others
):
    model = load_model(final.path("model"))
    model.output_names, model.row_name = list(outputs), row_name
    monkeypatch.setattr(SavedModel, "load", lambda path, trusted: model)
    names = list("abcd")
    new = small_table(n_rows=4) | ({row_name: names} if row_name else {})
    table = predicted(final, tmp_path, new)
    predictions = table_predictions_stage.rounded(model.predict(tmp_path / "new.csv"))
    for name, values in zip(outputs, predictions.outputs.T, strict=True):
        np.testing.assert_array_equal(table.numbers(name), values)
    n_rows = 1 + (row_name is not None)
    assert list(predictions.to_frame().columns) == table.names[n_rows:]
    assert set(others) <= set(table.names) and len(table.names) == 10 + n_rows
    if row_name:
        assert table.strings(table.names[0]).tolist() == names
