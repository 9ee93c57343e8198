"""Execute the cells of a notebook, and store their outputs in it.

    python docs/execute_notebook.py examples/your_table.ipynb

A kernel of Jupyter does the same with twenty more packages in the environment.
"""

import ast
import io
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import matplotlib
import nbformat
from nbformat.v4 import new_output


def execute(path: str | Path) -> tuple[nbformat.NotebookNode, dict[str, Any]]:
    """Return a notebook with new outputs, and the names that its cells leave.

    The cells run one after the other, in the folder of the notebook.
    """
    path = Path(path).resolve()
    matplotlib.use("Agg")
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    names: dict[str, Any] = {}
    folder = os.getcwd()
    os.chdir(path.parent)
    try:
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        for number, cell in enumerate(cells, start=1):
            cell.execution_count = number
            cell.outputs = _outputs(cell.source, f"{path.name}, cell {number}", number, names)
    finally:
        os.chdir(folder)
    return notebook, names


def _outputs(source: str, location: str, number: int, names: dict[str, Any]) -> list:
    """Execute a cell; return what it prints, and its last expression as Jupyter shows it."""
    tree, value, printed = ast.parse(source), None, io.StringIO()
    shown = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(printed):
        exec(compile(tree, location, "exec"), names)
        if shown is not None:
            value = eval(compile(ast.Expression(shown.value), location, "eval"), names)
    outputs = []
    if text := printed.getvalue():
        outputs.append(new_output("stream", name="stdout", text=text))
    if value is not None:
        data = {"text/plain": repr(value)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_()
        outputs.append(new_output("execute_result", data=data, execution_count=number))
    return outputs


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        nbformat.write(execute(argument)[0], argument)
