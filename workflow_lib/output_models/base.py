"""What the module of a kind of generative models declares.

A module of this package is a kind of models, by its name the value of ``kind`` in
`config/models`. It holds five literals, which are read from the source without loading it:

``BLOCKS``
    the blocks of the embedding, by its forms;
``PREIMAGES``
    the ways back from the embedding that it has;
``COVARIANCES``
    the values of ``covariance_type``;
``COUNT_KEY``
    the key of ``grid`` with the numbers of components, or of states, or None;
``TASKS``
    the tasks of the datasets whose outputs it models;

a class and three functions:

``Model``
    the class of the models, a scikit-learn density;
``new``
    returns an unfitted model, from `ModelArguments`;
``to_arrays``, ``from_arrays``
    turn a fitted model into a tree of arrays and back;
``scores``
    returns the `workflow_lib.embeddings.scores.Scores` of a fitted model.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any, NamedTuple

from workflow_lib.errors import UserError

LITERALS = ("BLOCKS", "PREIMAGES", "COVARIANCES", "COUNT_KEY", "TASKS")
FUNCTIONS = ("new", "to_arrays", "from_arrays", "scores")


class ModelArguments(NamedTuple):
    """What an unfitted model is made of."""

    covariance_type: str
    """One of ``COVARIANCES``."""

    variance_floor: float
    """Smallest variance relative to that of the outputs; for state-space models the variance of
    their prior."""

    n_components: int
    """Components of a mixture, or dimensions of the hidden state."""

    n_init: int
    """Starts of EM."""

    random_state: int

    n_channels: int = 1
    """Numbers per time step, for series."""

    batch_size: int | None = None
    """Rows of a batch of stepwise EM; None for EM on all rows."""


class OutputModelKind(NamedTuple):
    """What the module of a kind declares."""

    name: str
    blocks: dict[str, tuple[str, ...]]
    preimages: tuple[str, ...]
    covariances: tuple[str, ...]
    count_key: str | None
    tasks: tuple[str, ...]


def read_kind(path: Path) -> OutputModelKind:
    """Return what the module of a kind declares, from its source.

    Raises
    ------
    UserError
        If something is missing.
    """
    found: dict[str, Any] = {}
    for statement in ast.parse(path.read_bytes(), str(path)).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            found[statement.targets[0].id] = statement.value
        elif isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
            found[statement.name] = statement
        elif isinstance(statement, ast.ImportFrom):
            found |= {alias.asname or alias.name: alias for alias in statement.names}
    needed = (*LITERALS, "Model", *FUNCTIONS)
    missing = [name for name in needed if name not in found]
    if missing:
        raise UserError(
            place=str(path),
            found=f"a module without {', '.join(missing)}",
            expected=f"{', '.join(needed[:-1])} and {needed[-1]}, as every kind of models has them",
            remedy="add what is missing, or move the file elsewhere",
        )
    return OutputModelKind(path.stem, *(ast.literal_eval(found[name]) for name in LITERALS))
