"""Score spaces of sequences as features, and the classifier by the most probable model."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from workflow_lib import HiddenMarkovModel, ScoreSpace
from workflow_lib.baselines.generative_classifier import HiddenMarkovClassifier
from workflow_lib.embeddings.sequence_scores import SequenceScores, WordShares
from workflow_lib.features.item_rows import letter_rows, sequences_in
from workflow_lib.features.preparation import fit_preparation
from workflow_lib.generative.hidden_markov import fit_models
from workflow_lib.methods.learned_features import LearnedInputs, learned_features
from workflow_lib.regression.stored_estimator import estimator_bytes, estimator_from_bytes


def rows_and_classes():
    """Return sequences of 5 to 12 letters whose second class has more of the first letter."""
    random = np.random.default_rng(0)
    labels = np.arange(40) % 2
    texts = [
        "".join(random.choice(list("ACGT"), random.integers(5, 13), p=share))
        for share in np.where(labels[:, None], [0.6, 0.2, 0.1, 0.1], 0.25)
    ]
    return letter_rows(texts, "ACGT"), labels


def test_rows_hold_sequences_of_any_length():
    rows = letter_rows(["ACN", "T"], "ACGT")
    np.testing.assert_array_equal(rows, [[0, 1, -1], [3, -2, -2]])
    assert [sequence.tolist() for sequence in sequences_in(rows)] == [[0, 1, -1], [3]]
    for wrong in ([[0.5, 1]], [[-3, 1]], [[-2, -2]], [[-2, 1]]):
        with pytest.raises(ValueError, match="Row|row"):
            sequences_in(np.array(wrong, dtype=float))


@pytest.mark.parametrize("kind", ["free_energy", "fisher", "top"])
def test_features_are_the_standardised_scores_of_class_models(kind):
    rows, labels = rows_and_classes()
    learner = SequenceScores(kind, n_states=2, n_symbols=4, random_state=3)
    found = learner.fit_transform(rows, labels)
    sequences = sequences_in(rows)
    models = [HiddenMarkovModel(2, n_symbols=4, random_state=3) for _ in range(2)]
    subsets = [np.flatnonzero(labels == label) for label in (1, 0)]
    scores = ScoreSpace(fit_models(models, sequences, subsets), kind).transform(sequences)
    varies = scores.std(axis=0) > 1e-9
    expected = (scores - scores.mean(axis=0))[:, varies] / scores.std(axis=0)[varies]
    np.testing.assert_allclose(found[:, varies], expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(found[:, ~varies], 0.0)


def test_stored_features_give_the_same_bits():
    rows, labels = rows_and_classes()
    learner = SequenceScores(n_states=2, n_symbols=4).fit(rows, labels)
    again = estimator_from_bytes(estimator_bytes(learner))
    np.testing.assert_array_equal(again.transform(rows[:7]), learner.transform(rows[:7]))


def test_a_learner_sees_the_classes_of_labelled_rows_only():
    rows, labels = rows_and_classes()
    preparation = fit_preparation(rows[:30], "none")
    learner = SequenceScores(n_states=2, n_symbols=4)
    found = learned_features(learner, rows, preparation, 30, labels[:30]).of(rows)
    alone = learned_features(learner, rows[:30], preparation, 30, labels[:30]).of(rows)
    np.testing.assert_array_equal(found, alone)
    with pytest.raises(ValueError, match="learns from classes"):
        learned_features(learner, rows, preparation, 30)
    # One model of all sequences needs no class.
    learned_features(clone(learner).set_params(class_models=False), rows, preparation, 30)


def test_one_class_is_refused():
    rows, _ = rows_and_classes()
    with pytest.raises(ValueError, match="two classes"):
        SequenceScores().fit(rows, np.zeros(len(rows)))


def test_words_are_counted_per_word_of_known_letters():
    rows = letter_rows(["AACNA", "CA", "T"], "ACGT")
    learner = WordShares(word_length=2, n_symbols=4).fit(rows)
    counts = learner._columns(sequences_in(rows))
    np.testing.assert_allclose(counts[0, [0, 1, 4]], [0.5, 0.5, 0.0])
    np.testing.assert_allclose(counts[1, [0, 1, 4]], [0.0, 0.0, 1.0])
    # A sequence shorter than a word has none.
    assert not counts[2].any()
    with pytest.raises(ValueError, match="n_symbols=2"):
        WordShares(2, n_symbols=2).fit(rows)


def test_the_most_probable_model_is_that_of_the_higher_joint_probability():
    rows, labels = rows_and_classes()
    rows, labels = rows[5:], labels[5:]
    classifier = HiddenMarkovClassifier(2, n_symbols=4, random_state=1).fit(rows, labels)
    sequences = sequences_in(rows)
    joint = []
    for label in (0, 1):
        own = [sequence for sequence, known in zip(sequences, labels) if known == label]
        model = HiddenMarkovModel(2, n_symbols=4, random_state=1).fit(own)
        joint.append(model.score_samples(sequences) + np.log(np.mean(labels == label)))
    expected = np.exp(joint[1]) / (np.exp(joint[0]) + np.exp(joint[1]))
    np.testing.assert_allclose(classifier.predict_proba(rows)[:, 1], expected, rtol=1e-6)
    assert (classifier.predict(rows) == labels).mean() > 0.6


def test_a_fold_sees_no_class_of_its_heldout_rows(tmp_path):
    rows, labels = rows_and_classes()
    folds = np.arange(len(rows)) // 10
    preparation = fit_preparation(rows, "none").tree()
    groups = {"all": preparation, "learns": False}
    groups |= {f"fold-{fold}": preparation for fold in range(4)}
    features = {
        "inputs": {"train": rows, "weak": rows[:0], "test": rows[:0]},
        "n-40": groups,
        "scale": "none",
        "kernel": "linear",
    }
    learner = SequenceScores(n_states=2, n_symbols=4)
    changed = np.where(folds == 2, 1 - labels, labels)
    first, second = (
        LearnedInputs(features, folds, 40, learner, 0, known) for known in (labels, changed)
    )
    pairs = list(zip(first.fold_rows(), second.fold_rows()))
    for fold, (own, other) in enumerate(pairs):
        same = all(np.array_equal(a, b) for a, b in zip(own, other))
        assert same == (fold == 2)
