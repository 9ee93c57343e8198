"""Fitted generative models as plain trees of arrays, for artifacts, and back."""

from workflow_lib.core.plugins import OUTPUT_MODELS
from workflow_lib.models.kinds.found import kind_of
from workflow_lib.models.output_scaling import OutputScaling


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
