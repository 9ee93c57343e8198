"""The length of a sequence as its only feature: what scores that grow with length may give away."""

import numpy as np

from workflow_lib.inputs.standardised import Standardised
from workflow_lib.items.kinds.letters import sequences_in


class SequenceLength(Standardised):
    """The standardised number of letters of a sequence.

    Rows are letters (n, longest length) of `workflow_lib.items.kinds.letters`.

    Parameters
    ----------
    log : bool, default=False
        Whether the length is replaced by its logarithm, for lengths over several orders.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 1.0, 2.0], [3.0, -2.0, -2.0]])
    >>> SequenceLength().fit_transform(rows)
    array([[ 1.],
           [-1.]])
    """

    def __init__(self, log: bool = False) -> None:
        self.log = log

    def columns(self, rows):
        lengths = np.array([[float(len(sequence))] for sequence in sequences_in(rows)])
        return np.log(lengths) if self.log else lengths
