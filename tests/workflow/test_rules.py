"""Conventions of rules and scripts, and that a rule states all the code that it uses."""

import ast
import re

from each_case import each_case
from paper_folders import needs_paper
from small_run import (
    ALIKE,
    LOADED_BY_NAME,
    OF_SPLITS,
    ROOT,
    digest_of_job,
    is_module,
    named_modules,
    plain,
    records_of_jobs,
    script_of_job,
)

RULE_FILES = [ROOT / "Snakefile", *sorted((ROOT / "rules").rglob("*.smk"))]
ORDER = [
    "input",
    "output",
    "params",
    "log",
    "benchmark",
    "resources",
    "group",
    "message",
    "script",
]
# These belong to no rule.
SCRIPTS = [
    path
    for path in sorted((ROOT / "scripts").glob("*.py"))
    if path.name not in ("adapter.py", "job_processes.py", "scheduler_load.py", "terminal.py")
]
STATEMENTS = re.compile(r"^(?:rule|checkpoint) (\w+):\n((?:[ \t]+.*\n|\n)*)", re.MULTILINE)
# Rules in a loop over the splits of their jobs, by the name before these splits.
IN_LOOPS = re.compile(
    r"^( +)rule:\n(\1 +name:\n +splits\.rule_name\(\"?(\w+)\"?\)\n(?:\1 +.*\n|\n)*)", re.MULTILINE
)

LOCAL = {"acquire", "introductions", "new"}
"""Rules of jobs that are not submitted: they need the internet, or print for the user."""


def bodies() -> dict[str, str]:
    """Return what every rule states, indented as a rule outside of loops."""
    found = {}
    for path in RULE_FILES:
        text = path.read_text() + "\n"
        found |= dict(STATEMENTS.findall(text))
        for indent, body, name in IN_LOOPS.findall(text):
            found[name] = re.sub(f"^{indent}", "", body, flags=re.MULTILINE)
    found["regression"] = found.pop("stage")
    return found


BODIES = bodies()
RULES = {
    name: re.findall(r"^    (\w+):", body, flags=re.MULTILINE) for name, body in BODIES.items()
}
"""The directives of every rule, in their order."""

RULES_WITH_JOBS = {name: stated for name, stated in RULES.items() if "script" in stated}

# They read nothing but what they fetch: a change of their code does not change what was fetched.
WITHOUT_INPUT = {"acquire", "introductions"}
# It fetches from one public address and from no mirror, so that no test can run it.
NEEDS_NETWORK = {"introductions"}
# It reads no file of another job, and writes configuration for the user to edit: Snakemake would
# remove a declared output before it wrote it again.
WITHOUT_OUTPUT = {"new"}
# They run only on request.
ON_REQUEST = {"new", "answer_figures", "importance_figures", "predict_rows"}
ON_REQUEST |= {"row_plan", "row_sums", "added_sums", "solved_sums", "row_errors", "learned_model"}
# They show methods that the small run does not have.
OF_OTHER_METHODS = {"embedding_or_raw", "queue_costs"}


def test_all_rules_are_found():
    text = "\n".join(path.read_text() for path in RULE_FILES)
    assert len(re.findall(r"^\s*(?:rule|checkpoint)\b", text, flags=re.MULTILINE)) == len(RULES)
    assert set(RULES) - set(RULES_WITH_JOBS) == {
        *("all", "prepare", "answer", "predict", "learn"),
    }


@each_case("name", sorted(RULES_WITH_JOBS))
def test_directives_have_one_order(name):
    stated = [directive for directive in RULES[name] if directive in ORDER]
    assert stated == sorted(stated, key=ORDER.index)
    required = set(ORDER) - {"input", "params"}
    if name not in WITHOUT_INPUT | WITHOUT_OUTPUT:
        required.add("input")
    if name in WITHOUT_OUTPUT:
        required -= {"output", "benchmark"}
    if name in LOCAL:
        required.remove("group")
    assert required <= set(stated)
    assert {"run", "shell", "notebook", "wrapper"}.isdisjoint(RULES[name])


@each_case("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_only_pass_arguments_on(path):
    text = path.read_text()
    assert "snakemake.config" not in text
    loops = (ast.For, ast.While, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)
    arithmetic = (ast.BinOp, ast.AugAssign, ast.UnaryOp, ast.FunctionDef, ast.Lambda)
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (*loops, *arithmetic))]
    assert [ast.unparse(node.iter) for node in found if isinstance(node, ast.For)] == [
        "each_split(snakemake)"
    ] * len(found)
    assert len(text.splitlines()) < 40


def test_submitted_groups_request_what_their_rules_need():
    for name in RULES_WITH_JOBS:
        body = BODIES[name]
        is_local = "localrule: True" in body
        assert is_local == (name in LOCAL), name
        assert is_local != ("group:" in body), name
        splits = ", splits" if "splits.rule_name" in body else ""
        assert is_local or f'**resources_for("{name}"{splits}),' in body, name


def test_every_script_belongs_to_a_rule():
    text = "\n".join(path.read_text() for path in RULE_FILES)
    named = re.findall(r'"\.\./scripts/(\w+\.py)"', text)
    assert sorted(named) == sorted(path.name for path in SCRIPTS)


@needs_paper("perina")
def test_the_code_of_a_job_is_what_its_script_imports(first_folder):
    records = records_of_jobs(first_folder)
    of_the_run = {*RULES_WITH_JOBS, *ALIKE} - NEEDS_NETWORK - ON_REQUEST - OF_OTHER_METHODS
    assert {OF_SPLITS.sub("", record["rule"]) for record in records} == of_the_run
    for record in records:
        assert not [path for path in record["input"] if path.endswith(".py")]
        if record["rule"] in WITHOUT_INPUT:
            assert record["input"] == []
            continue
        named = named_modules(record)
        assert bool(named) == (script_of_job(record) in LOADED_BY_NAME)
        assert repr(digest_of_job(record, first_folder)) in record["params"], record["rule"]


# Plug-ins are found by name, and rules state those that their jobs use; the public names of the
# package are for its users, and no file of it takes them from there.
IMPORTS_BY_NAME = {
    "workflow_lib/__init__.py",
    "workflow_lib/core/plugins.py",
    "workflow_lib/core/named_class.py",
}


def test_no_import_of_the_library_escapes_the_closure():
    for path in (*sorted((ROOT / "workflow_lib").rglob("*.py")), *SCRIPTS):
        relative = str(path.relative_to(ROOT))
        text = path.read_text()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                assert "workflow_lib" not in {alias.name for alias in node.names}, relative
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{relative} has a relative import"
                if node.module == "workflow_lib":
                    names = [f"workflow_lib.{alias.name}" for alias in node.names]
                    assert all(map(is_module, names)), f"{relative} imports {names}"
        if relative not in IMPORTS_BY_NAME:
            assert "import_module(" not in text and "__import__(" not in text, relative


def test_parameters_are_plain_and_stated_one_by_one(first_folder):
    # They show the whole configuration, or all methods.
    blocks = {"manifest", "report", "critical_difference", "overview", "saved_model"}
    blocks |= {"importance", "leaderboard"}
    for record in records_of_jobs(first_folder):
        for text in record["params"]:
            value = plain(text)
            if script_of_job(record) not in blocks:
                assert len(text) < 1000, f"rule {record['rule']} states {value}"


def test_parameters_are_all_recorded(first_folder):
    # Snakemake leaves out what it cannot write, and then a change starts nothing.
    parameters = {
        name: "".join(re.findall(r"^    params:\n((?:        .*\n)*)", body, flags=re.MULTILINE))
        for name, body in BODIES.items()
    }
    for record in records_of_jobs(first_folder):
        block = parameters[script_of_job(record)]
        of_each_split = re.findall(r"^            (\w+)=", block, flags=re.MULTILINE)
        of_all_splits = re.findall(r"^        (\w+)=", block, flags=re.MULTILINE)
        n_splits = 2 if record["rule"].endswith("_0to1") else 1
        expected = len(of_all_splits) + n_splits * len(of_each_split)
        assert len(record["params"]) == expected, record["rule"]
