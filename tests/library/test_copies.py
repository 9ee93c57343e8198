"""Which of rows that are copies are left."""

from workflow_lib.core.copies import without_copies


def test_one_of_copies_is_left_and_none_of_those_with_two_classes():
    keys, labels = "abacabdd", ["x", "y", "x", "", "z", "", "", "y"]
    found = without_copies((row, *pair) for row, pair in enumerate(zip(keys, labels)))
    # a has two classes; b is kept as it first is, d where its class is known; c has no class.
    assert found == ([1, 3, 7], 2, 3)
    assert without_copies([]) == ([], 0, 0)
