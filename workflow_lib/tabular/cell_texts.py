"""When two cells hold the same value, however a program wrote it: TRUE and True, 1 and 1.0."""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache

import numpy as np

_WHOLE = re.compile(r"(-?(?:0|[1-9]\d*))\.0+")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", re.ASCII)
_LEADING_ZERO = re.compile(r"[-+]?0\d")


def one_spelling(texts: np.ndarray) -> np.ndarray:
    """Return the texts (n,) of a column with one spelling of each value: the first in the column.

    Where all are numbers without leading zeros, equal numbers are one value. Otherwise, as in a
    column of codes such as 007 and 1.10, only whole numbers with and without the ``.0`` are that
    pandas writes where others are missing, and ``TRUE``, ``True`` and ``true``.
    """
    distinct = list(dict.fromkeys(texts))
    key = _number if all(map(_is_plain, filter(None, distinct))) else _cell
    first: dict[Hashable, str] = {}
    spelling = {text: first.setdefault(key(text), text) for text in distinct}
    if len(first) == len(distinct):
        return texts
    return np.array([spelling[text] for text in texts], dtype=object)


def known_indices(texts: Iterable[str], known: Sequence[str]) -> np.ndarray:
    """Return the index (n,) of each text in `known` texts, which are different; -1 without one.

    A text that is not among them has the index of the only one that is the same value, as in
    `one_spelling`, or otherwise the same number: 007 that a program wrote as 7.
    """
    exact = {text: index for index, text in enumerate(known)}
    by_key: dict[tuple[Callable, Hashable], list[int]] = {}
    for text, index in exact.items():
        for key in (_cell, _number):
            by_key.setdefault((key, key(text)), []).append(index)

    @cache
    def index_of(text: str) -> int:
        same = [by_key.get((key, key(text)), ()) for key in (_cell, _number) if text]
        return exact.get(text, next((indices[0] for indices in same if len(indices) == 1), -1))

    return np.array([index_of(text) for text in texts], dtype=np.int64)


def known_spelling(texts: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return texts, those that are the same value as a `known` one in its spelling."""
    texts = list(texts)
    return [
        known[index] if index >= 0 else text
        for text, index in zip(texts, known_indices(texts, known))
    ]


def _is_plain(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text)) and not _LEADING_ZERO.match(text)


def _cell(text: str) -> str:
    whole = _WHOLE.fullmatch(text)
    if whole:
        return "0" if whole[1] == "-0" else whole[1]
    folded = text.casefold()
    return folded if folded in ("true", "false") else text


def _number(text: str) -> Hashable:
    # Exact: floats would make whole numbers above 2^53 equal.
    try:
        return Decimal(text) if _NUMBER.fullmatch(text) else text
    except InvalidOperation:
        return text
