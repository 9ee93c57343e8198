"""The section states gains, equalities and losses as in the verdicts and the checks."""

import json
import re
from dataclasses import replace

import pytest
from report_samples import (
    CLASS_METHODS,
    METHODS,
    base_accuracy,
    base_error,
    better_accuracy,
    better_error,
    noisy_error,
    parse,
    worse_error,
    write_accuracies,
    write_scores,
)

from workflow_lib.core.errors import UserError
from workflow_lib.page.gains import data_words, gains_section, where_words
from workflow_lib.report.labels import format_p_value
from workflow_lib.report.results import read_scores
from workflow_lib.table.verdict import verdict

SECTIONS = [
    {"name": "toy", "is_made": False, "stand_in_for": "videos"},
    {"name": "made", "is_made": True, "stand_in_for": None},
]


def write_equivalence_checks(path, same=3e-15, other=0.25, holds=(True, True)):
    statements = [
        {"name": "one penalty", "is_kernel_ridge": True, "difference": same, "holds": holds[0]},
        {"name": "two", "is_kernel_ridge": False, "difference": other, "holds": holds[1]},
    ]
    facts = {"n_training": 30, "n_test": 12, "tolerance": 1e-8, "statements": statements}
    path.write_text(json.dumps(facts))
    return path


def verdict_of(tmp_path, **errors):
    rows = [("m-krr", "selected", 0, base_error)]
    rows += [(name.replace("_", "-"), "selected", 0, error) for name, error in errors.items()]
    scores = read_scores(write_scores(tmp_path / "scores.csv", rows))
    return verdict(scores, methods=METHODS)


def text_of(section):
    return "".join(parse(section.html).text).replace("\u00a0", " ")


def test_the_equivalence_checks_are_shown_with_their_differences(tmp_path):
    paths = {name: write_equivalence_checks(tmp_path / f"{name}.json") for name in ("toy", "made")}
    section = gains_section({}, paths, METHODS, SECTIONS)
    assert section.anchor == "where-ofer-helps"
    assert f'<section id="{section.anchor}"' in section.html
    text = text_of(section)
    assert "in 2 of 2 checks on 2 experiments; the largest relative difference is 3e-15." in text
    assert "the predictions differ in 2 of 2 checks, by 0.25 to 0.25." in text
    assert "The same: one penalty" in text and "Not the same: two" in text
    rows = re.findall(r"<tr><th scope=.row.>(.*?)</th>(.*?)</tr>", section.html)
    assert [name for name, _ in rows] == ["toy (a stand-in)", "made (simulated data)"]
    assert re.findall(r"<td>(.*?)</td>", rows[0][1]) == ["30 + 12", "3e−15", "0.25"]
    assert "NOT" not in text
    assert "No OFER method was compared with a reference in this run." in text


def test_differences_from_theory_are_reported(tmp_path):
    path = write_equivalence_checks(tmp_path / "toy.json", same=0.5, holds=(False, True))
    text = text_of(gains_section({}, {"toy": path}, METHODS, SECTIONS))
    assert "NOT as theory says: one penalty on toy, a difference of 5.0e-01." in text
    assert "in 0 of 1 check on 1 experiment" in text
    assert "0.5 NOT as theory says" in text


def test_gains_equalities_and_losses_are_counted(tmp_path):
    first = verdict_of(tmp_path, ofer_gmm=better_error, wofer_gmm=worse_error)
    second = verdict_of(tmp_path, ofer_gmm=base_error, wofer_gmm=noisy_error)
    verdicts = {"toy": first, "made": second}
    section = gains_section(verdicts, {}, METHODS, SECTIONS)
    text = text_of(section)
    assert "OFER is better in 2 of 8 comparisons; the largest gains: OFER-GMM on toy (a" in text
    assert "OFER is worse in 2 of 8 comparisons; the largest losses: wOFER-GMM on toy (a" in text
    assert (
        "OFER equals m-KRR in every split up to rounding in 2 of 8 comparisons: OFER-GMM (made)."
    ) in text
    assert (
        "The two are not distinguishable in 2 of 8 comparisons; of these the mean is better in "
        in text
    )
    assert "The equivalence to kernel ridge regression was not checked in this run." in text
    cells = re.findall(r"<td>(.*?)</td>", section.html)
    assert len(cells) == 8
    assert sum(cell.startswith("<strong>−0.300 (−") for cell in cells) == 2
    assert sum(cell.endswith(" worse</strong>") for cell in cells) == 2
    assert cells.count("equal") == 2
    # Differences that are not distinguishable have a number and no word.
    assert sum(re.fullmatch(r"[+−0-9.e]+ \([+−0-9.]+\)", cell) is not None for cell in cells) == 2


def test_a_row_that_lacks_a_size_has_a_dash(tmp_path):
    result = verdict_of(tmp_path, ofer_gmm=better_error, wofer_gmm=worse_error)
    result = replace(result, comparisons=result.comparisons[:-1])
    section = gains_section({"toy": result}, {}, METHODS, SECTIONS)
    assert section.html.count("<td>–</td>") == 1


@pytest.mark.parametrize("content", ["", "[]", '{"statements": []}'])
def test_a_damaged_file_is_reported(tmp_path, content):
    path = tmp_path / "equivalence-checks.json"
    path.write_text(content)
    with pytest.raises(UserError, match="equivalence-checks.json"):
        gains_section({}, {"toy": path}, METHODS, SECTIONS)


REAL = {"name": "toy", "is_made": False, "stand_in_for": None}


def best_of(found):
    """Return the comparison of a verdict with the largest effect."""
    rows = found.comparisons.assign(metric=found.metric).itertuples()
    return min(rows, key=lambda row: row.effect)


def test_a_comparison_in_words_has_its_data_difference_effect_and_test(tmp_path):
    found = best_of(verdict_of(tmp_path, ofer_gmm=better_error))
    assert where_words(found, REAL) == (
        f"OFER-GMM on toy (real data) at n = {found.training_size}: \u22120.300 in aRRMSE, "
        f"\u2212{abs(found.effect):.1f} in units of its spread "
        f"(corrected {format_p_value(found.p_reference_corrected)})"
    )
    assert data_words(SECTIONS[0]) == "toy (a stand-in)"
    assert data_words(SECTIONS[1]) == "made (simulated data)"


def test_accuracies_have_the_other_sign(tmp_path):
    rows = [("class-krr", "selected", 0, base_accuracy)]
    rows.append(("ofer-gmm", "selected", 0, better_accuracy))
    scores = read_scores(write_accuracies(tmp_path / "scores.csv", rows))
    found = best_of(verdict(scores, methods=CLASS_METHODS, metric="accuracy"))
    assert "+20.0 in accuracy (percentage points), +" in where_words(found, REAL)
