"""The undisturbed run, to which all others are compared."""

import smoke


def test_it_ends_and_a_second_one_does_nothing(finished, expected):
    assert {"results/run.json", "results/clusters/scores.csv"} <= set(expected)
    outcome = smoke.snakemake(finished).succeeded()
    assert "Nothing to be done" in outcome.text
    assert smoke.results(finished) == expected


def test_batches_of_tables_end_with_the_same_results(unrun, expected):
    for number in (1, 2):
        batch = ("--batch", f"overview={number}/2", "--", "overview")
        smoke.snakemake(unrun, *batch).succeeded()
        found = [name for name in expected if (unrun / name).name == "scores.csv"]
        assert sum((unrun / name).exists() for name in found) == number
    smoke.snakemake(unrun).succeeded()
    assert smoke.results(unrun) == expected
