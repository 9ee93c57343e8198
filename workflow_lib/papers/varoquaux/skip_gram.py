"""Word vectors by skip-gram with negative sampling (word2vec), from texts of your own.

The file that this writes is read wherever vectors of GloVe are:

    python -m workflow_lib.papers.varoquaux.skip_gram TEXT [TEXT ...] --output vectors.json

Each line of a text is a sentence, as a window of words does not cross lines.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.core.optional_packages import not_installed
from workflow_lib.core.whole_files import write_text
from workflow_lib.inputs.word_vectors import DIMENSION, WordVectors
from workflow_lib.items.word_counts import words_of


def skip_gram_vectors(
    sentences: Iterable[str],
    dimension: int = DIMENSION,
    window: int = 5,
    n_negative: int = 5,
    min_count: int = 2,
    epochs: int = 20,
    seed: int = 0,
) -> WordVectors:
    """Return vectors u_w that predict the words around each word (Mikolov et al. 2013).

    For a word w with a word c in its window, and n_negative random words c', they maximise

        log sigmoid(v_c'u_w) + sum_c' log sigmoid(-v_c''u_w)

    over all pairs by stochastic gradients, with other vectors v for words around. It is done by
    gensim, in one thread, so that the same seed gives the same vectors.

    `sentences` are split into words by `workflow_lib.items.word_counts.words_of`. The `window` is
    of words on each side, of which a random number from 1 on is used each time. A word that occurs
    less often than `min_count` has no vector, and `epochs` are passes over the texts.

    Raises UserError if gensim is not installed, or no word occurs often enough.
    """
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        raise not_installed("gensim", "word vectors by skip-gram", error) from error
    words = [words_of(sentence) for sentence in sentences]
    try:
        model = Word2Vec(
            words,
            sg=1,
            vector_size=dimension,
            window=window,
            negative=n_negative,
            min_count=min_count,
            epochs=epochs,
            seed=seed,
            workers=1,
        )
    except RuntimeError as error:
        raise UserError(
            location="the texts of the word vectors",
            found=f"no word occurs {min_count} times ({error})",
            expected="words that occur again, in lines of several words",
            remedy="use more texts, or a smaller min_count",
        ) from error
    found = model.wv
    rows = {word: row for row, word in enumerate(found.index_to_key)}
    return WordVectors(rows, np.asarray(found.vectors, dtype=np.float64))


def main(arguments: Sequence[str] | None = None) -> int:
    """Learn vectors from files of texts, and write them as JSON; return 1 after a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path, help="files in UTF-8, a sentence a line")
    parser.add_argument("--output", type=Path, required=True, help="the file of vectors, .json")
    parser.add_argument("--dimension", type=int, default=DIMENSION)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        lines = [line for path in options.texts for line in lines_of(path)]
        found = skip_gram_vectors(
            lines, options.dimension, epochs=options.epochs, seed=options.seed
        )
        tree = {"words": list(found.words), "vectors": found.vectors.round(6).tolist()}
        write_text(options.output, json.dumps(tree, ensure_ascii=False))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def lines_of(path: Path) -> list[str]:
    """Return the lines of a text; raise UserError if it cannot be read as UTF-8."""
    try:
        return path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            location=str(path),
            found=f"it cannot be read ({error})",
            expected="a text in UTF-8, a sentence a line",
            remedy="name another file, or store it as UTF-8",
        ) from error


if __name__ == "__main__":
    sys.exit(main())
