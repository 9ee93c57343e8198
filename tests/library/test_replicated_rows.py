"""Rows of one sample: found where they are, not where outputs are coarse, and kept together."""

import json

import numpy as np
import pytest
from each_case import each_case
from report_samples import METHODS, base_error, write_choices, write_scores
from small_assay import config_with_methods

from workflow_lib.core.errors import UserError
from workflow_lib.protocol.splitting import split_all_rows, split_rows
from workflow_lib.table.answer_part import data_profile_section
from workflow_lib.table.leaderboard import run
from workflow_lib.table.proposal_text import experiment_text
from workflow_lib.table.proposed_sizes import pool_size
from workflow_lib.table.replicates import equal_outputs
from workflow_lib.table.table_proposal import propose
from workflow_lib.tabular.table_file import Table

SHARED = "rows share all outputs with other rows"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return config_with_methods(tmp_path_factory.mktemp("config"))


@pytest.fixture
def proposed(folder):
    def make(columns, **request):
        table = Table.from_columns(columns, "scans.csv")
        if "classes" not in request:
            request.setdefault("outputs", "y*")
        return propose({"name": "scans", "data": "scans.csv", **request}, table, folder)

    return make


def warned(proposal):
    """Return the warning about samples; empty without."""
    return "".join(text for text in proposal.warnings if "With some of them in the" in text)


def texts(values):
    return np.array(list(values), dtype=object)


def scans(seed=0, n_samples=14, n_scans=3, noise=0.02, digits=3):
    """Return three scans of each sample, whose outputs are unrelated to the inputs."""
    generator = np.random.default_rng(seed)
    sample = np.repeat(np.arange(n_samples), n_scans)
    spectrum = generator.normal(size=(n_samples, 4))[sample]
    spectrum = spectrum + noise * generator.normal(size=spectrum.shape)
    columns = {f"w{column}": values for column, values in enumerate(spectrum.T)}
    for name in ("y1", "y2"):
        columns[name] = np.round(generator.normal(size=n_samples), digits)[sample]
    return columns, sample


def with_names(kind, seed=0, **options):
    """Return scans with a column of names of a `kind`, and the advice that is expected."""
    columns, sample = scans(seed, **options)
    name = texts(f"S{number:02d}" for number in sample)
    scan = texts(f"S{number:02d}_{index}" for index, number in enumerate(sample))
    letter = texts(f"S{number:02d}{'abc'[index % 3]}" for index, number in enumerate(sample))
    order = np.random.default_rng(seed).permutation(len(sample))
    missing = columns["y2"].copy()
    missing[::3] = np.nan
    rounded = columns["y1"] * (1 + 1e-9 * np.arange(len(sample)))
    group, begins, none = "group=lab", "'lab' seems to begin with", "no column names the sample"
    changed, advice = {
        "number": ({"lab": sample + 100.0}, group),
        "text": ({"lab": name}, group),
        "spaces": ({"the lab": name}, 'group="the lab"'),
        "misspelt": ({"lab": np.where(np.arange(len(sample)) == 4, "s01", name)}, group),
        "coarser": ({"lab": sample // 2 + 7.0}, group),
        "scan": ({"lab": scan}, begins),
        "letter": ({"lab": letter}, begins),
        "none": ({}, none),
        "missing": ({"lab": name, "y2": missing}, group),
        "rounded": ({"y1": rounded}, none),
        "one output": ({"lab": name, "y2": columns["w0"]}, group),
        "whole": (
            {"sample_no": sample + 1, "y1": np.round(2 * columns["y1"]), "y2": 1.0 * (sample > 4)},
            "group=sample_no",
        ),
        "shuffled": ({"lab": name}, group),
        "shuffled, none": ({}, none),
    }[kind]
    columns = columns | changed
    if kind == "one output":
        del columns["y2"]
    if kind.startswith("shuffled"):
        columns = {key: np.asarray(values)[order] for key, values in columns.items()}
    return columns, advice


KINDS = ["number", "text", "spaces", "misspelt", "coarser", "scan", "letter", "none", "missing"]
KINDS += ["rounded", "one output", "whole", "shuffled", "shuffled, none"]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_sample_are_found_and_its_column_proposed_as_group(proposed, kind):
    columns, advice = with_names(kind)
    proposal = proposed(columns)
    text = warned(proposal)
    assert advice in text and text == proposal.warnings[0]
    assert not any("exclude=" in warning for warning in proposal.warnings)
    if kind == "number":
        assert "'lab' is an input now" in text and "42 of 42 labelled rows share all" in text


def test_samples_in_a_few_rows_of_a_table_are_found(proposed):
    columns, _ = scans(n_samples=6, n_scans=2)
    generator = np.random.default_rng(1)
    columns = {
        name: np.concatenate([values, np.round(generator.normal(size=60), 3)])
        for name, values in columns.items()
    }
    assert "12 of 72 labelled rows share all outputs" in warned(proposed(columns))


def test_a_group_keeps_the_rows_of_a_sample_together_or_is_said_not_to(proposed):
    columns, sample = scans()
    columns |= {"lab": sample, "site": sample // 3, "day": np.tile([1, 2, 3], 14)}
    for group, other in (("lab", "site"), ("site", "lab")):
        proposal = proposed(columns, group=group)
        assert warned(proposal) == "" and proposal.facts["replicates"]["kept_together"]
        assert any(f"exclude={other}" in note for note in proposal.notes)
    assert "group=day divides them" in warned(proposed(columns, group="day"))
    experiment = experiment_text(proposed(columns, group="lab"))
    assert "split: grouped\nwhole_groups: folds\n" in experiment
    assert warned(proposed(columns, time="day")) == ""


def test_rows_without_inputs_do_not_hide_samples(proposed):
    columns, sample = scans()
    for name in ("w0", "w1", "w2", "w3"):
        columns[name] = np.where(np.arange(42) % 6 == 5, np.nan, columns[name])
    assert "group=lab" in warned(proposed(columns | {"lab": sample}))


@pytest.mark.parametrize("seed", range(4))
def test_outputs_that_are_shared_by_chance_are_no_samples(proposed, seed):
    generator = np.random.default_rng(seed)
    n_rows = (40, 100, 300, 800)[seed]
    inputs = {f"x{column}": generator.normal(size=n_rows).round(3) for column in range(3)}
    score = inputs["x0"] + inputs["x1"] / 2
    whole, age = np.round(2 * score), generator.integers(20, 60, n_rows)
    kept = np.maximum(score, 0.1)
    name = texts(f"p{number}" for number in generator.integers(0, n_rows // 3, n_rows))
    tables = [
        {"y1": whole},
        {"y1": whole, "y2": whole**2},
        {"y1": 1.0 * (score > 0), "age": age},
        {"y1": 1.0 * (age > 40), "age": age},
        {"y1": np.sort(whole)},
        {"y1": np.round(np.cumsum(generator.normal(size=n_rows)))},
        {"y1": np.round(score * 3) / 3},
        {"y1": np.round(np.exp(2 * score), 1)},
        {"y1": kept, "y2": np.where(kept > 0.1, score**2, 0.0)},
        {"y1": generator.choice([4.99, 9.99, 14.99, 19.99, 39.99, 99.99], n_rows)},
        {f"y{n}": np.clip(np.round(score + inputs["x2"] * n / 5 + 3), 1, 5) for n in range(5)},
        {"y1": score, "y2": whole, "name": name},
    ]
    for table in tables:
        assert warned(proposed(inputs | table)) == "", list(table)
    kinds = {"kind": np.where(age > 40, "old", "young"), "age": age, "name": name}
    assert warned(proposed(inputs | kinds, classes="kind")) == ""


def test_equal_outputs_are_equal_up_to_rounding_and_missing_values():
    outputs = [[1.0, 2.0], [1.0, np.nan], [1.0 + 1e-9, 2.0], [3.0, -0.0], [3.0, 0.0], [np.nan, 5.0]]
    outputs += [[7.0, 8.0], [7.0, 9.0], [7.0, np.nan]]
    codes = equal_outputs(np.array(outputs))
    assert len(set(codes[:3])) == 1 and codes[3] == codes[4]
    assert len({*codes}) == 6  # The last row may belong to either of two.


# Classes


def patients(n_patients=8, n_rows=3):
    generator = np.random.default_rng(0)
    patient = np.repeat(np.arange(n_patients), n_rows)
    columns = {f"x{column}": generator.normal(size=len(patient)) for column in range(3)}
    kind = texts(("sick", "well")[number % 2] for number in patient)
    return columns | {"patient": texts(f"p{number}" for number in patient), "kind": kind}


def test_classes_of_patients_are_split_by_patient_where_that_is_asked_for(proposed):
    columns = patients()
    assert "group=patient" in warned(proposed(columns, classes="kind"))
    numbers = np.repeat(np.random.default_rng(1).permutation(8), 3)
    assert "group=number" in warned(proposed(columns | {"patient": numbers, "number": numbers},
                                             classes="kind", exclude="patient"))  # fmt: skip
    proposal = proposed(columns, classes="kind", group="patient")
    assert (proposal.split, proposal.task, warned(proposal)) == ("grouped", "classes", "")
    assert proposal.training_sizes == [10, 18]
    copy = columns | {"patient": texts(str(kind)[0] for kind in columns["kind"])}
    (leak,) = proposed(copy, classes="kind").warnings
    assert "exclude=patient" in leak


def test_classes_in_one_group_are_never_tested_and_two_must_be_testable(proposed):
    columns = patients(10)
    columns["kind"][:3] = "rare"
    (warning,) = proposed(columns, classes="kind", group="patient").warnings
    assert "single group of 'patient', which is never a test group: 'rare'" in warning
    columns["patient"] = np.where(columns["kind"] == "sick", "p1", columns["patient"])
    with pytest.raises(UserError, match="in a single group: 'rare', 'sick'"):
        proposed(columns, classes="kind", group="patient")


@each_case("seed", range(30))
def test_splits_of_classes_never_divide_a_group(seed):
    generator = np.random.default_rng(seed)
    n_rows, n_groups, n_classes = generator.integers([20, 4, 2], [120, 30, 5])
    groups = generator.integers(0, n_groups, n_rows)
    own = generator.integers(0, n_classes, n_groups)[groups]
    any_class = generator.integers(0, n_classes, n_rows)
    labels = np.where(generator.random(n_rows) < 0.3 * (seed % 2), any_class, own)
    labels = np.unique(labels, return_inverse=True)[1]
    pool = pool_size(n_rows, groups=groups, classes=labels)
    tree = split_rows(
        n_rows, [5, pool], [], 0.2, 5, seed, groups=groups, strata=labels, whole_groups="folds"
    )
    test, train = tree["test"], tree["train"]
    assert tree["sizes"].tolist() == [5, pool]
    assert not {*groups[test]} & {*groups[train]} and {*labels[train]} == {*labels}
    n_of_class = [len({*groups[labels == label]}) for label in range(labels.max() + 1)]
    common = {label for label, number in enumerate(n_of_class) if number > 3}
    assert common <= {*labels[test]}
    all_rows = split_all_rows(n_rows, 5, seed, labels, groups)
    for of_rows, folds in (
        (groups[train], tree["folds"][f"n-{pool}"]),
        (groups[all_rows["train"]], all_rows["folds"][f"n-{n_rows}"]),
    ):
        pairs = {*zip(of_rows.tolist(), folds.tolist())}
        assert len(pairs) == len({*of_rows})


def test_a_class_in_every_test_group_alone_cannot_be_tested():
    with pytest.raises(ValueError, match="every group holds all rows of a class"):
        split_rows(20, [5], [], 0.2, 5, 0, groups=np.arange(20) // 10, strata=np.arange(20) // 10)


# What the answer says


@pytest.mark.parametrize(
    ("request_", "split", "says"),
    [
        ({}, "random", "The test rows were drawn at random: the relative error is far too low"),
        ({}, "k_fold", "drawn at random"),
        ({"group": "lab"}, "random", "drawn at random"),
        ({"group": "day"}, "grouped", "The test rows were whole groups that divide samples"),
        ({"group": "lab"}, "grouped", ""),
        ({"group": "lab"}, "k_fold", ""),
        ({}, "chronological", ""),
    ],
)
def test_the_answer_says_that_rows_of_a_sample_train_and_test(
    proposed, tmp_path, request_, split, says
):
    columns, sample = scans()
    columns |= {"lab": sample, "day": np.tile([1, 2, 3], 14)}
    profile, output = tmp_path / "profile.json", tmp_path / "answer.json"
    facts = proposed(columns, **request_).facts
    profile.write_text(json.dumps(facts))
    rows = [("m-krr", "selected", 0, base_error)]
    scores = write_scores(tmp_path / "scores.csv", rows)
    choices = write_choices(tmp_path / "choices.csv", rows)
    settings = {"metric": "arrmse", "split": split}
    run(scores, choices, [], METHODS, settings, 5, output, tmp_path / "with.json", profile)
    answer = json.loads(output.read_text())
    if says:
        assert says in answer["leak"] and "group=lab" in answer["leak"]
        assert answer["sentences"][0].endswith(answer["leak"])
        assert SHARED in answer["leak"]
    else:
        assert answer["leak"] is None and SHARED not in answer["sentences"][0]
    page = str(data_profile_section(facts))
    assert SHARED in page and ("keeps the rows" in page) == (request_.get("group") == "lab")
