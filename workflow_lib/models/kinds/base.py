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
    returns the `workflow_lib.models.scores.Scores` of a fitted model.
"""

import ast
from pathlib import Path
from typing import NamedTuple

from workflow_lib.core.plugins import check_members, declared, plugin_name

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

    Raises UserError if something is missing.
    """
    found, needed = declared(path), (*LITERALS, "Model", *FUNCTIONS)
    every = f"{', '.join(needed[:-1])} and {needed[-1]}, as every kind of models has them"
    check_members(path, found, needed, every, "docs/add-a-model.md")
    return OutputModelKind(plugin_name(path), *(ast.literal_eval(found[name]) for name in LITERALS))
