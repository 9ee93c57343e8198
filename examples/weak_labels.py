"""Rows of which only the group is known: the gain when they are added to few labelled rows.

Outputs lie around four centres, one per group. A dozen rows have outputs; of two hundred more only
the group is known. They are used in the fit as weak rows: their group gives the probabilities of
the components of the mixture. The baseline is kernel ridge regression in which each missing output
is replaced by the mean output of its group. Every method has the penalty that is best for it on a
validation set; the errors are those of further rows, as means over ten seeds with their deviation.
Run it by ``python examples/weak_labels.py``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workflow_lib import GaussianMixtureModel, KernelRidgeRegressor, OutputFisherRegressor

N_GROUPS, N_INPUTS, N_OUTPUTS = 4, 8, 6
N_WEAK, N_NEW, N_SEEDS = 200, 300, 10
ALPHAS = (1e-3, 1e-2, 1e-1)
GAMMA = 1.0 / 16.0


class MadeGroups:
    """Four groups of rows, each with a centre of the inputs and a centre of the outputs."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.centres = 2.0 * self.generator.standard_normal((N_GROUPS, N_OUTPUTS))
        self.input_centres = self.generator.standard_normal((N_GROUPS, N_INPUTS))

    def rows(self, n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return inputs (n, 8), outputs (n, 6) and groups (n,); every group occurs."""
        group = self.generator.permutation(np.arange(n_rows) % N_GROUPS)
        inputs = self.input_centres[group] + 0.7 * self.generator.standard_normal(
            (n_rows, N_INPUTS)
        )
        outputs = self.centres[group] + 0.3 * self.generator.standard_normal((n_rows, N_OUTPUTS))
        return inputs, outputs, group


def errors(n_labelled: int, seed: int) -> dict[str, float]:
    """Return the root mean squared error of every method for one draw of the rows."""
    made = MadeGroups(seed)
    X, Y, group = made.rows(n_labelled)
    X_weak, _, weak_group = made.rows(N_WEAK)
    mixture = GaussianMixtureModel(n_components=N_GROUPS, covariance_type="tied_spherical")

    # A component of the mixture need not be a group: the memberships of a group are the mean of
    # those of its labelled rows. (The estimator fits the same mixture again, from the same seed.)
    of_labelled = mixture.fit(Y).responsibilities(Y)
    memberships = np.array(
        [of_labelled[group == number].mean(axis=0) for number in range(N_GROUPS)]
    )
    group_means = np.array([Y[group == number].mean(axis=0) for number in range(N_GROUPS)])
    X_all, Y_filled = np.vstack([X, X_weak]), np.vstack([Y, group_means[weak_group]])

    def ridge(alpha):
        return KernelRidgeRegressor(gamma=GAMMA, alpha=alpha)

    def fisher(alpha):
        # With this weight a weak row counts as much as a labelled row.
        weight = 1.0 / (2.0 * n_labelled)
        return OutputFisherRegressor(mixture, gamma=GAMMA, alpha=alpha, weak_weight=weight)

    fits = {
        "ridge, labelled rows only": lambda alpha: ridge(alpha).fit(X, Y),
        "embedding, labelled rows only": lambda alpha: fisher(alpha).fit(X, Y),
        "ridge, weak rows with group means": lambda alpha: ridge(alpha).fit(X_all, Y_filled),
        "embedding, weak rows": lambda alpha: fisher(alpha).fit(
            X, Y, X_weak, memberships[weak_group]
        ),
    }
    chosen_on, judged_on = made.rows(N_NEW)[:2], made.rows(N_NEW)[:2]
    return {name: error_of_best(fit, chosen_on, judged_on) for name, fit in fits.items()}


def error_of_best(fit: Callable, chosen_on: tuple, judged_on: tuple) -> float:
    """Return the error on some rows with the penalty that is best on others."""
    models = [fit(alpha) for alpha in ALPHAS]
    return error(min(models, key=lambda model: error(model, *chosen_on)), *judged_on)


def error(model, X: np.ndarray, Y: np.ndarray) -> float:
    """Return the root mean squared error over all rows and outputs."""
    return float(np.sqrt(np.mean((model.predict(X) - Y) ** 2)))


def main() -> None:
    for n_labelled in (12, 100):
        draws = [errors(n_labelled, seed) for seed in range(N_SEEDS)]
        print(f"{n_labelled} labelled rows, {N_WEAK} weak rows, {N_SEEDS} seeds")
        for name in draws[0]:
            of_method = np.array([draw[name] for draw in draws])
            shown = f"{of_method.mean():.3f} (deviation {of_method.std(ddof=1):.3f})"
            print(f"  {name:<34} {shown}")
        won = sum(
            draw["embedding, weak rows"] < draw["embedding, labelled rows only"] for draw in draws
        )
        print(f"  weak rows lower the error of the embedding in {won} of {N_SEEDS} draws")


if __name__ == "__main__":
    main()
