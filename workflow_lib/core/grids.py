"""The keys of ``grid`` and of other blocks that several methods share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, Strict

from workflow_lib.core.settings import Settings
from workflow_lib.core.values import (
    Count,
    Flag,
    Fraction,
    Positive,
    PositiveOrInfinite,
    Sizes,
    without_repeats,
)

Alphas = Annotated[
    tuple[PositiveOrInfinite, ...], Field(min_length=1), AfterValidator(without_repeats)
]
SomePositive = Annotated[tuple[Positive, ...], Field(min_length=1), AfterValidator(without_repeats)]
AnyPositive = Annotated[tuple[Positive, ...], AfterValidator(without_repeats)]
Projections = Annotated[tuple[Literal["raw", "simplex"], ...], AfterValidator(without_repeats)]
Shares = Annotated[tuple[Fraction, ...], Field(min_length=1), AfterValidator(without_repeats)]


WIDTHS = """Factors gamma of the rbf kernel exp(-gamma |x - x'|^2), in units of 1 / (2 q) where q is
the number of inputs, so that 1 suits standardised inputs; of the Laplacian kernel
exp(-gamma sum |x_j - x'_j|), in units of 1 / q. Not used with kernels without a width."""


class Grid(Settings):
    """Candidate hyper-parameters, compared by cross-validation."""


class RidgeGrid(Grid):
    """For kernel ridge regression and related methods."""

    alpha: Alphas
    """Penalties lambda_0 of equation (13), above 0. `.inf` is allowed: a block with an infinite
    penalty is predicted by its training mean."""

    width: Annotated[AnyPositive, Field(description=WIDTHS)] = ()


class ComponentGrid(Grid):
    """For methods with a generative model."""

    n_components: Sizes = ()
    """Numbers of mixture components, strictly increasing. For mixtures; an experiment that fixes
    `components` uses its own instead."""


class WeakGrid(Grid):
    """For methods that can learn from weakly labelled rows."""

    weak_weight: AnyPositive = ()
    """Weights w of a weakly labelled row relative to a fully labelled one: lambda_2 of equation
    (14) is w / (2 l) with l labelled rows. For weakly supervised methods."""


class ForestGrid(Grid):
    """For forests."""

    max_features: Shares
    """Fractions of the inputs tried at each split of a tree, in (0, 1]."""

    n_trees: Annotated[int, Strict(), Field(ge=1, le=100_000)]
    """Trees of a forest, a single number: more trees only cost time."""


class MachineGrid(Grid):
    """Grid of support vector machines."""

    cost: SomePositive
    """Costs C of a margin violation."""

    width: Annotated[AnyPositive, Field(description=WIDTHS)] = ()


class OneExample(Settings):
    """Values used with one labelled example per class, where nothing can be selected because a
    held-out class would have no example left. Null stands for the first value in `grid`."""


class MachineExample(OneExample):
    """Values for support vector machines with one labelled example per class."""

    cost: Positive | None = None
    """Used instead of `grid.cost`."""

    width: Positive | None = None
    """Used instead of `grid.width`."""


class RidgeExample(OneExample):
    """For kernel ridge regression."""

    alpha: PositiveOrInfinite | None = None
    """Instead of `grid.alpha`; for every block where each has its own."""

    width: Positive | None = None
    """Instead of `grid.width`."""

    n_components: Count | None = None
    """Instead of `grid.n_components`."""


class WeakExample(RidgeExample):
    """For kernel ridge regression with weak rows."""

    weak_weight: Positive | None = None
    """Instead of `grid.weak_weight`."""


class Centred(Settings):
    """Keys of methods with an intercept."""

    center: Flag = True
    """Whether there is an unpenalised intercept. On by default: without it a large penalty shrinks
    every prediction to zero instead of the mean."""


class Ranks(Settings):
    """Keys of methods that rank candidate outputs by their loss."""

    preferences: Literal["complete", "bipartite"] = "complete"
    """Which candidates are compared: any two of different loss (`complete`, the default), or the
    best with all others (`bipartite`)."""

    n_preferred: Count = 1
    """Best candidates of a row in a bipartite graph. 1 by default: the true output."""

    rescaling: Literal["margin", "slack"] = "slack"
    """What a difference of losses multiplies: the margin that the scores must have (`margin`), or
    the cost of a margin below 1 (`slack`, the default, which was the better one in section 3.2.4 of
    Blaschko 2014)."""


class ChoosesKernel(Centred):
    """Keys of methods that choose a kernel on the inputs."""

    kernel: Annotated[
        tuple[Literal["linear", "rbf", "laplacian"], ...], AfterValidator(without_repeats)
    ] = ()
    """Candidate kernels on the inputs, selected by cross-validation like every hyper-parameter:
    `linear`, `rbf`, `laplacian`; those with a width take each of `grid.width`. The values of
    `grid.alpha` are then relative to the size of each kernel (the number of inputs for `linear`,
    the width for widths below 1), and where a selected value lies on an edge of its grid, the grid
    is extended there once, by two values half a decade apart, and a penalty then goes on for as
    long as the smallest one is selected, down to 1e-8, or 1e-10 times the number of training rows:
    neighbouring columns of a spectrum, which are almost equal, need such penalties. For texts and
    inner products there is no `laplacian`; the kernel `tanimoto` of an experiment replaces those
    with a width, and a Gram matrix replaces all. With one labelled example per class, where nothing
    can be selected, it is the first that is not linear. Empty (the default): the kernel of the
    experiment, and penalties that are not rescaled."""


class AveragesRows(Settings):
    """Keys of methods that choose how the errors of rows are averaged in selection."""

    row_errors: Literal["mean", "median"] = "mean"
    """What the errors of held-out rows are averaged by, where a kernel and the other values of the
    grid are compared: `mean` (the default) or `median`, which rows with wrong labels do not move
    while they are fewer than half."""


class WeaklySupervised(Settings):
    """Keys of methods that can learn from weakly labelled rows."""

    weak: Flag = False
    """Whether weakly labelled rows (component memberships only) join the training."""


class CombinesCounts(Settings):
    """Keys of methods that fit several numbers of components."""

    combine: Literal["best", "average"] = "best"
    """How several numbers of components are used: the best is selected (`best`, the default, as in
    the paper) or the predictions of all are averaged (`average`), which avoids the variance of that
    selection in small samples. Numbers above 0.6 times the training rows are then left out."""
