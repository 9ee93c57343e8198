"""The support of pairs of inputs and outputs: a one-class machine on their joint kernel.

Joint kernel support estimation (Lampert & Blaschko 2009; Blaschko 2014, section 3.1) fits the
one-class support vector machine of Schoelkopf et al. (2001) to the pairs (x_i, y_i), with the joint
kernel k(x, x') l(y, y'), and predicts the output of the highest score

    f(x, y) = sum_i alpha_i k(x_i, x) l(y_i, y).
"""

import numpy as np

TOLERANCE = 1e-6
"""Largest violation of the optimality conditions at which the solver stops; the default of libsvm,
1e-3, is seen in the third digit of the weights."""


def fit_joint_support(K: np.ndarray, L: np.ndarray, nu: float) -> np.ndarray:
    """Return the weights alpha (n,) of the training pairs, eqs. (3.7) and (3.8) of the thesis.

    They minimise alpha' (K * L) alpha, with the product of each pair of entries, subject to

        0 <= alpha_i <= 1 / (nu n),   sum_i alpha_i = 1.

    At nu = 1 the only such weights are 1 / n, and f is the kernel density estimate of Parzen (1962)
    up to a constant. scikit-learn refuses that value, because the offset of the machine, which f
    does not need, is not bounded then.

    `K` and `L` (n, n) are Gram matrices of the inputs and of the outputs; `nu` is the largest share
    of outliers. Raises ValueError if it is not in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from workflow_lib.papers.blaschko.joint_support import fit_joint_support
    >>> K = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> fit_joint_support(K, np.ones((3, 3)), nu=1.0).round(3)
    array([0.333, 0.333, 0.333])
    >>> fit_joint_support(K, np.ones((3, 3)), nu=0.5).round(3)
    array([0.256, 0.256, 0.487])
    """
    if not 0.0 < nu <= 1.0:
        raise ValueError(f"nu must be above 0 and at most 1; found {nu!r}.")
    n_rows = len(K)
    if nu == 1.0:
        return np.full(n_rows, 1.0 / n_rows)
    from sklearn import config_context
    from sklearn.svm import OneClassSVM

    # Half the time of a small fit would be checks of the same matrix and the same parameters.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        machine = OneClassSVM(kernel="precomputed", nu=nu, tol=TOLERANCE).fit(K * L)
    weights = np.zeros(n_rows)
    weights[machine.support_] = machine.dual_coef_[0]
    return weights / weights.sum()


def weights_at(alpha: np.ndarray, K_others: np.ndarray) -> np.ndarray:
    """Return the weights (m, n) of the training outputs at other inputs, each row with sum 1.

    They are alpha_i k(x_i, x) for non-negative kernels, divided by their sum over i, which changes
    no highest score of a row. An input so far from all others that the kernel vanishes in floating
    point says nothing of its output; its weights are alpha, as `fit_joint_support` returns it.
    `K_others` (m, n) is the kernel of the other inputs against the training inputs, not negative.
    """
    # Divided by the largest first, so that the sum of tiny numbers does not vanish.
    largest = K_others.max(axis=1, keepdims=True)
    weights = alpha * np.where(largest > 0.0, K_others / np.where(largest > 0.0, largest, 1.0), 1.0)
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), alpha)
