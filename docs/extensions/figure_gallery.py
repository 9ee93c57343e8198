"""The directive ``figure-gallery``: a small picture of each figure, what it shows, what makes it.

Without content it lists every kind of figure that an experiment may have, as the workflow finds
them. Otherwise each line is one figure, ``name: what it shows``, and the argument is the command
that makes them. The pictures are those of docs/draw_gallery.py; a kind of your own may have none.
"""

from __future__ import annotations

from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from workflow_lib.report.figures.base import figure_modules
from workflow_lib.run.named_settings import SettingsFolder

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "gallery"


class FigureGallery(SphinxDirective):
    """Lists figures with their pictures."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        if self.content:
            lines = [line.partition(": ") for line in self.content]
            made = [nodes.literal(text=self.arguments[0])]
            entries = [(name, shows, made) for name, _, shows in lines]
        else:
            examples = experiments_with_figures()
            entries = [
                (kind, module.shows, key_of(kind, examples.get(kind)))
                for kind, module in figure_modules().items()
            ]
        gallery = nodes.container(classes=["gallery"])
        gallery += [self.card(*entry) for entry in entries]
        return [gallery]

    def card(self, name: str, shows: str, made_by: list[nodes.Node]) -> nodes.Node:
        """Return the entry of a figure."""
        card = nodes.container(classes=["gallery-card"])
        _, path = self.env.relfn2path(f"{FOLDER}/{name}.png")
        self.env.note_dependency(path)
        if Path(path).exists():
            card += nodes.image(uri=f"{FOLDER}/{name}.png", alt=shows)
        else:
            card += nodes.paragraph(text="Not drawn yet.", classes=["gallery-none"])
        card += nodes.paragraph("", "", nodes.strong(text=name))
        shows = shows.replace("`", "")
        if not shows[1].isupper():  # not aRRMSE
            shows = shows[0].upper() + shows[1:]
        card += nodes.paragraph(text=f"{shows}.")
        card += nodes.paragraph("", "", *[node.deepcopy() for node in made_by])
        return card


def experiments_with_figures() -> dict[str, str]:
    """Return an experiment of each kind of figure, of the default run where it has one."""
    folder = SettingsFolder(ROOT / "config" / "experiments")
    run = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
    found: dict[str, str] = {}
    for name in sorted(folder.names, key=lambda name: name not in run["experiments"]):
        for figure in folder.keys(name).get("figures") or ():
            found.setdefault(figure["kind"], name)
    return found


def key_of(kind: str, experiment: str | None) -> list[nodes.Node]:
    """Return the configuration key of a kind, and an experiment that has it."""
    key = nodes.literal(text=f"kind: {kind}")
    if experiment is None:
        return [
            key,
            nodes.Text(", which "),
            nodes.literal(text="snakemake new"),
            nodes.Text(" writes"),
        ]
    return [key, nodes.Text(", as in "), nodes.literal(text=experiment)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("figure-gallery", FigureGallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
