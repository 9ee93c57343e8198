"""Figures of this paper need no sample of their own; some draw their own rows."""

from workflow_lib.papers.palasek import plane_mixtures

SAMPLES = {}


def prepare() -> None:
    """Let figures draw few rows, which are enough for a test."""
    plane_mixtures.SIZE = plane_mixtures.Size(draws=2, components=2, rows=100, batches=2)
