"""The report is one well-formed file with the escaped results, and loads nothing from outside."""

import base64
import itertools
import json
import platform
import re
import subprocess
import zlib

import numpy as np
import pandas as pd
import pytest
from each_case import each_case
from report_samples import (
    METHODS,
    base_error,
    better_error,
    parse,
    scores_of,
    write_choices,
    write_coordinates,
    write_scores,
    write_timings,
)
from scipy.sparse import csr_array

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.convergence import GAP_AT_LIMIT
from workflow_lib.core.errors import UserError
from workflow_lib.core.whole_files import write_text
from workflow_lib.items.sparse_inputs import sparse_tree
from workflow_lib.page import assembly
from workflow_lib.report import manifest
from workflow_lib.report.dataset_records import dataset_facts
from workflow_lib.report.manifest import run_manifest
from workflow_lib.report.protocol_sentences import _k_fold_in_words
from workflow_lib.report.results import read_choices

SVG = '<svg xmlns="http://www.w3.org/2000/svg"></svg>'

RUN = {
    "versions": {"python": "3.11.9", "numpy": "2.4.0", "absent": None},
    "git": {"commit": "a" * 40, "is_dirty": True},
    "machine": {"host": "node<1>", "system": "Linux 6", "architecture": "x86_64", "cpu_count": 2},
    "configuration": {"seed": 2018, "note": "a < b"},
    "seeds": {"main": 2018},
}


def inputs_in(tmp_path):
    """Return everything that `assembly.run` takes, for one experiment on a stand-in."""
    rows = [("m-krr", "selected", 0, base_error), ("ofer-gmm", "selected", 0, better_error)]
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    (tmp_path / "curve.svg").write_text(SVG)
    tree = {
        "inputs": np.zeros((6, 3)),
        "outputs": np.ones((6, 2)),
        "report": {
            "rows_read": 8,
            "rows_dropped": 2,
            "exclusions": {"too short & blank": 2, "without a price": 1, "never": 0},
        },
    }
    write_artifact(tmp_path / "toy.h5", tree, "dataset")
    settings = {
        "title": "Toy <experiment>",
        "dataset": "toy-data",
        "training_sizes": [20, 50, 500],
        "weak_sizes": [],
        "components": "selected",
        "kernel": "rbf",
        "metric": "arrmse",
        "tables": [
            dict(zip(("name", "kind", "caption", "paper_table"), table))
            for table in (
                ("error", "error", "Errors.", None),
                ("time", "time", "Times.", "one-3"),
                ("weeks", "coordinates", "Weeks.", "djerrab-6"),
            )
        ],
        "figures": [{"name": "curve", "kind": "learning_curve", "caption": "Curves & more."}],
    }
    dataset = {
        "title": "Toy data",
        "description": "Numbers > 0.",
        "stand_in_for": 'the "videos" of the paper',
        "reader": "csv",
        "sources": [{"address": "https://example.org/toy.csv?a=1&b=2"}],
        "licence": "CC0",
        "citation": "Nobody (2020)",
    }
    results = {
        "scores": write_scores(tmp_path / "scores.csv", rows),
        "coordinates": write_coordinates(tmp_path / "coordinates.csv", rows),
        "timings": write_timings(tmp_path / "timings.csv", ["m-krr", "ofer-gmm"]),
    }
    return {
        "manifest": tmp_path / "run.json",
        "title": "A <report>",
        "author": "An & Other",
        "experiments": {
            "toy": {
                "settings": settings,
                "scores": results["scores"],
                "choices": write_choices(tmp_path / "choices.csv", rows),
                "table_results": dict.fromkeys(("error", "time", "weeks", "w"), results),
                "figures": {"curve": tmp_path / "curve.svg"},
            }
        },
        "datasets": {"toy-data": {"settings": dataset, "artifact": tmp_path / "toy.h5"}},
        "methods": METHODS,
        "published": {},
        "n_folds": 5,
    }


@pytest.fixture
def inputs(tmp_path):
    return inputs_in(tmp_path)


def page_of(inputs, folder):
    assembly.run(output=folder / "report.html", **inputs)
    return (folder / "report.html").read_text()


def text_of(page):
    return "".join(parse(page).text).replace("\u00a0", " ")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    return page_of(inputs_in(folder), folder)


def unpacked(text):
    """Return the text of a file that the page holds."""
    return zlib.decompress(base64.b64decode(text)).decode()


STATED = [
    *("A <report>", "Toy <experiment>", "An & Other"),
    "OFER-GMM against m-KRR is better in 2 of 2 comparisons",
    "OFER-GMM against m-KRR is better at n = 20 and 50.",
    "20 and 50 training rows, each set inside the next; 5 random splits with 10",
    "Sizes that do not fit the data: 500.",
    "5-fold cross-validation on the training rows alone",
    *("5 of 5", "1 on data that stand in for those of the paper."),
    'these data stand in for the "videos" of the paper',
    'Errors. Data: Toy data, standing in for the "videos" of the paper',
    *("8 read, 2 dropped", "3 inputs, 2 outputs", "CC0", "Nobody (2020)"),
    "Left outtoo short & blank: 2; without a price: 1Columns",
    *("Weeks. Data: Toy data, standing in for", "50 training rows, the largest size", "week 3"),
    "a" * 40 + ", with changes that are not committed",
    *("node<1>", "not installed", '"note": "a < b"'),
]


def test_the_page_is_well_formed_and_states_escaped_results(page):
    text = text_of(page)
    assert [words for words in STATED if words not in text] == []
    assert "<report>" not in page


def test_the_page_needs_nothing_from_outside(page):
    assert re.findall(r"<script[^>]+>", page) == []
    assert "<link" not in page
    assert "url(" not in page
    assert re.findall(r'\bsrc="(?!data:)', page) == []
    found = re.findall(r'href="(?!#|data:)([^"]*)"', page)
    assert found == ["https://example.org/toy.csv?a=1&amp;b=2"]


def test_the_figure_is_embedded_with_a_text(page):
    found = re.search(r'<img data-packed="([^"]*)" alt="([^"]*)">', page)
    assert unpacked(found[1]) == SVG
    assert found[2].startswith("Curves &amp; more. Lowest mean aRRMSE: OFER-GMM at n = 20")


def test_a_photograph_keeps_its_colours_on_a_dark_page(inputs, tmp_path):
    photograph = SVG.replace("><", '><image href="data:image/png;base64,"/><')
    (tmp_path / "curve.svg").write_text(photograph)
    assert '<img class="pixels" data-packed=' in page_of(inputs, tmp_path)


def test_tables_and_figures_have_anchors_and_can_be_saved(inputs, tmp_path):
    experiment = inputs["experiments"]["toy"]
    files = {"csv": tmp_path / "toy-error.csv", "tex": tmp_path / "toy-error.tex"}
    for path in (*files.values(), tmp_path / "toy-curve.png"):
        path.write_bytes(f"the bytes of {path.name}".encode())
    experiment |= {"table_files": {"error": files}}
    experiment |= {"pictures": {"curve": tmp_path / "toy-curve.png"}}
    page = page_of(inputs, tmp_path)
    for anchor in ("table-toy-error", "table-toy-time", "table-toy-weeks", "figure-toy-curve"):
        assert page.count(f' id="{anchor}"') == 1
    saved = dict(re.findall(r'<a download="([^"]*)" type="[^"]*" data-packed="([^"]*)"', page))
    assert {name: unpacked(content) for name, content in saved.items()} == {
        name: f"the bytes of {name}" for name in ("toy-error.csv", "toy-error.tex")
    }
    # A script makes the PNG of the SVG that is shown.
    assert 'download="toy-curve.png"' in page


def test_the_page_opens_with_what_was_run_and_counts_below(page):
    summary = page.index('<section id="summary"')
    opening = page[summary : page.index("</section>", summary)]
    assert opening.index("1 experiment, 1 on data that stand in") < opening.index("By experiment")
    assert "<details open" not in page
    assert "<li>OFER-GMM against m-KRR" in opening[opening.index("<details>") :]


def test_three_sentences_and_a_picture_come_first(inputs, tmp_path):
    toy = inputs["experiments"]["toy"]
    experiments = {"toy": {"title": "Toys", "stand_in_for": "other toys", "metric": "arrmse"}}
    experiments["toy"] |= {"dataset": "toy-data", "is_made": False}
    files = {
        name: {suffix: tmp_path / f"{name}.{suffix}" for suffix in ("svg", "png", "csv")}
        for name in ("best", "headline", "curves", "ranks", "protocol")
    }
    for paths in files.values():
        for path in paths.values():
            path.write_text(SVG)
        paths["csv"].write_text("method,value\nm-krr,0.5\n")
    files["ranks"]["tex"] = files["ranks"]["csv"]
    inputs |= {"ranked": experiments, "cross_dataset": files}
    inputs["protocol"] = {"toy": {"title": "Toys", "split": "random", "metric": "arrmse"}}
    toy["settings"]["figures"][0]["kind"] = "series"
    page = page_of(inputs, tmp_path)
    opening = page[page.index('<section id="summary"') : page.index("By experiment")]
    first, *folded = opening.split("<details>")
    sentences = re.findall(r"<li>(What [^:]*:)", first)
    assert sentences == ["What was run:", "What came out:", "What to beware of:"]
    assert first.count("<li>") == 3 and first.count("<img src=") == first.count("<img ") == 1
    assert "<img src=" not in "".join(folded)
    assert all(
        opening.index(first) < opening.index(second)
        for first, second in itertools.pairwise(
            ["</ul>", 'id="figure-best"', 'id="figure-headline"', 'id="figure-curves"']
        )
    )
    assert 'download="headline.csv"' in opening
    assert '<a href="#figure-toy-curve">' in opening


def test_the_paper_is_compared_with_the_run_where_its_contents_are_given(inputs, page, tmp_path):
    assert 'id="one-2001"' not in page
    contents = tmp_path / "contents.csv"
    contents.write_text(
        "paper,kind,number,title,data,quantity,drawn_as,paper_table\n"
        "One (2001),table,3,Seconds,Toys,seconds,,one-3\n"
        "Two (2002),figure,1,A drawing,,drawing,,\n"
    )
    runs = {"paper": []}
    text = page_of(inputs | {"contents": [contents], "runs": runs}, tmp_path)
    assert '<a href="#table-toy-time">' in text
    starts = [text.index(f'<section id="{name}"') for name in ("summary", "one-2001", "two-2002")]
    assert starts == sorted(starts) and starts[-1] < text.index('<section id="where-ofer-helps"')


def test_the_check_of_what_is_kernel_ridge_is_shown_where_there_is_one(inputs, page, tmp_path):
    assert "was not checked in this run" in page
    statement = {"name": "one", "is_kernel_ridge": True, "difference": 2e-15, "holds": True}
    facts = {"n_training": 30, "n_test": 12, "tolerance": 1e-8, "statements": [statement]}
    (tmp_path / "equivalence-checks.json").write_text(json.dumps(facts))
    inputs["experiments"]["toy"]["equivalence_checks"] = tmp_path / "equivalence-checks.json"
    text = page_of(inputs, tmp_path)
    assert "the largest relative difference is 2e-15." in text


@pytest.mark.parametrize(
    ("reader", "is_drawn"),
    [("synthetic_mixture", True), ("series_synthetic", True), ("csv", False), ("digits", False)],
)
def test_data_of_readers_that_draw_are_made(reader, is_drawn):
    for stand_in_for in (None, "videos"):
        assert assembly.is_made({"reader": reader, "stand_in_for": stand_in_for}) == is_drawn


def test_headings_do_not_skip_a_level_and_links_have_targets(page):
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(levels, levels[1:], strict=False))
    targets = re.findall(r'href="#([^"]*)"', page)
    anchors = re.findall(r'\bid="([^"]*)"', page)
    assert set(targets) <= set(anchors)
    assert len(anchors) == len(set(anchors))


def test_every_table_has_a_caption_and_scoped_heads(page):
    assert page.count("<table") == page.count("<caption>")
    assert re.findall(r"<th(?![^>]*scope=)[ >]", page) == []


def write_dataset(path, outputs, inputs=None, **report):
    report = {"rows_read": 30, "rows_dropped": 24} | report
    inputs = np.zeros((len(outputs), 3)) if inputs is None else inputs
    tree = {"inputs": inputs, "outputs": outputs, "report": report}
    write_artifact(path, tree, "dataset", allow_nan=("outputs",))


def test_few_rows_that_were_left_out_are_named(inputs, tmp_path):
    excluded = {"no <SMILES>": ["17", "4"], "twice": [f"n{number}" for number in range(21)]}
    write_dataset(
        tmp_path / "toy.h5",
        np.ones((6, 2)),
        exclusions={reason: len(names) for reason, names in excluded.items()} | {"never": 0},
        excluded_names={reason: ", ".join(names) for reason, names in excluded.items()},
    )
    text = text_of(page_of(inputs, tmp_path))
    assert "Left outno <SMILES>: 2 (17, 4); twice: 21Columns" in text
    assert "n20" not in text


def test_missing_outputs_are_counted_and_explained(inputs, tmp_path):
    outputs = np.ones((6, 2))
    outputs[4, 1] = np.nan
    write_dataset(tmp_path / "toy.h5", outputs, missing_outputs=1)
    text = text_of(page_of(inputs, tmp_path))
    assert "Missing outputs1 value (8.3 %)" in text
    assert "8.3 % of the output values are missing: in training each is replaced by the" in text


def test_data_without_exclusions_or_missing_outputs_give_no_note_on_them(inputs, tmp_path):
    write_dataset(tmp_path / "toy.h5", np.ones((6, 2)), missing_outputs=0)
    page = page_of(inputs, tmp_path)
    assert "missing" not in page.lower() and "Left out" not in page


def test_columns_of_sparse_inputs_are_counted(inputs, tmp_path):
    write_dataset(tmp_path / "toy.h5", np.ones((6, 2)), sparse_tree(csr_array(np.eye(6, 40))))
    settings = inputs["datasets"]["toy-data"]["settings"]
    assert assembly.dataset_record("toy", settings, tmp_path / "toy.h5")["n_inputs"] == 40


def test_the_page_is_the_same_bytes_again_and_names_no_folder(inputs, page, tmp_path):
    again = page_of(inputs, tmp_path)
    assert again == page
    assert str(tmp_path) not in again


def test_synthetic_data_are_called_synthetic(inputs, tmp_path):
    dataset = inputs["datasets"]["toy-data"]["settings"]
    dataset |= {"reader": "synthetic_mixture", "stand_in_for": None, "sources": []}
    text = text_of(page_of(inputs, tmp_path))
    assert "1 on simulated data." in text
    assert "Simulated" in text
    assert "stand in" not in text


def test_published_numbers_are_found_by_the_name_of_the_table(inputs, tmp_path):
    table = tmp_path / "table-2.csv"
    table.write_text(
        "table,row,column,value,spread,unit,method,components,training_size\n"
        "2,a,Test time,57.1,14.7,s,ofer-gmm,selected,20\n"
    )
    assert "57.1 ± 14.7 s" in page_of(inputs | {"published": {"one-3": table}}, tmp_path)


def test_published_numbers_of_other_columns_are_shown_below(inputs, tmp_path):
    table = tmp_path / "table-6.csv"
    table.write_text(
        "table,row,column,value,spread,unit,method,components,training_size\n"
        "6,m-KRR,2001,1.27,,RRMSE,m-krr,selected,\n"
    )
    text = text_of(page_of(inputs | {"published": {"djerrab-6": table}}, tmp_path))
    assert text.index("week 3") < text.index("Published: table 6") < text.index("1.27")
    assert "only stand in for theirs" in text


def test_the_errors_of_a_table_are_those_of_its_settings(inputs, tmp_path):
    table = inputs["experiments"]["toy"]["settings"]["tables"][0]
    table["errors"] = ["root_sum_rrmse"]
    text = page_of(inputs, tmp_path)
    assert "Root of the sum over output coordinates" in text
    assert "RRMSE (pooled over output coordinates)" not in text


SETTINGS = {"training_sizes": [20, 50], "components": "selected", "kernel": "rbf"}
SETTINGS |= {"metric": "arrmse"}
ROW = ("m-krr", "selected", 0, base_error)


def protocol_of(tmp_path, settings, rows=(ROW,), chosen=None, n_folds=5, methods=None, **options):
    """Return the sentences where RBF kernels were chosen; `options` are those of the files."""
    same_group = options.pop("same_group", None)
    chosen = {"sizes": [50], "n_landmarks": 0} | (chosen or {})
    choices = read_choices(write_choices(tmp_path / "choices.csv", [ROW], **chosen))
    scores = scores_of(tmp_path, rows, **options)
    more = {"same_group": same_group, "methods": methods}
    return assembly.protocol_sentences(SETTINGS | settings, scores, choices, n_folds, **more)


LATEST, GROUPED = {"split": "chronological"}, {"metric": "correlation", "split": "grouped"}
FOLDS = {"training_sizes": [20, "all"], "split": "k_fold", "outer_folds": 5}
FIXED = {"training_sizes": [20], "components": [2, 4], "metric": "rrmse"}
SIZES = {"weak_sizes": [100, 300, 500]}
LANDMARKS, UNPAIRED = {"chosen": {"n_landmarks": 12}}, {"chosen": {"unpaired_size": 300}}
WEAK = {"rows": [ROW, ("wofer-gmm", "selected", 100, better_error)]}
SITES = WEAK | {"same_group": "site"}
GRAPH = {"rows": [ROW, ("m-krr-laplacian", "selected", 100, better_error)]}
GRAPH["methods"] = {"m-krr-laplacian": {"label": "graph", "regressor": "laplacian_ridge"}}
ONE_SPLIT = {"rows": [ROW, ("wofer-gmm", "2", 100, better_error)], "sizes": (20,)}
ONE_SPLIT |= {"n_splits": 1, "n_folds": 3}


@each_case(
    ("settings", "options", "says", "says_not"),
    [
        ({}, {}, ["5 random splits", "Kernel on the inputs: rbf."], ["latest", "edge"]),
        ({}, {}, [], ["landmarks", "without inputs", "swapped"]),
        ({}, LANDMARKS, ["With 50 training rows, more than max_gram_rows, kernel ridge"], []),
        ({}, LANDMARKS, ["the features of 12 landmarks"], []),
        ({}, UNPAIRED, ["outputs without inputs have those of up to 300 further rows"], []),
        (LATEST, {}, ["5 chronological splits with 10 test rows each. The test"], ["random split"]),
        (LATEST, {}, ["The test rows are the latest", "later than all training rows"], []),
        ({"split": "grouped"}, {}, ["5 grouped splits with 10 test rows each. "], ["5 random"]),
        ({"split": "grouped"}, {}, ["groups without training rows"], []),
        ({"split": "given"}, {}, ["5 splits with 10 test rows each. The data"], ["5 random"]),
        ({"split": "given"}, {}, ["The data define the test rows and those that"], []),
        (FOLDS, {"n_splits": 10}, ["10 splits with 10 test row", "10/50"], ["one row"]),
        (FOLDS, {"n_splits": 10}, ["5-fold cross-validation repeated with 2 random parti"], []),
        (FOLDS, {}, ["each row is a test row once. Rows of a group"], ["repeated with"]),
        (FOLDS, {}, ["The largest size is all rows that may train."], []),
        (FOLDS, {"n_test": 1}, ["A test set is one row, right or wrong", "1/50 at the"], []),
        (FOLDS, {"n_test": 1}, ["5 splits with 1 test row"], ["may differ"]),
        (GROUPED, {}, ["prediction has a correlation of 0; higher is better."], ["whole groups"]),
        (GROUPED | {"whole_groups": "test"}, {}, [], ["hold out whole groups", "one group after"]),
        (GROUPED | {"whole_groups": "folds"}, {}, ["hold out whole groups"], ["one group after"]),
        (GROUPED | {"whole_groups": "training"}, {}, ["out whole groups", "one group after"], []),
        ({"wrong_labels": 0.0}, {}, [], ["swapped"]),
        ({"wrong_labels": 0.3}, {}, ["30 % of the training outputs are swapped"], []),
        (SIZES, GRAPH, ["100 rows without outputs for the methods that use them: their"], []),
        (SIZES, GRAPH, ["their inputs alone"], ["of each only the component"]),
        (SIZES, WEAK, ["of each only the component is known, in the mixture fitted"], ["soft"]),
        (SIZES, WEAK, ["Numbers of weak rows that do not fit the data: 300 and 500."], []),
        (SIZES | {"weak_labels": "soft"}, WEAK, ["only the component probabilities are"], []),
        (SIZES, SITES, ["labelled training rows with the same value of 'site'."], ["of each only"]),
        (FIXED, ONE_SPLIT, ["20 training rows; 1 random split with 10 test rows. 100 weakly"], []),
        (FIXED, ONE_SPLIT, ["Hyper-parameters are selected by 3-fold cross-validation"], []),
        (FIXED, ONE_SPLIT, ["are fixed to 2 and 4. Kernel on the", "pooled over outputs"], []),
    ],
)
def test_the_protocol_states(tmp_path, settings, options, says, says_not):
    text = protocol_of(tmp_path, settings, **options)
    assert [words for words in says if words not in text] == []
    assert [words for words in says_not if words in text] == []


def test_the_protocol_states_random_splits_where_no_other_is_named(tmp_path):
    assert protocol_of(tmp_path, {"split": "random"}) == protocol_of(tmp_path, {})


def test_the_protocol_states_chosen_kernels_and_values_on_edges(tmp_path):
    scores = scores_of(tmp_path, [ROW])
    path = write_choices(tmp_path / "choices.csv", [ROW], edges="lowest width")
    choices = read_choices(path)
    is_linear = (choices["name"] == "kernel") & (choices["split"] > 0)
    labels = {"m-krr": {"label": "m-KRR"}}
    choices.loc[is_linear, ["name", "value"]] = GAP_AT_LIMIT, "0.02"
    text = assembly.protocol_sentences(SETTINGS, scores, choices, 5, methods=labels)
    assert "before the duality gap was small enough" in text
    assert "m-KRR in 8 of 10 fits (largest duality gap 0.02)" in text
    choices.loc[is_linear, ["name", "value"]] = "kernel", "linear"
    text = assembly.protocol_sentences(SETTINGS, scores, choices, 5, methods=labels)
    assert "stopped at their limit" not in text
    assert "it is linear in 80 % and rbf in 20 %." in text
    assert "a better one may lie: m-KRR (lowest width) in 5 of 5 fits." in text


@pytest.mark.parametrize(
    ("sizes", "share", "says"), [((10, 10), 0.6, "is the share"), ((11, 9), 0.6, "may differ")]
)
def test_the_mean_over_equal_folds_is_the_share_of_right_rows(sizes, share, says):
    right = [np.repeat([1.0, 0.0], [7, sizes[0] - 7]), np.repeat([1.0, 0.0], [5, sizes[1] - 5])]
    pooled, mean = np.concatenate(right).mean(), np.mean([part.mean() for part in right])
    assert pooled == pytest.approx(share)
    assert (mean == pytest.approx(pooled)) == (sizes[0] == sizes[1])
    frame = pd.DataFrame({"split": [0, 1], "training_size": 9, "n_train": 9, "n_test": sizes})
    assert says in _k_fold_in_words(frame, 2, is_accuracy=True)


@each_case(
    ("changes", "kind"),
    [
        ({}, "Observed, shipped with a library"),
        ({"options": {"folder": "resources/toy"}}, "Observed, files fetched by hand by the user"),
        ({"options": {"least_lines": 55}}, "Observed, shipped with a library"),
    ],
)
def test_the_source_of_the_data_is_named(inputs, changes, kind):
    dataset = inputs["datasets"]["toy-data"]
    settings = dataset["settings"] | {"sources": [], "stand_in_for": None} | changes
    assert assembly.dataset_record("toy", settings, dataset["artifact"])["kind"] == kind


def test_the_positive_class_and_unknown_letters_are_named(inputs, tmp_path):
    write_dataset(tmp_path / "letters.h5", np.ones((6, 2)), unknown_letters=7)
    settings = inputs["datasets"]["toy-data"]["settings"] | {"positive_class": "cow"}
    facts = dict(dataset_facts(assembly.dataset_record("toy", settings, tmp_path / "letters.h5")))
    assert (facts["Positive class"], facts["Unknown letters"]) == ("cow", 7)


def test_methods_that_equal_the_reference_are_reported(inputs, tmp_path):
    rows = [("m-krr", "selected", 0, base_error), ("m-rf", "selected", 0, base_error)]
    write_scores(tmp_path / "scores.csv", rows)
    text = text_of(page_of(inputs, tmp_path))
    assert (
        "m-RF against m-KRR is equal up to rounding at n = 20 and 50 "
        "(largest relative difference in a split: 0)."
    ) in text


def test_studies_have_a_table_of_the_error_that_counts(inputs, tmp_path):
    rows = [("m-krr", "selected", 0, base_error), ("wofer-gmm", "selected", 100, better_error)]
    rows.append(("wofer-gmm", "selected", 100, better_error, "weak_weight=0.01"))
    write_scores(tmp_path / "scores.csv", rows)
    settings = inputs["experiments"]["toy"]["settings"]
    settings["metric"] = "rrmse"
    table = {"name": "w", "kind": "weak_weight", "caption": "Weights.", "paper_table": None}
    settings["tables"].append(table)
    text = text_of(page_of(inputs, tmp_path))
    study = text[text.index("Weights. Data: Toy data") :]
    assert "50 training rows and 100 weak rows" in study
    assert "RRMSE (pooled over output coordinates)\n0.01" in study
    mean = 2 * np.mean([better_error(50, split) for split in range(5)])
    assert f"0.01{mean:.3f} ±" in study


def test_a_damaged_dataset_is_reported(inputs, tmp_path):
    (tmp_path / "toy.h5").write_bytes(b"")
    with pytest.raises(UserError, match="toy.h5"):
        assembly.run(output=tmp_path / "report.html", **inputs)
    assert not (tmp_path / "report.html").exists()


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "text"
    write_text(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")
    assert path.read_text() == "old"
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match=r"folder: the file could not be written") as caught:
        write_text(tmp_path / "folder", "new")
    assert isinstance(caught.value.__cause__, OSError)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["folder", "text"]


def git(folder, *arguments):
    identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_the_manifest_knows_the_commit_and_changes(tmp_path):
    git(tmp_path, "init", "--quiet")
    assert run_manifest({}, {}, tmp_path)["git"] == {"commit": None, "is_dirty": None}
    (tmp_path / "file").write_text("a")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    state = run_manifest({}, {}, tmp_path)["git"]
    assert re.fullmatch("[0-9a-f]{40}", state["commit"])
    assert state["is_dirty"] is False
    (tmp_path / "file").write_text("b")
    assert run_manifest({}, {}, tmp_path)["git"]["is_dirty"] is True


def test_the_manifest_does_without_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run_manifest({}, {}, tmp_path)["git"] == {"commit": None, "is_dirty": None}


def test_the_manifest_records_versions_configuration_and_seeds(tmp_path):
    path = tmp_path / "run.json"
    configuration = {"run": {"seed": 7}, "a": [1, "/", "/data of/me/table.csv", "x/y"]}
    manifest.run(path, configuration, {"main": 7}, tmp_path)
    record = json.loads(path.read_text())
    assert record["versions"]["numpy"] == np.__version__
    assert record["configuration"] == {"run": {"seed": 7}, "a": [1, "/", "table.csv", "x/y"]}
    assert record["seeds"] == {"main": 7}
    assert record["machine"]["cpu_count"] >= 1 and "host" not in record["machine"]
    assert run_manifest({}, {}, tmp_path, host=True)["machine"]["host"] == platform.node()
    assert str(tmp_path) not in path.read_text()
    assert (
        path.read_text() == json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    )
