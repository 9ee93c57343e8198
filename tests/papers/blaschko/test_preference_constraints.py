"""The most violated constraint of a preference graph equals that of all pairs."""

import numpy as np
import pytest
from each_case import each_case

from workflow_lib.core.errors import UserError
from workflow_lib.papers.blaschko import preference_constraints
from workflow_lib.papers.blaschko.preference_constraints import RESCALINGS, PreferenceGraph


def of_all_pairs(losses, scores, edges, rescaling):
    """Return coefficients and offset of the edges (i, j) whose hinge is positive."""
    coefficients, offset = np.zeros(len(losses)), 0.0
    for i, j in edges:
        difference, margin = losses[j] - losses[i], scores[i] - scores[j]
        hinge = difference - margin if rescaling == "margin" else difference * (1.0 - margin)
        if hinge > 0:
            weight = 1.0 if rescaling == "margin" else difference
            coefficients[i] += weight
            coefficients[j] -= weight
            offset += difference
    return coefficients, offset


def assert_is_that_of_all_pairs(graph, losses, scores, edges, rescaling):
    """Assert that the most violated constraint is to the last digit that of all edges."""
    assert graph.n_edges == len(edges)
    found = graph.most_violated(scores, rescaling)
    coefficients, offset = of_all_pairs(losses, scores, edges, rescaling)
    np.testing.assert_array_equal(found.coefficients, coefficients)
    assert found.offset == offset


def drawn(random, n):
    """Return losses, scores and groups with many ties, exact in floating point."""
    losses = random.integers(0, random.integers(2, n + 2), n).astype(float)
    return losses, random.integers(-4, 5, n) * 0.5, random.integers(0, 3, n)


def complete_edges(losses, groups):
    pairs = np.argwhere((losses[:, None] < losses) & (groups[:, None] == groups))
    return [tuple(pair) for pair in pairs]


def bipartite_edges(losses, groups, n_preferred):
    """Return edges from the preferred items of each group, by the definition with ties."""
    edges = []
    for group in np.unique(groups):
        items = np.flatnonzero(groups == group)
        last = np.sort(losses[items])[min(n_preferred, len(items)) - 1]
        preferred = [item for item in items if losses[item] <= last]
        if len(preferred) == len(items):
            preferred = [item for item in items if losses[item] < losses[items].max()]
        edges += [(item, other) for item in preferred for other in set(items) - set(preferred)]
    return edges


@pytest.mark.parametrize("rescaling", RESCALINGS)
@pytest.mark.parametrize("most", [0, 4, 16])
def test_the_constraint_is_that_of_all_pairs_with_ties(monkeypatch, most, rescaling):
    monkeypatch.setattr(preference_constraints, "MAX_NEIGHBOURS", most)
    monkeypatch.setattr(preference_constraints, "MAX_SUMMED_TOGETHER", 16)
    random, compared = np.random.default_rng(most), 0
    for _ in range(150):
        losses, scores, groups = drawn(random, random.integers(2, 30))
        for of_items in (groups, np.zeros_like(groups)):
            edges = complete_edges(losses, of_items)
            if not edges:
                continue
            graph = PreferenceGraph(losses, of_items)
            assert_is_that_of_all_pairs(graph, losses, scores, edges, rescaling)
            compared += 1
    assert compared > 200


@pytest.mark.parametrize("n_threads", [2, 5])
def test_threads_give_the_constraint_of_one_to_the_last_digit(monkeypatch, n_threads):
    monkeypatch.setattr(preference_constraints, "MAX_SUMMED_TOGETHER", 64)
    random = np.random.default_rng(n_threads)
    for n in (30, 3000):
        losses, scores, groups = random.random(n), random.normal(size=n), random.integers(0, 3, n)
        graph = PreferenceGraph(losses, groups)
        one, others = (graph.most_violated(scores, "slack", number) for number in (1, n_threads))
        np.testing.assert_array_equal(one.coefficients, others.coefficients)
        assert one.offset == others.offset


@pytest.mark.parametrize("rescaling", RESCALINGS)
def test_scores_of_very_different_sizes_are_told_apart(rescaling):
    random = np.random.default_rng(4)
    for _ in range(40):
        losses, scores, groups = drawn(random, 40)
        scores += random.integers(0, 64, 40) / 2.0**10
        scores[random.integers(0, 40)] = 2.0**50
        graph, edges = PreferenceGraph(losses, groups), complete_edges(losses, groups)
        assert_is_that_of_all_pairs(graph, losses, scores, edges, rescaling)


@pytest.mark.parametrize("rescaling", RESCALINGS)
def test_the_bipartite_constraint_is_that_of_all_pairs_of_the_two_groups(rescaling):
    random = np.random.default_rng(5)
    for n_preferred in (1, 2, 5) * 40:
        losses, scores, groups = drawn(random, random.integers(9, 30))
        edges = bipartite_edges(losses, groups, n_preferred)
        graph = PreferenceGraph(losses, groups, "bipartite", n_preferred)
        assert_is_that_of_all_pairs(graph, losses, scores, edges, rescaling)


@pytest.mark.parametrize("rescaling", RESCALINGS)
def test_the_constraint_bounds_the_hinges_at_all_other_scores(rescaling):
    random = np.random.default_rng(1)
    losses, scores = random.random(500), random.normal(size=500)
    graph = PreferenceGraph(losses)
    constraint = graph.most_violated(scores, rescaling)
    edges = complete_edges(losses, np.zeros(500))
    coefficients, offset = of_all_pairs(losses, scores, edges, rescaling)
    assert constraint.value(scores) == pytest.approx(offset - coefficients @ scores, rel=1e-12)
    for _ in range(5):
        others = scores + random.normal(size=500)
        at_others = graph.most_violated(others, rescaling)
        assert constraint.value(others) < at_others.value(others)


def test_zero_one_losses_make_one_constraint_of_both_graphs_and_rescalings():
    random = np.random.default_rng(2)
    losses, groups = 1.0 - np.eye(10)[random.integers(10, size=8)].ravel(), np.arange(80) // 10
    scores = random.normal(size=80)
    found = [
        PreferenceGraph(losses, groups, graph).most_violated(scores, rescaling)
        for graph in ("complete", "bipartite")
        for rescaling in RESCALINGS
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other.coefficients, found[0].coefficients, atol=1e-12)
        assert other.offset == pytest.approx(found[0].offset)


@each_case(
    ("arguments", "words"),
    [
        (([1.0],), "1 candidate.*at least two"),
        (([],), "0 candidates.*at least two"),
        (([2.0, 2.0, 2.0],), "equal losses in every group"),
        (([0.0, 1.0], [0, 1]), "equal losses in every group"),
        (([0.0, np.nan],), "loss of item 1.*nan"),
        (([0.0, 1.0], [0, 0, 0]), r"shape \(2,\) and groups of shape \(3,\)"),
        (([[0.0, 1.0]],), r"shape \(1, 2\)"),
        (([0.0, 1.0], None, "chain"), "'chain'.*complete or bipartite"),
        (([0.0, 1.0], None, "bipartite", 0), "n_preferred"),
    ],
)
def test_impossible_graphs_are_refused(arguments, words):
    with pytest.raises(UserError, match=words):
        PreferenceGraph(*arguments)


@pytest.mark.parametrize(
    ("scores", "rescaling", "words"),
    [
        ([0.0, np.nan], "margin", "1 of its values not finite"),
        ([0.0, 1.0, 2.0], "margin", r"shape \(3,\).*2 finite scores"),
        ([0.0, 1.0], "both", "'both'.*margin or slack"),
    ],
)
def test_impossible_scores_are_refused(scores, rescaling, words):
    with pytest.raises(UserError, match=words):
        PreferenceGraph([0.0, 1.0]).most_violated(scores, rescaling)
