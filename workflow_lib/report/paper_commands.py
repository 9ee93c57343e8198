"""The command lines that run a table or figure of the paper, by the data that they run it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workflow_lib.report.paper_contents import PaperItem
from workflow_lib.report.reproduced_tables import DRAWING, OWN_DATA, RECIPE, data_kind, tables_named


class Command(NamedTuple):
    """The command that runs an item of the paper on one kind of data.

    ``on`` says on which data, ``line`` is the command line, and ``files`` are the configuration
    files of datasets whose files the user brings.
    """

    on: str
    line: str
    files: tuple[str, ...]


def commands(
    item: PaperItem, runs: Mapping[str, Sequence[Mapping]], kinds: Sequence[str]
) -> tuple[list[Command], bool]:
    """Return the commands that run an item on these kinds of data, and if any is the paper's.

    Of several configuration files that of the fewest experiments is named. An experiment that as a
    whole stands in for the item counts only where no table of that kind reproduces it.
    """
    found: dict[str, tuple] = {}
    for path, experiments in runs.items():
        for experiment in experiments:
            rank = _reproduces(item, experiment)
            if rank:
                candidate = (rank, len(experiments), path)
                kind = DRAWING if item.quantity == "drawing" else data_kind(experiment)
                found[kind] = min(found.get(kind, candidate), candidate)
    shown = []
    for kind in (*kinds, DRAWING):
        if kind in found:
            path = found[kind][-1]
            files = [
                f"config/datasets/{experiment['dataset']}.yaml"
                for experiment in runs[path]
                if experiment["is_user_supplied"]
                and data_kind(experiment) == kind
                and _reproduces(item, experiment)
            ]
            shown.append(Command(_on(kind), _command(path), tuple(dict.fromkeys(files))))
    return shown, bool({OWN_DATA, RECIPE, DRAWING} & set(found))


def _reproduces(item: PaperItem, experiment: Mapping) -> int:
    """Return 1 if a table or figure of an experiment reproduces an item, 2 if all of it does."""
    if item.kind == "figure":
        return int(bool(item.drawn_as) and item.drawn_as in experiment["figure_kinds"])
    if item.number in experiment["paper_tables"]:
        return 1
    return 2 if item.number in tables_named(experiment["stand_in_for"]) else 0


def _on(kind: str) -> str:
    words = {
        OWN_DATA: "On the paper's own data",
        RECIPE: "By its recipe",
        DRAWING: "A drawing without data",
    }
    return words.get(kind, "On a stand-in")


def _command(path: str) -> str:
    """Return the command line of a configuration file; the default one needs no name."""
    is_default = path == "config/config.yaml"
    return "snakemake --cores 2" + ("" if is_default else f" --configfile {path}")
