"""Posterior probabilities of states along sequences: the areas are those of the models."""

import json

import numpy as np
import pytest
from reader_samples import refusal

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.items.kinds.base import items_in
from workflow_lib.items.kinds.letters import letter_rows
from workflow_lib.papers.perina.figures import sequence_posteriors
from workflow_lib.papers.perina.hidden_markov.model import HiddenMarkovModel
from workflow_lib.papers.perina.score_space_storage import model_to_tree

SPACE = {"models": "hmm", "standardise": True, "level": "symbol", "divide_by_length": None}
METHOD = {"label": "nFESS", "color": "#0072B2", "regressor": "support_vector_machine"}
METHOD |= {"score_space": SPACE}
LETTERS = "ACGT"
SEQUENCES = ["AACA", "ACAAAG", "GGTG", "TTGTT", "AAAAC", "CACA", "TGTG", "GTTTG"]
LABELS = np.array([0, 0, 1, 1, 0, 0, 1, 1])
TEST = np.array([4, 5, 6, 7])


def model_of(label, n_states):
    """Return a model whose states prefer the letters of a class."""
    random = np.random.default_rng(10 * n_states + label)
    model = HiddenMarkovModel(n_states, n_symbols=4)
    model.initial_ = random.dirichlet(np.ones(n_states))
    model.transitions_ = random.dirichlet(np.ones(n_states), size=n_states)
    model.emissions_ = random.dirichlet([9, 5, 1, 1] if label == 0 else [1, 1, 9, 5], size=n_states)
    return model


def write_sequence_sample(folder, per_class=True, kernel=None):
    """Write an experiment on sequences of two classes; return its files and settings."""
    names = {"classes": '["a", "b"]', "rows": json.dumps(SEQUENCES), "letters": LETTERS}
    rows = letter_rows(SEQUENCES, LETTERS)
    tree = {"inputs": rows, "outputs": np.eye(2)[LABELS], "names": names}
    tree["classes"] = {"labels": LABELS, "vectors": np.eye(2)}
    tree["items"] = {"kind": "letters", "n_symbols": 4}
    files = {"dataset": folder / "dataset.h5", "splits": [folder / "split-0" / "split.h5"]}
    (folder / "split-0" / "nfess").mkdir(parents=True)
    (folder / "split-0" / "hmm").mkdir()
    write_artifact(files["dataset"], tree, "dataset")
    write_artifact(
        files["splits"][0], {"train": np.arange(4), "test": TEST, "sizes": np.array([4])}, "split"
    )
    files["first_features"] = folder / "split-0" / "features.h5"
    write_artifact(files["first_features"], {"inputs": {"test": rows[TEST]}}, "features")
    # From the last class to the first.
    labels = [1, 0] if per_class else [0]
    points = {
        f"point-{index}": {
            "all": {
                f"model-{index:03d}": model_to_tree(model_of(label, n_states))
                for index, label in enumerate(labels)
            }
        }
        for index, n_states in enumerate((2, 3))
    }
    files["first_input_models"] = [folder / "split-0" / "hmm" / "input_models.h5"]
    write_artifact(files["first_input_models"][0], {"n-4": points}, "input_models")
    item = {"training_size": 4, "weak_size": 0, "components": "selected"}
    scores = np.array([[1.0, -1.0], [2.0, -2.0], [-1.0, 1.0], [3.0, 1.0]])
    files["predictions"] = [folder / "split-0" / "nfess" / "predictions.h5"]
    predicted = {"n-4": item | {"class_scores": scores}}
    write_artifact(files["predictions"][0], predicted, "predictions")
    files["all_regressions"] = [folder / "split-0" / "nfess" / "regression.h5"]
    chosen = {"n-4": item | {"score_space__n_states": 3, "cost": 10.0} | (kernel or {})}
    write_artifact(files["all_regressions"][0], chosen, "regression")
    files["all_input_models"] = files["first_input_models"]
    return files, {"shown_methods": {"nfess": METHOD}, "methods": {"nfess": METHOD}}


def drawn(folder, methods=None, **options):
    files, settings = write_sequence_sample(folder, **options)
    return sequence_posteriors.draw(
        files["dataset"],
        files["splits"][0],
        files["first_features"],
        {"hmm": files["first_input_models"][0]},
        {"nfess": files["predictions"][0]},
        {"nfess": files["all_regressions"]},
        shown_methods=methods or settings["shown_methods"],
        title="Toy",
    )


def sequences_of(rows):
    return items_in(letter_rows([SEQUENCES[row] for row in rows], LETTERS), {"kind": "letters"})


def test_areas_are_the_posteriors_under_the_model_of_each_class(tmp_path):
    axes = drawn(tmp_path).axes
    # The second and the third test row have the largest margins of their classes.
    expected = [(5, 0), (5, 1), (6, 0), (6, 1)]
    assert len(axes) == len(expected)
    for axis, (row, label) in zip(axes, expected):
        model, (sequence,) = model_of(label, 3), sequences_of([row])
        title = axis.get_title(loc="left")
        assert title.startswith(f"{'ab'[LABELS[row]]}: {SEQUENCES[row]}, model of {'ab'[label]}\n")
        assert title.endswith(f"log p = {model.score_samples([sequence])[0]:.1f}")
        shares = sum(gamma.sum(axis=0) for gamma in model.posteriors(sequences_of(TEST)).gamma)
        order = np.argsort(-shares)
        heights = [[bar.get_height() for bar in area] for area in axis.containers]
        gamma = model.posteriors([sequence]).gamma[0]
        np.testing.assert_allclose(heights, gamma[:, order].T, atol=1e-12)
        assert [tick.get_text() for tick in axis.get_xticklabels()] == list(SEQUENCES[row])


def test_one_model_of_all_classes_has_one_column(tmp_path):
    titles = [axis.get_title(loc="left") for axis in drawn(tmp_path, per_class=False).axes]
    assert [title.partition("\n")[0] for title in titles] == ["a: CACA", "b: TGTG"]


@pytest.mark.parametrize("space", [None, {"models": "topics"}])
def test_methods_without_hidden_markov_models_are_refused(tmp_path, space):
    methods = {"nfess": {"label": "nFESS", "score_space": space}}
    assert "no shown method with hidden Markov models" in refusal(drawn, tmp_path, methods)
