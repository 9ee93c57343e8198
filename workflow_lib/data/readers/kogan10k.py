"""Reader of the 10-K corpus: from five yearly reports of a company to five yearly volatilities.

The corpus of Kogan, Levin, Routledge, Sagi and Smith (2009), version 1.0, as Djerrab et al. (2018)
use it in section 6.3 (Tables 6 and 16). Per year its README describes

``YEAR.tok.tgz``
    the tokenized section on management's discussion of every report, each a member ``KEY.mda`` in
    any folder: tokens separated by white space, used unchanged;
``YEAR.logvol.+12.txt``, ``YEAR.logvol.-12.txt``
    the log-volatility of the share in the twelve months after and before the report, in lines
    ``VALUE KEY``;
``YEAR.meta.txt``
    in lines separated by tabs: key, date, address of the report, name of the company and its SEC
    code (central index key), which identifies a company here. Further columns are ignored.

The form of the lines is taken from programs that read the corpus; the README does not describe it.
A few records of the corpus are repeated, the same in every file; they count once.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, Strict
from pydantic_core import PydanticCustomError

from workflow_lib.core.archive_members import matching_members
from workflow_lib.core.errors import UserError
from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import dataset_tree, file_content, source_files, wrong_source

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ADDRESS = "https://www.cs.cmu.edu/~ark/10K/data"
REPORTS = "*.mda"

NOT_EVERY_YEAR = "no report in some of the years"
SEVERAL = "several reports in one year"
NO_TEXT = "a report without words, or missing from the archive"
NO_VOLATILITY = "a volatility missing or not finite"
NOT_DRAWN = "not among the companies drawn"

Count = Annotated[int, Strict(), Field(ge=1)]


def one_after_the_other(years: tuple) -> tuple:
    """Return `years`; raise when a year is not later than the previous one."""
    if any(later <= earlier for earlier, later in zip(years, years[1:])):
        raise PydanticCustomError("setting", "years in strictly increasing order")
    return years


Years = Annotated[tuple[Count, ...], Field(min_length=2), AfterValidator(one_after_the_other)]


class Options(Settings):
    """Options of the reader ``kogan10k``."""

    years: Years = (2001, 2002, 2003, 2004, 2005)
    """Years of the reports, two or more; a row has one report of each. The default is that of the
    paper."""

    terms_per_year: Count = 70_000
    """Terms kept for each year: those in the most reports. The default is that of the paper."""

    companies: Count | None = 500
    """Number of companies drawn, with the seed of the dataset, from those with complete data; null,
    or more than there are: all of them. The paper uses 500, and does not say which."""

    folder: Annotated[str, Field(min_length=1)] = "resources/kogan10k"
    """Folder of the files that are not among the sources, relative to the folder of the run."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per company with a report in each of the years; `seed` is for drawing them.

    ``inputs``: the counts of the terms of all years, sparse, with columns named ``YEAR:TERM``. The
    terms are selected by their counts in all reports of a year, including those of companies left
    out, without using outputs. ``outputs``: the log-volatilities of the twelve months after each
    report. ``lagged_values``: that of the twelve months before the first report, if its file
    ``YEAR.logvol.-12.txt`` exists; those of the later years are outputs already. There is no
    ``order``: all rows span the same years, so that none is before another. Rows are sorted by
    company; those left out are counted by reason in ``exclusions`` of ``report``.

    Files are searched by name among `sources`, then in ``folder`` of `options`.

    Raises UserError listing the missing files, or naming the file and the line that cannot be read.
    """
    import numpy as np
    from scipy.sparse import hstack

    years = options.years
    files = _files(years, Path(options.folder), sources)
    lagged_file = files.get(f"{years[0]}.logvol.-12.txt")
    lagged_values = _volatilities(lagged_file) if lagged_file else None
    after = [_volatilities(files[f"{year}.logvol.+12.txt"]) for year in years]
    owners = [_companies(files[f"{year}.meta.txt"]) for year in years]
    archives = [files[f"{year}.tok.tgz"] for year in years]
    with_words = [
        {key for key, content in _reports(archive) if content.strip()} for archive in archives
    ]

    excluded = Counter(dict.fromkeys((NOT_EVERY_YEAR, SEVERAL, NO_TEXT, NO_VOLATILITY), 0))
    reports = [_by_company(owner) for owner in owners]
    usable: dict[str, list[str]] = {}
    every_company = sorted({company for year in reports for company in year})
    for company in every_company:
        keys = [year.get(company, []) for year in reports]
        reason = _reason_to_exclude(keys, with_words, after, lagged_values)
        if reason:
            excluded[reason] += 1
        else:
            usable[company] = [key for (key,) in keys]
    drawn = sorted(usable)
    if options.companies is not None and options.companies < len(drawn):
        random = np.random.default_rng(seed)
        indices = random.choice(len(drawn), size=options.companies, replace=False)
        drawn = [drawn[index] for index in np.sort(indices)]
    excluded[NOT_DRAWN] = len(usable) - len(drawn)
    rows = [usable[company] for company in drawn]
    if len(rows) < 2:
        raise UserError(
            location=", ".join(str(files[f"{year}.meta.txt"]) for year in years),
            found=f"{len(rows)} of {len(every_company)} companies can be used: "
            + ", ".join(f"{count} have {reason}" for reason, count in excluded.items() if count),
            expected="at least 2 companies with a report and a volatility in each of the years",
            remedy="check the options, and that the files belong together",
        )

    blocks, terms = [], []
    for position, (year, archive) in enumerate(zip(years, archives)):
        counts, kept = _term_counts(archive, [row[position] for row in rows], options)
        blocks.append(counts)
        terms += [f"{year}:{term}" for term in kept]
    groups: dict[str, Any] = {}
    names: dict[str, Any] = {"series_length": len(years), "series_channels": 1}
    if lagged_values is not None:
        groups["lagged_values"] = {"values": np.array([[lagged_values[row[0]]] for row in rows])}
        names["lagged_values"] = json.dumps([f"log_volatility_before_{years[0]}_report"])
    return dataset_tree(
        hstack(blocks, format="csr"),
        np.array([[volatility[key] for volatility, key in zip(after, row)] for row in rows]),
        terms,
        [f"log_volatility_after_{year}_report" for year in years],
        location=str(archives[0].parent),
        rows_read=len(every_company),
        names={**names, "companies": json.dumps(drawn)},
        report={
            "exclusions": dict(excluded),
            "reports": sum(map(len, with_words)),
            "reports_of_no_company": sum(
                not owner.get(key) for texts, owner in zip(with_words, owners) for key in texts
            ),
            "companies_usable": len(usable),
            "terms": len(terms),
        },
        **groups,
    )


def _files(years: Sequence[int], folder: Path, sources: Sequence[Path]) -> dict[str, Path]:
    """Return the path of every file by its name; the lagged values only where they exist."""
    needed = [
        f"{year}.{ending}" for year in years for ending in ("tok.tgz", "logvol.+12.txt", "meta.txt")
    ]
    files = source_files([*needed, f"{years[0]}.logvol.-12.txt"], folder, sources)
    missing = [name for name in needed if name not in files]
    if missing:
        raise UserError(
            location="the files of the 10-K corpus",
            found=f"{len(missing)} are missing: {', '.join(missing)}",
            expected=f"all of them among the sources, or in the folder {folder} (option folder)",
            remedy=f"download each of them, {ADDRESS}/NAME, into {folder}; past volatilities also "
            f"need {years[0]}.logvol.-12.txt",
        )
    return files


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the location and the text of every non-blank line of `path`."""
    content = file_content(path)
    if not content.strip():
        raise wrong_source(str(path), "the file is empty", "a line for every report")
    # Names of companies have several encodings; the parts that are used are ASCII.
    for number, line in enumerate(content.decode("latin-1").split("\n"), start=1):
        if line.strip():
            yield f"{path}, line {number}", line.rstrip("\r")


def _by_report(
    path: Path, pair_in: Callable[[str], tuple[str, Any]], form: str, kind: str
) -> dict[str, Any]:
    """Return what the lines of `path` say of each report; `pair_in` parses one of this `form`."""
    found: dict[str, Any] = {}
    for location, line in _lines(path):
        try:
            report, value = pair_in(line)
        except ValueError as error:
            raise wrong_source(location, f"'{line[:60]}'", form) from error
        earlier = found.setdefault(report, value)
        if not (earlier == value or (earlier != earlier and value != value)):
            raise wrong_source(
                location,
                f"the {kind} {value} of the report '{report}', which has {earlier} above",
                f"one {kind} per report",
            )
    return found


def _volatilities(path: Path) -> dict[str, float]:
    """Return the log-volatility of every report in a file of lines ``VALUE KEY``. Infinite values
    (the logarithm of zero volatility) are kept for the caller to count."""

    def pair_in(line: str) -> tuple[str, float]:
        value, report = line.split()
        return report, float("" if "_" in value else value)

    return _by_report(path, pair_in, "a number, a space and the key of a report", "value")


def _companies(path: Path) -> dict[str, str]:
    """Return the SEC code of the company of every report in a file of metadata, "" for none."""

    def pair_in(line: str) -> tuple[str, str]:
        report, _, _, _, company, *_ = map(str.strip, line.split("\t"))
        if not report:
            raise ValueError("no key")
        # The same code has leading zeros in some files only.
        return report, company.lstrip("0")

    form = "key, date, address, name of the company and its SEC code, separated by tabs"
    return _by_report(path, pair_in, form, "company")


def _by_company(owners: Mapping[str, str]) -> dict[str, list[str]]:
    keys: dict[str, list[str]] = {}
    for key, company in owners.items():
        if company:
            keys.setdefault(company, []).append(key)
    return keys


def _reports(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the key and the text of every report once."""
    seen: dict[str, bytes] = {}
    for name, content in matching_members(archive, REPORTS):
        key, digest = name.partition(".")[0], hashlib.sha256(content).digest()
        if key not in seen:
            seen[key] = digest
            yield key, content
        elif seen[key] != digest:
            raise wrong_source(
                f"{archive}, member {name}",
                f"a second text of the report '{key}'",
                "one text per report",
            )


def _reason_to_exclude(
    keys: Sequence[Sequence[str]],
    with_words: Sequence[set[str]],
    after: Sequence[Mapping[str, float]],
    lagged_values: Mapping[str, float] | None,
) -> str:
    """Return why the company with the reports `keys` (a list per year) is left out, or ""."""
    if not all(keys):
        return NOT_EVERY_YEAR
    if any(len(year) > 1 for year in keys):
        return SEVERAL
    if not all(key in texts for (key,), texts in zip(keys, with_words)):
        return NO_TEXT
    values = [volatility.get(key, float("nan")) for (key,), volatility in zip(keys, after)]
    if lagged_values is not None:
        values.append(lagged_values.get(keys[0][0], float("nan")))
    return "" if all(value - value == 0.0 for value in values) else NO_VOLATILITY


def _term_counts(
    archive: Path, keys: Sequence[str], options: Options
) -> tuple[csr_array, list[str]]:
    """Return the counts (n, q) of the year's terms in the reports `keys`, and the terms, sorted.
    The terms are those in the most reports of the archive, in a tie the first in the order of their
    bytes."""
    import numpy as np
    from scipy.sparse import csr_array

    frequency: Counter[bytes] = Counter()
    wanted: dict[str, Counter[bytes]] = dict.fromkeys(keys)
    for key, content in _reports(archive):
        counted = Counter(content.split())
        frequency.update(counted.keys())
        if key in wanted:
            wanted[key] = counted
    most = sorted(frequency, key=lambda term: (-frequency[term], term))[: options.terms_per_year]
    terms = sorted(most)
    column = {term: index for index, term in enumerate(terms)}
    entries = [
        (row, column[term], count)
        for row, key in enumerate(keys)
        for term, count in wanted[key].items()
        if term in column
    ]
    rows, columns, counts = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    shape = (len(keys), len(terms))
    # Tokens that are not UTF-8 keep different names.
    names = [term.decode("utf-8", "backslashreplace") for term in terms]
    return csr_array((counts.astype(np.float64), (rows, columns)), shape=shape), names
