"""The tutorials run, and say what they say where they are stored."""

import re
import runpy

import pytest
from small_run import ROOT

FOLDER = ROOT / "examples"
NUMBER = re.compile(r"-?\d[\d.]*(e[-+]?\d+)?")


def texts(notebook) -> list[str]:
    """Return the outputs of a notebook as texts, without the digits of numbers."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    found = [output.get("text") or output["data"]["text/plain"] for output in outputs]
    return [" ".join(NUMBER.sub("0", text).split()) for text in found]


@pytest.mark.parametrize("name", ["your_table", "kinds_of_rows", "paper_table"])
def test_what_is_stored_is_what_is_found(name):
    tools = runpy.run_path(str(ROOT / "docs" / "execute_notebook.py"))
    path = FOLDER / f"{name}.ipynb"
    stored = tools["nbformat"].read(path, as_version=4)
    tools["nbformat"].validate(stored)
    executed, _ = tools["execute"](path)
    assert texts(executed) == texts(stored) and len(texts(stored)) >= 3
