"""Numbers to many numbers: the estimator in scikit-learn's tools, compared with two baselines.

The synthetic outputs lie around four centres. The penalty of every method is chosen by
cross-validation on its training rows alone (GridSearchCV), and its error is measured on other rows
(cross_val_score). Run it by ``python examples/plain_arrays.py``.
"""

from __future__ import annotations

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from workflow_lib import GaussianMixtureModel, KernelRidgeRegressor, OutputFisherRegressor

SCORING = "neg_root_mean_squared_error"
ALPHAS = [1e-4, 1e-3, 1e-2, 1e-1]
N_ROWS, N_INPUTS, N_OUTPUTS, N_CENTRES = 80, 5, 6, 4


def made_rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs (80, 5) and outputs (80, 6) of rows around four centres."""
    generator = np.random.default_rng(seed)
    centres = 2.0 * generator.standard_normal((N_CENTRES, N_OUTPUTS))
    input_centres = generator.standard_normal((N_CENTRES, N_INPUTS))
    group = generator.integers(N_CENTRES, size=N_ROWS)
    X = input_centres[group] + 0.4 * generator.standard_normal((N_ROWS, N_INPUTS))
    Y = centres[group] + 0.3 * generator.standard_normal((N_ROWS, N_OUTPUTS))
    return X, Y


def main() -> None:
    X, Y = made_rows(seed=0)
    mixture = GaussianMixtureModel(n_components=N_CENTRES, covariance_type="tied_spherical")
    # One penalty for the memberships and one for the rest: with a single penalty, this mixture
    # would be equivalent to kernel ridge regression.
    two_penalties = [{"pi": pi, "mu": mu} for pi in ALPHAS for mu in ALPHAS]
    inner = KFold(5, shuffle=True, random_state=1)
    outer = KFold(5, shuffle=True, random_state=2)
    methods = {
        "training mean": DummyRegressor(),
        "kernel ridge regression": GridSearchCV(
            KernelRidgeRegressor(), {"alpha": ALPHAS}, cv=inner, scoring=SCORING
        ),
        "output Fisher embedding": GridSearchCV(
            OutputFisherRegressor(mixture), {"alpha": two_penalties}, cv=inner, scoring=SCORING
        ),
    }
    print(
        f"{N_ROWS} rows, {N_INPUTS} inputs, {N_OUTPUTS} outputs: root mean squared error, 5 folds"
    )
    for name, method in methods.items():
        errors = -cross_val_score(method, X, Y, cv=outer, scoring=SCORING)
        print(f"{name:<24} {errors.mean():.3f} (deviation {errors.std(ddof=1):.3f})")


if __name__ == "__main__":
    main()
