"""The undisturbed run, to which all others are compared."""

import smoke


def test_it_ends_and_a_second_one_does_nothing(finished, expected):
    assert {"results/run.json", "results/clusters/scores.csv"} <= set(expected)
    outcome = smoke.snakemake(finished)
    assert outcome.status == 0, outcome.text
    assert "Nothing to be done" in outcome.text
    assert smoke.results(finished) == expected
