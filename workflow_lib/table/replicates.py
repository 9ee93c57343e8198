"""Rows that share all their outputs, as repeated measurements of one sample do.

With some of them in the training and others in the test set, every method that recognises the
sample predicts it. Outputs that take few values are shared by chance; so rows count only where they
share more than chance explains, and either a column, the order of the rows or the inputs tell the
samples apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from workflow_lib.table.leaks import rank_correlation, standardised

MIN_SHARE, MIN_ROWS = 0.05, 4
"""Smallest share and number of labelled rows that share their outputs with others."""

BEYOND_CHANCE = 10.0
"""Smallest number of pairs of rows that share all outputs, relative to that expected by chance. Of
a sample only twice the median number of rows count: many rows may share a limit of detection."""

MIN_NAMED, MIN_SAMPLES, MIN_ROWS_OF_OUTPUT = 3, 5, 8
"""Smallest number of samples with several rows: where a column names them, where none does, and
where none does and there is one output."""

PURE = 0.95
"""Smallest share of rows of a sample (or group) in one group (or sample): names may be misspelt."""

CHANCE = 1e-4
"""Largest probability that the levels of a column determine outputs of few values by chance."""

FILLED = 0.3
"""Smallest gap between values, relative to the mean gap, of a scale of which most are used."""

MAX_COMPARED, MAX_OUTPUTS = 300, 4
"""Rows whose nearest row is searched, and outputs that are combined to a probability."""

_ENDINGS = (re.compile(r"[ _.\-/:#]+[^ _.\-/:#]*$"), re.compile(r"(?<=\d)[A-Za-z]$"))
"""What may follow the name of the sample in the name of a row: ``S01_2``, ``S01b``."""

AGAIN = "(and ask again, once the settings that this request wrote, if any, are removed)"
"""What is to be done with `replicates_remedy` once there is an answer."""


class Column(NamedTuple):
    """A column that may name the samples."""

    codes: np.ndarray
    """Number (n,) of the value of each row; negative where missing."""

    values: np.ndarray
    """Its values (n,), numbers or texts."""

    rank: int
    """Of two columns that name the samples the one with the lower rank is proposed."""

    is_ordered: bool
    """Whether it is a number that may be an input, of which outputs are a function."""


def find_replicates(
    outputs: np.ndarray, inputs: np.ndarray, columns: Mapping[str, Column], is_class: bool = False
) -> tuple[dict[str, Any], np.ndarray] | None:
    """Return the rows that share all outputs beyond chance, and the sample (n,) of each row.

    `outputs` (n, d) are NaN where missing; or, with `is_class`, codes of classes (n, 1). `inputs`
    (n, q) are those that are numbers, NaN where missing.

    The facts are ``rows`` and ``samples``: numbers of rows that share all outputs with others, and
    of their samples; ``columns``: those that keep the rows of a sample together, the best first;
    ``beginning``: without such a column the one whose texts begin with the sample, or "";
    ``is_of_column``: whether outputs take few values, so that only the column tells samples apart.
    None where rows share outputs by chance, or nothing tells the samples apart.
    """
    samples = equal_outputs(outputs)
    n_rows, sizes = len(samples), np.bincount(samples)
    repeated = sizes[sizes > 1]
    if repeated.sum() < max(MIN_ROWS, MIN_SHARE * n_rows):
        return None
    first = np.unique(samples, return_index=True)[1]
    counted = np.minimum(repeated, 2 * np.median(repeated))
    chance = 1.0 if is_class else chance_of_sharing(outputs[first])
    expected = n_rows * (n_rows - 1) / 2 * chance
    is_beyond = len(repeated) >= MIN_NAMED and (
        (counted * (counted - 1) / 2).sum() >= BEYOND_CHANCE * expected
    )
    values = outputs[~np.isnan(outputs)]
    may_be_words = is_class or (outputs.shape[1] == 1 and bool((values == np.floor(values)).all()))
    beginnings = _beginnings(columns)
    known = {**columns, **beginnings}
    found = [
        name
        for name, column in known.items()
        if (is_beyond and names_samples(column.codes, samples))
        or (not is_beyond and _determines_by_no_chance(column, samples, may_be_words))
    ]
    names = [name for name in found if name not in beginnings]
    names.sort(
        key=lambda name: (
            _purity(samples, columns[name].codes) < PURE,
            columns[name].rank,
            -len(np.unique(columns[name].codes)),
        )
    )
    best = next(iter([*names, *found]), None)
    if not is_beyond:
        if best is None:
            return None
        samples = known[best].codes
        repeated = (sizes := np.bincount(samples))[sizes > 1]
    fewest = MIN_ROWS_OF_OUTPUT if outputs.shape[1] == 1 else MIN_SAMPLES
    if best is None and (len(repeated) < fewest or not _are_alike(outputs, inputs, samples)):
        return None
    return {
        "rows": int(repeated.sum()),
        "samples": len(repeated),
        "columns": names,
        "beginning": best if found and not names else "",
        "is_of_column": not is_beyond,
    }, samples


def equal_outputs(outputs: np.ndarray) -> np.ndarray:
    """Return a number (n,) for each row of `outputs` (n, d), the same for rows that share all.

    Values are equal up to rounding. A row that lacks some values belongs to the only rows that have
    all and share those that it has.
    """
    known = ~np.isnan(outputs)
    # Adding zero makes -0.0 and 0.0 the same.
    values = np.round(standardised(outputs)[1], 6) + 0.0
    numbers = np.unique(np.hstack([values, known]), axis=0, return_inverse=True)[1].reshape(-1)
    full, partial = known.all(axis=1), known.any(axis=1) & ~known.all(axis=1)
    patterns = np.unique(known[partial], axis=0)
    for has in patterns if len(patterns) < MAX_COMPARED else ():
        matches: dict[bytes, set[int]] = {}
        for row in np.flatnonzero(full):
            matches.setdefault(values[row, has].tobytes(), set()).add(int(numbers[row]))
        for row in np.flatnonzero((known == has).all(axis=1)):
            found = matches.get(values[row, has].tobytes(), ())
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
    for column, own in zip(outputs.T, standardised(outputs)[1].T):
        values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
        if len(values) < 3:
            continue
        low, high = np.quantile(np.repeat(values, counts), [0.1, 0.9])
        n_pairs = counts.sum() * (counts.sum() - 1)
        equal = float((counts * (counts - 1)).sum() / n_pairs)
        unit = 0.8 * _unit(values) / (high - low) if high > low else 1.0
        chances.append(min(max(equal, unit), 1.0))
        scaled.append(own)
    probability, used = 1.0, []
    for number in np.argsort(chances, kind="stable")[:MAX_OUTPUTS]:
        if len(outputs) < 3 * (2 * len(used) + 1):
            break
        own = scaled[number]
        rest = min(_rest(own, used), *(_rest(other, [own]) for other in used), 1.0)
        probability *= min(chances[number] / max(rest, 1e-12), 1.0)
        used.append(own)
    return probability


def names_samples(codes: np.ndarray, samples: np.ndarray, fewest: int = MIN_SAMPLES) -> bool:
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
    return bool(_purity(samples, codes) >= PURE and has_companion.mean() >= 0.8)


def _determines_by_no_chance(column: Column, samples: np.ndarray, may_be_words: bool) -> bool:
    """Return whether the levels of a column determine outputs of few values (or the class).

    With `may_be_words` a column with as many levels as there are outputs may be these in words.
    """
    codes = column.codes
    n_levels, n_different = len(np.unique(codes)), int(samples.max()) + 1
    if codes.min() < 0 or n_levels < max(MIN_SAMPLES, n_different + may_be_words):
        return False
    equal = float(((np.bincount(samples) / len(samples)) ** 2).sum())
    is_chance = (len(codes) - n_levels) * math.log(equal) > math.log(CHANCE)
    has_companion = np.bincount(codes)[codes] > 1
    if _purity(samples, codes) < 1.0 or is_chance or has_companion.mean() < 0.5:
        return False
    if not column.is_ordered:
        return True
    # Of a function of the column the outputs of neighbouring levels are mostly equal.
    first = np.unique(codes, return_index=True)[1]
    in_order = samples[first[np.argsort(column.values[first], kind="stable")]]
    of_levels = float(((np.bincount(in_order) / n_levels) ** 2).sum())
    return (np.diff(in_order) != 0).sum() >= 0.75 * (n_levels - 1) * (1 - of_levels)


def _beginnings(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns of names of rows without the ends of their texts, where some agree."""
    found = {}
    for name, column in columns.items():
        n_codes = len(np.unique(column.codes)) if column.values.dtype.kind == "O" else 0
        for ending in _ENDINGS if n_codes == len(column.codes) else ():
            texts = [ending.sub("", text) for text in column.values]
            if all(texts) and len(set(texts)) < len(texts):
                codes = np.unique(np.array(texts), return_inverse=True)[1]
                found.setdefault(name, column._replace(codes=codes))
    return found


def _purity(parts: np.ndarray, wholes: np.ndarray) -> float:
    """Return the share of rows that are in the largest of the `parts` (n,) of their whole (n,)."""
    from scipy.sparse import csr_array

    counts = csr_array((np.ones(len(wholes)), (wholes, parts)))
    return float(counts.max(axis=1).sum() / len(wholes))


def _rest(values: np.ndarray, others: list[np.ndarray]) -> float:
    """Return the deviation of values (D,) from a quadratic function of each of `others`."""
    terms = np.column_stack([np.ones(len(values)), *others, *(other**2 for other in others)])
    return float(np.std(values - terms @ np.linalg.lstsq(terms, values, rcond=None)[0]))


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
        steps = gaps / scale * 10**digits
        if (np.abs(steps - np.round(steps)) < 1e-6 * 10**digits).all():
            break
    return float(np.gcd.reduce(np.round(steps).astype(np.int64))) * scale / 10**digits


def _are_alike(outputs: np.ndarray, inputs: np.ndarray, samples: np.ndarray) -> bool:
    """Return whether most rows of a sample follow each other, or have the nearest inputs.

    Much more often than by chance, and not because the table is sorted by an output. All samples
    have the same weight: many rows may share a limit of detection.
    """
    from sklearn.neighbors import NearestNeighbors

    sizes = np.bincount(samples)[samples]
    shared, weights = np.flatnonzero(sizes > 1), 1 / sizes
    by_chance = np.average((sizes[shared] - 1) / (len(samples) - 1), weights=weights[shared])
    same = np.append(samples[1:] == samples[:-1], False)
    follows = np.average((same | np.roll(same, 1))[shared], weights=weights[shared])
    numbers = np.arange(len(samples), dtype=np.float64)
    is_sorted = any(abs(rank_correlation(numbers, column)) > 0.95 for column in outputs.T)
    if not is_sorted and follows >= 0.5 + by_chance:
        return True
    if not inputs.shape[1]:
        return False
    shared = shared[:: max(len(shared) // MAX_COMPARED, 1)]
    values = standardised(inputs)[1]
    neighbours = NearestNeighbors(n_neighbors=2).fit(values).kneighbors(values[shared])[1]
    # Of equal rows the row itself may come second.
    nearest = np.where(neighbours[:, 0] == shared, neighbours[:, 1], neighbours[:, 0])
    is_same = np.average(samples[nearest] == samples[shared], weights=weights[shared])
    return bool(is_same >= 0.5 + 0.5 * by_chance)


def replicates_sentence(facts: Mapping[str, Any], n_labelled: int) -> str:
    """Return which rows share their outputs, from the ``replicates`` of a data profile."""
    rows, samples = facts["rows"], facts["samples"]
    if facts["is_of_column"]:
        column = facts["beginning"] or facts["columns"][0]
        alike = "names that begin alike" if facts["beginning"] else "the same value"
        return (
            f"Rows with {alike} in '{column}' always have the same {facts['what']} ({rows} of "
            f"{n_labelled} labelled rows, {samples} values), as rows of one sample or patient do."
        )
    return (
        f"{rows} of {n_labelled} labelled rows share all outputs with other rows, as repeated "
        f"measurements of {samples} samples do."
    )


def replicates_remedy(facts: Mapping[str, Any]) -> str:
    """Return how the rows of a sample are kept together, from the same facts."""
    if facts["columns"]:
        column = facts["columns"][0]
        written = column if re.fullmatch(r"[\w.-]+", column) else f'"{column}"'
        return f"keep the rows of a sample together: group={written}"
    found = "no column names the sample: add one with the same number in all rows of a sample"
    if facts["beginning"]:
        found = f"'{facts['beginning']}' seems to begin with the name of the sample: add a column "
        found += "with this part alone"
    return f"{found}, and name it in group=COLUMN"
