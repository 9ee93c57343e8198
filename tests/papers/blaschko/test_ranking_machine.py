"""Ranking by cutting planes equals the quadratic programme of all pairs."""

import numpy as np
import pytest
from all_pairs import programme_of_all_pairs

from workflow_lib.core.errors import UserError
from workflow_lib.papers.blaschko.preference_constraints import RESCALINGS, PreferenceGraph
from workflow_lib.papers.blaschko.ranking_machine import RankingMachine


def problem(seed):
    random = np.random.default_rng(seed)
    features = random.normal(size=(18, 4))
    return features, random.integers(0, 4, 18).astype(float), np.arange(18) // 6


@pytest.mark.parametrize("rescaling", RESCALINGS)
@pytest.mark.parametrize("cost", [0.5, 20.0])
def test_the_ranking_is_that_of_the_quadratic_programme(cost, rescaling):
    features, losses, groups = problem(0)
    weights, optimum = programme_of_all_pairs(features, losses, groups, cost, rescaling)
    graph = PreferenceGraph(losses, groups)
    gram = features @ features.T
    found = RankingMachine(graph, gram.__matmul__, rescaling).solve(cost, 1e-8, 2000)
    np.testing.assert_allclose(found.coefficients @ features, weights, atol=1e-3)
    assert found.objective == pytest.approx(optimum, rel=1e-6)
    linear = RankingMachine(graph, lambda c: features @ (c @ features), rescaling)
    assert linear.solve(cost, 1e-8, 2000).objective == pytest.approx(optimum, rel=1e-6)


def test_the_gap_bounds_the_distance_to_the_optimum_and_stops_the_search():
    features, losses, groups = problem(1)
    optimum = programme_of_all_pairs(features, losses, groups, 20.0, "slack")[1]
    graph, gram = PreferenceGraph(losses, groups), features @ features.T
    planes = []
    for tolerance in (0.3, 0.03, 0.003):
        found = RankingMachine(graph, gram.__matmul__, "slack").solve(20.0, tolerance)
        assert found.relative_gap <= tolerance
        assert found.gap >= found.objective - optimum - 1e-9 * optimum
        assert found.objective >= optimum * (1.0 - 1e-9)
        planes.append(found.n_planes)
    assert planes[0] < planes[-1]
    few = RankingMachine(graph, gram.__matmul__, "slack").solve(20.0, 1e-6, most_planes=2)
    assert few.n_planes == 2
    assert few.relative_gap > 1e-6


def test_costs_that_share_their_planes_have_the_objectives_of_each_alone():
    features, losses, groups = problem(2)
    graph, gram = PreferenceGraph(losses, groups), features @ features.T
    shared = RankingMachine(graph, gram.__matmul__, "margin")
    n_planes = 0
    for cost in (0.1, 1.0, 10.0):
        alone = RankingMachine(graph, gram.__matmul__, "margin").solve(cost, 1e-6)
        assert shared.solve(cost, 1e-6).objective == pytest.approx(alone.objective, rel=2e-6)
        n_planes += alone.n_planes
    assert shared.solve(10.0, 1e-6).n_planes < n_planes


def test_features_that_are_not_finite_and_impossible_costs_are_refused():
    graph = PreferenceGraph([0.0, 1.0])
    machine = RankingMachine(graph, np.array([[1.0, 0.0], [0.0, np.nan]]).__matmul__)
    with pytest.raises(UserError, match="not finite"):
        machine.solve(1.0)
    for cost in (0.0, np.inf, np.nan):
        with pytest.raises(UserError, match="cost of a ranking"):
            RankingMachine(graph, np.eye(2).__matmul__).solve(cost)
