"""Linear penalties: paths of k-support regression against those of scikit-learn's elastic nets.

A sparse linear problem: correlated inputs of unit variance, 10 of which count for all outputs. Both
sides find 20 penalties over three decades, from the largest to the smallest, each from the solution
before it, to a duality gap of 1e-4 of the objective without inputs. The penalties are not the same
functions, so the coefficients need not agree. `MultiTaskElasticNet` may stop at 5,000 iterations
before its gap is that small.
"""

import itertools
import warnings
from functools import partial

import numpy as np

from benchmarks.measuring import Measurement, at_most, interleaved, row

SIZES = ((100, 30), (400, 50), (100, 400))
QUICK_SIZES = ((400, 50),)
N_OUTPUTS = 6
N_USED = 10
N_FACTORS = 10

KS = (1, 10)
N_PENALTIES = 20
RANGE = 1e-3
TOLERANCE = 1e-4
L1_RATIO = 0.5

GOALS = {"outputs": at_most(5.0), "rows": at_most(3.0), "spectral": at_most(5.0)}


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: every number of rows and inputs."""
    sizes = QUICK_SIZES if quick else SIZES
    return [Measurement("paths", {"n": n, "n_inputs": n_inputs}) for n, n_inputs in sizes]


def sparse_problem(n: int, n_inputs: int) -> list[np.ndarray]:
    """Return centred inputs (n, q) with ten common factors, and outputs (n, 6) with a signal as
    large as the noise, both of unit variance."""
    generator = np.random.default_rng(0)
    factors = generator.standard_normal((n, N_FACTORS))
    inputs = factors @ generator.standard_normal((N_FACTORS, n_inputs)) / np.sqrt(N_FACTORS)
    inputs += generator.standard_normal((n, n_inputs))
    signal = inputs[:, :N_USED] @ generator.standard_normal((N_USED, N_OUTPUTS))
    noise = signal.std(axis=0) * generator.standard_normal((n, N_OUTPUTS))
    centred = [values - values.mean(axis=0) for values in (inputs, signal + noise)]
    return [values / values.std(axis=0) for values in centred]


def k_support_path(inputs: np.ndarray, outputs: np.ndarray, norm: str, k: int) -> np.ndarray:
    """Return our coefficients (20, q, 6)."""
    from workflow_lib.papers.blaschko.k_support import KSupportRegression

    regression = KSupportRegression(inputs, outputs, norm)
    largest = inputs.shape[1] * k / regression.largest_k
    alphas = np.geomspace(largest, RANGE * largest, N_PENALTIES)
    return regression.path(k, alphas, TOLERANCE)[0]


def elastic_net_path(inputs: np.ndarray, outputs: np.ndarray, multi_task: bool) -> np.ndarray:
    """Return the coefficients (20, q, 6) of scikit-learn, without its refits for the intercept."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import ElasticNet, MultiTaskElasticNet

    settings = {"l1_ratio": L1_RATIO, "eps": RANGE, "alphas": N_PENALTIES, "max_iter": 5000}
    settings["tol"] = TOLERANCE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if multi_task:
            return MultiTaskElasticNet.path(inputs, outputs, **settings)[1].transpose(2, 1, 0)
        paths = [ElasticNet.path(inputs, y, **settings)[1] for y in outputs.T]
    return np.stack(paths).transpose(2, 1, 0)


def paths(n: int, n_inputs: int) -> list[dict[str, str]]:
    """Time the paths of all norms for `n` rows."""
    pairs = [*itertools.product(("outputs", "rows"), KS), ("spectral", 1)]
    peers = {"MultiTaskElasticNet": True, "ElasticNet for each output": False}
    for size in ((20, 12), (n, n_inputs)):
        # The first problem loads what is needed.
        problem = sparse_problem(*size)
        calls = {pair: partial(k_support_path, *problem, *pair) for pair in pairs}
        calls |= {name: partial(elastic_net_path, *problem, peers[name]) for name in peers}
        timings = interleaved(calls)
    return [
        row(
            n,
            N_OUTPUTS,
            f"k-support path, {norm}, k = {k}, {n_inputs} inputs",
            timings[norm, k],
            f"{peer}, {n_inputs} inputs",
            timings[peer],
            GOALS[norm] if multi_task else None,
            note=f"{N_PENALTIES} penalties, {n_inputs} inputs",
        )
        for norm, k in pairs
        for peer, multi_task in peers.items()
        if multi_task or norm == "outputs"
    ]
