"""The keys of a method with the regressor `back_translation`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.core.grids import ChoosesKernel, RidgeGrid
from workflow_lib.core.requirement import NEEDS_UNPAIRED_OUTPUTS, NEEDS_VECTORS
from workflow_lib.core.values import Factors
from workflow_lib.methods.contract.method_file import MethodFile


class BackTranslationGrid(RidgeGrid):
    """Grid of kernel ridge regression with back-translation."""

    unpaired_weight: Factors
    """Weights of an output without an input relative to a labelled row, strictly increasing. 0
    leaves such outputs out."""


class Parameters(MethodFile, ChoosesKernel):
    """Kernel ridge regression with back-translation."""

    regressor: Literal["back_translation"]
    """`back_translation`: kernel ridge regression that outputs without inputs join; their inputs
    are drawn from a regression of inputs on outputs."""

    grid: BackTranslationGrid
    """Candidate hyper-parameters."""

    needs_of_data = (NEEDS_UNPAIRED_OUTPUTS, NEEDS_VECTORS)
