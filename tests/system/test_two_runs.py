"""Of two runs in one folder the second is refused, says what to do, and harms nothing."""

import time
from random import Random

import pytest
import smoke
from running_workflow import RunAtWork
from small_run import SNAKEMAKE, contents, write_yaml
from whole_results import assert_whole

REFUSAL = "error: Directory cannot be locked."
ADVICE = "If another run is at work there, wait for it. If it was killed, to go on:"

TABLE = "results/tables/clusters-error.csv"
PARTS = ("results", "resources", ".snakemake/metadata")

MADE_AGAIN = ("results/clusters/scores.csv", "results/measurements/scores.csv")
"""Results without which a run has some jobs to do, but not all."""


@pytest.mark.fault("two runs at once")
def test_a_second_run_is_refused_and_harms_nothing(finished, expected):
    for name in MADE_AGAIN:
        (finished / name).unlink()
    # Not in the folder: results record whether it holds changes that are not committed.
    other = finished.parent / "other.yaml"
    write_yaml(other, smoke.RUN | {"seed": 8})
    with RunAtWork(finished) as first:
        first.wait_until(lambda: first.n_jobs)
        # It is suspended, so that it cannot end before the others have been refused.
        first.hold()
        before = contents(finished, *PARTS)
        for options in ([], ["--", TABLE], ["--configfile", str(other)]):
            outcome = smoke.snakemake(finished, *options)
            assert outcome.status == 1, outcome.text
            assert_refused(outcome.text, *options)
        assert contents(finished, *PARTS) == before
        first.go_on()
        ended = first.end()
    assert ended.status == 0, ended.text
    assert_whole(finished, expected)


@pytest.mark.fault("two runs at once")
@pytest.mark.trials(short=1, full=8)
def test_a_run_that_starts_soon_after_another_does_no_harm(unrun, expected, number):
    with RunAtWork(unrun) as first:
        # From about the same time to far into the first run.
        time.sleep(Random(f"second {number}").uniform(0, 8))
        with RunAtWork(unrun) as second:
            outcomes = [first.end(), second.end()]
    # Whichever came first: the other was refused, or came late enough to have nothing to do.
    assert 0 in [outcome.status for outcome in outcomes], first.text + second.text
    for outcome in outcomes:
        if outcome.status:
            assert_refused(outcome.text)
    assert_whole(unrun, expected)


def assert_refused(text: str, *options: str) -> None:
    """Check that the lock refused it, with the remedies for either case."""
    assert REFUSAL in text and ADVICE in text
    assert text.count("error: ") == 1 and "Traceback" not in text
    typed = " ".join(smoke.command(*options)[len(SNAKEMAKE) :])
    assert text.splitlines()[-2:] == [
        f"    python -m snakemake --unlock {typed}",
        f"    python -m snakemake {typed}",
    ]
