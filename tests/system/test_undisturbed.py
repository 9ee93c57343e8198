"""The undisturbed run, to which all others are compared."""

import smoke


def test_it_ends_and_a_second_one_does_nothing(finished, expected):
    assert {"results/run.json", "results/clusters/scores.csv"} <= set(expected)
    outcome = smoke.snakemake(finished)
    assert outcome.status == 0, outcome.text
    assert "Nothing to be done" in outcome.text
    assert smoke.results(finished) == expected


def test_batches_of_tables_end_with_the_same_results(unrun, expected):
    for number in (1, 2):
        batch = ("--batch", f"overview={number}/2", "--", "overview")
        outcome = smoke.snakemake(unrun, *batch)
        assert outcome.status == 0, outcome.text
        found = [name for name in expected if (unrun / name).name == "scores.csv"]
        assert sum((unrun / name).exists() for name in found) == number
    outcome = smoke.snakemake(unrun)
    assert outcome.status == 0, outcome.text
    assert smoke.results(unrun) == expected
