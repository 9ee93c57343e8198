"""The keys of a method with the regressor `k_support`."""

from typing import Literal

from workflow_lib.core.grids import Alphas, Centred, Grid
from workflow_lib.core.requirement import NEEDS_VECTORS, Requirement
from workflow_lib.core.values import SomeSizes
from workflow_lib.methods.contract.method_file import MethodFile

NEEDS_COLUMNS = Requirement(
    {},
    {"scale": {"none", "standard"}},
    "the regressor {regressor} chooses inputs among columns of numbers, and the inputs are known "
    "by their inner products",
)


class KSupportGrid(Grid):
    """Grid of linear regression with k-support penalties."""

    alpha: Alphas
    """Penalties lambda_0 of equation (13), relative to q k / p of q inputs and p magnitudes
    (`k`), above 0: equal magnitudes have the same penalty for every k, and with the largest k it is
    that of ridge regression relative to the number of inputs. `.inf` is the training mean."""

    k: SomeSizes
    """Values of k, strictly increasing, from 1 (the l1 norm of the magnitudes) to their number p
    (ridge regression): the number of inputs or, with `norm: spectral`, the smaller of the numbers
    of inputs and outputs. A larger value is that number, and the log says so."""


class Parameters(MethodFile, Centred):
    """Linear regression with a k-support penalty."""

    regressor: Literal["k_support"]
    """`k_support`: linear regression that minimises the squared k-support norm of the
    coefficients."""

    norm: Literal["outputs", "rows", "spectral"]
    """Magnitudes of which the k-support norm is taken: the coefficients of each output alone
    (`outputs`), the lengths of the coefficients of each input over all outputs (`rows`), so that
    all outputs share their inputs, or the singular values of all coefficients (`spectral`), so
    that outputs share directions of the inputs."""

    grid: KSupportGrid
    """Candidate hyper-parameters."""

    needs_of_data = (NEEDS_VECTORS, NEEDS_COLUMNS)
