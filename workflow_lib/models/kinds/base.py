"""What the module of a kind of generative models declares.

A module of this package is a kind of models, by its name the value of ``kind`` in
`config/models`. It holds five literals, which are read from the source without loading it:

``BLOCKS``
    the blocks of the embedding, by its forms;
``PREIMAGES``
    the ways back from the embedding that it has;
``COVARIANCES``
    the values of ``covariance_type``;
``COUNT_KEY``
    the key of ``grid`` with the numbers of components, or of states, or None;
``TASKS``
    the tasks of the datasets whose outputs it models;

a class and three functions:

``Model``
    the class of the models, a scikit-learn density;
``new``
    returns an unfitted model, from `ModelArguments`;
``to_arrays``, ``from_arrays``
    turn a fitted model into a tree of arrays and back;
``scores``
    returns the `workflow_lib.models.scores.Scores` of a fitted model.
"""

from typing import NamedTuple


class ModelArguments(NamedTuple):
    """What an unfitted model is made of."""

    covariance_type: str
    """One of ``COVARIANCES``."""

    variance_floor: float
    """Smallest variance relative to that of the outputs; for state-space models the variance of
    their prior."""

    n_components: int
    """Components of a mixture, or dimensions of the hidden state."""

    n_init: int
    """Starts of EM."""

    random_state: int

    n_channels: int = 1
    """Numbers per time step, for series."""

    batch_size: int | None = None
    """Rows of a batch of stepwise EM; None for EM on all rows."""
