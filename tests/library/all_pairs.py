"""The ranking that is the solution of the quadratic programme of all pairs of items."""

import numpy as np
from scipy.optimize import minimize


def programme_of_all_pairs(features, losses, groups, cost, rescaling):
    """Return the weights that minimise ||w||^2 / 2 + C / |E| sum max(hinge, 0), by its dual."""
    edges = np.argwhere((losses[:, None] < losses) & (groups[:, None] == groups))
    differences = losses[edges[:, 1]] - losses[edges[:, 0]]
    directions = features[edges[:, 0]] - features[edges[:, 1]]
    if rescaling == "slack":
        directions = directions * differences[:, None]
    largest = cost / len(edges)

    def negative_dual(multipliers):
        weights = multipliers @ directions
        return weights @ weights / 2.0 - multipliers @ differences, (
            directions @ weights - differences
        )

    start = np.full(len(edges), largest / 2.0)
    bounds = [(0.0, largest)] * len(edges)
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 20_000, "maxfun": 20_000}
    found = minimize(negative_dual, start, jac=True, bounds=bounds, options=options)
    return found.x @ directions, -found.fun
