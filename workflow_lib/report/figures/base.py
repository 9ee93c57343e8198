"""The contract of a figure: what its module defines, and what is known of it before it is loaded.

A kind of figure is a module of this package, or of the folder ``figures`` of a paper; its name is
the name of the kind. It has

``SHOWS``
    what it shows, for the reference of the configuration;
``CAPTION``
    what it shows, in sentences, for the report that Snakemake makes;
``draw``
    which returns a `matplotlib.figure.Figure`, or a `workflow_lib.report.drawing.Drawing` where it
    shows no data. Its parameters are what it reads and is given (some
    of `ARTIFACTS` and of `SETTINGS`, where they are described); those with a default value are for
    other callers. It raises UserError where the files do not hold what it shows.

and may have

``METHOD_FIELDS``
    the settings of each method that it shows: what ``methods`` or ``shown_methods`` hold;
``REQUIRES`` and ``BECAUSE``
    what an experiment must satisfy to have it, as facts of `workflow_lib.run.capabilities` each
    with the values that are possible, and the reason given to the user where it is not satisfied;
``NEEDS_METHOD`` and ``METHOD_IN_WORDS``
    what one method of the experiment must satisfy, as facts with values too, and what such a
    method is;
``NEEDS``
    what its jobs need, as fields of `workflow_lib.core.job_needs.Stage`;
``NAMES_BEST``
    whether it shows which method is best, so that its alternative text says so;
``PREDICTS``
    the kind of outputs whose predictions it shows; the first figure of each kind opens the report.

All but ``draw`` are literals. They and the parameters are read from the source, because importing
the plotting library takes seconds, and every command needs them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from workflow_lib.core.errors import UserError
from workflow_lib.core.plugins import FIGURES, check_members, declared, plugin_name

ARTIFACTS = (
    "all_input_models",
    "all_regressions",
    "calibration",
    "coordinates",
    "dataset",
    "family_scores",
    "first_features",
    "first_input_models",
    "first_predictions",
    "first_split",
    "models",
    "predictions",
    "queue_costs",
    "regressions",
    "scores",
    "share_predictions",
    "share_scores",
    "splits",
    "version_scores",
)
"""What figures may read of an experiment, each a path but for these: the splits are a list;
`first_predictions` and `regressions` map the methods to their files of the first split,
`first_input_models` the generative models of inputs of the shown methods to theirs, and
`predictions` and `all_regressions` (of the methods shown), and `all_input_models`, to their files
of every split, `share_predictions` to those of every share of `share_scores` in turn;
`version_scores`, `share_scores` and `family_scores` are lists, of the experiments of the run on
versions of the dataset, of those that differ in their share of wrong labels alone, smallest first,
and of those on classes with the same methods;
`models` is None without a mixture."""

SETTINGS = (
    "methods",
    "metric",
    "named_methods",
    "output_scale",
    "seed",
    "shown_methods",
    "title",
    "training_size",
    "version_titles",
    "weak_size",
    "wrong_shares",
)
"""What else figures may be given. `methods` are all of the experiment, `named_methods` those that
the figure names and `shown_methods` the same, or all where it names none, as mappings to their
`METHOD_FIELDS`; the sizes are the largest;
`version_titles` are those of the datasets of `version_scores`, and `wrong_shares` the shares of
wrong labels of `share_scores`."""

_ONE_OF_EACH = ("first_input_models", "first_predictions", "regressions")
_ALL_OF_EACH = ("all_input_models", "all_regressions", "predictions", "share_predictions")
_REQUIRED = ("SHOWS", "CAPTION", "draw")


@dataclass(frozen=True)
class FigureModule:
    """What the module of a kind of figure declares."""

    name: str
    artifacts: tuple[str, ...]
    """Those of `ARTIFACTS` that `draw` reads."""

    settings: tuple[str, ...]
    """Those of `SETTINGS` that it takes."""

    shows: str
    caption: str
    method_fields: tuple[str, ...] = ()
    requires: dict[str, set] = field(default_factory=dict)
    because: str = ""
    needs_method: dict[str, set] = field(default_factory=dict)
    method_in_words: str = ""
    needs: dict[str, float] = field(default_factory=dict)
    names_best: bool = False
    predicts: str = ""


@cache
def figure_modules() -> dict[str, FigureModule]:
    """Return what the module of every kind declares, without importing any."""
    return {name: read_module(path) for name, path in FIGURES.paths.items()}


def draw(kind: str, files: Mapping[str, Any], settings: Mapping[str, Any]):
    """Return the figure of a kind, with the settings that it takes.

    `files` map names in `ARTIFACTS` to a path or a list of paths; what the figure does not read is
    ignored, and an artifact without files is an empty list. The files of a method lie in a folder
    of its name, those of several splits in the order of the splits.
    """
    artifacts = read_module(FIGURES.paths[kind]).artifacts
    read = {name: _arranged(name, files[name]) for name in artifacts}
    return FIGURES.load(kind).draw(**read, **settings)


def _arranged(name: str, paths: Any) -> Any:
    """Return the files of an artifact as `ARTIFACTS` describes them."""
    if name in _ONE_OF_EACH:
        return {Path(path).parent.name: path for path in paths}
    if name in _ALL_OF_EACH:
        found: dict[str, list] = {}
        for path in paths:
            found.setdefault(Path(path).parent.name, []).append(path)
        return found
    return paths or None


def read_module(path: Path) -> FigureModule:
    """Return what the module of a kind of figure declares, from its source.

    Raises
    ------
    UserError
        If a member is missing, or `draw` has a parameter that no figure is given.
    """
    found = declared(path)
    needed = (*_REQUIRED, "BECAUSE") if "REQUIRES" in found else _REQUIRED
    every = "SHOWS, CAPTION and draw, and BECAUSE with REQUIRES"
    check_members(path, found, needed, every, "docs/add-a-figure.md")
    parameters = _without_default(found["draw"].args)
    unknown = [name for name in parameters if name not in ARTIFACTS + SETTINGS]
    if unknown:
        raise UserError(
            place=f"{path}, parameters of draw",
            found=", ".join(unknown),
            expected=f"some of {', '.join(ARTIFACTS + SETTINGS)}",
            remedy="take only these, or give other parameters a default value",
        )
    return FigureModule(
        plugin_name(path),
        tuple(name for name in parameters if name in ARTIFACTS),
        tuple(name for name in parameters if name in SETTINGS),
        **{
            literal.name: ast.literal_eval(found[literal.name.upper()])
            for literal in fields(FigureModule)
            if literal.name.upper() in found
        },
    )


def _without_default(arguments: ast.arguments) -> list[str]:
    """Return the names of the parameters that every call must give."""
    by_place = arguments.args[: len(arguments.args) - len(arguments.defaults)]
    by_name = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [a.arg for a in by_place] + [a.arg for a, default in by_name if default is None]
