"""How the versions of a dataset are named in a figure."""

from workflow_lib.report.figures.dataset_versions import named_versions


def test_versions_are_named_by_what_their_titles_do_not_share():
    titles = ["Splice, sites, TF-IDF", "Splice, sites, scores"]
    assert named_versions(titles) == ("Splice, sites", ["TF-IDF", "scores"])
    # One title may be the beginning of all others.
    titles = ["Calls, six weeks", "Calls, six weeks, scores"]
    assert named_versions(titles) == ("Calls, six weeks", ["usual inputs", "scores"])
    titles = [f"{title} (a stand-in)" for title in titles]
    expected = "Calls, six weeks (a stand-in)", ["usual inputs", "scores"]
    assert named_versions(titles) == expected
    # The mark stays beside the versions that have it where others have none.
    assert named_versions(["A, b (a stand-in)", "A, c"]) == ("A", ["b (a stand-in)", "c"])
    assert named_versions(["Calls", "Calling"]) == ("Calls", ["Calls", "Calling"])
