"""Components of a mixture are described by their means and their most typical rows."""

import csv
import json
from types import SimpleNamespace

import numpy as np
import pytest
from report_samples import parse

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.output_scaling import fit_output_scaling
from workflow_lib.models.storage import model_to_tree
from workflow_lib.report.render import html_markup
from workflow_lib.report.table_files import run
from workflow_lib.report.table_kinds.typical_rows import cells, layout, row_names
from workflow_lib.report.table_text import TableOptions

N_ROWS, N_TRAIN = 60, 58
OPTIONS = TableOptions(methods={}, caption="Components")


def typical_rows(dataset, split, models, data_profile=None):
    return cells(dataset, split, models, data_profile, OPTIONS)


def components_of(found):
    """Return what the lines of each component hold, in the order of the components."""
    components = []
    for number, lines in found.groupby("component"):
        means, rows = (lines[lines["kind"] == kind] for kind in ("mean", "typical_row"))
        components.append(
            SimpleNamespace(
                component=number,
                share=lines["share"].iloc[0],
                n_rows=lines["n_rows"].iloc[0],
                means=means["value"].to_numpy(),
                differences=means["difference"].to_numpy(),
                rows=list(rows["name"]),
                memberships=list(rows["value"]),
            )
        )
    return components


def made_outputs(n_outputs=3):
    """Return outputs of three groups far apart in the first output, a little in the others."""
    generator = np.random.default_rng(0)
    groups = np.arange(N_ROWS) % 3
    centres = np.zeros((3, n_outputs))
    centres[:, 0] = [0.0, 100.0, 300.0]
    centres[:, 1:] = generator.normal(size=(3, n_outputs - 1))
    return centres[groups] + generator.normal(size=(N_ROWS, n_outputs)), groups


def bytes_of(texts):
    return np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8)


def write(folder, Y, names=None, scale="standard", n_components=3, **groups):
    """Write a dataset, a split that trains on all rows but the last two, and a mixture.

    The mixture is of the complete rows that train. Return the paths of the artifacts, the mixture
    and the units of its outputs.
    """
    outputs = json.dumps(names or [f"output_{index}" for index in range(Y.shape[1])])
    tree = {"inputs": np.zeros((len(Y), 1)), "outputs": Y, "names": {"outputs": outputs}}
    write_artifact(folder / "data.h5", tree | groups, "dataset", allow_nan=("outputs",))
    train = np.random.default_rng(1).permutation(N_TRAIN)
    partition = {"train": train, "sizes": np.array([20, N_TRAIN])}
    write_artifact(folder / "split.h5", partition, "split")
    complete = Y[:N_TRAIN][~np.isnan(Y[:N_TRAIN]).any(axis=1)]
    scaling = fit_output_scaling(complete, scale)
    model = GaussianMixtureModel(n_components, "diag").fit(scaling.apply(complete))
    stored = {f"C-{n_components}": {"all": model_to_tree(model, scaling)}}
    write_artifact(folder / "models.h5", {"n-20": stored, f"n-{N_TRAIN}": stored}, "models")
    paths = tuple(folder / f"{name}.h5" for name in ("data", "split", "models"))
    return paths, model, scaling


def test_components_have_their_weights_means_and_members(tmp_path):
    Y, groups = made_outputs()
    found = typical_rows(*write(tmp_path, Y)[0])
    assert [component.component for component in components_of(found)] == [1, 2, 3]
    assert sum(component.share for component in components_of(found)) == pytest.approx(1.0)
    for component in components_of(found):
        group = int(np.argmin(np.abs(np.array([0, 100, 300]) - component.means[0])))
        members = np.flatnonzero(groups[:N_TRAIN] == group)
        assert component.n_rows == len(members)
        np.testing.assert_allclose(component.means, Y[members].mean(axis=0), atol=0.5)


def test_typical_rows_are_the_surest_members_nearest_to_the_mean(tmp_path):
    # Groups that overlap, so that memberships differ.
    Y = made_outputs()[0] * [0.01, 1.0, 1.0]
    paths, model, scaling = write(tmp_path, Y)
    found = typical_rows(*paths)
    scaled = scaling.apply(Y)
    memberships = model.responsibilities(scaled)
    for index, component in enumerate(components_of(found)):
        members = [row for row in range(N_TRAIN) if memberships[row].argmax() == index]
        members.sort(
            key=lambda row: (
                -round(memberships[row, index], 3),
                np.sum((scaled[row] - model.means_[index]) ** 2),
            )
        )
        assert component.rows == [f"row {row + 1}" for row in members[:3]]
        np.testing.assert_allclose(component.memberships, memberships[members[:3], index])


def test_rows_are_called_by_their_names_lines_or_numbers(tmp_path):
    Y = made_outputs()[0]
    assert row_names({"outputs": Y})[:2] == ["row 1", "row 2"]
    line = np.arange(2, N_ROWS + 2)
    assert row_names({"outputs": Y, "rows": {"line": line}})[:2] == ["line 2", "line 3"]
    names = [f"molecule {number}" for number in range(N_ROWS - 1)] + [""]
    stored = {"line": line, "name": bytes_of(names)}
    assert row_names({"outputs": Y, "rows": stored})[-2:] == ["molecule 58", "line 61"]
    paths, *_ = write(tmp_path, Y, rows=stored)
    assert components_of(typical_rows(*paths))[0].rows[0].startswith("molecule ")


def test_rows_of_one_name_are_named_once(tmp_path):
    Y, groups = made_outputs()
    names = [f"group {group}" for group in groups]
    stored = {"line": np.arange(N_ROWS), "name": bytes_of(names)}
    found = typical_rows(*write(tmp_path, Y, rows=stored)[0])
    named = sorted(component.rows for component in components_of(found))
    assert named == [["group 0"], ["group 1"], ["group 2"]]


def test_rows_with_missing_outputs_are_not_typical(tmp_path):
    Y = made_outputs()[0]
    Y[::2, 1] = np.nan
    Y[1] = np.nan
    paths, *_ = write(tmp_path, Y)
    found = typical_rows(*paths)
    assert sum(component.n_rows for component in components_of(found)) == N_TRAIN // 2 - 1
    named = {int(row.split()[1]) for component in components_of(found) for row in component.rows}
    assert all(number % 2 == 0 for number in named)
    # Where no row is complete, rows with some outputs are used, and never rows without any.
    tree = read_artifact(paths[0], "dataset")
    tree["outputs"][3::2, 2] = np.nan
    write_artifact(paths[0], tree, "dataset", allow_nan=("outputs",))
    found = typical_rows(*paths)
    assert sum(component.n_rows for component in components_of(found)) == N_TRAIN - 1
    assert "row 2" not in [row for component in components_of(found) for row in component.rows]


@pytest.mark.parametrize(
    ("n_groups", "sentence"),
    [
        (1, "parts of one distribution rather than groups"),
        (3, None),
        (9, "fall into 9 groups"),
        (None, None),
    ],
)
def test_what_was_seen_at_data_profile_is_reported_where_it_differs(tmp_path, n_groups, sentence):
    paths, *_ = write(tmp_path, made_outputs()[0])
    data_profile = tmp_path / "data-profile.json"
    mixture = n_groups and {"n_components": n_groups}
    data_profile.write_text(json.dumps({"mixture": mixture}), encoding="utf-8")
    found = typical_rows(*paths, data_profile)
    assert len(components_of(found)) == 3 and set(found["n_groups"]) == {n_groups or 0}
    notes = " ".join(layout(found, OPTIONS).notes)
    assert ("In the data profile" in notes) == (sentence is not None)
    assert (sentence or "") in notes


def test_the_outputs_that_differ_most_are_shown(tmp_path):
    Y, groups = made_outputs(12)
    Y[:, 7] += 50.0 * groups
    found = typical_rows(*write(tmp_path, Y, scale="none")[0])
    Y, groups = Y[:N_TRAIN], groups[:N_TRAIN]
    between = np.array([Y[groups == group].mean(axis=0) for group in range(3)])[groups]
    expected = between.var(axis=0) / Y.var(axis=0)
    differences = components_of(found)[0].differences
    np.testing.assert_allclose(differences, expected, rtol=0.02, atol=0.01)
    shown_layout = layout(found, OPTIONS)
    assert shown_layout.heads[:2] == ["Weight (%)", "Rows"]
    assert shown_layout.heads[-1] == "Typical rows"
    shown = shown_layout.heads[2:-1]
    assert len(shown) == 8
    assert {"output 0", "output 7"} <= set(shown)
    assert shown == sorted(shown, key=lambda head: int(head.split()[1]))
    lowest = np.sort(differences[[int(head.split()[1]) for head in shown]])[0]
    assert (differences >= lowest).sum() == 8
    assert "Of 12 outputs the 8 are shown" in " ".join(shown_layout.notes)
    assert "are shown" not in " ".join(
        layout(typical_rows(*write(tmp_path, made_outputs(3)[0])[0]), OPTIONS).notes
    )


def test_the_table_is_html_csv_and_latex(tmp_path):
    Y = made_outputs()[0] - [200.0, 0.0, 0.0]
    names = [f"a<b & {number}" for number in range(N_ROWS)]
    stored = {"line": np.arange(N_ROWS), "name": bytes_of(names)}
    paths, *_ = write(tmp_path, Y, rows=stored)
    found = typical_rows(*paths)
    html = html_markup(layout(found, OPTIONS))
    assert set(parse(html).cells_per_row) == {7}
    assert "a&lt;b &amp; " in html
    assert "<td>\u2212200</td>" in html
    files = tmp_path / "t.csv", tmp_path / "t.tex"
    results = dict(zip(("dataset", "split", "models"), paths), data_profile=None)
    options = {"caption": "Components.", "dataset_title": "Toy", "stand_in_for": "the real one"}
    run("typical_rows", results, *files, "tab:t", methods={}, **options)
    with open(files[0], newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * (3 + 3)
    means = [float(row["value"]) for row in rows if row["kind"] == "mean"]
    np.testing.assert_array_equal(
        means, np.concatenate([component.means for component in components_of(found)])
    )
    typical = [row["name"] for row in rows if row["kind"] == "typical_row"]
    assert typical == [name for component in components_of(found) for name in component.rows]
    latex = files[1].read_text()
    assert "Components. Data: Toy, standing in for the real one." in latex
    assert r"a$<$b \& " in latex


def test_a_mixture_that_is_not_there_is_reported(tmp_path):
    paths, *_ = write(tmp_path, made_outputs()[0])
    stored = read_artifact(paths[2], "models")[f"n-{N_TRAIN}"]["C-3"]["all"] | {"kind": "gaussian"}
    write_artifact(paths[2], {"n-58": {"C-1": {"all": stored}}}, "models")
    with pytest.raises(UserError, match=r"models\.h5: a model of kind gaussian"):
        typical_rows(*paths)


def test_the_mixture_with_as_many_components_as_groups_were_seen_is_described(tmp_path):
    Y, _ = made_outputs()
    (dataset, split, models), _, scaling = write(tmp_path, Y)
    model = GaussianMixtureModel(6, "diag").fit(scaling.apply(Y))
    tree = read_artifact(models, "models")
    tree[f"n-{N_TRAIN}"]["C-6"] = {"all": model_to_tree(model, scaling)}
    write_artifact(models, tree, "models")
    profile = tmp_path / "data-profile.json"
    for mixture, described in (({"n_components": 4}, 3), ({"n_components": 8}, 6), (None, 3)):
        profile.write_text(json.dumps({"mixture": mixture}))
        assert len(components_of(typical_rows(dataset, split, models, profile))) == described
