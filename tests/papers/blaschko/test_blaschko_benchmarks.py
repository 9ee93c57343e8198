"""Both sides of a benchmark of this paper are of one kind."""

from benchmarks import linear_penalties


def test_paths_of_linear_penalties_use_more_inputs_as_the_penalty_falls():
    problem = linear_penalties.sparse_problem(40, 30)
    for norm in ("outputs", "rows"):
        assert linear_penalties.k_support_path(*problem, norm, 10).shape == (20, 30, 6)
    ours = linear_penalties.k_support_path(*problem, "rows", 1)
    theirs = linear_penalties.elastic_net_path(*problem, multi_task=True)
    alone = linear_penalties.elastic_net_path(*problem, multi_task=False)
    assert ours.shape == theirs.shape == alone.shape
    used = [(path != 0).any(axis=2) for path in (ours, theirs)]
    assert all(rows[5].sum() < rows[-1].sum() for rows in used)
