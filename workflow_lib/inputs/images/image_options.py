"""Options of readers whose rows are labelled images of a collection."""

from typing import Annotated

from pydantic import AfterValidator, Field, Strict

from workflow_lib.core.settings import Settings
from workflow_lib.core.values import without_repeats

Name = Annotated[str, Field(min_length=1)]


class ImageCollection(Settings):
    """Which images of a collection are rows."""

    collection: Name | None = None
    """A folder or an archive with the images that you supply yourself, relative to the folder of
    the run. null (the default): it is the only source."""

    members: Name | None = None
    """Pattern of the ends of the paths of the images, such as `data/*/*/*.jpg`, whose last folder
    is the class, so that a class may have several folders; ``*``, ``?`` and ``[...]``, upper and
    lower case differ. null (the default): all images, in one folder for each class."""

    classes: Annotated[tuple[Name, ...], AfterValidator(without_repeats)] = ()
    """The folders that are classes. Empty (the default): all."""

    images_per_class: Annotated[int, Strict(), Field(ge=2)] | None = None
    """Images of each class, drawn by the seed of the dataset once repeated images are left out.
    null (the default): all."""
