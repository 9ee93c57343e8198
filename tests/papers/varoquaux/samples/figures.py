"""Figures of this paper need no sample of their own; some draw their own rows."""

from workflow_lib.papers.varoquaux.figures import image_factors, polynomial_fits

SAMPLES = {}


def prepare() -> None:
    """Let figures draw few rows, which are enough for a test."""
    polynomial_fits.DRAWS = 3
    image_factors.PATCHES, image_factors.STREAMED, image_factors.TEST = 200, 1600, 50
    image_factors.LARGE = 12
