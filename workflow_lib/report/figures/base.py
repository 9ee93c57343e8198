"""The contract of a figure: what its module defines, and what is known of it before it is loaded.

A kind of figure is a module of this package, or of the folder ``figures`` of a paper; its name is
the name of the kind. It has

``SHOWS``
    what it shows, for the reference of the configuration;
``CAPTION``
    what it shows, in sentences, for the report that Snakemake makes;
``READS``
    the results of an experiment that it takes, as a mapping of names to the patterns of their
    files (`workflow_lib.report.reads`);
``draw``
    which returns a `matplotlib.figure.Figure`, or a `workflow_lib.report.drawing.Drawing` where it
    shows no data. Its parameters are the names in `READS`, in their order, as
    `workflow_lib.report.reads.arranged` gives them, and some of `SETTINGS`; those with a default
    value are for other callers. It raises UserError where the files do not hold what it shows.

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

The figure is described in words with its numbers, for readers who cannot see it, from its title and
what it draws; `workflow_lib.report.figure_words.describe` gives it other words.

All but ``draw`` are literals. They and the parameters are read from the source, because importing
the plotting library takes seconds, and every command needs them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from workflow_lib.core.errors import UserError
from workflow_lib.core.plugins import FIGURES
from workflow_lib.report.reads import arranged

SETTINGS = ("methods", "metric", "named_methods", "output_scale", "seed", "shown_methods", "title")
SETTINGS += ("training_size", "version_titles", "weak_size", "wrong_shares")
"""What else figures may be given. `methods` are all of the experiment, `named_methods` those that
the figure names and `shown_methods` the same, or all where it names none, as mappings to their
`METHOD_FIELDS`; the sizes are the largest;
`version_titles` are those of the datasets of each ``{version}``, and `wrong_shares` the shares of
wrong labels of each ``{wrong_share}``, of `workflow_lib.report.reads`."""


@dataclass(frozen=True)
class FigureModule:
    """What the module of a kind of figure declares."""

    name: str
    settings: tuple[str, ...]
    """Those of `SETTINGS` that `draw` takes."""

    shows: str
    caption: str
    reads: dict[str, str]
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
    """Return what the module of every kind declares, without importing any.

    Raises UserError if a member is missing, or `draw` has a parameter that no figure is given.
    """
    members, page = ("SHOWS", "CAPTION", "READS", "draw"), "docs/add-a-figure.md"
    found = FIGURES.declarations(FigureModule, members, page, {"settings": "draw"})
    for name, figure in found.items():
        n_files, parameters = len(figure.reads), figure.settings
        settings = parameters[n_files:]
        if parameters[:n_files] != tuple(figure.reads) or not set(settings) <= set(SETTINGS):
            reads = ", ".join(figure.reads)
            raise UserError(
                location=f"{FIGURES.paths[name]}, parameters of draw",
                found=", ".join(parameters),
                expected=f"those of READS ({reads}), then some of {', '.join(SETTINGS)}",
                remedy="take only these, or give other parameters a default value",
            )
        found[name] = replace(figure, settings=settings)
    return found


def draw(kind: str, files: Mapping[str, Any], settings: Mapping[str, Any]):
    """Return the figure of a kind, with the settings that it takes.

    `files` map the names in its ``READS`` to a path or a list of paths; others are ignored.
    """
    module = FIGURES.load(kind)
    read = {name: arranged(pattern, files[name]) for name, pattern in module.READS.items()}
    return module.draw(**read, **settings)
