"""Decisions about a table follow from its columns, its rows and the request."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from each_case import each_case
from small_assay import assay_columns, config_with_methods, write_table

from workflow_lib.core.errors import UserError
from workflow_lib.methods.contract import saving as saved_methods
from workflow_lib.protocol.splitting import split_rows
from workflow_lib.table import proposed_methods, proposed_sizes, run_costs
from workflow_lib.table.proposal import Proposal
from workflow_lib.table.proposal_text import dataset_text, experiment_text, summary_lines
from workflow_lib.table.proposed_methods import METHODS, METHODS_OF_CLASS_VECTORS
from workflow_lib.table.proposed_sizes import EARLIER_SHARE, pool_size
from workflow_lib.table.table_proposal import propose
from workflow_lib.table.table_request import checked_request
from workflow_lib.tabular.table_file import MISSING_VALUES, Table

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return config_with_methods(tmp_path_factory.mktemp("config"))


@pytest.fixture
def proposed(folder):
    def make(columns=None, **request):
        table = Table.from_columns(assay_columns() if columns is None else columns, "assay.csv")
        if "classes" not in request:
            request.setdefault("outputs", "y*")
        return propose({"name": "assay", "data": "assay.csv", **request}, table, folder)

    return make


def names_of(proposal):
    return [name for name, _ in proposal.methods]


def without(*names, n_rows=60):
    return {key: value for key, value in assay_columns(n_rows).items() if key not in names}


def test_every_column_has_a_role(proposed):
    proposal = proposed()
    assert proposal.options == {
        "file": "assay.csv",
        "outputs": ["y1", "y2", "y3"],
        "row_name": "sample_id",
        "text": "notes",
        "numbers": ["x1", "x2"],
        "categories": ["colour", "batch"],
        "strings": ["maker"],
    }
    assert [name for name, _ in proposal.left_out] == ["sample_id", "day", "fixed"]
    assert proposal.warnings == []


def test_columns_asked_for_are_taken_and_others_left_out(proposed):
    proposal = proposed(inputs="x*,colour", exclude="x2")
    assert proposal.options["numbers"] == ["x1"]
    assert proposal.options["categories"] == ["colour"]
    assert proposal.options["strings"] == []
    assert "text" not in proposal.options
    assert dict(proposal.left_out)["x2"] == "excluded, as requested"


def test_a_row_name_that_is_requested_as_an_input_is_an_input(proposed):
    proposal = proposed(inputs="x1,sample_id")
    assert proposal.options["strings"] == ["sample_id"]
    assert "row_name" not in proposal.options


def test_names_are_inputs_where_nothing_else_is(proposed):
    columns = without("x1", "x2", "colour", "maker", "notes", "batch", "sample_id")
    columns["peptide"] = [f"ACD{row:03d}" for row in range(60)]
    proposal = proposed(columns)
    assert proposal.options["strings"] == ["peptide"]
    assert any("'peptide'" in note for note in proposal.notes)
    assert "peptide" not in dict(proposal.left_out)


def test_a_category_may_be_asked_for(proposed):
    columns = assay_columns()
    columns["code"] = [row % 4 for row in range(60)]
    assert "code" in proposed(columns).options["numbers"]
    assert "code" in proposed(columns, categories="code").options["categories"]


def test_of_two_texts_the_longer_one_counts(proposed):
    columns = assay_columns()
    columns["long"] = [f"{text} and also much more of it" for text in columns["notes"]]
    proposal = proposed(columns)
    assert proposal.options["text"] == "long"
    assert proposal.options["strings"] == ["maker", "notes"]
    assert any("'long'" in note for note in proposal.notes)
    assert proposed(columns, text="notes").options["text"] == "notes"


def inputs_of(proposal):
    return tuple(proposal.inputs.get(key) for key in ("scale", "kernel", "lagged_values"))


def test_the_kernel_follows_from_the_inputs(proposed, tmp_path):
    columns = assay_columns()
    columns["smiles"] = [f"C{'C' * (row % 20)}O" for row in range(60)]
    assert inputs_of(proposed()) == ("tf-idf", "rbf", "added")
    assert inputs_of(proposed(inputs="notes")) == ("tf-idf", "rbf", None)
    assert inputs_of(proposed(inputs="x1,colour")) == ("standard", "rbf", None)
    assert inputs_of(proposed(columns, inputs="smiles")) == ("none", "tanimoto", None)
    assert inputs_of(proposed(columns, inputs="smiles,x1")) == ("tf-idf", "rbf", "added")
    assert inputs_of(proposed(columns, inputs="smiles,notes")) == ("tf-idf", "rbf", None)
    gram = tmp_path / "gram.csv"
    gram.write_text("a\n")
    proposal = proposed(gram=str(gram))
    assert inputs_of(proposal) == ("none", "precomputed", None)
    assert proposal.options["row_name"] == "sample_id"
    assert "numbers" not in proposal.options


def test_a_row_without_a_structure_is_refused_where_it_is_used(proposed):
    columns = assay_columns()
    columns["smiles"] = [f"C{'C' * (row % 20)}O" for row in range(60)]
    columns["smiles"][8] = ""
    with pytest.raises(UserError, match="row 9, column 'smiles': no structure"):
        proposed(columns)
    for name in ("y1", "y2", "y3"):
        columns[name][8] = None
    assert proposed(columns).options["smiles"] == "smiles"


def test_smiles_that_are_none_are_reported_with_their_row(proposed):
    with pytest.raises(UserError, match="row 1, column 'notes'.*is not SMILES"):
        proposed(smiles="notes")


@pytest.mark.parametrize("unit", [1.0, -1000.0])
def test_a_copy_of_an_output_is_left_out_and_that_is_reported(proposed, unit):
    columns = assay_columns()
    columns["twin"] = [unit * value for value in columns["y1"]]
    proposal = proposed(columns)
    assert "twin" not in proposal.options["numbers"]
    assert "equals the output 'y1'" in dict(proposal.left_out)["twin"]
    assert any("'twin' is left out" in warning for warning in proposal.warnings)


def test_a_suspicious_column_is_kept_with_a_warning(proposed):
    columns = assay_columns()
    columns["odd"] = np.exp(3 * np.array(columns["y2"])).tolist()
    columns["plate"] = [f"p{row % 10}" for row in range(60)]
    columns["y1"] = [float(np.sin(row % 10)) for row in range(60)]
    proposal = proposed(columns)
    assert "odd" in proposal.options["numbers"]
    assert "plate" in proposal.options["categories"]
    assert sum("exclude=odd" in warning for warning in proposal.warnings) == 1
    assert sum("exclude=plate" in warning for warning in proposal.warnings) == 1


def test_a_copy_that_is_the_only_input_leaves_nothing(proposed):
    columns = assay_columns()
    columns["twin"] = columns["y1"]
    with pytest.raises(UserError, match="no column is left to predict from.*twin"):
        proposed(columns, inputs="twin")


def test_outputs_that_are_one_and_the_same_are_reported(proposed):
    columns = assay_columns()
    columns["y4"] = [5 * value for value in columns["y1"]]
    assert any("'y1' and 'y4' are copies" in warning for warning in proposed(columns).warnings)
    step = 0.05 * np.std(columns["y1"])
    columns["y4"] = [value + step * (-1) ** row for row, value in enumerate(columns["y1"])]
    assert any("'y1' and 'y4' have" in warning for warning in proposed(columns).warnings)


def test_repeated_rows_are_reported(proposed):
    columns = {name: values + values[:3] for name, values in assay_columns().items()}
    assert any(
        "repeat an earlier row in every column: 3." in warning
        for warning in proposed(columns).warnings
    )


def test_numbers_that_no_used_row_has_are_left_out(proposed):
    columns = assay_columns()
    for name in ("y1", "y2", "y3"):
        columns[name][:5] = [float("nan")] * 5
    columns["x3"] = [1.0, 2.0, 3.0, 4.0, 5.0] + [float("nan")] * 55
    proposal = proposed(columns)
    assert proposal.options["numbers"] == ["x1", "x2"]
    assert "only rows that are not used" in dict(proposal.left_out)["x3"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y1": [""] * 60}, "column 'y1': the output has no value in any row"),
        ({"y1": ["2", ""] * 30}, "column 'y1': the output has the same value in every row"),
        ({"y1": ["high", "low"] * 30}, "classes=y1"),
        ({"y1": ["<1", "2", "3"] * 20}, "a limit is not a measured value"),
        ({"y1": ["1", "2"] * 4 + [""] * 52}, "8 of 60 rows have a known output"),
    ],
)
def test_outputs_that_cannot_be_predicted_are_refused(proposed, change, message):
    with pytest.raises(UserError, match=message):
        proposed(assay_columns() | change, outputs="y1")


def test_few_rows_still_make_an_experiment(proposed):
    proposal = proposed(without("batch", n_rows=10), inputs="x*")
    assert (proposal.test_size, proposal.training_sizes) == (5, [5])
    assert proposal.n_splits == 10


@pytest.mark.parametrize(("n_rows", "n_splits"), [(60, 10), (500, 10), (501, 5), (2001, 3)])
def test_fewer_rows_have_more_splits(proposed, n_rows, n_splits):
    columns = without("notes", "day", "maker", n_rows=n_rows)
    # These take so little time that the rows alone decide.
    proposal = proposed(columns, methods="m-krr,m-mean")
    assert proposal.n_splits == n_splits
    assert proposal.test_size == 0.2
    assert proposal.training_sizes[-1] == n_rows - round(0.2 * n_rows)


def test_rows_without_outputs_are_weak_where_they_have_a_group(proposed):
    columns = assay_columns()
    for name in ("y1", "y2", "y3"):
        columns[name][:20] = [float("nan")] * 20
    columns["batch"][0] = ""
    proposal = proposed(columns, same_group="batch")
    assert proposal.weak_sizes == [19]
    assert "wofer-gmm" in names_of(proposal)
    assert proposal.training_sizes[-1] == 32
    assert "batch" not in proposal.options["categories"]
    alone = proposed(columns)
    assert alone.weak_sizes == []
    assert "wofer-gmm" not in names_of(alone)


def without_inputs(n_lacking, **columns):
    """Return the table with the inputs of its last rows removed."""
    columns = assay_columns() | columns
    kept = ("sample_id", "day", "y1", "y2", "y3", *columns.keys() - assay_columns().keys())
    for name in columns.keys() - {*kept}:
        columns[name] = [*columns[name][:-n_lacking], *[""] * n_lacking]
    return columns


def test_outputs_of_rows_without_inputs_are_used_alone(proposed):
    proposal = proposed(without_inputs(25))
    assert proposal.facts["rows_labelled"] == 35
    assert (proposal.facts["rows_unpaired"], proposal.unpaired_sizes) == (25, [25])
    assert names_of(proposal)[-2:] == ["ofer-unpaired", "back-translation"]
    assert proposal.training_sizes[-1] == 28
    # A column is constant, or complete, where it is so in the rows that are used.
    assert dict(proposal.left_out)["fixed"] == "constant: always 3"
    assert proposal.facts["missing"] == {} and "missing_indicators" not in proposal.options
    assert proposal.facts["duplicate_rows"] == 0
    (note,) = [note for note in proposal.notes if "no input" in note]
    start = (
        "Rows with outputs but no input: 25. ofer-unpaired, back-translation and ofer-stack learn"
    )
    assert note.startswith(start)


@pytest.mark.parametrize(
    ("request_", "what"),
    [({"methods": "m-krr,m-mean"}, "outputs"), ({"classes": "kind", "exclude": "y*"}, "a class")],
)
def test_rows_without_inputs_are_not_used_where_no_method_can(proposed, request_, what):
    columns = without_inputs(25, kind=["a", "b"] * 30)
    proposal = proposed(columns, **({"exclude": "kind"} | request_))
    assert (proposal.facts["rows_unpaired"], proposal.unpaired_sizes) == (25, [])
    assert "ofer-unpaired" not in names_of(proposal)
    (note,) = [note for note in proposal.notes if "no input" in note]
    assert f"25. They are not used: no method here learns from {what} alone." in note


def test_copies_of_labelled_rows_are_refused_at_once(proposed):
    columns = without_inputs(25)
    for name in ("y1", "y2", "y3"):
        columns[name][-25:] = columns[name][:25]
    with pytest.raises(UserError, match="25 of 25 rows without inputs repeat all outputs of a"):
        proposed(columns)


def test_too_few_rows_with_inputs_are_refused(proposed):
    message = "9 of 60 rows have a known output and an input .51 have no input"
    with pytest.raises(UserError, match=message):
        proposed(without_inputs(51))


def test_rows_of_nothing_are_counted(proposed):
    columns = without_inputs(25)
    for name in ("y1", "y2", "y3"):
        columns[name][-5:] = [float("nan")] * 5
    proposal = proposed(columns)
    assert (proposal.facts["rows_unpaired"], proposal.facts["rows_empty"]) == (20, 5)
    assert proposal.facts["rows_unlabelled"] == 0
    assert "Rows with neither inputs nor outputs, left out: 5." in proposal.notes


@pytest.mark.parametrize(
    ("n_rows", "n_lacking", "treatment", "n_used"),
    [(60, 0, None, 60), (60, 6, "drop", 54), (60, 20, "keep", 60), (30, 2, "keep", 30)],
)
def test_few_rows_that_lack_outputs_are_dropped(proposed, n_rows, n_lacking, treatment, n_used):
    columns = assay_columns(n_rows)
    columns["y2"] = [""] * n_lacking + columns["y2"][n_lacking:]
    proposal = proposed(columns)
    assert proposal.options.get("incomplete_rows") == treatment
    assert proposal.facts["rows_labelled"] == n_used
    assert proposal.facts["rows_partly_labelled"] == n_lacking
    assert proposal.facts["rows_unlabelled"] == 0
    assert proposal.training_sizes[-1] == n_used - round(0.2 * n_used)


def test_no_weak_row_is_reported(proposed):
    proposal = proposed(same_group="batch")
    assert proposal.weak_sizes == []
    assert any("no weak rows" in note for note in proposal.notes)


def test_a_group_or_a_time_decides_the_split(proposed):
    assert proposed().split == "random"
    assert proposed(group="batch").split == "grouped"
    proposal = proposed(time="day")
    assert proposal.split == "chronological"
    assert proposal.training_sizes[-1] == int(EARLIER_SHARE * 48)


@pytest.mark.parametrize(
    ("change", "request_", "message"),
    [
        ({"batch": ["a"] * 60}, {"group": "batch"}, "belong to one group"),
        (
            {"batch": ["a", "b"] * 29 + ["a", ""]},
            {"group": "batch"},
            "row 60.*the group is missing",
        ),
        ({"day": ["2024-01-01"] * 59 + ["soon"]}, {"time": "day"}, "row 60.*'soon' is not a time"),
        ({"day": ["2024-01-01"] * 59 + [""]}, {"time": "day"}, "row 60.*the time is missing"),
        ({"day": ["2024-01-01"] * 60}, {"time": "day"}, "0 of 60 labelled rows are left"),
    ],
)
def test_groups_and_times_that_cannot_split_are_refused(proposed, change, request_, message):
    with pytest.raises(UserError, match=message):
        proposed(assay_columns() | change, **request_)


@each_case("seed", range(5))
@each_case("n_groups", [2, 3, 12, 60])
def test_every_grouped_split_has_the_proposed_pool(seed, n_groups):
    groups = np.random.default_rng(seed).integers(0, n_groups, size=80)
    pool = pool_size(80, groups=groups)
    split = split_rows(80, [5, pool], [], 0.2, 5, seed, groups=groups)
    assert split["sizes"].tolist() == [5, pool]


@pytest.mark.parametrize("n_days", [4, 20, 1000])
def test_every_chronological_split_has_the_proposed_pool(n_days):
    times = np.random.default_rng(0).integers(0, n_days, size=80).astype(float)
    pool = pool_size(80, times=times)
    order = {"time": times, "begin": times, "end": times, "company": np.arange(80)}
    split = split_rows(80, [5, pool], [], 0.2, 5, 0, order=order)
    assert split["sizes"].tolist() == [5, pool]
    beyond = split_rows(80, [5, pool + 1], [], 0.2, 5, 0, order=order)
    assert beyond["sizes"].tolist() == [5]


def test_methods_are_those_of_the_task(proposed):
    regression = [name for name in METHODS["regression"] if name != "wofer-gmm"]
    assert names_of(proposed(assay_columns(125))) == regression
    assert names_of(proposed(series="true", inputs="x*")) == list(METHODS["series"])
    assert proposed(assay_columns(125)).methods_left_out == []


def test_a_slow_method_waits_for_the_rows_from_which_a_stack_takes_it(proposed):
    # Four fifths of the rows train.
    few = proposed(assay_columns(124))
    assert set(dict(few.methods_left_out)) == {"ofer-density"}
    assert names_of(proposed(methods="ofer-density,m-krr")) == ["ofer-density", "m-krr"]


def test_methods_that_are_slow_with_many_rows_are_left_out(proposed, monkeypatch):
    monkeypatch.setattr(proposed_methods, "MAX_ROWS_OF_DENSITY", 59)
    proposal = proposed()
    assert not {"ofer-density", "ofer-stack"} & set(names_of(proposal))
    reasons = dict(proposal.methods_left_out)
    assert reasons["ofer-stack"] == "slow with more than 59 rows"


def test_methods_that_cannot_be_saved_are_left_out_with_the_reason(proposed, monkeypatch):
    kept = {"ofer-stack", "ofer-gmm", "m-krr", "ridge"}
    reason = "it is not kept in a file"
    monkeypatch.setattr(
        saved_methods, "why_not_saved", lambda name, methods: "" if name in kept else reason
    )
    proposal = proposed()
    assert names_of(proposal) == ["ofer-stack", "ofer-gmm", "m-krr", "ridge"]
    reasons = dict(proposal.methods_left_out)
    assert (
        reasons["m-rf"] == reasons["extra-trees"] == "it cannot be saved: it is not kept in a file"
    )


def test_series_are_centred_and_have_three_steps_at_least(proposed):
    proposal = proposed(series="true")
    assert (proposal.task, proposal.outputs_scale) == ("series", "center")
    with pytest.raises(UserError, match="a series of 2 steps"):
        proposed(series="true", outputs="y1,y2")


def test_a_kernel_without_rows_leaves_out_the_forest_with_the_reason(proposed, tmp_path):
    gram = tmp_path / "gram.csv"
    gram.write_text("a\n")
    proposal = proposed(gram=str(gram))
    assert "m-rf" not in names_of(proposal)
    assert "ofer-stack" in names_of(proposal)
    reasons = dict(proposal.methods_left_out)
    del reasons["ofer-density"]
    assert reasons.keys() == {"m-rf", "extra-trees", "ridge"}
    assert all("Gram matrix" in reason for reason in reasons.values())


def test_a_stack_without_a_member_is_left_out(proposed, folder, tmp_path):
    import shutil

    fewer = tmp_path / "config"
    shutil.copytree(folder, fewer)
    (fewer / "methods" / "ofer-density.yaml").unlink()
    table = Table.from_columns(assay_columns(), "assay.csv")
    proposal = propose({"name": "a", "data": "assay.csv", "outputs": "y1"}, table, fewer)
    assert [name for name, _ in proposal.methods_left_out] == ["ofer-density"]
    for name in ("m-krr-bagged", "ofer-gmm", "ridge", "m-rf", "extra-trees"):
        (fewer / "methods" / f"{name}.yaml").unlink()
    proposal = propose({"name": "a", "data": "assay.csv", "outputs": "y1"}, table, fewer)
    assert "ofer-stack" in [name for name, _ in proposal.methods_left_out]


def test_methods_are_chosen_or_left_out_as_asked(proposed):
    usual = names_of(proposed())
    assert names_of(proposed(methods="m-rf,m-mean")) == ["m-rf", "m-mean"]
    fewer = proposed(methods="-m-rf,-m-krr")
    assert names_of(fewer) == [name for name in usual if name not in ("m-rf", "m-krr")]
    assert [pair for pair in fewer.methods_left_out if pair[0] == "m-rf"] == [
        ("m-rf", "as requested")
    ]


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ("m-rv", "no method named 'm-rv'.*write 'm-rf'"),
        ("-m-rv", "no method named 'm-rv'"),
        ("m-rf,-m-krr", "either the methods to compare, or those to leave out"),
        ("class-krr", "class-krr cannot run on this table.*task is regression"),
    ],
)
def test_methods_that_cannot_be_are_reported(proposed, methods, message):
    with pytest.raises(UserError, match=message):
        proposed(methods=methods)


def test_marks_and_the_delimiter_are_kept_for_later_tables(proposed):
    options = proposed(missing="-999,?", delimiter=";").options
    assert options["delimiter"] == ";"
    assert options["missing_values"] == [*MISSING_VALUES, "-999"]


def test_numbers_that_are_often_missing_have_an_indicator(proposed):
    columns = assay_columns()
    for name in ("x1", "x2"):
        columns[name] = [None if row % 6 == 0 else v for row, v in enumerate(columns[name])]
    columns["x3"] = [None if row % 5 == 1 else row * row for row in range(60)]
    columns["x4"] = [None if row == 7 else -row * row for row in range(60)]
    columns["seen"] = [1 if row % 2 else None for row in range(60)]
    columns["rare"] = [row if row < 4 else None for row in range(60)]
    proposal = proposed(columns)
    # x2 is missing where x1 is, x4 in one row only.
    assert proposal.options["missing_indicators"] == ["x1", "x3", "seen"]
    assert dict(proposal.left_out)["rare"] == (
        "almost always missing: only 4 of 60 rows have a value"
    )
    assert "missing_indicators" not in proposed().options
    assert "rare" in proposed(columns, inputs="x1,rare").options["numbers"]


def test_inputs_that_are_constant_in_the_rows_that_are_used_are_left_out(proposed):
    columns = assay_columns()
    columns["x1"] = [1.0 if row < 50 else 2.0 for row in range(60)]
    for name in ("y1", "y2", "y3"):
        columns[name][50:] = [None] * 10
    reason = dict(proposed(columns).left_out)["x1"]
    assert reason == "constant: always 1.0 in the rows that are used"


def test_classes_are_split_as_the_table_has_them(proposed):
    columns = assay_columns()
    columns["colour"] = ["red"] * 30 + ["green"] * 20 + ["blue"] * 8 + [""] * 2
    proposal = proposed(columns, classes="colour", exclude="y*")
    found = (proposal.task, proposal.split, proposal.metric)
    assert found == ("classes", "stratified", "accuracy")
    assert proposal.training_sizes == [10, 20, 46]
    assert names_of(proposal) == list(METHODS["classes"])
    assert proposal.facts["rows_labelled"] == 58


def test_classes_of_a_single_row_are_reported(proposed):
    columns = assay_columns() | {"colour": ["a"] * 40 + ["b"] * 19 + ["c"]}
    proposal = proposed(columns, classes="colour", exclude="y*")
    assert any(warning.startswith("Classes with a single row") for warning in proposal.warnings)
    strata = np.repeat([0, 1, 2], [40, 19, 1])
    arguments = proposal.training_sizes, [], proposal.test_size, 5, 1
    tree = split_rows(60, *arguments, strata=strata)
    assert len(tree["train"]) == proposal.training_sizes[-1]


def test_class_vectors_add_the_methods_that_use_them(proposed, tmp_path):
    vectors = write_table(
        tmp_path / "vectors.csv", {"colour": ["red", "green"], "hue": [0, 2], "light": [1, 1]}
    )
    proposal = proposed(classes="colour", class_vectors=str(vectors), exclude="y*")
    assert set(METHODS_OF_CLASS_VECTORS) <= set(names_of(proposal))
    assert any("'blue'" in warning for warning in proposal.warnings)


def test_losses_between_classes_add_their_method_and_keys(proposed, tmp_path):
    tree = write_table(
        tmp_path / "tree.csv",
        {
            "parent": ["all", "all", "warm", "cold", "cold"],
            "child": ["warm", "cold", "red", "green", "blue"],
        },
    )
    proposal = proposed(classes="colour", class_tree=str(tree), exclude="y*")
    assert "class-krr-cost" in names_of(proposal)
    assert yaml.safe_load(dataset_text(proposal))["class_tree"] == str(tree)
    assert "class-krr-cost" not in names_of(proposed(classes="colour", exclude="y*"))
    with pytest.raises(UserError, match="line 3, column 'parent': the class 'all' is repeated"):
        proposed(classes="colour", class_costs=str(tree), exclude="y*")


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["a"] * 60, "1 class"),
        (["a"] * 59 + ["b"], "1 of 2 classes have a single row: 'b'"),
        ([f"c{row}" for row in range(52)] + ["a"] * 4 + ["b"] * 4, "at most 6 can be test rows"),
        (["a", "b"] + [""] * 58, "2 of 60 rows have a known class"),
    ],
)
def test_classes_that_cannot_be_learned_are_refused(proposed, classes, message):
    with pytest.raises(UserError, match=message):
        proposed(assay_columns() | {"colour": classes}, classes="colour", exclude="y*")


def test_as_many_splits_are_made_as_fit_into_the_time(proposed, monkeypatch):
    usual = proposed()
    assert usual.n_splits == 10 and usual.minutes < run_costs.MAX_MINUTES
    assert proposed(splits="3").n_splits == 3
    monkeypatch.setattr(run_costs, "MAX_MINUTES", usual.minutes * 0.9)
    fewer = proposed()
    assert 3 <= fewer.n_splits < 10
    assert fewer.minutes <= usual.minutes * 0.9
    assert any("10 splits would take about" in note for note in fewer.notes)
    assert proposed(splits="10").n_splits == 10


def test_a_table_that_takes_long_whatever_the_splits_is_reported(proposed, monkeypatch):
    monkeypatch.setitem(run_costs.COSTS, "m-rf", run_costs.Cost(jobs=1, fixed=100.0))
    proposal = proposed()
    assert proposal.n_splits == 3
    assert any("methods=-m-rf leaves out" in note for note in proposal.notes)
    assert "methods=-m-rf" not in "".join(proposed(methods="-m-rf").notes)


def test_the_splits_of_a_job_are_those_of_the_run():
    run = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    assert run["splits_per_job"] == run_costs.SPLITS_PER_JOB


def test_a_job_handles_all_splits_of_quick_methods(proposed, monkeypatch):
    quick = proposed()
    assert quick.splits_per_job == quick.n_splits == 10
    monkeypatch.setitem(run_costs.COSTS, "m-rf", run_costs.Cost(jobs=1, fixed=2.0))
    slow = proposed(splits="10")
    assert slow.splits_per_job == run_costs.SPLITS_PER_JOB
    written = yaml.safe_load(experiment_text(slow))
    assert written["splits_per_job"] == run_costs.SPLITS_PER_JOB


def test_more_of_anything_takes_longer():
    base = run_costs.split_seconds(["m-rf", "m-krr"], [20, 50], 10)
    for methods, sizes, n_inputs in (
        (["m-rf", "m-krr", "unheard"], [20, 50], 10),
        (["m-rf", "m-krr"], [20, 50, 100], 10),
        (["m-rf", "m-krr"], [20, 100], 10),
        (["m-rf", "m-krr"], [20, 50], 100),
    ):
        assert run_costs.split_seconds(methods, sizes, n_inputs) > base


def test_methods_of_sequences_share_their_models():
    def seconds(*methods, length=57):
        return run_costs.split_seconds(methods, [95], length)

    both = seconds("nfess", "top-kernel")
    assert seconds("nfess") < both < seconds("nfess") + seconds("top-kernel")
    assert seconds("nfess", length=570) > 4 * seconds("nfess")
    assert set(METHODS["sequences"]) <= set(run_costs.COSTS)


@pytest.mark.parametrize(
    ("what", "measured", "size", "n_inputs"),
    [
        ("sequences", 24, 95, 57),  # promoters
        ("sequences", 215, 2056, 24),  # exons and introns
        ("sequences", 720, 2300, 120),  # proteins of 16 to 905 letters
        ("bags", 13, 100, 64),  # digits, ten classes
    ],
)
def test_costs_are_near_the_measured_seconds_of_a_split(what, measured, size, n_inputs):
    bags = ["lda-fess", "topic-proportions", "map-lda", "word-histogram", "m-svm"]
    methods = bags if what == "bags" else [*METHODS["sequences"], "fess"]
    assert measured / 2 < run_costs.split_seconds(methods, [size], n_inputs) < 2 * measured


def test_the_length_of_sequences_counts_as_their_inputs():
    facts = {"sequence_lengths": [16, 900]}
    assert proposed_sizes.n_inputs(Proposal("proteins", {}, {}, [], {}, facts=facts)) == 120


REQUESTED = {"encode": "maker=target", "outputs": "y*"}


def test_requested_encoders_are_written_for_the_columns_that_are_inputs(proposed):
    proposal = proposed(encode="maker=target,colour=n-grams,fixed=target", exclude="notes")
    assert proposal.options["encode"] == {"maker": "target", "colour": "n-grams"}
    assert {"maker", "colour"} <= set(proposal.options["strings"])
    assert "text" not in proposal.options
    written = yaml.safe_load(dataset_text(proposal))
    assert written["options"]["encode"] == {"maker": "target", "colour": "n-grams"}
    kinds = [figure["kind"] for figure in yaml.safe_load(experiment_text(proposal))["figures"]]
    assert "codes" in kinds and "kind: codes" not in experiment_text(proposed())
    assert any("'maker' by target" in line for line in summary_lines(proposal))
    assert "maker" in proposed(encode="maker=target").options["strings"]
    again = proposed(**checked_request({"name": "a", "data": "b", **REQUESTED}))
    assert again.options["encode"] == {"maker": "target"}
    # A text is one more column of names then.
    assert "notes" in proposed(encode="maker=target").options["strings"]


@pytest.mark.parametrize(
    ("encode", "message"),
    [
        ("maker=targets", "did you mean|target"),
        ("maker", "NAME=ENCODER"),
        ("makers=target", "maker"),
        ("y1=target", "another role"),
    ],
)
def test_wrong_encoders_are_refused(proposed, encode, message):
    with pytest.raises(UserError, match=message):
        proposed(encode=encode)
