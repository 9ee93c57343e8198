"""The largest Gram matrix follows from the memory."""

import pytest

from workflow_lib.core.gram_limit import MAX_ROWS, default_max_gram_rows


@pytest.mark.parametrize(
    ("gigabytes", "rows"), [(0.0, 0), (0.96, 3162), (2.4, 5000), (24.0, MAX_ROWS), (1e3, MAX_ROWS)]
)
def test_three_gram_matrices_fit_into_a_quarter_of_the_memory(gigabytes, rows):
    assert default_max_gram_rows(gigabytes * 1e9) == rows


def test_this_machine_has_a_limit():
    assert 0 < default_max_gram_rows() <= MAX_ROWS
