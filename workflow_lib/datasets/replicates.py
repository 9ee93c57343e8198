"""Rows that share all their outputs, as repeated measurements of one sample do.

With some of them in the training and others in the test set, every method that recognises the
sample predicts it, on whatever inputs. Outputs that take few values are shared by chance; so rows
count only where they share more than chance explains, and either a column, the order of the rows or
the inputs tell the samples apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from workflow_lib.datasets.leaks import rank_correlation

LEAST_SHARE, FEWEST_ROWS = 0.05, 4
"""Smallest share and number of labelled rows that share their outputs with others."""

BEYOND_CHANCE = 10.0
"""Smallest number of pairs of rows that share all outputs, relative to that expected by chance.
Single values that many rows share, such as 0 or a limit of detection, hardly count: of a sample
with more than twice the median number of rows only so many do."""

FEWEST_NAMED, FEWEST_SAMPLES, FEWEST_OF_ONE_OUTPUT = 3, 5, 8
"""Smallest number of samples with several rows: where a column names them, where none does, and
where none does and there is one output."""

PURE = 0.95
"""Smallest share of rows of a sample (or group) that are of one group (or sample): names may be
misspelt, and a row that lacks outputs may be taken for one of another sample."""

CHANCE = 1e-4
"""Largest probability that the levels of a column determine outputs of few values by chance."""

FILLED = 0.3
"""Smallest gap between the values of an output, relative to the mean gap, from which on they are
those of a scale with few values."""

MOST_COMPARED, MOST_OTHERS, MOST_COLUMNS, MOST_OUTPUTS = 300, 5000, 200, 4
"""Rows whose nearest row is searched, rows and columns of inputs in which it is, and outputs that
are combined to the probability of sharing all."""

_ENDINGS = (re.compile(r"[ _.\-/:#]+[^ _.\-/:#]*$"), re.compile(r"(?<=\d)[A-Za-z]$"))
"""What may follow the name of the sample in the name of a row: ``S01_2``, ``S01b``."""


class Column(NamedTuple):
    """A column that may name the samples.

    Attributes
    ----------
    codes : int array (n,)
        Number of the value of each row; negative where missing.
    rank : int
        Of two columns that name the same samples, the one with the lower rank is proposed.
    is_ordered : bool
        Whether it is a number that is not named like an identifier: outputs may be a function of
        it.
    values : array (n,)
        Its values, numbers or texts.
    """

    codes: np.ndarray
    rank: int
    is_ordered: bool
    values: np.ndarray


class Replicates(NamedTuple):
    """Rows that belong to samples with several rows.

    Attributes
    ----------
    n_rows, n_samples : int
        The rows that share all outputs with others, and their samples.
    columns : list of str
        Columns that keep the rows of a sample together, the best first; empty where none does.
    beginning : str
        Without such a column, the column of names of rows that begin with the sample, or "".
    is_of_column : bool
        Whether the outputs take few values, so that only the column tells the samples apart.
    """

    n_rows: int
    n_samples: int
    columns: list[str]
    beginning: str
    is_of_column: bool


def find_replicates(
    outputs: np.ndarray, inputs: np.ndarray, columns: Mapping[str, Column], is_class: bool = False
) -> tuple[Replicates, np.ndarray] | None:
    """Return the rows that share all outputs beyond chance, and the sample (n,) of each row.

    Parameters
    ----------
    outputs : array (n, d)
        NaN where missing; or, with `is_class`, codes of classes (n, 1).
    inputs : array (n, q)
        The inputs that are numbers, NaN where missing.
    columns : mapping from name to Column
    is_class : bool, default=False

    Returns
    -------
    tuple or None
        None where rows share outputs by chance only, or nothing tells the samples apart.
    """
    samples = equal_outputs(outputs)
    sizes = np.bincount(samples)
    is_shared = sizes[samples] > 1
    n_rows, n_shared = len(samples), int(is_shared.sum())
    if n_shared < max(FEWEST_ROWS, LEAST_SHARE * n_rows):
        return None
    first = np.unique(samples, return_index=True)[1]
    expected = n_rows * (n_rows - 1) / 2
    expected *= 1.0 if is_class else chance_of_sharing(outputs[first])
    n_repeated = int((sizes > 1).sum())
    counted = np.minimum(sizes, 2 * np.median(sizes[sizes > 1]))
    is_beyond = n_repeated >= FEWEST_NAMED and (
        (counted * (counted - 1) / 2).sum() >= BEYOND_CHANCE * expected
    )
    values = outputs[~np.isnan(outputs)]
    may_be_words = is_class or (outputs.shape[1] == 1 and bool((values == np.floor(values)).all()))
    for beginnings in (False, True):
        known = _beginnings(columns) if beginnings else columns
        if is_beyond:
            names = [name for name, column in known.items() if names_samples(column.codes, samples)]
            is_of_column = False
        else:
            names = [
                name
                for name, column in known.items()
                if _determines_by_no_chance(column, samples, may_be_words)
            ]
            is_of_column = True
        if names:
            break
    names.sort(key=lambda name: _order(known[name], samples))
    if is_of_column:
        if not names:
            return None
        samples = known[names[0]].codes
        sizes = np.bincount(samples)
        n_shared = int((sizes[samples] > 1).sum())
    elif not names:
        if n_repeated < (FEWEST_OF_ONE_OUTPUT if outputs.shape[1] == 1 else FEWEST_SAMPLES):
            return None
        if not (_are_neighbours(outputs, samples) or _are_nearest(inputs, samples)):
            return None
    beginning = names[0] if names and beginnings else ""
    found = Replicates(
        n_shared, int((sizes > 1).sum()), [] if beginnings else names, beginning, is_of_column
    )
    return found, samples


def equal_outputs(outputs: np.ndarray) -> np.ndarray:
    """Return a number (n,) for each row of `outputs` (n, d), the same for rows that share all.

    Values are equal up to rounding. A row that lacks some values belongs to the only rows that have
    all and share those that it has.
    """
    codes = np.column_stack([_levels(column) for column in outputs.T])
    is_complete = (codes >= 0).all(axis=1)
    numbers = np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1)
    full = np.flatnonzero(is_complete)
    patterns, pattern_of = np.unique(codes < 0, axis=0, return_inverse=True)
    for number, is_missing in enumerate(patterns):
        rows = np.flatnonzero(pattern_of.reshape(-1) == number)
        if not is_missing.any() or is_missing.all() or len(patterns) > MOST_COLUMNS:
            continue
        matches: dict[bytes, set[int]] = {}
        for row in full:
            matches.setdefault(codes[row, ~is_missing].tobytes(), set()).add(int(numbers[row]))
        for row in rows:
            found = matches.get(codes[row, ~is_missing].tobytes(), ())
            if len(found) == 1:
                (numbers[row],) = found
    return np.unique(numbers, return_inverse=True)[1]


def chance_of_sharing(outputs: np.ndarray) -> float:
    """Return the probability that two samples share all outputs, from those of D samples (D, d).

    Of one output: its unit relative to the spread of its values, or the share of pairs of samples
    with equal values if that is larger. Outputs are combined, the finest first, as far as they are
    not quadratic functions of earlier ones, or these of them.
    """
    chances, scaled = [], []
    for column in outputs.T:
        values = np.sort(column[~np.isnan(column)])
        different = np.unique(_levels(values), return_index=True)[1]
        low, high = np.quantile(values, [0.1, 0.9]) if len(values) else (0.0, 0.0)
        if len(different) < 3 or not high > low:
            continue
        counts = np.diff([*different, len(values)])
        n_pairs = len(values) * (len(values) - 1)
        repeated = float((counts * (counts - 1)).sum()) / n_pairs
        chances.append(max(repeated, min(0.8 * _unit(values[different]) / (high - low), 1.0)))
        scaled.append(
            (np.where(np.isnan(column), values.mean(), column) - values.mean()) / np.std(values)
        )
    probability, used = 1.0, []
    for number in np.argsort(chances, kind="stable")[:MOST_OUTPUTS]:
        if len(outputs) < 3 * (2 * len(used) + 1):
            break
        own = scaled[number]
        rest = min(_rest(own, used), *(_rest(other, [own]) for other in used), 1.0)
        probability *= min(chances[number] / max(rest, 1e-12), 1.0)
        used.append(own)
    return probability


def _rest(values: np.ndarray, others: list[np.ndarray]) -> float:
    """Return the deviation of values (D,) from a quadratic function of each of `others`."""
    terms = [np.ones(len(values)), *others, *(other**2 for other in others)]
    terms = np.column_stack(terms)
    return float(np.std(values - terms @ np.linalg.lstsq(terms, values, rcond=None)[0]))


def names_samples(codes: np.ndarray, samples: np.ndarray, fewest: int = FEWEST_SAMPLES) -> bool:
    """Return whether groups `codes` (n,) keep the rows of each of `samples` (n,) together.

    They do where no sample with several rows has two groups, among `fewest` groups at least; or
    where no group has two samples and most of these rows have a companion in their group: two
    samples may share their outputs by chance.
    """
    n_groups = len(np.unique(codes))
    if codes.min() < 0 or n_groups < 2 or n_groups == len(codes):
        return False
    is_shared = np.bincount(samples)[samples] > 1
    is_divided = _purity(codes[is_shared], samples[is_shared]) < PURE
    if not is_divided and n_groups >= fewest and np.bincount(codes).max() <= len(codes) / 2:
        return True
    has_companion = np.bincount(codes)[codes[is_shared]] > 1
    return _purity(samples, codes) >= PURE and has_companion.mean() >= 0.8


def _determines_by_no_chance(column: Column, samples: np.ndarray, may_be_words: bool) -> bool:
    """Return whether the levels of a column determine outputs of few values (or the class).

    With `may_be_words` a column with as many levels as there are outputs may be these in words.
    """
    codes = column.codes
    n_levels, n_different = len(np.unique(codes)), int(samples.max()) + 1
    if codes.min() < 0 or n_levels < FEWEST_SAMPLES or n_levels < n_different + may_be_words:
        return False
    if _purity(samples, codes) < 1.0:
        return False
    sizes = np.bincount(codes)
    equal = float(((np.bincount(samples) / len(samples)) ** 2).sum())
    n_companions = len(codes) - n_levels
    if (sizes[codes] > 1).mean() < 0.5 or n_companions * math.log(equal) > math.log(CHANCE):
        return False
    if not column.is_ordered:
        return True
    # Of a function of the column the outputs of neighbouring levels are mostly equal.
    first = np.unique(codes, return_index=True)[1]
    in_order = samples[first[np.argsort(column.values[first], kind="stable")]]
    of_levels = float(((np.bincount(in_order) / n_levels) ** 2).sum())
    return (np.diff(in_order) != 0).sum() >= 0.75 * (n_levels - 1) * (1 - of_levels)


def _beginnings(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns of texts that differ in every row, without the ends of their texts."""
    found = {}
    for name, column in columns.items():
        if column.values.dtype.kind != "O" or len(np.unique(column.codes)) < len(column.codes):
            continue
        for ending in _ENDINGS:
            texts = [ending.sub("", text) for text in column.values]
            if all(texts) and len(set(texts)) < len(texts):
                codes = np.unique(np.array(texts), return_inverse=True)[1]
                found.setdefault(name, column._replace(codes=codes))
    return found


def _order(column: Column, samples: np.ndarray) -> tuple:
    is_coarser = _purity(samples, column.codes) < PURE
    return is_coarser, column.rank, -len(np.unique(column.codes))


def _purity(parts: np.ndarray, wholes: np.ndarray) -> float:
    """Return the share of rows that are in the largest of the `parts` (n,) of their whole (n,)."""
    pairs, counts = np.unique(np.column_stack([wholes, parts]), axis=0, return_counts=True)
    largest = np.zeros(int(wholes.max()) + 1, dtype=int)
    np.maximum.at(largest, pairs[:, 0], counts)
    return float(largest.sum() / len(wholes))


def _levels(values: np.ndarray) -> np.ndarray:
    """Return the number (n,) of each value among the different ones, -1 where it is NaN.

    Values nearer than a millionth of their deviation are equal.
    """
    codes = np.full(len(values), -1)
    known = np.flatnonzero(~np.isnan(values))
    # Divided by the largest, because squares of huge numbers can overflow.
    scaled = values[known] / (np.abs(values[known]).max(initial=0.0) or 1.0)
    order = np.argsort(scaled, kind="stable")
    steps = np.diff(scaled[order]) > 1e-6 * (scaled.std() if len(scaled) else 0.0)
    codes[known[order]] = np.concatenate([[0], np.cumsum(steps)])[: len(order)]
    return codes


def _unit(values: np.ndarray) -> float:
    """Return the unit of different ascending values (k,), k > 2.

    Of evenly filled scales the smallest gap; of others the largest number of which all gaps are
    multiples, with eight digits.
    """
    gaps = np.diff(values)
    if gaps.min() >= FILLED * gaps.mean():
        return float(gaps.min())
    scale = 10.0 ** math.floor(math.log10(np.abs(values).max()))
    for digits in range(8):
        steps = np.diff(values - values[0]) / scale * 10**digits
        if (np.abs(steps - np.round(steps)) < 1e-6 * 10**digits).all():
            break
    step = np.gcd.reduce(np.round(steps).astype(np.int64))
    return float(step) * scale / 10**digits


def _are_neighbours(outputs: np.ndarray, samples: np.ndarray) -> bool:
    """Return whether most rows of a sample follow each other, in a table not sorted by outputs."""
    numbers = np.arange(len(samples), dtype=np.float64)
    if any(abs(rank_correlation(numbers, column)) > 0.95 for column in outputs.T):
        return False
    same = samples[1:] == samples[:-1]
    follows = np.append(same, False) | np.insert(same, 0, False)
    return _exceeds_chance(follows, samples, 2)


def _are_nearest(inputs: np.ndarray, samples: np.ndarray) -> bool:
    """Return whether the inputs of most rows are nearest to those of a row of the same sample."""
    inputs = inputs[:, :: max(inputs.shape[1] // MOST_COLUMNS, 1)]
    known = ~np.isnan(inputs)
    largest = np.where(known, np.abs(inputs), 0.0).max(axis=0, initial=0.0)
    scaled = np.where(known, inputs, np.nan) / np.where(largest > 0, largest, 1.0)
    scaled = scaled[:, known.any(axis=0)]
    if not scaled.shape[1]:
        return False
    scaled = scaled - np.nanmean(scaled, axis=0)
    deviation = np.nanstd(scaled, axis=0)
    scaled = np.nan_to_num(scaled[:, deviation > 1e-12] / deviation[deviation > 1e-12])
    if not scaled.shape[1]:
        return False
    shared = np.flatnonzero(np.bincount(samples)[samples] > 1)
    shared = shared[:: max(len(shared) // MOST_COMPARED, 1)]
    others = np.arange(0, len(samples), max(len(samples) // MOST_OTHERS, 1))
    others = np.union1d(others, np.flatnonzero(np.isin(samples, samples[shared])))
    is_nearest = np.zeros(len(samples), dtype=bool)
    for row in shared:
        distances = ((scaled[others] - scaled[row]) ** 2).sum(axis=1)
        distances[others == row] = np.inf
        is_nearest[row] = samples[others[distances.argmin()]] == samples[row]
    return _exceeds_chance(is_nearest, samples, 1, shared)


def _exceeds_chance(
    has_companion: np.ndarray, samples: np.ndarray, n_tries: int, rows: np.ndarray | None = None
) -> bool:
    """Return whether rows have a companion of their sample much more often than by chance.

    `rows` are those that count, by default all of samples with several rows, and `n_tries` is the
    number of rows among which a companion was looked for.
    """
    sizes = np.bincount(samples)[samples]
    rows = np.flatnonzero(sizes > 1) if rows is None else rows
    by_chance = 1 - (1 - (sizes[rows] - 1) / (len(samples) - 1)) ** n_tries
    return bool(has_companion[rows].mean() >= 0.5 + 0.5 * by_chance.mean())


def replicates_sentence(facts: Mapping[str, Any], n_labelled: int) -> str:
    """Return which rows share their outputs, from the ``replicates`` of a data profile."""
    rows, samples = facts["rows"], facts["samples"]
    if facts["is_of_column"]:
        column = facts["beginning"] or facts["columns"][0]
        beginning = "names that begin alike" if facts["beginning"] else "the same value"
        return (
            f"Rows with {beginning} in '{column}' always have the same {facts['what']} ({rows} of "
            f"{n_labelled} labelled rows, {samples} values), as rows of one sample or patient do."
        )
    return (
        f"{rows} of {n_labelled} labelled rows share all outputs with other rows, as repeated "
        f"measurements of {samples} samples do."
    )


AGAIN = "(remove the two files that 'new' wrote, and run it again with this key)"
"""What is to be done with `replicates_remedy` once `new` has run."""


def replicates_remedy(facts: Mapping[str, Any]) -> str:
    """Return how the rows of a sample are kept together, from the same facts."""
    if facts["columns"]:
        column = facts["columns"][0]
        written = column if re.fullmatch(r"[\w.-]+", column) else f'"{column}"'
        return f"keep the rows of a sample together: group={written}"
    if facts["beginning"]:
        return (
            f"'{facts['beginning']}' seems to begin with the name of the sample: add a column with "
            "this part alone, and name it in group=COLUMN"
        )
    return (
        "no column names the sample: add one with the same number in all rows of a sample, and "
        "name it in group=COLUMN"
    )
