"""Fitted models of inputs as plain trees of arrays, for artifacts, and back."""

from workflow_lib.core.plugins import SCORE_SPACES
from workflow_lib.inputs.score_spaces.found import terms_module


def model_to_tree(model) -> dict:
    """Return a fitted model as a tree of arrays, with its kind."""
    return {"kind": type(model).score_terms} | terms_module(model).to_arrays(model)


def model_from_tree(tree: dict):
    """Return the fitted model that `model_to_tree` stored."""
    return SCORE_SPACES.load(tree["kind"]).from_arrays(tree)


def models_from_tree(trees: dict) -> list:
    """Return the models of a fold, in their order: one, or from the last class to the first."""
    return [model_from_tree(trees[name]) for name in sorted(trees)]
