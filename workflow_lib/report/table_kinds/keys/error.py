"""The keys of a table of kind `error`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from workflow_lib.core.settings import Settings
from workflow_lib.core.values import without_repeats
from workflow_lib.tasks.found import all_measures, usual_measures

ErrorName = Literal[tuple(all_measures())]


class Keys(Settings):
    """Keys of a table of errors."""

    errors: Annotated[
        tuple[ErrorName, ...], Field(min_length=1), AfterValidator(without_repeats)
    ] = usual_measures("numbers")
    """Errors that a table of kind `error` shows, one block each; see [Errors](#errors). A table of
    classes names those of classes; its default is the accuracy."""
