"""The answer as sections of the page: valid HTML that agrees with the files."""

import json
import re

import numpy as np
import pytest
from each_case import each_case
from report_samples import (
    CLASS_METHODS,
    METHODS,
    base_accuracy,
    base_error,
    better_accuracy,
    better_error,
    parse,
    write_accuracies,
    write_choices,
    write_scores,
    write_timings,
)

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.table.answer_part import answer_part, data_profile_section
from workflow_lib.table.data_profile import data_profile
from workflow_lib.table.importance import MAY_BE_UNKNOWN, importance_tree
from workflow_lib.table.input_groups import Grouping, InputGroup
from workflow_lib.table.leaderboard import run
from workflow_lib.tabular.table_file import Table

ROWS = [("m-krr", "selected", 0, base_error), ("ofer-gmm", "selected", 0, better_error)]

DATA_PROFILE = {
    "file": "assay.csv",
    "rows": 60,
    "columns": 9,
    "kinds": {"number": ["a", "b"], "category": ["colour"], "empty": []},
    "missing": {"a": 0.25, "b": 0.02},
    "constant": ["batch"],
    "empty": [],
    "row_names": ["sample"],
    "duplicate_rows": 2,
    "contradictions": 3,
    "leaks": [
        {"column": "a", "output": "y", "kind": "equal", "strength": 0.99999, "used": False},
        {"column": "b", "output": "y", "kind": "levels", "strength": 1.0, "used": True},
    ],
    "row_order": [{"output": "y", "correlation": 0.9}],
    "output_correlations": {
        "largest": [{"first": "y", "second": "z", "correlation": -0.71}],
        "matrix": None,
    },
    "outputs": {
        "y": {"n_known": 50, "mean": 1.5, "deviation": 0.5, "least": -1.0, "largest": 3.25},
        "z": {"n_known": 0},
    },
    "rows_labelled": 50,
    "rows_weak": 4,
    "rows_unlabelled": 6,
    "rows_partly_labelled": 1,
    "n_test": 10,
    "training_sizes": [10, 20, 40],
    "mixture": {"n_components": 2, "sizes": [30, 20], "bic": [3.0, 1.0]},
}


def write_answer(tmp_path, rows=ROWS, methods=METHODS, **options):
    scores = write_scores(tmp_path / "scores.csv", rows, **options)
    timings = tmp_path / "timings.csv"
    write_timings(timings, [row[0] for row in rows])
    paths = tmp_path / "plain.json", tmp_path / "answer.json"
    choices = write_choices(tmp_path / "choices.csv", rows)
    run(scores, choices, [timings], methods, {"metric": "arrmse"}, 5, *paths)
    return tmp_path / "answer.json"


def write_data_profile(tmp_path, facts=DATA_PROFILE):
    path = tmp_path / "data-profile.json"
    path.write_text(json.dumps(facts), encoding="utf-8")
    return path


def write_calibration(tmp_path, half_widths, coverage, n_test=8):
    """Write a calibration whose true outputs are -1 and 1 in turn, with errors of half of them."""
    half_widths, coverage = np.asarray(half_widths, float), np.asarray(coverage, float)
    d = len(half_widths)
    truth = np.tile([[-1.0], [1.0]], (n_test // 2, d))
    tree = {
        "level": 0.9,
        "method": "ofer-gmm",
        "half_widths": half_widths,
        "coverage": coverage,
        "novelty_limit": 2.5,
        "rows_needed": 10,
    }
    for split in range(len(coverage)):
        group = {
            "rows": np.arange(n_test),
            "predicted": 0.5 * truth,
            "truth": truth,
            "novelty": np.linspace(0.0, 4.0, n_test),
        }
        group |= {"errors": np.full(d, 0.25 * n_test), "reference": np.full(d, float(n_test))}
        tree[f"split-{split}"] = group
    path = tmp_path / "calibration.h5"
    write_artifact(
        path, tree, "calibration", allow_nan=("half_widths", "coverage", "truth", "novelty_limit")
    )
    return path


def sections_of(tmp_path, rows=ROWS, methods=METHODS, n_splits=5, **parts):
    return answer_part(write_answer(tmp_path, rows, methods, n_splits=n_splits), "assay", **parts)


def every_section(tmp_path, **parts):
    parts["calibration"] = write_calibration(tmp_path, [0.4, 1.5], [[0.9, 0.8], [1.0, 0.9]])
    return sections_of(tmp_path, data_profile=write_data_profile(tmp_path), **parts)


def text_of(*sections):
    """Return the text of sections with plain blanks."""
    parser = parse("\n".join(section.html for section in sections))
    return " ".join("".join(parser.text).replace("\u00a0", " ").split())


def test_all_sections_are_valid_and_reachable(tmp_path):
    sections = every_section(tmp_path, output_names=["y", "z"])
    anchors = [section.anchor for section in sections]
    assert anchors == ["answer", "leaderboard", "intervals", "data-profile", "next"]
    for section in sections:
        assert f'<section id="{section.anchor}" aria-labelledby=' in section.html
        assert (
            f'<h2 id="{section.anchor}-heading">{section.heading}<a class="permalink"'
            in section.html
        )
        parse(section.html)
    html = "".join(section.html for section in sections)
    identifiers = re.findall(r'\bid="([^"]+)"', html)
    assert len(identifiers) == len(set(identifiers))
    # Every table has a caption, heads with a scope, and rows of equal length.
    tables = re.findall(r"<table.*?</table>", html, flags=re.DOTALL)
    assert len(tables) == 6
    for table in tables:
        assert table.count("<caption>") == 1
        assert "<th>" not in table
        assert len(set(parse(table).cells_per_row)) == 1


def test_a_method_that_cannot_be_saved_is_marked_and_not_recommended(tmp_path):
    methods = {name: dict(METHODS[name]) for name in ("m-krr", "ofer-gmm")}
    methods["ofer-gmm"]["estimator"] = "crystal.Ball"
    path = write_answer(tmp_path, methods=methods)
    answer, board = answer_part(path, "assay")[:2]
    assert "Use m-KRR" in answer.html
    assert "OFER-GMM (cannot be saved)" in board.html
    assert "Cannot win (see the limits above): OFER-GMM." in board.html
    assert "an estimator of the package crystal is not saved in a file" in answer.html


def test_the_answer_is_first_and_large(tmp_path):
    path = write_answer(tmp_path)
    answer = json.loads(path.read_text())
    first = answer_part(path, "assay")[0]
    assert '<p class="protocol headline">Use OFER-GMM' in first.html
    text = text_of(first)
    for sentence in [*answer["sentences"], *answer["notes"]]:
        assert sentence in text


def test_the_leaderboard_shows_what_the_answer_holds(tmp_path):
    leaderboard = sections_of(tmp_path)[1]
    text = text_of(leaderboard)
    assert "All methods, the winner first (50 training rows, 5 splits, 10 test rows)" in text
    assert leaderboard.html.index(">OFER-GMM<") < leaderboard.html.index(">m-KRR<")
    assert "<strong>0.601 ± 0.010</strong>" in leaderboard.html
    assert "21.0 s" in text and "6.00 ms" in text
    # 0.901 is 50 % above 0.601 and 9.9 % below 1.
    assert re.search(r"\+50\.\d % \(p = \de-\d+\)<sup>\u2021</sup>", leaderboard.html)
    assert re.search(r"\u22129\.9 % \(p = \de-\d+\)<sup>\u2020</sup>", leaderboard.html)
    assert "Minus the winner" in text and "Minus the training mean" in text
    assert "5 of 5" in text


def test_rows_out_of_competition_are_reported(tmp_path):
    rows = [ROWS[0], ("full", "selected", 9, better_error)]
    methods = METHODS | {"full": {"label": "full labels", "weak_outputs": "true"}}
    text = text_of(*sections_of(tmp_path, rows, methods))
    assert "Use m-KRR" in text
    assert "Cannot win (see the limits above): full labels, 9 weak rows." in text


def test_one_split_has_no_tests(tmp_path):
    text = text_of(*sections_of(tmp_path, n_splits=1))
    assert "p = " not in text
    assert "nan" not in text.lower() and "None" not in text
    assert "The differences with their tests" not in text


def test_accuracies_are_in_percent_and_differences_in_points(tmp_path):
    rows = [("m-svm", "selected", 0, better_accuracy), ("class-krr", "selected", 0, base_accuracy)]
    scores = write_accuracies(tmp_path / "scores.csv", rows)
    paths = tmp_path / "plain.json", tmp_path / "answer.json"
    choices = write_choices(tmp_path / "choices.csv", rows)
    run(scores, choices, [], CLASS_METHODS, {"metric": "accuracy"}, 5, *paths)
    sections = answer_part(tmp_path / "answer.json", "assay")
    text = text_of(*sections)
    assert "80.1 ± 1.0" in text
    assert "\u221220.0 points (p = " in text
    assert "Against a guess among the classes" in text
    assert "Accuracy (%)" in text


def test_intervals_and_their_coverage(tmp_path):
    calibration = write_calibration(tmp_path, [0.4, np.inf], [[0.9, np.nan], [1.0, np.nan]])
    sections = sections_of(tmp_path, calibration=calibration, output_names=["y <1>"])
    section = sections[2]
    text = text_of(section)
    assert "Intervals of 90 % covered 95.0 % of the test outputs" in text
    assert "(lowest split 90.0 %, highest 100.0 %)" in text
    rows = re.findall(r"<tr>.*?</tr>", section.html)
    first, second = rows[1:]
    # The true outputs are -1 and 1, whose standard deviation is 1; half of each is the error.
    assert "y &lt;1&gt;" in first
    for cell in ("± 0.4", "all equal", "0.40", "95.0 %", "90.0 % to 100.0 %"):
        assert f"<td>{cell}</td>" in first
    cells = re.findall(r"<td>(.*?)</td>", sections[0].html)
    assert cells[:5] == ["0.500 ± 0.000", "0.750 ± 0.000", *["0.500 ± 0.000", "1.00 ± 0.00"], "8"]
    assert "output 2" in second and "too few rows" in second
    assert "at least 10 rows are needed" in text
    # Of eight novelties from 0 to 4 three are above 2.5.
    assert "novelty above 2.5" in text and "these are 37.5 %" in text


def test_widths_that_follow_the_row_are_reported_with_their_coverage_by_thirds(tmp_path):
    path = write_calibration(tmp_path, [0.9, 2.0], [[0.9, 0.8], [1.0, 0.9]])
    tree = read_artifact(path, "calibration") | {
        "usual_half_widths": np.array([[0.5, 1.4], [2.0, 2.0]]),
        "constant_half_widths": np.array([1.0, 2.0]),
        "intervals": {"coefficients": np.array([[0.1, 0.2, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])},
        "thirds": {
            "of_predicted": np.array([[0.9, 0.8, 0.7], [1.0, 0.9, 0.8]]),
            "of_novelty": np.full((2, 3), 0.91),
            "of_width": np.full((2, 3), 0.92),
        },
        "joint": {
            "coverage": np.array([[0.8, 0.85], [0.9, 0.95]]),
            "of_novelty": np.array([[0.7, 0.8, 0.9], [0.9, 0.9, 0.9]]),
            "of_width": np.full((2, 3), 0.9),
            "log_sides": np.log([2.0, 1.0]),
        },
    }
    for number in range(2):
        tree[f"split-{number}"]["held"] = np.array([[1.0, 1.0], [1.0, 0.0]])
    write_artifact(path, tree, "calibration")
    section = sections_of(tmp_path, calibration=path)[2]
    text = text_of(section)
    assert (
        "Of the third of the rows with the lowest predictions they covered 95.0 %, of the middle "
        "third 85.0 %, of the highest third 75.0 %" in text
    )
    assert "For 1 of 2 outputs the width of an interval depends on the predicted value" in text
    assert "10 % narrower than those with one width for all rows" in text
    assert "hold all outputs of a row less often (50.0 % of the test rows)" in text
    assert (
        "A joint box (key joint of predict) covered 85.0 % of the test rows (lowest split "
        "80.0 %, highest 90.0 %); from the least to the most novel third of the rows 70.0 %, "
        "80.0 % and 90.0 %, and from the third" in text
    )
    assert "covered 90.0 % (lowest split 85.0 %, highest 95.0 %); a cube of its volume" in text
    assert "has 0.50 times the side" in text
    first, second = re.findall(r"<tr>.*?</tr>", section.html)[1:]
    assert "<td>0.5 to 1.4</td>" in first and "<td>90 / 80 / 70 %</td>" in first
    assert "<td>all equal</td>" in second
    tree["intervals"]["coefficients"][:] = 0.0
    write_artifact(path, tree, "calibration")
    text = text_of(sections_of(tmp_path, calibration=path)[2])
    assert "All rows have the same width" in text


def test_sets_of_classes_are_reported_with_their_coverage_and_size(tmp_path):
    path = write_calibration(tmp_path, [], np.empty((2, 0)))
    tree = read_artifact(path, "calibration") | {
        "sets": {"inverse_temperature": 2.0, "level": 0.9, "decoder": "scores"},
        "set_coverage": np.array([0.85, 0.95]),
        "set_size": np.array([1.25, 1.75]),
        "set_thirds": np.array([0.8, 0.9, 1.0]),
    }
    for limit, sentence in (
        (
            0.7,
            "that of 90.0 % (lowest split 85.0 %, highest 95.0 %), with 1.50 classes on average; "
            "by the probability of the class, that of 80.0 %, 90.0 % and 100.0 % in the least, the "
            "middle and the most certain third",
        ),
        (np.inf, "too few test rows for sets of classes that cover 90 % (at least 10 are needed)"),
    ):
        tree["sets"] |= {"limits": np.array([0.5, limit]), "cuts": np.array([0.8])}
        write_artifact(path, tree, "calibration", allow_nan=("limits",))
        sections = sections_of(tmp_path, calibration=path)
        assert [each.anchor for each in sections] == ["answer", "leaderboard", "sets", "next"]
        assert sentence in text_of(*sections)


def test_intervals_of_many_outputs_are_folded(tmp_path):
    few = write_calibration(tmp_path, [1.0] * 20, [[0.9] * 20])
    html = sections_of(tmp_path, calibration=few)[2].html
    assert "<details>" not in html
    many = write_calibration(tmp_path, [1.0] * 21, [[0.9] * 21])
    answer, _, section, _ = sections_of(tmp_path, calibration=many)
    html = section.html
    first = "All 21 outputs: R\u00b2 from 0.75 to 0.75, median 0.75"
    assert f"<summary>{first}</summary>" in answer.html
    assert "<summary>All 21 outputs</summary>" in html
    parse(html)


def test_classes_have_no_intervals(tmp_path):
    calibration = write_calibration(tmp_path, [], np.empty((2, 0)))
    sections = sections_of(tmp_path, calibration=calibration)
    assert [section.anchor for section in sections] == ["answer", "leaderboard", "next"]


def test_the_data_profile_warns_first(tmp_path):
    section = data_profile_section(DATA_PROFILE)
    text = text_of(section)
    assert section.html.index("Check this first") < section.html.index("<table")
    assert "The column a reveals the output y: it is the output itself" in text
    assert "It is left out of the inputs" in text and "It is used as an input" in text
    assert "The table seems sorted by y." in text
    assert "2 rows repeat an earlier row" in text
    assert "3 labelled rows have the inputs of another row" in text
    assert (
        "60: 50 labelled, 4 with a group but no output, 6 without either and 1 with some outputs "
        "missing" in text
    )
    unpaired = DATA_PROFILE | {"rows_unpaired": 7, "rows_empty": 2}
    text = text_of(data_profile_section(unpaired))
    assert (
        "7 with outputs but no input, 6 without either, 2 with neither inputs nor outputs" in text
    )
    without_groups = data_profile_section(DATA_PROFILE | {"rows_weak": 0})
    assert "50 labelled, 6 without outputs (not used) and 1 with" in text_of(without_groups)
    assert "9: 2 number and 1 category" in text
    assert "a (25 %) and b (2 %)" in text
    assert "y and z (\u22120.71)" in text
    assert "10, 20 and 40, with 10 test rows" in text
    assert "2 of 30 and 20 rows" in text
    assert "3.25" in text and "\u22121" in text


@each_case("absent", [*DATA_PROFILE, "all"])
def test_facts_that_are_absent_are_left_out(absent):
    facts = {key: value for key, value in DATA_PROFILE.items() if absent not in (key, "all")}
    section = data_profile_section(facts)
    parse(section.html)
    assert "None" not in section.html and "nan" not in section.html


def test_the_facts_of_a_real_table_are_shown():
    random = np.random.default_rng(0)
    size = random.normal(size=40)
    columns = {"sample": [f"s{n}" for n in range(40)], "size": size, "copy": 2 * size + 1}
    columns |= {"y": 2 * size + 1, "z": np.where(np.arange(40) < 30, size**2, np.nan)}
    table = Table.from_columns(columns, "assay.csv")
    facts = data_profile(table, {"outputs": ["y", "z"], "numbers": ["size", "copy"]})
    section = data_profile_section(json.loads(json.dumps(facts)))
    text = text_of(section)
    assert "The column copy reveals the output y: it is the output itself" in text
    assert "40: 40 labelled and 10 with some outputs missing" in text
    assert "z (25 %)" in text
    assert '<th scope="row">Columns that name the rows</th><td>sample</td>' in section.html


def test_a_table_without_faults_has_no_warning():
    harmless = {"leaks": [], "row_order": [], "duplicate_rows": 0, "contradictions": 0}
    assert "Check this first" not in data_profile_section(DATA_PROFILE | harmless).html


def test_names_of_the_user_cannot_be_markup(tmp_path):
    evil = "<script>alert(1)</script>"
    facts = DATA_PROFILE | {"constant": [evil], "outputs": {evil: {"n_known": 3, "mean": 1.0}}}
    facts["leaks"] = [{"column": evil, "output": evil, "kind": "equal", "strength": 1.0}]
    methods = METHODS | {"ofer-gmm": {"label": evil}}
    sections = sections_of(
        tmp_path,
        methods=methods,
        data_profile=write_data_profile(tmp_path, facts),
        calibration=write_calibration(tmp_path, [0.4], [[0.9]]),
        output_names=[evil],
    )
    assert not any("<script" in section.html for section in sections)


def test_the_next_commands_name_the_experiment(tmp_path):
    text = text_of(*sections_of(tmp_path)[-1:])
    assert "snakemake --cores 2 predict --config name=assay rows=new_rows.csv" in text
    assert "snakemake --cores 2 answer --config name=assay" in text
    assert "Before predicting" not in text


def test_a_useless_winner_is_reported_before_the_commands(tmp_path):
    rows = [("m-krr", "selected", 0, lambda size, split: 1.3 + base_error(size, split) / 9)]
    section = sections_of(tmp_path, rows)[-1]
    assert section.html.index("Before predicting") < section.html.index("snakemake")


def test_damaged_files_are_reported(tmp_path):
    path = tmp_path / "answer.json"
    with pytest.raises(UserError, match=r"answer\.json"):
        answer_part(path, "assay")
    path.write_text("[1, 2]")
    with pytest.raises(UserError, match="it holds no object"):
        answer_part(path, "assay")


def write_importance(tmp_path, n_splits=4, columns=(["heat"], ["a", "b"], ["c", "d", "e"])):
    """Write the importance of three inputs for two outputs."""
    positions = [
        InputGroup(tuple(names), np.array([0]), np.array([]), is_window=len(names) > 2)
        for names in columns
    ]
    generator = np.random.default_rng(0)
    plain = 0.2 + 0.01 * generator.random((n_splits, 3))
    permuted = plain[:, None] + np.array([0.3, 0.1, 0.0])[:, None]
    permuted = permuted + 0.004 * generator.normal(size=permuted.shape)
    grouping = Grouping(positions, 0.7, 0.55)
    tree = importance_tree(plain, permuted, grouping, ["all outputs", "y", "z"], 80, 20)
    tree |= {"n_repeats": 5, "n_rows": 20, "n_train": 80, "method": "m-krr"}
    path = tmp_path / "importance.h5"
    write_artifact(path, tree, "importance", allow_nan=MAY_BE_UNKNOWN)
    return path


def test_the_importance_of_inputs_is_a_section_and_a_sentence(tmp_path):
    path = write_importance(tmp_path)
    sections = sections_of(tmp_path, importance=path)
    assert [section.anchor for section in sections][:3] == ["answer", "leaderboard", "importance"]
    words = r"Permuting heat raises the error from 0\.2\d to 0\.5\d; permuting a and b raises the "
    for section in (sections[0], sections[2]):
        text = text_of(section)
        assert re.search(words + r"error from 0\.2\d to 0\.3\d \(4 splits\)\.", text)
    text = text_of(*sections[2:3])
    assert "2 groups were permuted together" in text and "a mean one of at least 0.55" in text
    assert "permuted 5 times between 20 test rows" in text


def test_an_importance_beyond_the_outputs_of_one_split_has_no_test(tmp_path):
    path = write_importance(tmp_path, n_splits=1, columns=(["heat"], ["a"], ["c"]))
    text = text_of(*sections_of(tmp_path, importance=path)[2:3])
    assert "Permuting heat raises" in text and "No two columns correlate above 0.7" in text


def test_without_importance_there_is_no_section(tmp_path):
    path = tmp_path / "importance.h5"
    write_artifact(path, {"reason": "its inputs are kernel values"}, "importance")
    sections = sections_of(tmp_path, importance=path)
    assert "importance" not in [section.anchor for section in sections]
