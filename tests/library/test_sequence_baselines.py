"""Plain baselines of sequences of letters: composition, length, naive Bayes of positions."""

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB

from workflow_lib.inputs.sequence_length import SequenceLength
from workflow_lib.inputs.word_shares import WordShares
from workflow_lib.items.kinds.letters import letter_rows
from workflow_lib.solvers.position_naive_bayes import PositionNaiveBayes
from workflow_lib.solvers.stored.estimator import estimator_bytes, estimator_from_bytes

TEXTS = ["ACDA", "WY", "CXC", "DDAAWY"]
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"


def random_rows(n_symbols=4, length=7):
    random = np.random.default_rng(0)
    rows = random.integers(0, n_symbols, (60, length)).astype(float)
    return rows, random.integers(0, 3, 60)


@pytest.mark.parametrize("pseudo_count", [0.3, 2.0])
def test_naive_bayes_is_that_of_scikit_learn_where_every_letter_is_known(pseudo_count):
    rows, labels = random_rows()
    ours = PositionNaiveBayes(pseudo_count).fit(rows[:40], labels[:40])
    theirs = CategoricalNB(alpha=pseudo_count, min_categories=4).fit(rows[:40], labels[:40])
    expected = theirs.predict_proba(rows[40:])
    np.testing.assert_allclose(ours.predict_proba(rows[40:]), expected, rtol=1e-10)
    np.testing.assert_array_equal(ours.predict(rows[40:]), theirs.predict(rows[40:]))
    again = estimator_from_bytes(estimator_bytes(ours))
    np.testing.assert_array_equal(again.predict_proba(rows), ours.predict_proba(rows))


def test_what_is_unknown_or_after_the_end_says_nothing():
    rows, labels = random_rows()
    rows[::3, 4:] = -2
    rows[1, 2] = -1
    classifier = PositionNaiveBayes().fit(rows, labels)
    shorter = rows[:5].copy()
    shorter[:, 3:] = -2
    of_three = PositionNaiveBayes().fit(np.where(np.arange(7) < 3, rows, -2), labels)
    expected = of_three.predict_proba(shorter)
    np.testing.assert_allclose(classifier.predict_proba(shorter), expected, rtol=1e-12)
    # A letter that no training row has is unknown.
    new, unknown = rows[:5].copy(), rows[:5].copy()
    new[:, 0], unknown[:, 0] = 9, -1
    np.testing.assert_array_equal(classifier.predict_proba(new), classifier.predict_proba(unknown))


def test_rows_of_other_numbers_and_pseudo_counts_of_zero_are_refused():
    rows, labels = random_rows()
    with pytest.raises(ValueError, match="no sequence of letters"):
        PositionNaiveBayes().fit(rows + 0.5, labels)
    with pytest.raises(ValueError, match="pseudo_count must be positive; found 0"):
        PositionNaiveBayes(0).fit(rows, labels)


def test_words_of_one_letter_are_the_composition():
    rows = letter_rows(TEXTS, AMINO_ACIDS)
    learner = WordShares(1, 20).fit(rows)
    shares = learner.transform(rows) * np.where(np.isinf(learner.scale_), 0, learner.scale_)
    shares += learner.mean_
    np.testing.assert_allclose(shares[0, :4], [0.5, 0.25, 0.25, 0])
    # Unknown letters do not count.
    np.testing.assert_allclose(shares[2, :4], [0, 1, 0, 0], atol=1e-12)


def test_words_that_would_be_too_many_are_refused():
    with pytest.raises(ValueError, match="160000 words of 4 of 20 letters"):
        WordShares(4, 20).fit(letter_rows(TEXTS, AMINO_ACIDS))


@pytest.mark.parametrize("log", [False, True])
def test_the_length_is_the_only_feature(log):
    rows = letter_rows(TEXTS, AMINO_ACIDS)
    lengths = np.array([4.0, 2.0, 3.0, 6.0])
    values = np.log(lengths) if log else lengths
    found = SequenceLength(log).fit_transform(rows)
    np.testing.assert_allclose(found[:, 0], (values - values.mean()) / values.std())
    np.testing.assert_array_equal(SequenceLength(log).fit_transform(rows[:1]), [[0.0]])
