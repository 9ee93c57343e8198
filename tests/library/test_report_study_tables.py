"""Tables of the studies of weak labels hold every value, and what it is compared with."""

import math

import numpy as np
import pytest
from report_samples import (
    METHODS,
    base_error,
    better_error,
    html_of,
    html_table,
    latex_table,
    noisy_error,
    parse,
    scores_of,
    table_cells,
    worse_error,
    write_scores,
    write_table,
)
from scipy import stats

from workflow_lib.core.errors import UserError
from workflow_lib.report.study_tables import reference_cell, study_table, varied_variants
from workflow_lib.report.variants import Variant

WEIGHTS = [
    ("m-krr", "selected", 0, base_error),
    ("m-rf", "selected", 0, worse_error),
    ("wofer-gmm", "selected", 100, lambda n, s: 9.0),
    ("wofer-gmm", "selected", 300, noisy_error),
    ("wofer-gmm", "selected", 300, base_error, "weak_weight=0"),
    ("wofer-gmm", "selected", 300, worse_error, "weak_weight=10"),
    ("wofer-gmm", "selected", 300, better_error, "weak_weight=0.01"),
    ("wofer-gmm", "selected", 300, lambda n, s: 7.0, "weak_noise=0.2"),
]
NOISE = [
    ("m-krr", "selected", 0, base_error),
    ("wofer-gmm", "selected", 300, noisy_error),
    ("wofer-gmm", "selected", 300, worse_error, "weak_noise=0.4"),
    ("wofer-gmm", "selected", 300, better_error, "weak_noise=0.2"),
    ("ofer-gmm", "selected", 300, worse_error, "weak_noise=0.2"),
]
TWO_COUNTS = (("2", worse_error), ("4", better_error))


def rows_of(html):
    """Return the texts of the rows of the body, cell by cell."""
    body = html[html.index("<tbody>") : html.index("</tbody>")]
    return [
        [text for text in parse(f"<table><tr>{row}</tr></table>").text if text.strip()]
        for row in body.replace("<tbody>", "").replace("<tr>", "").split("</tr>")
        if row.strip()
    ]


def text_of(error, metric=1):
    errors = [metric * error(50, split) for split in range(5)]
    return f"{np.mean(errors):.3f} ± {np.std(errors, ddof=1):.3f}"


def test_values_ascend_before_what_is_selected_and_the_reference(tmp_path):
    cells = study_table(scores_of(tmp_path, WEIGHTS), "weak_weight", method_order=METHODS)
    assert [cell.method for cell in cells] == ["m-krr", *["wofer-gmm"] * 4]
    assert [cell.value for cell in cells] == [None, 0.0, 0.01, 10.0, None]
    assert {(c.training_size, c.n_splits, c.n_test) for c in cells} == {(50, 5, 10)}
    assert [cell.weak_size for cell in cells] == [0, 300, 300, 300, 300]
    assert varied_variants(cells) == [Variant("wofer-gmm", "selected", 300)]
    errors = [better_error(50, split) for split in range(5)]
    assert cells[2].mean == pytest.approx(np.mean(errors))
    assert cells[2].deviation == pytest.approx(np.std(errors, ddof=1))
    assert cells[4].mean == pytest.approx(np.mean([noisy_error(50, s) for s in range(5)]))


def test_values_are_compared_with_the_reference_without_weak_rows(tmp_path):
    cells = study_table(scores_of(tmp_path, WEIGHTS), "weak_weight", method_order=METHODS)
    assert [cell.mark for cell in cells] == ["", "", "lower", "higher", ""]
    assert cells[1].n_nonzero == 0
    assert cells[0].n_nonzero is None
    differences = [better_error(50, s) - base_error(50, s) for s in range(5)]
    statistic = np.mean(differences) / math.sqrt((1 / 5 + 10 / 50) * np.var(differences, ddof=1))
    assert cells[2].p_reference_corrected == pytest.approx(2 * stats.t.sf(abs(statistic), 4))


def test_the_error_is_that_of_the_experiment(tmp_path):
    scores = scores_of(tmp_path, WEIGHTS)
    pooled = study_table(scores, "weak_weight", metric="rrmse", method_order=METHODS)
    for cell, other in zip(study_table(scores, "weak_weight", method_order=METHODS), pooled):
        assert other.quantity == "rrmse"
        assert other.mean == pytest.approx(2 * cell.mean)


def test_scores_without_the_study_are_reported(tmp_path):
    with pytest.raises(UserError, match="kind weak_noise: .* no method was run with fixed values"):
        study_table(scores_of(tmp_path, WEIGHTS[:4]), "weak_noise")


def test_the_table_has_a_row_for_each_value_and_a_column_for_each_method(tmp_path):
    html = html_of("weak_weight", scores_of(tmp_path, WEIGHTS), title="Weights.")
    assert rows_of(html) == [
        ["aRRMSE (mean over output coordinates)"],
        ["0", text_of(base_error)],
        ["0.01", text_of(better_error), "†"],
        ["10", text_of(worse_error), "‡"],
        ["selected", text_of(noisy_error)],
        ["m-KRR, no weak rows", text_of(base_error)],
    ]
    assert "<caption>Weights; 50 training rows and 300 weak rows</caption>" in html
    head = html[html.index("<thead>") : html.index("</thead>")]
    assert '<th scope="col">λ₂</th><th scope="col">wOFER-GMM</th>' in head
    assert "†: lower than m-KRR" in html
    assert "zero leaves them out" in html
    assert "bold" not in html.lower()


def test_methods_without_a_value_have_a_dash_and_the_reference_stands_in_every_column(tmp_path):
    html = html_of("weak_noise", scores_of(tmp_path, NOISE))
    assert rows_of(html)[1:] == [
        ["0.2", text_of(worse_error), "‡", text_of(better_error), "†"],
        ["0.4", "–", text_of(worse_error), "‡"],
        ["no wrong labels", "–", text_of(noisy_error)],
        ["m-KRR, no weak rows", text_of(base_error), text_of(base_error)],
    ]
    assert "Share of wrong labels</th>" in html
    assert "names another component, drawn at random" in html
    # A share of zero says what no wrong labels says.
    rows = [*NOISE, ("wofer-gmm", "selected", 300, noisy_error, "weak_noise=0")]
    found = rows_of(html_of("weak_noise", scores_of(tmp_path, rows)))[1:]
    assert [row[0] for row in found] == ["0", "0.2", "0.4", "m-KRR, no weak rows"]


def test_without_the_reference_there_is_no_row_for_it(tmp_path):
    html = html_of("weak_weight", scores_of(tmp_path, WEIGHTS[1:]))
    assert rows_of(html)[-1][0] == "selected"
    assert "m-KRR" not in html


def test_fixed_components_have_a_column_each_with_their_reference(tmp_path):
    rows = [("m-krr", components, 0, error) for components, error in TWO_COUNTS]
    rows += [("wofer-gmm", components, 300, base_error) for components, _ in TWO_COUNTS]
    rows += [
        ("wofer-gmm", components, 300, noisy_error, "weak_weight=1") for components, _ in TWO_COUNTS
    ]
    cells = table_cells("weak_weight", scores_of(tmp_path, rows))
    assert reference_cell(cells, Variant("wofer-gmm", "4", 300)).components == "4"
    html = html_table(cells, "weak_weight")
    assert "wOFER-GMM, C = 2</th>" in html
    assert rows_of(html)[-1] == ["m-KRR, no weak rows", text_of(worse_error), text_of(better_error)]


def test_one_split_has_no_marks(tmp_path):
    html = html_of("weak_weight", scores_of(tmp_path, WEIGHTS, n_splits=1))
    assert "One split, so neither a deviation nor a test." in html
    assert "†" not in html
    assert "differs" not in html


def test_every_latex_row_has_every_column(tmp_path):
    latex = latex_table(table_cells("weak_noise", scores_of(tmp_path, NOISE)), "weak_noise")
    rows = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert {line.count("&") for line in rows if "multicolumn" not in line} == {2}
    assert r"\rlap{$^{\dagger}$}" in latex
    latex = latex_table(table_cells("weak_weight", scores_of(tmp_path, WEIGHTS)), "weak_weight")
    assert r"$\lambda$$_2$ & wOFER-GMM \\" in latex


def test_written_studies_are_tidy(tmp_path):
    scores = write_scores(tmp_path / "scores.csv", WEIGHTS)
    rows, latex = write_table(scores, "weak_weight", tmp_path, metric="rrmse")
    assert [row["value"] for row in rows] == ["", "0.0", "0.01", "10.0", ""]
    assert {row["quantity"] for row in rows} == {"rrmse"}
    assert float(rows[2]["mean"]) == np.mean([2 * better_error(50, s) for s in range(5)])
    assert "RRMSE (pooled over output coordinates)" in latex
