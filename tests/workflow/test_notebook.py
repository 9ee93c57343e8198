"""The notebook is stored without outputs, and runs on the results of a finished run.

Its cells are executed here in one namespace, with matplotlib drawing into memory. A kernel of
Jupyter would add twenty packages to the lock, and run the same statements.
"""

from pathlib import Path

import matplotlib
import nbformat
import pandas as pd
import pytest
from small_run import ROOT

NOTEBOOK = ROOT / "examples" / "explore_results.ipynb"
NEW_ROWS = "heat,time,colour\n2.5,1,r\n7.25,3,b\n"


def code_cells() -> list[nbformat.NotebookNode]:
    """Return the cells with code, of a notebook that is checked against the format."""
    notebook = nbformat.read(NOTEBOOK, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def executed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    """Return the names that the cells leave, executed in the folder of examples of `folder`."""
    monkeypatch.chdir(folder / "examples")
    matplotlib.use("Agg")
    names: dict = {}
    for number, cell in enumerate(code_cells()):
        exec(compile(cell.source, f"{NOTEBOOK.name}, cell {number}", "exec"), names)
    return names


def test_it_is_stored_without_outputs():
    assert [cell.outputs for cell in code_cells() if cell.outputs or cell.execution_count] == []


def test_it_shows_the_scores_the_curves_and_the_predictions(finished, monkeypatch):
    (finished / "new_rows.csv").write_text(NEW_ROWS)
    names = executed(finished, monkeypatch)
    assert names["EXPERIMENT"] == "assay"
    scores = pd.read_csv(finished / "results" / "assay" / "scores.csv")
    expected = scores[(scores["method"] == "m-krr") & (scores["quantity"] == names["QUANTITY"])]
    expected = expected[(expected["training_size"] == 24) & (expected["components"] == "selected")]
    assert names["table"].loc["m-krr", 24] == pytest.approx(expected["value"].mean())
    drawn = [text.get_text() for text in names["axes"].get_legend().get_texts()]
    assert drawn == list(names["table"].index) == ["m-krr", "m-mean", "ofer-gmm"]
    assert list(names["predictions"].columns[:2]) == ["up", "up lower"]
    assert len(names["predictions"]) == 2


def test_it_says_what_to_do_without_results(tmp_path, monkeypatch):
    (tmp_path / "examples").mkdir()
    with pytest.raises(SystemExit, match="make run"):
        executed(tmp_path, monkeypatch)
