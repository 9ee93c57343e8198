"""The contents of a file of `config/input_models`: a generative model of inputs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from workflow_lib.core.errors import nearest_name
from workflow_lib.core.settings import Settings
from workflow_lib.core.values import Flag, Text
from workflow_lib.inputs.score_spaces.found import input_model_kinds

OF_THE_DATA = ("emission", "n_symbols", "random_state")
"""Arguments that follow from the data, or from the seed of the run."""


class InputModelSettings(Settings):
    """A generative model of inputs that are sequences or bags: `config/input_models/NAME.yaml`.

    It is fitted once for each training size and fold, to the training rows of the fold, and serves
    all methods whose `score_space` names it."""

    summary: Text
    """What it is, in one sentence."""

    kind: Literal[*(input_model_kinds() or [""])]
    """`hidden_markov`: hidden Markov models of sequences of letters or of vectors; `topic_model`:
    latent Dirichlet allocation of bags of words."""

    per_class: Flag = False
    """Whether there is a model of each class, fitted to its rows; off by default: one of all rows,
    which needs no class."""

    settings: dict[str, Any] = {}
    """Arguments of the model that do not change. Those that follow from the data, such as the
    number of letters, and the seed are given to it."""

    grid: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = {}
    """Values of arguments that compete, each with everything that a method itself selects."""

    def faults(self) -> list[tuple[str, str, str, str]]:
        """Return the faults in the names of arguments: key, found, expected and remedy."""
        known = [
            name for name in input_model_kinds()[self.kind].arguments if name not in OF_THE_DATA
        ]
        faults = [
            (
                f"{key}.{name}",
                f"a model of the kind {self.kind} has no argument '{name}' to set",
                f"one of: {', '.join(sorted(known))}",
                f"write '{nearest_name(name, known)}'"
                if nearest_name(name, known)
                else "remove it",
            )
            for key, arguments in (("settings", self.settings), ("grid", self.grid))
            for name in arguments
            if name not in known
        ]
        faults += [
            (
                f"settings.{name}",
                "the argument stands in settings and in grid",
                "each argument in one of the two",
                "remove it from one of them",
            )
            for name in sorted(self.settings.keys() & self.grid.keys())
        ]
        return faults
