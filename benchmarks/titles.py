"""The benchmarks and their titles: the modules of this package with a literal ``TITLE``."""

import ast
from pathlib import Path


def read_titles(folder: Path) -> dict[str, str]:
    """Return the title of each benchmark by its name, in the order of the names.

    They are read from the sources, because a benchmark may import what is not installed.
    """
    titles = {}
    for path in sorted(folder.glob("*.py")):
        for statement in ast.parse(path.read_bytes(), str(path)).body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "TITLE":
                titles[path.stem] = ast.literal_eval(statement.value)
    return titles


TITLES = read_titles(Path(__file__).parent)
