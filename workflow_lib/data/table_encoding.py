"""From columns of a user table to inputs: numbers, levels, letters, words and molecules.

The levels and words of an encoding come from inputs alone, never from outputs. Its columns are not
scaled by the data: weights and scales are learned in the folds, from training rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.core.json_text import from_json_bytes, json_bytes
from workflow_lib.data.column_kinds import MAX_LEVELS
from workflow_lib.data.molecules import read_molecules
from workflow_lib.data.table_bags import bag_counts
from workflow_lib.data.table_sequences import table_sequences
from workflow_lib.inputs.column_origins import ColumnOrigins, channel_groups
from workflow_lib.inputs.encoder_names import N_GRAMS, ONE_HOT, encoder_module
from workflow_lib.inputs.spectra import NONE, prepared_spectra, spectra_of
from workflow_lib.items.kinds.letters import letter_rows
from workflow_lib.items.word_counts import words_of
from workflow_lib.tabular.cell_texts import known_indices
from workflow_lib.tabular.table_file import Table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

STRING_COLUMNS = 32
"""Columns into which the n-grams of a column of strings are hashed."""

STRING_LENGTHS = (2, 4)
"""Shortest and longest n-gram, in characters, within the words of a string."""

MIN_ROWS = 2
"""Smallest number of rows with a word: a word of a single row relates no two rows."""

MAX_TERMS = 20_000
"""Largest number of words of a column of texts that are kept, the most frequent ones."""

RADIUS, N_BITS = 2, 2048
"""Radius, in bonds, and length of the fingerprints of molecules."""

MISSING_LEVEL = "(missing)"
"""Name of the level of a category for missing values."""


@dataclass(frozen=True)
class Levels:
    """The levels of a category: its texts, sorted, and whether a missing value is a level too."""

    texts: tuple[str, ...]
    missing: bool

    @classmethod
    def of(cls, texts: np.ndarray) -> Levels:
        """Return the levels of a column of texts; "" is a missing value."""
        values = set(texts)
        return cls(tuple(sorted(values - {""})), "" in values)

    @property
    def all_texts(self) -> tuple[str, ...]:
        """The text of each level, "" for that of missing values, which is the last."""
        return (*self.texts, *([""] * self.missing))

    def indices(self, texts: np.ndarray) -> np.ndarray:
        """Return the index (n,) in `all_texts` of each text, -1 for those that are no level.

        1 and 1.0 are the same level, as are TRUE and True: see
        `workflow_lib.tabular.cell_texts.known_indices`.
        """
        return known_indices(texts, self.all_texts)


@dataclass(frozen=True)
class EncodedRows:
    """Rows of a table as inputs."""

    inputs: np.ndarray | csr_array
    """Float64 (n, q), NaN where a number is missing; or counts of words and substructures."""
    names: list[str]
    """Names of the columns of `inputs`; for counts the terms."""
    lagged_values: np.ndarray | None
    """The columns (n, k) that are not counts, where the inputs are counts; None without them."""
    lagged_names: list[str]
    notes: list[str]
    """Values of a row that did not occur in the fitted table, such as ``colour: 'mauve' was never
    seen``; "" without such values."""
    texts: Mapping[str, np.ndarray] = field(default_factory=dict)
    """The texts (n,) of the columns whose codes the folds learn, instead of inputs."""
    items: list | None = None
    """Those that are not in `inputs`, such as bags of rows of numbers."""


@dataclass(frozen=True)
class TableEncoding:
    """A fitted encoding of the columns of a table as inputs, for these and for later rows.

    Made by `fit`. Numbers are not changed, but for those of `spectra`; those of
    `missing_indicators` have a further column, ``NAME is missing``, with 1 where they are missing
    and 0 elsewhere. A category has a column of 0 and 1 for every level. A column of strings, such
    as names of products, is hashed by the n-grams of its characters into STRING_COLUMNS columns;
    their rows have unit length. Texts become counts of words (`workflow_lib.items.word_counts`),
    molecules the bits of their Morgan fingerprint (Rogers and Hahn 2010).

    Texts, and molecules together with other columns, are sparse counts, and the other columns are
    in `EncodedRows.lagged_values`; the bits are then terms like words. Molecules alone are dense
    columns of 0 and 1.

    The codes of `learned` columns are learned by the folds, from their training rows
    (`workflow_lib.inputs.encoded_columns`): here only their levels are found.

    The attributes name columns, where nothing else is said.
    """

    numbers: tuple[str, ...]
    categories: Mapping[str, Levels]
    strings: tuple[str, ...]
    text: str | None
    terms: tuple[str, ...]
    """The words of `text` that are kept, sorted."""
    smiles: str | None
    missing_indicators: tuple[str, ...] = ()
    """Some of `numbers`."""
    learned: Mapping[str, tuple[str, Levels]] = field(default_factory=dict)
    """The name of the encoder and the levels; only where the inputs are not sparse."""
    sequence: str | None = None
    """A column of sequences, which is then the only one; a row of
    `workflow_lib.items.kinds.letters` each, of the known `letters`, in `longest` columns."""
    letters: str = ""
    longest: int = 0
    bags: bool = False
    """Whether `numbers`, which are then the only columns, count the words of a bag."""
    spectra: str = NONE
    """What `workflow_lib.inputs.spectra.prepared_spectra` does to the spectra among the numbers."""

    @classmethod
    def fit(
        cls,
        table: Table,
        numbers: Sequence[str] = (),
        categories: Sequence[str] = (),
        strings: Sequence[str] = (),
        text: str | None = None,
        smiles: str | None = None,
        missing_indicators: Sequence[str] = (),
        encoders: Mapping[str, str] | None = None,
        sequence: str | None = None,
        letters: str = "",
        bags: bool = False,
        spectra: str = NONE,
    ) -> TableEncoding:
        """Return the encoding with the levels and words that occur in `table`.

        `encoders` holds, for columns of names, another encoder than that of the list that they are
        in: ``one-hot``, that of `categories`, ``n-grams``, that of `strings`, or one of
        `workflow_lib.inputs.encoder_names.encoder_names`.

        Raises
        ------
        UserError
            When there is no such column, when no word occurs in MIN_ROWS rows, or where folds
            learn codes besides a text or molecules.
        """
        encoders = {
            **dict.fromkeys(categories, ONE_HOT),
            **dict.fromkeys(strings, N_GRAMS),
            **(encoders or {}),
        }
        levels = {
            name: Levels.of(table.strings(name))
            for name, encoder in encoders.items()
            if encoder == ONE_HOT
        }
        strings = [name for name, encoder in encoders.items() if encoder == N_GRAMS]
        learned = {
            name: (encoder, Levels.of(table.strings(name)))
            for name, encoder in encoders.items()
            if encoder not in (ONE_HOT, N_GRAMS)
        }
        if learned and (text, smiles) != (None, None):
            name, (encoder, _) = next(iter(learned.items()))
            raise UserError(
                location=f"{table.location}, column '{name}'",
                found=f"the encoder {encoder} besides the column '{text or smiles}' of "
                f"{'texts' if text else 'molecules'}",
                expected=f"{ONE_HOT} or {N_GRAMS} besides a text or molecules, which are compared "
                "by their inner products",
                remedy=f"take '{name}' out of encode, or leave out '{text or smiles}'",
            )
        terms: tuple[str, ...] = ()
        if text is not None:
            terms = _frequent_words(table, text)
        indicators = tuple(missing_indicators)
        columns = tuple(numbers), levels, tuple(strings), text, terms, smiles, indicators, learned
        if sequence is None:
            return cls(*columns, bags=bags, spectra=spectra)
        return cls(*columns, sequence, letters, max(map(len, table_sequences(table, sequence))))

    @property
    def columns(self) -> list[str]:
        """Names of all columns of a table that `encode` uses."""
        single = [name for name in (self.text, self.smiles, self.sequence) if name is not None]
        return [*self.numbers, *self.categories, *self.strings, *self.learned, *single]

    @property
    def is_sparse(self) -> bool:
        """Whether the inputs are counts."""
        others = self.numbers or self.categories or self.strings
        return self.text is not None or (self.smiles is not None and bool(others))

    @property
    def origins(self) -> ColumnOrigins:
        """The origins of the dense columns, without those that folds learn.

        An indicator of missing values is a property of its own, since several numbers that are
        missing together may share it. Numbers are a group but for runs of channels
        (`channel_groups`), categories of at most `MAX_LEVELS` levels are one, and every other
        column of names is one of its own.
        """
        of_numbers = channel_groups(self.numbers, first=2)
        properties = [(1, group) for group in of_numbers] + [(1, 0)] * len(self.missing_indicators)
        last = max(of_numbers, default=1)
        for levels in self.categories.values():
            n_levels = len(levels.all_texts)
            last = max(last, 1) + (n_levels > MAX_LEVELS)
            properties.append((n_levels, last if n_levels > MAX_LEVELS else 1))
        first = max(last, 1) + 1
        properties += [(STRING_COLUMNS, first + index) for index in range(len(self.strings))]
        return ColumnOrigins.of(properties)

    def positions(self, code_widths: Sequence[int] = ()) -> dict[str, tuple[list, list]]:
        """Return where `encode` puts each column: its positions in (inputs, lagged values).

        An indicator of missing values belongs to its number. `code_widths` are the numbers of codes
        of the `learned` columns, which follow the inputs.
        """
        names = [*self.numbers, *self.missing_indicators]
        widths = [(name, len(levels.all_texts)) for name, levels in self.categories.items()]
        widths += [(name, STRING_COLUMNS) for name in self.strings]
        widths += list(zip(self.learned, code_widths))
        names += [name for name, width in widths for _ in range(width)]
        found: dict[str, tuple[list, list]] = {name: ([], []) for name in self.columns}
        for position, name in enumerate(names):
            found[name][self.is_sparse].append(position)
        n_words = len(self.terms)
        if self.text is not None:
            found[self.text][0].extend(range(n_words))
        if self.smiles is not None:
            found[self.smiles][0].extend(range(n_words, n_words + N_BITS))
        if self.sequence is not None:
            found[self.sequence][0].extend(range(self.longest))
        return found

    def encode(self, table: Table) -> EncodedRows:
        """Return the rows of `table` as inputs; other columns are ignored.

        A level that is not in the encoding has no column: its row is zero in all columns of the
        category, and has a note. So has a missing value where none was missing in the fitted table.

        Raises
        ------
        UserError
            When a column is missing, or a cell is no number, count, molecule or sequence; naming
            the line.
        """
        if self.sequence is not None:
            return self._encoded_sequences(table)
        if self.bags:
            notes = [""] * table.n_rows
            return EncodedRows(bag_counts(table, self.numbers), list(self.numbers), None, [], notes)
        notes: list[list[str]] = [[] for _ in range(table.n_rows)]
        parts, names = [np.empty((table.n_rows, 0))], []
        if self.numbers:
            values = table.matrix(self.numbers)
            if self.spectra != NONE:
                values = prepared_spectra(values, spectra_of(self.numbers), self.spectra)
            parts.append(values)
            names += self.numbers
        if self.missing_indicators:
            columns = [np.isnan(table.numbers(name)) for name in self.missing_indicators]
            parts.append(np.column_stack(columns).astype(np.float64))
            names += [f"{name} is missing" for name in self.missing_indicators]
        for name, levels in self.categories.items():
            parts.append(_indicators(table.strings(name), name, levels, notes))
            names += [f"{name}={text}" for text in levels.texts]
            names += [f"{name}={MISSING_LEVEL}"] * levels.missing
        for name in self.strings:
            parts.append(_hashed(table.strings(name)))
            names += [f"{name}, letters {column + 1}" for column in range(STRING_COLUMNS)]
        learned = {}
        for name, (encoder, levels) in self.learned.items():
            learned[name] = _same_texts(table.strings(name), name, levels, encoder, notes)
        dense = np.hstack(parts)
        counts, terms = [], []
        if self.text is not None:
            counts.append(self._counted_words(table.strings(self.text), notes))
            terms += self.terms
        if self.smiles is not None:
            bits = _fingerprints(table, self.smiles)
            bit_names = [f"substructure_{bit}" for bit in range(N_BITS)]
            if self.is_sparse:
                counts.append(bits)
                terms += bit_names
            else:
                dense, names = bits, bit_names
        row_notes = ["; ".join(note) for note in notes]
        if not self.is_sparse:
            return EncodedRows(dense, names, None, [], row_notes, learned)
        from scipy.sparse import csr_array, hstack

        inputs = csr_array(hstack([csr_array(part) for part in counts], format="csr"))
        inputs.sort_indices()
        return EncodedRows(inputs, terms, dense if names else None, names, row_notes)

    def tree(self) -> dict[str, Any]:
        """Return the encoding as the group of an artifact: JSON as an array of bytes."""
        stored = {**vars(self), "categories": _described(self.categories.items())}
        del stored["learned"]
        if self.learned:
            levels = _described((name, levels) for name, (_, levels) in self.learned.items())
            encoders = [encoder for encoder, _ in self.learned.values()]
            stored["learned"] = list(zip(encoders, levels))
        return {"json": json_bytes(stored)}

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> TableEncoding:
        """Return the encoding whose `tree` was stored."""
        stored = from_json_bytes(tree["json"])
        stored["categories"] = dict(map(_restored, stored["categories"]))
        learned = [(encoder, _restored(levels)) for encoder, levels in stored.pop("learned", ())]
        stored["learned"] = {name: (encoder, levels) for encoder, (name, levels) in learned}
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()})

    def _encoded_sequences(self, table: Table) -> EncodedRows:
        """Return rows of letters; letters after the longest fitted sequence are cut off."""
        sequences, notes = table_sequences(table, self.sequence), []
        for row, sequence in enumerate(sequences):
            if not sequence:
                raise UserError(
                    location=table.where(row, self.sequence),
                    found="no sequence",
                    expected="a sequence of letters in every row",
                    remedy="fill it in, or remove the row",
                )
            n_cut = len(sequence) - self.longest
            n_unknown = sum(letter not in self.letters for letter in sequence)
            found = [f"unknown letters: {n_unknown}"] * (n_unknown > 0)
            found += [f"its last {n_cut} letters are not used"] * (n_cut > 0)
            notes.append(f"{self.sequence}: {'; '.join(found)}" if found else "")
        rows = letter_rows(sequences, self.letters, self.longest)
        names = [f"letter_{index + 1}" for index in range(self.longest)]
        return EncodedRows(rows, names, None, [], notes)

    def _counted_words(self, texts: np.ndarray, notes: list[list[str]]) -> csr_array:
        from scipy.sparse import csr_array
        from sklearn.feature_extraction.text import CountVectorizer

        vectorizer = CountVectorizer(
            analyzer=words_of, vocabulary=list(self.terms), dtype=np.float64
        )
        counts = csr_array(vectorizer.transform(texts))
        for row in np.flatnonzero(np.diff(counts.indptr) == 0):
            reason = "none of its words is known" if texts[row] else "no text"
            notes[row].append(f"{self.text}: {reason}")
        return counts


def _frequent_words(table: Table, name: str) -> tuple[str, ...]:
    """Return the words of a column in at least MIN_ROWS rows, the MAX_TERMS most frequent."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(analyzer=words_of, min_df=MIN_ROWS, max_features=MAX_TERMS)
    try:
        vectorizer.fit(table.strings(name))
    except ValueError as error:
        raise UserError(
            location=f"{table.location}, column '{name}'",
            found=f"no word occurs in {MIN_ROWS} rows or more",
            expected="texts that share words, of two or more letters each",
            remedy="make it a column of strings instead of the text, or leave it out",
        ) from error
    return tuple(vectorizer.get_feature_names_out().tolist())


def _indicators(texts: np.ndarray, name: str, levels: Levels, notes: list[list[str]]) -> np.ndarray:
    """Return 1 in the column of the level of each row, and note values without a column."""
    indicators = np.zeros((len(texts), len(levels.all_texts)))
    indices = levels.indices(texts)
    for row in np.flatnonzero(indices < 0):
        notes[row].append(_never_seen(name, texts[row]))
    known = np.flatnonzero(indices >= 0)
    indicators[known, indices[known]] = 1.0
    return indicators


def _same_texts(
    texts: np.ndarray, name: str, levels: Levels, encoder: str, notes: list[list[str]]
) -> np.ndarray:
    """Return texts with those of their levels, and note the others where a code needs a level."""
    indices = levels.indices(texts)
    if encoder_module(encoder).Encoder.needs_level:
        for row in np.flatnonzero(indices < 0):
            notes[row].append(_never_seen(name, texts[row]))
    known = np.array([*levels.all_texts, ""], dtype=object)[indices]
    return np.where(indices >= 0, known, texts)


def _never_seen(name: str, text: str) -> str:
    return f"{name}: " + (f"'{text}' was never seen" if text else "was never missing before")


def _described(levels: Iterable[tuple[str, Levels]]) -> list[dict[str, Any]]:
    """Return levels by the names of their columns as values that JSON can hold."""
    return [{"name": name, "levels": of.texts, "missing": of.missing} for name, of in levels]


def _restored(stored: Mapping[str, Any]) -> tuple[str, Levels]:
    return stored["name"], Levels(tuple(stored["levels"]), stored["missing"])


def _hashed(texts: np.ndarray) -> np.ndarray:
    """Return the hashed n-grams (n, STRING_COLUMNS) of texts; rows of unit length, or zero."""
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer = HashingVectorizer(
        analyzer="char_wb", ngram_range=STRING_LENGTHS, n_features=STRING_COLUMNS
    )
    return vectorizer.transform(texts).toarray()


def _fingerprints(table: Table, name: str) -> np.ndarray:
    """Return the fingerprints (n, N_BITS) of the molecules in a column."""
    smiles = table.strings(name)
    molecules = read_molecules(smiles, RADIUS, N_BITS)
    for row, molecule in enumerate(molecules):
        if molecule is None:
            raise UserError(
                location=table.where(row, name),
                found=f"'{smiles[row]}' is not a molecule" if smiles[row] else "no SMILES",
                expected="the SMILES of a molecule, such as CCO",
                remedy="fix the SMILES, or remove the row",
            )
    return np.array([molecule.fingerprint for molecule in molecules], dtype=np.float64)
