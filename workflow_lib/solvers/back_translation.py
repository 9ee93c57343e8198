"""Back-translation: inputs for outputs without inputs, and ridge regression that they join.

A regression of inputs on outputs, fitted to the l labelled rows, predicts inputs of u further
outputs, and residuals of labelled rows, drawn at random, are added to them: draws of an input
given an output, whose noise is that of the labelled rows. The u pairs join the labelled rows of
kernel ridge regression with a weight w,

    min  lambda_0 |h|^2 + 1/(2l) sum_i |y_i - h(x_i) - b|^2 + w/(2l) sum_k |y_k - h(x_k) - b|^2

over h = sum_i a_i k(x_i, .), a sum over the labelled rows alone. So the solution costs u l^2
instead of u^3, has as many coefficients as that without the further rows, and is the same for
w = 0. With a linear kernel nothing is lost, as drawn inputs lie in the span of the labelled ones.

Back-translation comes from machine translation (Sennrich, Haddow & Birch, ACL 2016).
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from workflow_lib.models.output_scaling import fit_output_scaling
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.heldout import Decomposition, SharedGram
from workflow_lib.solvers.ridge import fit_dual_coefficients, labelled_ridge

ALPHAS = (*np.logspace(-5.0, 1.0, 10).tolist(), float("inf"))
"""Penalties of the regression of inputs on outputs, relative to the diagonal of its kernel."""

# Under this fraction of the largest eigenvalue, rounding would be most of a feature.
MIN_RELATIVE_EIGENVALUE = 1e-10


def drawn_inputs(
    inputs: np.ndarray, outputs: np.ndarray, unpaired: np.ndarray, generator: np.random.Generator
) -> np.ndarray:
    """Return inputs (u, q), each drawn from the distribution of inputs given an output.

    They are predictions of kernel ridge regression of inputs on standardised outputs plus
    residuals of labelled rows, drawn with replacement, all columns of a row together. Kernel
    (linear, or rbf with gamma = 1 / (2 d)) and penalty have the least squared error of predictions
    that leave their row out; the residuals are those of the same predictions, as those of the fit
    are too small.

    Parameters
    ----------
    inputs : array (l, q)
        Prepared inputs of the labelled rows, at least two.
    outputs : array (l, d)
        Complete.
    unpaired : array (u, d)
        Complete outputs whose inputs are drawn.
    generator : numpy.random.Generator
    """
    scaling = fit_output_scaling(outputs, "standard")
    known, others = scaling.apply(outputs), scaling.apply(unpaired)
    n_rows, dimension = known.shape
    # Squared errors of many columns are those of the coordinates of the rows in their span.
    is_wide = inputs.shape[1] > n_rows
    coordinates = np.linalg.qr(inputs.T, mode="r").T if is_wide else inputs
    best = None
    for kernel, gamma, unit in (
        ("linear", None, float(dimension)),
        ("rbf", 1.0 / (2.0 * dimension), 1.0),
    ):
        solver = SharedGram(gram_matrix(known, None, kernel, gamma), np.arange(n_rows))
        alphas = [alpha * unit for alpha in ALPHAS]
        errors = (_left_out_residuals(solver, coordinates, alphas) ** 2).sum(axis=(1, 2))
        index = int(errors.argmin())
        if best is None or errors[index] < best[0]:
            best = errors[index], solver, kernel, gamma, alphas[index]
    _, solver, kernel, gamma, alpha = best
    (residuals,) = _left_out_residuals(solver, inputs, [alpha])
    K = gram_matrix(known, None, kernel, gamma)
    dual, intercept = fit_dual_coefficients(K, inputs, labelled_ridge(n_rows, alpha))
    drawn = gram_matrix(others, known, kernel, gamma) @ dual + intercept
    return drawn + residuals[generator.integers(n_rows, size=len(unpaired))]


def _left_out_residuals(solver: SharedGram, targets: np.ndarray, alphas: Sequence[float]):
    """Return targets (l, m) less predictions from all rows but their own, (n_penalties, l, m)."""
    predicted = solver.predict([targets] * len(targets), alphas)
    return targets - np.concatenate(predicted, axis=1)


class JointRidge:
    """Ridge regression on labelled rows and, with a weight, on further rows.

    Parameters
    ----------
    K : array (l, l)
        Gram matrix of the labelled rows.
    targets : array (l, d)
    further : array (u, l)
        Kernel values of the further rows with the labelled ones.
    further_targets : array (u, d)
    center : bool, default=True
        Fit an unpenalised intercept (of the weighted problem).
    """

    def __init__(
        self,
        K: np.ndarray,
        targets: np.ndarray,
        further: np.ndarray,
        further_targets: np.ndarray,
        center: bool = True,
    ) -> None:
        decomposition = Decomposition(K)
        eigenvalues = decomposition.eigenvalues
        kept = eigenvalues > MIN_RELATIVE_EIGENVALUE * eigenvalues[-1]
        roots = np.sqrt(eigenvalues[kept])
        # z(x) = P' k(X, x) with the inner products z'z = k in the span of the labelled rows.
        self._projection = decomposition.eigenvectors[:, kept] / roots
        self._n_labelled, self._center = len(K), center
        self._sums = [
            _sums(decomposition.eigenvectors[:, kept] * roots, targets),
            _sums(further @ self._projection, further_targets),
        ]

    def solve(self, alpha: float, weight: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients (l, d) of the labelled rows and the intercepts (d,).

        Parameters
        ----------
        alpha : float
            lambda_0 relative to the labelled rows alone, as in eq. (14): the ridge is 2 l alpha
            whatever the number and the weight of the further rows. Infinity gives the weighted
            mean.
        weight : float
            Of a further row relative to a labelled one.
        """
        labelled, further = self._sums
        n_rows, sums, squares, target_sums, products = (
            own + weight * other for own, other in zip(labelled, further, strict=True)
        )
        if not self._center:
            sums, target_sums = np.zeros_like(sums), np.zeros_like(target_sums)
        intercept = target_sums / n_rows
        if np.isinf(alpha):
            return np.zeros((self._n_labelled, len(intercept))), intercept
        mean = sums / n_rows
        system = squares - np.outer(mean, sums)
        system[np.diag_indices(len(system))] += labelled_ridge(self._n_labelled, alpha)
        factor = cho_factor(system, lower=True, overwrite_a=True)
        weights = cho_solve(factor, products - np.outer(mean, target_sums))
        return self._projection @ weights, intercept - mean @ weights


def _sums(features: np.ndarray, targets: np.ndarray) -> tuple:
    """Return the number of rows, and the sums of features, products, targets and both."""
    return (
        len(features),
        features.sum(axis=0),
        features.T @ features,
        targets.sum(axis=0),
        features.T @ targets,
    )
