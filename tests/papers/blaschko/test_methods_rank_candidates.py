"""Rankings of candidates: classes by their losses, and the outputs of training rows."""

import numpy as np
import pytest
from fit_methods import run_method
from small_data import regression_data
from small_pipeline import Stages

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.class_selection import scaled_squared_error
from workflow_lib.fitting.prepared_inputs import rbf_gamma
from workflow_lib.papers.blaschko.methods import rank_candidates
from workflow_lib.papers.blaschko.methods.rank_candidates import Candidates, output_kernel, ranked
from workflow_lib.papers.blaschko.preference_constraints import PreferenceGraph
from workflow_lib.papers.blaschko.ranking_machine import RankingMachine
from workflow_lib.protocol import features_stage, splitting
from workflow_lib.solvers.gram import gram_matrix

N_CLASSES, N_INPUTS, N_FOLDS = 4, 3, 3
LINE = np.abs(np.arange(N_CLASSES)[:, None] - np.arange(N_CLASSES)).astype(float)
"""Losses of classes on a line."""

SETTINGS = {
    "kernel": "rbf",
    "grid": {"cost": [0.5, 20.0], "width": [0.3, 3.0], "output_width": [0.5, 2.0]},
    "one_example": {"cost": 4.0, "width": 0.9},
    "metric": "arrmse",
    "preferences": "complete",
    "rescaling": "slack",
    "losses": "dataset",
    "n_preferred": 1,
    "candidates": 6,
    "across_rows": False,
}


def of_classes(folder, examples=(3, 6), **classes):
    """Write classes that overlap, their split and features; return the settings of the stage."""
    random = np.random.default_rng(0)
    labels = random.permutation(np.repeat(np.arange(N_CLASSES), 12))
    X = 1.5 * random.normal(size=(N_CLASSES, N_INPUTS))[labels]
    X = X + random.normal(size=X.shape)
    vectors = random.normal(size=(N_CLASSES, 2))
    dataset = {"inputs": X, "outputs": vectors[labels]}
    dataset["classes"] = {"labels": labels, "vectors": vectors} | classes
    write_artifact(folder / "dataset.h5", dataset, "dataset")
    split = splitting.split_rows(len(X), examples, [], 0.4, N_FOLDS, 5, labels=labels)
    write_artifact(folder / "split.h5", split, "split")
    paths = (folder / f"{name}.h5" for name in ("dataset", "split", "features"))
    features_stage.run(*paths, "none", "rbf", "none")
    return X, labels, split


def run(folder, **settings):
    return run_method("rank_candidates", lambda name: folder / f"{name}.h5", **SETTINGS | settings)


@pytest.mark.parametrize("losses", ["dataset", "zero_one"])
def test_scores_and_choice_are_those_of_each_fold_by_hand(tmp_path, monkeypatch, losses):
    # Where a search stops depends on rounding, but for its limit.
    monkeypatch.setattr(rank_candidates, "SELECTION_TOLERANCE", 1e-5)
    X, labels, split = of_classes(tmp_path, (6,), losses={"path_length": LINE})
    item = run(tmp_path, losses=losses)["n-24_w-0_C-selected"]
    rows, folds = split["train"][:24], split["folds"]["n-24"]
    table = LINE / 3.0 if losses == "dataset" else 1.0 - np.eye(N_CLASSES)

    def scores_of(known, others, width, cost):
        gamma = rbf_gamma(width, N_INPUTS)
        K = gram_matrix(X[known], None, "rbf", gamma)
        joint = np.kron(K, np.eye(N_CLASSES))
        groups = np.repeat(np.arange(len(known)), N_CLASSES)
        graph = PreferenceGraph(table[labels[known]].ravel(), groups)
        solution = RankingMachine(graph, joint.__matmul__).solve(cost * len(known), 1e-5, 2000)
        dual = solution.coefficients.reshape(-1, N_CLASSES)
        return gram_matrix(X[others], X[known], "rbf", gamma) @ dual

    found = {}
    for width in (0.3, 3.0):
        for cost in (0.5, 20.0):
            heldout = np.empty((24, N_CLASSES))
            for fold in range(N_FOLDS):
                known, others = rows[folds != fold], rows[folds == fold]
                heldout[folds == fold] = scores_of(known, others, width, cost)
            found[width, cost] = scaled_squared_error(heldout, labels[rows]), heldout
    best = min(found, key=lambda point: found[point][0])
    assert (item["width"], item["cost"]) == best
    assert item["score"] == pytest.approx(found[best][0], rel=1e-2)
    np.testing.assert_allclose(item["heldout_outputs"], found[best][1], atol=2e-2)
    assert 0 <= item["duality_gap"] <= 1e-3 and item["n_planes"] > 1
    right = item["test_targets"].argmax(axis=1) == labels[split["test"]]
    assert right.mean() > 0.5


def test_with_one_example_per_class_nothing_is_selected(tmp_path):
    of_classes(tmp_path, examples=(1,))
    (item,) = run(tmp_path).values()
    assert (item["cost"], item["width"]) == (4.0, 0.9)
    assert "score" not in item


def test_predictions_are_training_outputs_of_the_fold(tmp_path):
    X, Y = regression_data(60, n_clusters=4, spread=0.3, dimension=3)
    stages = Stages(tmp_path, X, Y).prepare()
    split = read_artifact(stages.path("split"), "split")
    for changes in ({}, {"preferences": "bipartite"}, {"rescaling": "margin"}):
        items = run_method("rank_candidates", stages.path, **SETTINGS | changes)
        for size in split["sizes"]:
            item = items[f"n-{size}_w-0_C-selected"]
            known = stages.Y[split["train"][:size]]
            assert (item["test_targets"][:, None] == known).all(axis=2).any(axis=1).all()
            folds = split["folds"][f"n-{size}"]
            for row, heldout in enumerate(item["heldout_outputs"]):
                of_others = known[folds != folds[row]]
                assert (heldout == of_others).all(axis=1).any()
            assert item["score"] < 1.0


def test_a_row_has_its_own_output_and_evenly_spaced_others():
    outputs = np.array([[0.0], [1.0], [3.0], [3.0], [9.0]])
    candidates = Candidates.of_outputs(outputs, 3)
    assert candidates.indices[0].tolist() == [0, 2, 4]
    assert candidates.indices[3].tolist() == [3, 1, 4]
    assert (candidates.losses[:, 0] == 0).all()
    unit = np.median([1.0, 9.0, 9.0, 81.0, 4.0, 4.0, 64.0, 36.0, 36.0])
    np.testing.assert_allclose(candidates.losses[0] * unit, [0.0, 9.0, 81.0])
    every = Candidates.of_outputs(outputs, 100)
    assert sorted(every.indices[2]) == [0, 1, 2, 3, 4]


def test_the_joint_gram_matrix_is_that_of_the_pairs():
    random = np.random.default_rng(0)
    X, outputs = random.normal(size=(7, 2)), random.normal(size=(7, 3))
    K, L = gram_matrix(X, None, "rbf", 0.5), output_kernel(outputs, 1.0)
    candidates = Candidates.of_outputs(outputs, 4)
    graph = candidates.graph("complete", 1, across_rows=True)
    rows, indices = np.repeat(np.arange(7), 4), candidates.indices.ravel()
    joint = K[np.ix_(rows, rows)] * L[np.ix_(indices, indices)]
    assert graph.n_edges > 7 * 6
    expected = RankingMachine(graph, joint.__matmul__, "margin").solve(2.0 * 7, 1e-4)
    ((dual, found),) = ranked(K, L, candidates, graph, "margin", [2.0], 1e-4)
    # Both stop at a gap of 1e-4; how they get there depends on rounding.
    assert found.objective == pytest.approx(expected.objective, rel=1e-6)
    np.testing.assert_allclose((K @ dual)[rows, indices], joint @ expected.coefficients, atol=1e-3)


def test_one_class_is_refused():
    candidates = Candidates.of_classes(np.zeros(5, dtype=int), np.zeros((1, 1)))
    with pytest.raises(UserError, match="no item is preferred"):
        candidates.graph("complete", 1, across_rows=False)
