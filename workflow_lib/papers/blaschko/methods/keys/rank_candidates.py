"""The keys of a method with the regressor `rank_candidates`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, Strict

from workflow_lib.core.grids import WIDTHS, AnyPositive, Grid, OneExample, Ranks, SomePositive
from workflow_lib.core.requirement import Requirement
from workflow_lib.core.values import Flag, Positive, without_repeats
from workflow_lib.methods.contract.method_file import MethodFile


class RankingGrid(Grid):
    """Grid of rankings of candidates."""

    cost: SomePositive
    """Costs C of the mean violated preference of a training row."""

    width: Annotated[AnyPositive, Field(description=WIDTHS)] = ()

    output_width: AnyPositive = ()
    """Widths of the kernel on numeric outputs, in units of the root of the median squared distance
    of the training outputs. Not used for classes, whose kernel is 1 for equal classes and 0 for
    others."""


class RankingExample(OneExample):
    """Values for rankings of candidates with one labelled example per class."""

    cost: Positive | None = None
    """Used instead of `grid.cost`."""

    width: Positive | None = None
    """Width that is used instead of those of `grid.width`."""


class Parameters(MethodFile, Ranks):
    """Rankings of candidate outputs by their loss."""

    regressor: Literal["rank_candidates"]
    """`rank_candidates`: candidate outputs are ranked by their loss, and the first is predicted."""

    across_rows: Flag = False
    """Whether candidates of different training rows are compared too, so that scores of different
    inputs can be compared. Off by default: only the order for one input counts."""

    losses: Literal["dataset", "zero_one"] = "dataset"
    """Losses of classes: the `class_costs` of the dataset or path lengths in its `class_tree`, and
    0-1 where it has neither (`dataset`, the default), or always 0-1 (`zero_one`)."""

    candidates: Annotated[int, Strict(), Field(ge=2, le=10_000)] = 20
    """Training outputs that are candidates of a training row where outputs are numeric, evenly
    spaced in the order of their distance. 20 by default: time grows in proportion. For a new input
    all training outputs compete."""

    kernel: Annotated[
        tuple[Literal["linear", "rbf", "laplacian"], ...], AfterValidator(without_repeats)
    ] = ()
    """Candidate kernels on the inputs, selected by cross-validation with the costs, which are then
    divided by the size of each kernel (the number of inputs for `linear`, the width for widths
    below 1). With one labelled example per class, where nothing can be selected, it is the first
    that is not linear. Empty (the default): the kernel of the experiment, and costs that are not
    rescaled."""

    grid: RankingGrid
    """Candidate hyper-parameters."""

    one_example: RankingExample = RankingExample()
    """Values used instead of the grid with one labelled example per class."""

    needs_of_data = (
        Requirement(
            {"task": {"regression", "series"}},
            {"has_output_width": {True}},
            "the regressor rank_candidates needs grid.output_width for numeric outputs",
        ),
    )

    def predicts_scores(self, task: str) -> bool:
        return task == "classes"
