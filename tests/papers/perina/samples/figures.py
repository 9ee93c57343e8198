"""A sample of results for figures of this paper."""

from test_report_sequence_posteriors import write_sequence_sample

SAMPLES = {"sequences": write_sequence_sample}


def prepare() -> None:
    """Do nothing: the figures can be drawn as they are."""
