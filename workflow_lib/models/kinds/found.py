"""The kinds of generative models there are: the modules of this package that `base` describes."""

from functools import cache

from workflow_lib.core.plugins import OUTPUT_MODELS
from workflow_lib.models.kinds.base import OutputModelKind, read_kind


@cache
def model_kinds() -> dict[str, OutputModelKind]:
    """Return what every kind declares, by its name, without loading any."""
    return {name: read_kind(path) for name, path in OUTPUT_MODELS.paths.items()}


def kind_of(model: object) -> str:
    """Return the kind of a model.

    Raises TypeError if it is of no kind.
    """
    classes = {kind: OUTPUT_MODELS.load(kind).Model for kind in model_kinds()}
    for kind, model_class in classes.items():
        if type(model) is model_class:
            return kind
    for kind, model_class in classes.items():
        if isinstance(model, model_class):
            return kind
    raise TypeError(
        f"{type(model).__name__} is no generative model of outputs; the kinds are "
        f"{', '.join(model_kinds())}."
    )
