"""The 10-K corpus, in a tiny copy of its documented form."""

import json
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from reader_samples import catalogue, change, excluded, refusal, stored_terms
from small_archives import write_archive

from workflow_lib.data.reading import read_dataset
from workflow_lib.items.sparse_inputs import inputs_of

YEARS = (2001, 2002, 2003)

TEXTS = {
    2001: {"20": "profit profit loss", "3": "loss # risk", "100": "risk of loss-making"},
    2002: {"20": "growth loss", "3": "growth\ngrowth growth", "100": "risk\twar"},
    2003: {"20": "war", "3": "growth war", "100": "profit"},
}
"""Texts of three companies by year and SEC code."""

LABELS = {
    2001: {"20": -3.5, "3": -4.25, "100": -2.75},
    2002: {"20": -3.0, "3": -4.5, "100": -2.5},
    2003: {"20": -3.25, "3": -4.0, "100": -1e-1},
}
BEFORE = {"20": -3.75, "3": -4.125, "100": -2.625}


def key(company: str, year: int) -> str:
    return f"{company}_{year}0301"


def corpus(folder: Path) -> Path:
    """Write the corpus as it is published: files a year, no header, repeated records."""
    folder.mkdir(exist_ok=True)
    for year in YEARS:
        members = [
            (f"{year}.tok/{key(company, year)}.mda", text) for company, text in TEXTS[year].items()
        ]
        labels = [f"{LABELS[year][company]} {key(company, year)}" for company in LABELS[year]]
        before = [f"{BEFORE[company]} {key(company, year)}" for company in BEFORE]
        meta = [
            f"{key(company, year)}\t{year}0301\thttp://sec/{company}\tCOMPANY {company}\t{company}"
            for company in TEXTS[year]
        ]
        # One record occurs in every file twice, as some do in the corpus.
        write_archive(folder / f"{year}.tok.tgz", [*members, members[0]])
        write_lines(folder / f"{year}.logvol.+12.txt", [*labels, labels[0]])
        write_lines(folder / f"{year}.logvol.-12.txt", [*before, before[0]])
        write_lines(folder / f"{year}.meta.txt", [*meta, meta[0]])
    return folder


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n")


def add(path: Path, line: str) -> None:
    path.write_text(path.read_text() + line + "\n")


def read(folder: Path, seed: int = 0, **options) -> dict:
    options = {"years": YEARS, "folder": str(folder), **options}
    return read_dataset("kogan10k", options, [], seed)


refused = partial(refusal, read)


@pytest.fixture
def folder(tmp_path) -> Path:
    return corpus(tmp_path / "10K")


# Rows


def test_rows_are_companies_with_their_series(folder):
    tree = read(folder)
    assert json.loads(tree["names"]["companies"]) == ["100", "20", "3"]
    np.testing.assert_array_equal(
        tree["outputs"], [[-2.75, -2.5, -0.1], [-3.5, -3.0, -3.25], [-4.25, -4.5, -4.0]]
    )
    np.testing.assert_array_equal(tree["lagged_values"]["values"], [[-2.625], [-3.75], [-4.125]])
    assert (tree["names"]["series_length"], tree["names"]["series_channels"]) == (3, 1)
    assert json.loads(tree["names"]["outputs"])[0] == "log_volatility_after_2001_report"
    assert "order" not in tree
    assert excluded(tree) == {}
    assert (tree["report"]["rows_read"], tree["report"]["rows_dropped"]) == (3, 0)
    assert tree["report"]["reports"] == 9


def test_inputs_are_the_counts_of_each_year_side_by_side(folder):
    tree = read(folder)
    terms = stored_terms(tree)
    counts = inputs_of(tree).toarray()
    assert counts.shape == (3, len(terms)) == (3, 6 + 4 + 3)
    for row, company in enumerate(["100", "20", "3"]):
        found = {term: count for term, count in zip(terms, counts[row]) if count}
        expected = {
            f"{year}:{token}": count
            for year in YEARS
            for token, count in Counter(TEXTS[year][company].split()).items()
        }
        assert found == expected
    assert [term.split(":")[0] for term in terms] == sorted(term.split(":")[0] for term in terms)
    assert terms[:6] == [
        f"2001:{term}" for term in sorted({"#", "loss", "loss-making", "of", "profit", "risk"})
    ]


def test_terms_of_a_year_are_those_in_most_of_its_reports(folder):
    # 2001: loss and risk occur in two reports, of the rest "#" is the first; in 2002 growth occurs
    # in two, and of the rest loss is the first; in 2003 war in two, then growth.
    tree = read(folder, terms_per_year=3)
    assert stored_terms(tree)[:3] == ["2001:#", "2001:loss", "2001:risk"]
    assert stored_terms(read(folder, terms_per_year=2))[2:] == [
        "2002:growth",
        "2002:loss",
        "2003:growth",
        "2003:war",
    ]


def test_terms_are_chosen_on_all_reports_whatever_the_rows(folder):
    # Reports of companies that are no row count too; repeated records count once.
    for number in range(3):
        name, meta = f"x{number}_2003", f"{900 + number}"
        add(folder / "2003.meta.txt", f"{name}\t20030301\thttp://sec\tX\t{meta}")
    members = [(f"2003.tok/{key(c, 2003)}.mda", text) for c, text in TEXTS[2003].items()]
    extra = [(f"2003.tok/x{number}_2003.mda", "profit") for number in range(3)]
    write_archive(folder / "2003.tok.tgz", [*members, *extra, members[0], members[0]])
    tree = read(folder, terms_per_year=1)
    assert stored_terms(tree)[-1] == "2003:profit"
    assert excluded(tree) == {"no report in some of the years": 3}
    assert tree["report"]["rows_read"] == 6


def test_years_and_lagged_values_are_optional(folder):
    (folder / "2001.logvol.-12.txt").unlink()
    tree = read(folder)
    assert "lagged_values" not in tree
    assert "lagged_values" not in tree["names"]
    tree = read(folder, years=[2002, 2003])
    assert tree["outputs"].shape == (3, 2)
    assert json.loads(tree["names"]["lagged_values"]) == ["log_volatility_before_2002_report"]


def test_companies_are_drawn_with_the_seed(folder):
    drawn = {
        tuple(json.loads(read(folder, seed, companies=2)["names"]["companies"]))
        for seed in range(20)
    }
    assert drawn == {("100", "20"), ("100", "3"), ("20", "3")}
    first, second = (read(folder, 5, companies=2) for _ in range(2))
    assert first["names"]["companies"] == second["names"]["companies"]
    assert excluded(first) == {"not among the companies drawn": 1}
    assert first["report"]["companies_usable"] == 3
    for companies in (3, 500, None):
        assert len(read(folder, companies=companies)["outputs"]) == 3


def test_the_form_of_files_may_vary(folder):
    """Extra columns, other line ends, leading zeros, names that are not UTF-8."""
    expected = read(folder)
    path = folder / "2002.meta.txt"
    path.write_bytes(
        path.read_bytes()
        .replace(b"\t20\n", b"\t0000020\tNYSE\t17\r\n")
        .replace(b"COMPANY 3", b"SOCI\xe9T\xe9 3")
    )
    path = folder / "2001.logvol.+12.txt"
    path.write_bytes(b"\n" + path.read_bytes().replace(b" ", b"\t").replace(b"\n", b"\r\n"))
    tree = read(folder)
    assert tree["names"]["companies"] == expected["names"]["companies"]
    np.testing.assert_array_equal(tree["outputs"], expected["outputs"])


def test_tokens_that_are_not_utf8(folder):
    members = {f"{key(c, 2003)}.mda": text.encode() for c, text in TEXTS[2003].items()}
    members[f"{key('3', 2003)}.mda"] = b"caf\xe9 caf\xe8 caf\xc3\xa9"
    write_archive(folder / "2003.tok.tgz", members)
    terms = stored_terms(read(folder))
    assert {"2003:caf\\xe9", "2003:caf\\xe8", "2003:café"} <= set(terms)


# Exclusions


def test_every_exclusion_is_counted_by_its_reason(folder):
    """Companies 201 to 207 have one fault each, 208 has none."""
    faulty = {
        "201": "a year without report",
        "202": "two reports in a year",
        "203": "empty text",
        "204": "no text",
        "205": "no volatility",
        "206": "infinite volatility",
        "207": "no past",
        "208": "none",
    }
    for year in YEARS:
        members = [(f"{key(c, year)}.mda", text) for c, text in TEXTS[year].items()]
        for company, fault in faulty.items():
            name = key(company, year)
            last = year == YEARS[-1]
            if last and fault == "a year without report":
                continue
            record = f"\t{year}0301\thttp://sec\tX\t{company}"
            add(folder / f"{year}.meta.txt", name + record)
            if last and fault == "two reports in a year":
                add(folder / f"{year}.meta.txt", "amended" + record)
            if not (last and fault == "no text"):
                empty = last and fault == "empty text"
                members.append((f"{name}.mda", " \n" if empty else "some words"))
            value = "-inf" if last and fault == "infinite volatility" else "-3"
            if not (last and fault == "no volatility"):
                add(folder / f"{year}.logvol.+12.txt", f"{value} {name}")
            value = "NaN" if fault == "no past" else "-3"
            add(folder / f"{year}.logvol.-12.txt", f"{value} {name}")
        members += [("unknown.mda", "words of no company"), ("nameless.mda", "words")]
        add(folder / f"{year}.meta.txt", f"nameless\t{year}0301\thttp://sec\tX\t")
        write_archive(folder / f"{year}.tok.tgz", members)
    tree = read(folder, companies=3)
    assert tree["report"]["exclusions"] == {
        "no report in some of the years": 1,
        "several reports in one year": 1,
        "a report without words, or missing from the archive": 2,
        "a volatility missing or not finite": 3,
        "not among the companies drawn": 1,
    }
    assert tree["report"]["rows_read"] == 11
    assert tree["report"]["rows_dropped"] == sum(excluded(tree).values()) == 8
    assert tree["report"]["reports_of_no_company"] == 6
    assert np.isfinite(tree["outputs"]).all() and np.isfinite(tree["lagged_values"]["values"]).all()


def test_no_company_can_be_used(folder):
    (folder / "2002.logvol.+12.txt").write_text("-3 other\n")
    message = refused(folder)
    assert "0 of 3 companies can be used: 3 have a volatility missing" in message
    assert str(folder / "2002.meta.txt") in message


# Missing and malformed files


def test_missing_files_are_all_listed(tmp_path, folder):
    for name in ("2001.tok.tgz", "2003.meta.txt", "2001.logvol.-12.txt"):
        (folder / name).unlink()
    message = refused(folder)
    assert "2 are missing: 2001.tok.tgz, 2003.meta.txt." in message
    assert f"in the folder {folder} (option folder)" in message
    assert "https://www.cs.cmu.edu/~ark/10K/data/NAME" in message
    assert "2001.logvol.-12.txt" in message
    assert "9 are missing" in refused(tmp_path / "absent")


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("2002.logvol.+12.txt", "-4.5 ", "high ", "line 2: 'high 3_20020301'"),
        ("2002.logvol.+12.txt", "-4.5 ", "", "line 2: '3_20020301'"),
        ("2002.logvol.+12.txt", "-4.5 ", "-4.5 -4.5 ", "line 2: '-4.5 -4.5 3_20020301'"),
        ("2002.logvol.+12.txt", "-4.5 ", "-4_5 ", "line 2: '-4_5 "),
        ("2001.logvol.-12.txt", "-4.125 ", "? ", "line 2: '? "),
        ("2002.meta.txt", "COMPANY 3\t3", "COMPANY 3", "line 2: '3_20020301"),
        ("2002.meta.txt", "\t", " ", "line 1: '20_20020301 2002"),
        ("2002.meta.txt", "3_20020301\t", "\t", "line 2: '"),
    ],
)
def test_faults_of_lines_are_named(folder, file, old, new, words):
    change(folder / file, old, new)
    assert f"{folder / file}, {words}" in refused(folder)


def test_records_that_contradict_each_other(folder):
    archive = folder / "2002.tok.tgz"
    texts = archive.read_bytes()
    write_archive(archive, [("a/k.mda", "one"), ("b/k.mda", "two")])
    assert f"{archive}, member k.mda: a second text of the report 'k'" in refused(folder)
    archive.write_bytes(texts)
    labels, meta = folder / "2002.logvol.+12.txt", folder / "2002.meta.txt"
    add(labels, f"-4.75 {key('3', 2002)}")
    assert f"{labels}, line 5: the value -4.75 of the report '3_20020301', which has -4.5" in (
        refused(folder)
    )
    change(labels, "-4.75", "-4.5")
    add(meta, f"{key('3', 2002)}\t20020301\thttp://sec\tX\t4")
    assert f"{meta}, line 5: the company 4 of the report '3_20020301', which has 3 above" in (
        refused(folder)
    )


# The catalogue


def test_the_catalogue_lists_every_file_of_its_years():
    settings = catalogue("kogan10k")
    years = settings["options"]["years"]
    assert years == [2001, 2002, 2003, 2004, 2005]
    names = {source["path"].removeprefix("kogan10k/") for source in settings["sources"]}
    endings = ("tok.tgz", "logvol.+12.txt", "meta.txt")
    assert names == {f"{year}.{end}" for year in years for end in endings} | {"2001.logvol.-12.txt"}
    for source in settings["sources"]:
        name = source["path"].removeprefix("kogan10k/")
        assert source["address"] == f"https://www.cs.cmu.edu/~ark/10K/data/{name}"
    assert len({source["sha256"] for source in settings["sources"]}) == len(names)
