"""The keys of a method with the regressor `kernel_ridge`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.core.grids import (
    ChoosesKernel,
    CombinesCounts,
    ComponentGrid,
    Projections,
    RidgeGrid,
    WeakExample,
    WeakGrid,
    WeaklySupervised,
)
from workflow_lib.core.requirement import Requirement
from workflow_lib.core.values import Sizes
from workflow_lib.methods.contract.method_file import EmbeddingMethod


class EmbeddingGrid(RidgeGrid, ComponentGrid, WeakGrid):
    """Grid of kernel ridge regression of outputs and embeddings."""

    state_dim: Sizes = ()
    """Dimensions of the hidden state, strictly increasing. For state-space models."""

    projection: Projections = ()
    """Whether predicted memberships are used as they are (`raw`) or projected on the simplex
    (`simplex`); both compete. For the preimage `projected`, which is `simplex` when this is
    empty."""


class EmbeddingExample(WeakExample):
    """Values for outputs and embeddings with one labelled example per class."""

    projection: Literal["raw", "simplex"] | None = None
    """Used instead of `grid.projection`."""


class Parameters(EmbeddingMethod, ChoosesKernel, WeaklySupervised, CombinesCounts):
    """Kernel ridge regression of the outputs, or of their Fisher embedding (OFER)."""

    regressor: Literal["kernel_ridge"] = "kernel_ridge"
    """`kernel_ridge`: kernel ridge regression (the default, the paper's)."""

    combine: Literal["best", "average", "bootstrap"] = "best"
    """How grid points are used: the best is selected (`best`, the default, as in the paper); the
    predictions of all numbers of components are averaged (`average`), where numbers above 0.6 times
    the training rows are left out; or, without components, the fits that are best on bootstrap
    samples of the held-out rows are averaged (`bootstrap`). Both avoid the variance of a selection
    in small samples."""

    penalty: Literal["shared", "per_block"] = "shared"
    """One penalty for the whole embedding (the default, as in the paper) or one per block."""

    decoder: Literal["euclidean", "cosine"] | None = None
    """How a class is found from a predicted class vector: the class with the nearest one
    (`euclidean`, also when this is null) or with the smallest angle around the mean class vector
    (`cosine`)."""

    weak_outputs: Literal["component_mean", "neighbours", "true"] | None = None
    """Outputs that replace those of weak rows, for methods that regress outputs: the mean of the
    component (`component_mean`), the mean of the nearest training rows of the component
    (`neighbours`) or the hidden outputs themselves (`true`, a ceiling and no method for use); null
    (the default): weak rows have targets in the block pi only."""

    approximation: Literal["landmarks", "random_features"] = "landmarks"
    """Features that replace the kernel where there are more training rows than `max_gram_rows`:
    those of `n_landmarks` landmarks (the default), or as many random ones (for the kernel rbf)."""

    grid: EmbeddingGrid
    """Candidate hyper-parameters."""

    one_example: EmbeddingExample = EmbeddingExample()
    """Values used instead of the grid with one labelled example per class."""

    requirements = (
        Requirement(
            {"combine": {"bootstrap"}},
            {"model": {None}, "weak": {False}},
            "combine: bootstrap is for the outputs themselves, without weak rows",
        ),
        Requirement(
            {"penalty": {"per_block"}},
            {"has_several_blocks": {True}},
            "a penalty per block needs at least two blocks (the blocks are: {blocks})",
        ),
        Requirement(
            {"has_projection": {True}},
            {"preimage": {"projected"}},
            "grid.projection is for the preimage projected",
        ),
        Requirement(
            {"weak": {True}, "weak_outputs": {None}},
            {"model": {"gaussian_mixture"}, "form": {"reduced"}},
            "weak labels are component memberships: they need kernel ridge regression on the "
            "reduced form of a mixture",
        ),
        Requirement(
            {"weak_outputs": {"component_mean", "neighbours"}},
            {"model": {"gaussian_mixture"}, "penalty": {"shared"}, "weak": {True}},
            "weak_outputs: {weak_outputs} needs a mixture whose components the weak labels name, "
            "kernel ridge regression, one penalty (shared) and weak: true",
        ),
        Requirement(
            {"weak_outputs": {"true"}},
            {"model": {None}, "penalty": {"shared"}, "weak": {True}},
            "weak_outputs: true needs no model, kernel ridge regression, one penalty (shared) and "
            "weak: true",
        ),
    )
    needs_of_data = (
        Requirement(
            {"decoder": {"euclidean", "cosine"}},
            {"task": {"classes"}},
            "the decoder {decoder} finds a class, and the task is {task}",
        ),
        Requirement(
            {"is_large": {True}},
            {
                "weak": {False},
                "scale": {"none", "standard"},
                "kernel": {"rbf", "linear", "tanimoto"},
            },
            "with more training rows than max_gram_rows, kernel ridge regression works on "
            "landmarks: labelled rows of numbers only, without weak rows",
        ),
        Requirement(
            {"is_large": {True}, "approximation": {"random_features"}},
            {"kernel": {"rbf", "linear"}},
            "random features approximate the kernel rbf, and the kernel is {kernel}",
        ),
    )
