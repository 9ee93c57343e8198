"""The resources that jobs request grow with the size of their data."""

import re
from pathlib import Path

import pytest
from each_case import each_case

from workflow_lib.core.job_needs import BASE_MB, STAGES, job_needs, most_gram_rows

ROOT = Path(__file__).parents[2]


def test_every_stage_is_a_rule():
    text = "\n".join(path.read_text() for path in (ROOT / "rules").rglob("*.smk"))
    names = re.findall(r"^rule (\w+):|rule_name\(\"(\w+)\"\)", text, flags=re.MULTILINE)
    assert set(STAGES) <= {name for pair in names for name in pair}


def test_rules_without_their_own_numbers_request_the_least():
    needs = job_needs("table")
    assert needs == (BASE_MB, 1, 1)
    assert all(job_needs(rule).mem_mb >= needs.mem_mb for rule in STAGES)


@each_case("rule", sorted(STAGES))
def test_more_rows_data_and_attempts_request_more(rule):
    small = job_needs(rule, rows=1000, megabytes=10)
    for other in (job_needs(rule, 4000, 10), job_needs(rule, 1000, 500)):
        assert other.mem_mb >= small.mem_mb and other.runtime >= small.runtime
    for attempt in (2, 3):
        again = job_needs(rule, 1000, 10, attempt)
        assert again.mem_mb > job_needs(rule, 1000, 10, attempt - 1).mem_mb
        assert again.runtime == attempt * small.runtime
        # AWS Batch takes no other values.
        assert again.mem_mb <= 2048 or again.mem_mb % 1024 == 0
    # One after the other.
    of_five = job_needs(rule, 1000, 10, n_splits=5)
    assert (of_five.mem_mb, of_five.runtime) == (small.mem_mb, 5 * small.runtime)


def test_memory_is_requested_for_every_gram_matrix_held():
    n_rows = 5000
    gram_mb = 8 * n_rows**2 / 2**20
    more = job_needs("embeddings", n_rows).mem_mb - job_needs("embeddings").mem_mb
    assert more == pytest.approx(STAGES["embeddings"].grams * gram_mb, abs=1024)


def test_the_needs_of_a_method_replace_those_of_its_rule():
    declared = {"minutes": 9, "more_mb": 500}
    assert job_needs("kernel_ridge", 1000, declared=declared) == (BASE_MB + 500, 9, 1)
    assert job_needs("kernel_ridge", 1000, declared={}) == job_needs("table", 1000)


def test_rows_of_the_largest_gram_matrix():
    assert most_gram_rows([10, 400], [], limit=10_000) == 400
    assert most_gram_rows([10, 400], [50, 100], limit=10_000) == 500
    assert most_gram_rows([10, 400], [100], limit=300) == 300
    assert most_gram_rows([3], [], limit=10_000, per_class=True) == 300
    assert most_gram_rows([40], [], limit=10_000, is_user_table=True) == 80
