"""Which experiments may stand in for those of Djerrab et al. (2018), without reading any result."""

from collections.abc import Mapping, Sequence

PAPER_METHODS = ("ofer", "wofer")
"""How the names of the methods of that paper begin."""


def compares_ofer(experiment: Mapping, methods: object = None) -> bool:
    """Return whether a whole experiment may stand in for tables of Djerrab et al. (2018).

    It does with OFER among its methods, and without outputs that have no input, which that paper
    does not have.

    Parameters
    ----------
    experiment : mapping
        Its keys in the configuration.
    methods : list of str, or another object where they are not known, default=None
        Those of an experiment that names none.
    """
    names = experiment.get("methods") or methods
    is_known = isinstance(names, Sequence) and not isinstance(names, str)
    has_ofer = not is_known or any(str(name).startswith(PAPER_METHODS) for name in names)
    return has_ofer and not experiment.get("unpaired_sizes")
