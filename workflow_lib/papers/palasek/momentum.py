"""Steps of gradient ascent with momentum."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workflow_lib.models.gradient_steps import MOMENTUM, GradientSteps


class MomentumSteps(GradientSteps):
    """Steps v <- m v + r g, with the gradient g, the learning rate r and the momentum m = 0.9.

    That is gradient descent with (heavy-ball) momentum (Polyak 1964), by which Palasek and Patras
    (2017, section 5.1.2) train the classifier. Without momentum a step is r g; of a gradient that
    stays, steps grow to r g / (1 - m). The learning rate is positive, in units of the parameters
    per unit of the gradient.
    """

    def __init__(self, learning_rate: float) -> None:
        super().__init__("nesterov", learning_rate)

    def steps(self, gradients: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the step of each array of parameters, by name, from its gradient."""
        for name, gradient in gradients.items():
            before = self.state.get(name, 0.0)
            self.state[name] = MOMENTUM * before + self.learning_rate * gradient
        return {name: self.state[name] for name in gradients}
