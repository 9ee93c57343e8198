"""Word vectors by skip-gram: words of the same texts are near, and the file is read again."""

import sys

import numpy as np
import pytest

from workflow_lib.core.errors import UserError
from workflow_lib.inputs.class_vectors import text_vectors
from workflow_lib.inputs.word_vectors import read_word_vectors
from workflow_lib.papers.varoquaux import skip_gram

TOPICS = ["wine juice glass bottle drink".split(), "engine wheel road brake motor".split()]


def sentences() -> list[str]:
    random = np.random.default_rng(0)
    return [" ".join(random.choice(TOPICS[row % 2], 6)) for row in range(400)]


def test_words_of_one_topic_are_nearer_to_each_other_and_a_seed_gives_one_result(tmp_path):
    pytest.importorskip("gensim")
    found = skip_gram.skip_gram_vectors(sentences(), dimension=8, min_count=1)
    units = found.vectors / np.linalg.norm(found.vectors, axis=1, keepdims=True)
    first, second = (units[[found.words[word] for word in topic]] for topic in TOPICS)
    assert min((first @ first.T).min(), (second @ second.T).min()) > (first @ second.T).max()

    path, output = tmp_path / "texts.txt", tmp_path / "vectors.json"
    path.write_text("\n".join(sentences()), encoding="utf-8")
    skip_gram.main([str(path), "--output", str(output), "--dimension", "8"])
    read = read_word_vectors(output)
    assert read.words == found.words
    np.testing.assert_allclose(read.vectors, found.vectors, atol=1e-6)
    classes = text_vectors(["a bottle of juice", "wine in a glass", "the motor of a road"], read)
    assert classes[0] @ classes[1] > classes[0] @ classes[2]


def test_texts_without_repeated_words_are_refused():
    pytest.importorskip("gensim")
    with pytest.raises(UserError, match="no word occurs 2 times"):
        skip_gram.skip_gram_vectors(["each word once"])


def test_a_command_ends_in_one_message(tmp_path, capsys):
    missing, latin = tmp_path / "missing.txt", tmp_path / "latin.txt"
    latin.write_bytes("grün".encode("latin-1"))
    for path in (missing, latin):
        assert skip_gram.main([str(path), "--output", str(tmp_path / "vectors.json")]) == 1
        assert capsys.readouterr().err.startswith(f"error: {path}: it cannot be read")


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(UserError, match="word2vec"):
        skip_gram.skip_gram_vectors(sentences())
