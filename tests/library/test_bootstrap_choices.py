"""The grid points that bootstrap samples choose, and the mean of their fits."""

import numpy as np
import pytest

from workflow_lib.fitting.bootstrap_choices import N_SAMPLES, BootstrapChoices, Point
from workflow_lib.fitting.fitted_ridge import FittedAverage, FittedRidge
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.measures.metrics import average_relative_error

KERNELS = InputKernel("linear"), InputKernel("rbf", 0.1)
ALPHAS = [1e-3, 1e-2, 0.1]


def grid(n_rows=25, n_outputs=2, noise=0.3):
    generator = np.random.default_rng(0)
    Y = generator.normal(size=(n_rows, n_outputs))
    Y[3, 1] = np.nan
    heldout = {
        kernel: [np.nan_to_num(Y) + noise * generator.normal(size=Y.shape) for _ in ALPHAS]
        for kernel in KERNELS
    }
    return Y, np.arange(n_rows) % 5, heldout


def test_the_best_point_of_each_sample_counts():
    Y, folds, heldout = grid()
    choices = BootstrapChoices(Y, folds, "arrmse", seed=1)
    for kernel in KERNELS:
        choices.add(kernel, ALPHAS, heldout[kernel])
    assert sum(choices.weights().values()) == pytest.approx(1.0)
    # By hand: rows repeated as they are drawn.
    counts = np.random.default_rng(1).multinomial(25, np.full(25, 0.04), size=N_SAMPLES)
    points = [(Point(k, a), h) for k in KERNELS for a, h in zip(ALPHAS, heldout[k], strict=True)]
    reference = choices._reference
    drawn = [np.repeat(np.arange(25), each) for each in counts]
    best = [
        min(
            range(len(points)),
            key=lambda i: average_relative_error(
                np.nansum((Y - points[i][1])[rows] ** 2, axis=0), reference
            ),
        )
        for rows in drawn
    ]
    for index, (point, _) in enumerate(points):
        assert choices.weights().get(point, 0.0) == pytest.approx(best.count(index) / N_SAMPLES)
    expected = np.mean([points[index][1] for index in best], axis=0)
    np.testing.assert_allclose(choices.heldout_outputs(), expected)
    # Several points share the choice where they are alike; one that is far better has it all.
    assert len(choices.weights()) > 1
    choices.add(InputKernel("laplacian", 1.0), [1.0], [np.nan_to_num(Y)])
    assert choices.weights() == {Point(InputKernel("laplacian", 1.0), 1.0): 1.0}


def test_of_constant_outputs_the_first_point_is_chosen():
    Y = np.ones((20, 2))
    choices = BootstrapChoices(Y, np.arange(20) % 5, "arrmse", seed=1)
    choices.add(KERNELS[0], ALPHAS, [Y] * 3)
    assert choices.weights() == {Point(KERNELS[0], ALPHAS[0]): pytest.approx(1.0)}
    np.testing.assert_allclose(choices.heldout_outputs(), Y)


def test_an_average_predicts_the_mean_after_it_was_stored():
    generator = np.random.default_rng(0)
    grams = {kernel: generator.normal(size=(4, 6)) for kernel in KERNELS}

    class Rows:
        def test_gram(self, kernel, width, weak_size=0):
            return grams[InputKernel(kernel, width)]

    solutions = [(generator.normal(size=(6, 2)), generator.normal(size=2)) for _ in KERNELS]
    parts = [FittedRidge(*each, kernel) for each, kernel in zip(solutions, KERNELS, strict=True)]
    expected = sum(grams[k] @ A + b for k, (A, b) in zip(KERNELS, solutions, strict=True))
    fitted = FittedAverage(parts)
    np.testing.assert_array_equal(fitted.predict(Rows()), expected)
    again = FittedAverage.from_arrays(dict(reversed(fitted.to_arrays().items())))
    np.testing.assert_array_equal(again.predict(Rows()), expected)
