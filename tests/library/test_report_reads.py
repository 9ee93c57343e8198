"""What figures and tables read: patterns of files that rules make."""

import re
from pathlib import Path

import pytest
from each_case import each_case

from workflow_lib.core.errors import UserError
from workflow_lib.report.figures.base import figure_modules
from workflow_lib.report.reads import EACH, FOLDERS, NAMES, arranged, paths_of
from workflow_lib.report.table_kinds.base import table_kinds

ROOT = Path(__file__).parents[2]
KINDS = {f"figure {name}": kind for name, kind in figure_modules().items()}
KINDS |= {f"table {name}": kind for name, kind in table_kinds().items()}
VALUES = {name: [f"{name}-a", f"{name}-b"] if name in EACH else [name] for name in NAMES}


@each_case("kind", KINDS)
def test_a_rule_makes_what_a_figure_or_table_reads(kind):
    rules = "\n".join(path.read_text() for path in (ROOT / "rules").glob("*.smk"))
    for name, pattern in KINDS[kind].reads.items():
        assert re.search(rf"[/\"]{re.escape(Path(pattern).name)}\"", rules), pattern
        values = {name: lambda name=name: VALUES[name] for name in NAMES}
        paths = paths_of(pattern, values)
        assert isinstance(paths, str) == (not any(f"{{{each}}}" in pattern for each in EACH)), name
        assert isinstance(arranged(pattern, paths), dict) == any(
            f"{{{folder}}}" in pattern for folder in FOLDERS
        )


def test_the_rules_know_every_name_of_a_pattern():
    function = (ROOT / "rules/inputs/tables_and_figures.smk").read_text().split("def files_of(")[1]
    assert re.findall(r'^ {8}"(\w+)": lambda', function.split("\ndef ")[0], re.M) == list(NAMES)


def test_files_are_sorted_by_experiment_then_method_then_split():
    pattern = "results/{wrong_share}/split-{split}/{method}/predictions.h5"
    values = {"wrong_share": lambda: "ab", "method": lambda: "mn", "split": lambda: range(2)}
    paths = paths_of(pattern, values)
    assert paths[:3] == [f"results/a/split-{rest}/predictions.h5" for rest in ("0/m", "1/m", "0/n")]
    assert list(arranged(pattern, paths)) == ["m", "n"]
    assert arranged(pattern, paths)["m"] == [*paths[:2], *paths[4:6]]
    first = "results/{experiment}/split-0/{method}/predictions.h5"
    found = paths_of(first, values | {"experiment": lambda: ["a"]})
    assert arranged(first, found) == {"m": found[0], "n": found[1]}


def test_a_file_of_a_model_that_an_experiment_lacks_is_none():
    pattern = "results/{experiment}/split-0/{mixture}/models.h5"
    paths = paths_of(pattern, {"experiment": lambda: ["a"], "mixture": list})
    assert paths == [] and arranged(pattern, paths) is None


def test_an_unknown_name_in_a_pattern_is_refused():
    with pytest.raises(UserError, match=r"READS of a .*\{fold\}\.csv: \{fold\}\. .*\{split\}"):
        paths_of("results/{experiment}/{fold}.csv", {})
