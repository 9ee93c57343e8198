"""The kinds of fitted generative models, and plain trees of arrays of them, for artifacts."""

from workflow_lib.core.plugins import OUTPUT_MODELS
from workflow_lib.models.output_scaling import OutputScaling


def kind_of(model: object) -> str:
    """Return the kind of a model: that of its class, or of the nearest base of it that is one.

    Raises TypeError if it is of no kind.
    """
    kinds = {OUTPUT_MODELS.load(kind).Model: kind for kind in OUTPUT_MODELS.paths}
    for each in type(model).__mro__:
        if each in kinds:
            return kinds[each]
    raise TypeError(
        f"{type(model).__name__} is no generative model of outputs; the kinds are "
        f"{', '.join(kinds.values())}."
    )


def model_to_tree(model, scaling: OutputScaling) -> dict:
    """Return a fitted model, and the units it was fitted in, as a tree of arrays and scalars."""
    kind = kind_of(model)
    tree = {"kind": kind, "output_offset": scaling.offset, "output_scale": scaling.scale}
    return tree | OUTPUT_MODELS.load(kind).to_arrays(model)


def scaling_from_tree(tree: dict) -> OutputScaling:
    """Return the units of the outputs that `model_to_tree` stored."""
    return OutputScaling(tree["output_offset"], tree["output_scale"])


def model_from_tree(tree: dict):
    """Return the fitted model that `model_to_tree` stored."""
    return OUTPUT_MODELS.load(tree["kind"]).from_arrays(tree)
