"""Class vectors are the documented weighted means and coordinates."""

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from workflow_lib.inputs.class_vectors import (
    STOP_WORDS,
    lsa_vectors,
    name_vectors,
    name_words,
    text_report,
    text_vectors,
    wanted_name_words,
    wanted_text_words,
    weighted_terms,
    word_forms,
)
from workflow_lib.inputs.word_vectors import WordVectors
from workflow_lib.items.word_counts import words_of

TEXTS = [
    "The ant is a small animal; an ant carries leaves, leaves and more leaves.",
    "A bee is a small animal that flies. The bee makes honey.",
    "The piano is a large instrument with keys, and so is the organ.",
    "An organ has keys, pipes and a bench.",
]
SILENT = "It is the 7 of 9."


def vectors_of(*words, dimension=4, seed=0) -> WordVectors:
    rows = np.random.default_rng(seed).normal(size=(len(words), dimension))
    return WordVectors({word: row for row, word in enumerate(words)}, rows)


def unit(vector):
    return vector / np.linalg.norm(vector)


class TestNames:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("accordion", ["accordion"]),
            ("Faces_easy", ["faces", "easy"]),
            ("grizzly+bear", ["grizzly", "bear"]),
            ("T-shirt 2", ["t", "shirt"]),
            ("047.sea_horse12", ["sea", "horse"]),
            ("WindsorChair", ["windsorchair"]),
            ("123", []),
            ("", []),
        ],
    )
    def test_words_of_a_name(self, name, words):
        assert name_words(name) == words

    @pytest.mark.parametrize(
        ("word", "forms"),
        [
            ("motorbikes", ["motorbikes", "motorbike", "motorbik"]),
            ("brushes", ["brushes", "brushe", "brush"]),
            ("butterflies", ["butterflies", "butterflie", "butterfli", "butterfly"]),
            ("ants", ["ants", "ant"]),
            ("bass", ["bass"]),
            ("octopus", ["octopus"]),
            ("ibis", ["ibis"]),
            ("gas", ["gas"]),
            ("ties", ["ties", "tie"]),
        ],
    )
    def test_forms_of_a_word(self, word, forms):
        assert word_forms(word) == forms

    def test_a_name_has_the_direction_of_the_mean_of_its_words(self):
        known = vectors_of("sea", "horse", "face")
        found = name_vectors(["sea_horse", "Faces"], known)
        np.testing.assert_allclose(found[0], unit(known.vectors[0] + known.vectors[1]))
        np.testing.assert_allclose(found[1], unit(known.vectors[2]))
        # A word as it stands goes before its singular, and a mean of zero is no vector.
        known = vectors_of("face", "faces")
        np.testing.assert_allclose(name_vectors(["Faces"], known)[0], unit(known.vectors[1]))
        opposite = WordVectors({"yin": 0, "yang": 1}, np.array([[1.0, 2.0], [-1.0, -2.0]]))
        assert np.isnan(name_vectors(["yin_yang"], opposite)).all()

    def test_a_name_with_an_unknown_word_has_no_vector(self):
        known = vectors_of("face", "chair")
        names = ["cougar_face", "chair", "windsor_chair", "047"]
        found = name_vectors(names, known)
        np.testing.assert_array_equal(np.isnan(found).all(axis=1), [True, False, True, True])
        assert np.isfinite(found[1]).all()

    def test_reading_the_wanted_words_alone_changes_nothing(self):
        known = vectors_of("sea", "horse", "face", "faces", "leopard", "other")
        names = ["sea_horse", "Faces", "Leopards", "cougar_face"]
        wanted = wanted_name_words(names)
        kept = [word for word in known.words if word in wanted]
        fewer = WordVectors(
            {word: row for row, word in enumerate(kept)},
            known.vectors[[known.words[word] for word in kept]],
        )
        assert "other" not in kept
        np.testing.assert_array_equal(name_vectors(names, known), name_vectors(names, fewer))


class TestTexts:
    def test_stop_words_are_words_that_the_texts_can_hold(self):
        assert all(words_of(word) == [word] for word in STOP_WORDS)

    def test_a_text_has_the_direction_of_the_weighted_sum_of_its_known_words(self):
        known = vectors_of("ant", "leaves", "keys", "the")
        found = text_vectors(TEXTS, known)
        # ant and leaves occur in one of the four texts, twice and three times; keys in two.
        rare = np.log(5 / 2) + 1
        expected = rare * (2 * known.vectors[0] + 3 * known.vectors[1])
        np.testing.assert_allclose(found[0], unit(expected))
        np.testing.assert_allclose(found[2], unit(known.vectors[2]))
        np.testing.assert_allclose(found[3], found[2])
        assert np.isnan(found[1]).all()

    def test_texts_without_a_known_word_have_no_vector(self):
        assert np.isnan(text_vectors([*TEXTS, SILENT, ""], vectors_of("bee"))[[4, 5]]).all()
        assert np.isnan(text_vectors(TEXTS, vectors_of("unheard"))).all()

    def test_wanted_words_are_those_with_a_weight(self):
        assert sorted(wanted_text_words(TEXTS)) == weighted_terms(TEXTS)[1]

    def test_report_counts_words_and_the_share_that_is_known(self):
        report = text_report(["The ant, an ant!", "ant bee", SILENT], vectors_of("ant", "cat"))
        assert report == {
            "texts": 3,
            "texts_without_words": 1,
            "words": 2,
            "shared_words": 1,
            "tokens": 4,
            "known_words": 1,
            "known_tokens": 0.75,
        }
        assert "known_tokens" not in text_report(["ant"])
        assert np.isnan(text_report([SILENT], vectors_of("ant"))["known_tokens"])


class TestLatentSemanticAnalysis:
    def test_coordinates_equal_those_of_scikit_learn_up_to_signs(self):
        weights = TfidfVectorizer(
            analyzer=lambda text: [w for w in words_of(text) if w not in STOP_WORDS],
            sublinear_tf=True,
        ).fit_transform(TEXTS)
        peer = TruncatedSVD(2, algorithm="arpack", random_state=0).fit_transform(weights)
        peer /= np.linalg.norm(peer, axis=1, keepdims=True)
        found = lsa_vectors(TEXTS, 2)
        np.testing.assert_allclose(np.abs(found), np.abs(peer), atol=1e-10)
        np.testing.assert_allclose(found @ found.T, peer @ peer.T, atol=1e-10)

    def test_all_coordinates_together_keep_every_inner_product(self):
        weights, _ = weighted_terms(TEXTS, sublinear=True)
        weights /= np.linalg.norm(weights, axis=1, keepdims=True)
        found = lsa_vectors(TEXTS, 50)
        assert found.shape == (4, 4)
        np.testing.assert_allclose(found @ found.T, weights @ weights.T, atol=1e-12)

    def test_signs_follow_the_words_and_not_the_order_of_the_texts(self):
        order = [2, 0, 3, 1]
        found = lsa_vectors([TEXTS[row] for row in order], 3)
        np.testing.assert_allclose(found, lsa_vectors(TEXTS, 3)[order], atol=1e-10)

    def test_a_repeated_text_adds_no_coordinate(self):
        found = lsa_vectors([*TEXTS, TEXTS[0]], 50)
        assert found.shape == (5, 4)
        np.testing.assert_allclose(found[4], found[0], atol=1e-10)

    def test_a_text_without_words_has_no_vector_and_leaves_the_others(self):
        found = lsa_vectors([*TEXTS, SILENT], 3)
        np.testing.assert_array_equal(np.isnan(found).all(axis=1), [False] * 4 + [True])
        np.testing.assert_allclose(np.linalg.norm(found[:4], axis=1), 1.0)
        assert np.isnan(lsa_vectors([SILENT, ""], 3)).all()
