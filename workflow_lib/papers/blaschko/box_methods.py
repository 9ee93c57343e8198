"""The keys that methods of boxes in images share."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from workflow_lib.methods.contract.method_file import MethodFile


class BoxMethod(MethodFile):
    """A method that finds the box of an object by the visual words in it."""

    items: Literal["points"] = "points"
    """The rows must be images as `points` with visual words."""

    cells: Annotated[int, Strict(), Field(ge=2, le=200)] = 32
    """Cells of each side of an image; sides of boxes lie between them. The default finds most boxes
    of an eighth of a side to a tenth of it, within milliseconds."""

    levels: Annotated[int, Strict(), Field(ge=1, le=10)] = 1
    """Levels of the pyramid: level l counts the words in l x l parts of a box, so that four levels
    have 30 times the features. 1 by default, the words of the box alone."""
