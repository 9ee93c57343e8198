"""Both sides of a benchmark of this paper agree."""

import pytest

from benchmarks import hidden_markov_em, state_space_em


@pytest.mark.parametrize("emission", ["categorical", "gaussian"])
def test_both_sides_of_hidden_markov_em_reach_the_same_likelihoods(emission):
    pytest.importorskip("hmmlearn")
    sequences = hidden_markov_em.drawn(hidden_markov_em.random_model(emission), 20, 2, 9)
    assert {len(sequence) for sequence in sequences} <= set(range(2, 10))
    start = hidden_markov_em.random_model(emission, seed=2)
    ours, theirs = (
        side(start, sequences, 4)
        for side in (hidden_markov_em.own_likelihoods, hidden_markov_em.peer_likelihoods)
    )
    assert len(ours) == 4 and state_space_em.course(ours) == "rises"
    assert hidden_markov_em.largest_difference(ours, theirs) < hidden_markov_em.EQUAL
