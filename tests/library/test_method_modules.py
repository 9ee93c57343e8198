"""Every module of a method keeps the contract, and is found and run by the names it declares."""

import subprocess
import sys
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import get_args

import pytest
from each_case import each_case

from workflow_lib.core import plugins
from workflow_lib.core.errors import UserError
from workflow_lib.core.job_needs import Stage
from workflow_lib.methods.contract import base
from workflow_lib.methods.contract.method_file import MethodFile, parameters_of

MODULES = {module.name: module for module in base.method_modules().values()}


@each_case("name", MODULES)
def test_what_is_read_from_the_source_is_what_the_module_holds(name):
    module, declared = plugins.METHODS.load(name), MODULES[name]
    assert (declared.regressors, declared.tasks) == (module.REGRESSORS, module.TASKS)
    assert declared.needs == module.NEEDS
    assert issubclass(module.Method, base.Method) and issubclass(module.Fitted, base.Fitted)
    assert declared.settings == tuple(field.name for field in fields(module.Method))
    assert declared.artifacts == module.READS
    assert {"dataset", "split"} <= set(declared.artifacts) <= set(base.ARTIFACTS)
    assert set(declared.needs) <= set(Stage._fields)


def test_every_regressor_has_one_method_and_keys_of_its_own():
    served = Counter(name for module in MODULES.values() for name in module.regressors)
    assert set(served.values()) == {1}
    for regressor in served:
        keys = parameters_of(regressor)
        assert issubclass(keys, MethodFile)
        assert regressor in get_args(keys.model_fields["regressor"].annotation)


@pytest.fixture
def read_in(monkeypatch):
    """Return a function that reads the methods in a folder, each with keys of its own."""

    def read(folder: Path) -> dict[str, base.MethodModule]:
        for name in ("METHODS", "METHOD_KEYS"):
            found = replace(getattr(plugins, name), home=".", package=folder)
            monkeypatch.setattr(base, name, found)
        return base.method_modules.__wrapped__()

    return read


def test_a_module_is_read_without_loading_it(tmp_path, read_in):
    path = tmp_path / "median.py"
    path.write_text("""
REGRESSORS = ("median", "mode")
TASKS = ("series",)
NEEDS = {"minutes": 3}
READS = ("dataset", "split")
import no_such_module
from no_such_module import Median as Fitted


class Method(no_such_module.Method):
    metric: str
    ranks: tuple = ()
    not_finite = ("median",)
""")
    assert read_in(tmp_path)["mode"] == (
        *("median", ("median", "mode"), ("series",), {"minutes": 3}),
        *(("dataset", "split"), ("metric", "ranks"), False),
    )
    path.write_text(path.read_text() + "LEARNS_FROM_INPUTS = True\n")
    assert read_in(tmp_path)["mode"].learns_from_inputs


def test_what_is_declared_is_read_without_loading_a_method():
    program = (
        "import sys\nfrom workflow_lib.methods.contract.base import method_modules\n"
        "assert method_modules()\nassert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


def test_a_method_without_keys_is_refused_by_name(tmp_path, monkeypatch):
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods/median.py").write_text("")
    for name in ("METHODS", "METHOD_KEYS"):
        monkeypatch.setattr(base, name, replace(getattr(plugins, name), package=tmp_path))
    with pytest.raises(UserError, match=r"methods/median\.py: .*without keys.*keys/median\.py"):
        base.method_modules.__wrapped__()


def test_a_module_that_lacks_a_member_is_refused_by_name(tmp_path, read_in):
    (tmp_path / "median.py").write_text('REGRESSORS = ("median",)\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"median\.py: .* without TASKS, NEEDS, READS, M"):
        read_in(tmp_path)
