"""Every module of a method keeps the contract, and is found and run by the names it declares."""

from __future__ import annotations

import dataclasses
import importlib
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from workflow_lib.config.job_needs import Stage
from workflow_lib.errors import UserError
from workflow_lib.methods import base, registry

MODULES = {module.name: module for module in registry.method_modules().values()}


@pytest.mark.parametrize("name", MODULES)
def test_what_is_read_from_the_source_is_what_the_module_holds(name):
    module, declared = importlib.import_module(f"workflow_lib.methods.{name}"), MODULES[name]
    assert (declared.regressors, declared.tasks) == (module.REGRESSORS, module.TASKS)
    assert declared.needs == module.NEEDS
    assert issubclass(module.Method, base.Method) and issubclass(module.Fitted, base.Fitted)
    assert declared.settings == tuple(field.name for field in dataclasses.fields(module.Method))
    assert declared.artifacts == module.READS
    assert {"dataset", "split"} <= set(declared.artifacts) <= set(base.ARTIFACTS)
    assert set(declared.needs) <= set(Stage._fields)


def test_every_file_is_a_method_and_every_regressor_has_one():
    files = {path.stem for path in Path(base.__file__).parent.glob("*.py")}
    assert files - set(registry.NO_METHODS) == set(MODULES)
    served = Counter(name for module in MODULES.values() for name in module.regressors)
    assert set(served.values()) == {1}


def test_a_module_is_read_without_loading_it(tmp_path):
    path = tmp_path / "median.py"
    path.write_text("""
REGRESSORS = ("median", "mode")
TASKS = ("series",)
NEEDS = {"minutes": 3}
READS = ("dataset", "split")
import no_such_module
from no_such_module import Median as Fitted


class Parameters(no_such_module.MethodFile):
    pass


class Method(no_such_module.Method):
    metric: str
    ranks: tuple = ()
    not_finite = ("median",)
""")
    assert base.read_module(path) == (
        *("median", ("median", "mode"), ("series",), {"minutes": 3}),
        *(("dataset", "split"), ("metric", "ranks"), False),
    )
    path.write_text(path.read_text() + "LEARNS_FROM_INPUTS = True\n")
    assert base.read_module(path).learns_from_inputs


def test_the_registry_loads_no_method():
    program = (
        "import sys\nfrom workflow_lib.methods.registry import method_modules\n"
        "assert method_modules()\nassert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


def test_a_module_that_lacks_a_member_is_refused_by_name(tmp_path):
    path = tmp_path / "median.py"
    path.write_text('REGRESSORS = ("median",)\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"median\.py: .* without TASKS, NEEDS, READS, P"):
        base.read_module(path)
