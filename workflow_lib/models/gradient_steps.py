"""Steps of gradient ascent whose lengths follow the gradients seen so far.

All numbers of a fit are steps of one `GradientSteps`; its state can be stored and restored.
"""

from collections.abc import Mapping

import numpy as np

from workflow_lib.core.parameters import check_choice

OPTIMISERS = ("adagrad", "rmsprop", "nesterov")

RMSPROP_DECAY = 0.9
"""Share that a step keeps of the running mean of squared gradients (Tieleman & Hinton 2012)."""

MOMENTUM = 0.9
"""Share of the last step that is repeated."""

MIN_ROOT = 1e-8
"""Added to roots of squared gradients, so that a gradient of zero has a step of zero."""


class GradientSteps:
    """The steps of one optimiser for arrays of parameters.

    With the gradient g of what is to be raised and the learning rate r, a step is

    - ``adagrad``: r g / sqrt(sum of all g^2 so far) (Duchi, Hazan & Singer 2011);
    - ``rmsprop``: r g / sqrt(running mean of g^2) (Tieleman & Hinton 2012);
    - ``nesterov``: v <- m v + r g and the step m v + r g, with the momentum m: Nesterov's gradient
      at the point that is looked ahead to, in the variables of that point (Bengio,
      Boulanger-Lewandowski & Pascanu 2013, eq. (6) and (7)).

    Raises ValueError for another optimiser, or a rate that is not positive.

    Parameters
    ----------
    optimiser : {"adagrad", "rmsprop", "nesterov"}
    learning_rate : float
        Positive; in units of the parameters, for ``nesterov`` also per unit of the gradient.

    Attributes
    ----------
    state : dict of arrays
        For every name the sums, means or velocities.
    """

    def __init__(self, optimiser: str, learning_rate: float) -> None:
        check_choice("optimiser", optimiser, OPTIMISERS)
        if not learning_rate > 0:
            raise ValueError(f"learning_rate must be positive; found {learning_rate}.")
        self.optimiser, self.learning_rate = optimiser, learning_rate
        self.state: dict[str, np.ndarray] = {}

    def steps(self, gradients: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the step of each array of parameters, by name, from its gradient."""
        return {name: self._step(name, gradient) for name, gradient in gradients.items()}

    def _step(self, name: str, gradient: np.ndarray) -> np.ndarray:
        memory = self.state.get(name, 0.0)
        if self.optimiser == "nesterov":
            memory = MOMENTUM * memory + self.learning_rate * gradient
            step = MOMENTUM * memory + self.learning_rate * gradient
        else:
            squared = gradient * gradient
            if self.optimiser == "adagrad":
                memory = memory + squared
            else:
                memory = RMSPROP_DECAY * memory + (1.0 - RMSPROP_DECAY) * squared
            step = self.learning_rate * gradient / (np.sqrt(memory) + MIN_ROOT)
        self.state[name] = memory
        return step
