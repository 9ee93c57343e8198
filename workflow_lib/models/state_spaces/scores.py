"""Fisher scores of a linear-Gaussian state-space model, and their pre-image.

Sections 3.3 and 4.3 of the OFER paper, for a series z_1, .., z_T whose hidden states m_1, .., m_T
are the smoothed ones, E[m_t | z_1, .., z_T]:

- initial block      Sigma_0^-1 (m_1 - mu_0)
- state block        Q^-1 (m_t - A m_{t-1}),  t = 2, .., T      eq. (11)
- observation block  R^-1 (z_t - C m_t),      t = 1, .., T      eq. (12)

The pre-image is Algorithm 1. Its second line is printed as z_t = C z_t + R h2_t, where the
dimensions do not match; eq. (12) gives z_t = C m_t + R h2_t. Both ways are affine, so with one
penalty for all blocks and an intercept, regression in the embedding is regression of the series.
"""

import numpy as np

from workflow_lib.core.array_arguments import as_numbers
from workflow_lib.models.scores import Scores


class StateSpaceScores(Scores):
    """The reduced Fisher embedding of series under a fitted state-space model.

    Raises ValueError for the full form.

    Parameters
    ----------
    model : StateSpaceModel
        A fitted model. Series have the length of the longest one it was fitted to.
    form : {"reduced"}
    covariance_block : str
        Of no use here.
    """

    leading = ("initial", "state")

    def __init__(self, model, form: str = "reduced", covariance_block: str = "constrained") -> None:
        if form != "reduced":
            raise ValueError(
                "Series have no full form: its pre-image would have no closed form. Use "
                "form='reduced'."
            )
        self.model = model
        self.state_dim = len(model.transition_)
        self.n_steps, self.observation_dim = model.n_steps_, model.observation_dim_

    def block_sizes(self) -> dict[str, int]:
        """Return the number of columns of each block, in order."""
        return {
            "initial": self.state_dim,
            "state": (self.n_steps - 1) * self.state_dim,
            "observation": self.n_steps * self.observation_dim,
        }

    def remaining_block(self, H, blocks):
        """As `Scores.remaining_block`: the observation block in units of the outputs.

        R h2 = z - C m.
        """
        return self.residuals(H[..., blocks["observation"]])

    def transform(self, Z) -> np.ndarray:
        """Return the embeddings (n, m) of series `Z`, (n, T, p) or (n, T p).

        Raises ValueError if `Z` has another shape than the series of fit, or a number is missing.
        """
        model, Z = self.model, self._series(Z)
        states = model.smooth(Z)
        initial = _unscale(model.initial_covariance_, states[:, 0] - model.initial_mean_)
        noise = states[:, 1:] - states[:, :-1] @ model.transition_.T
        residual = Z - states @ model.observation_.T
        blocks = (
            initial,
            _unscale(model.state_covariance_, noise),
            _unscale(model.observation_covariance_, residual),
        )
        return np.hstack([block.reshape(len(Z), -1) for block in blocks])

    def decoder(self, leading: np.ndarray, projected: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return offset and gain as `workflow_lib.models.closed_form.decoder`.

        Algorithm 1: the path C m_t is the offset, and the residuals are added to it.
        """
        return self.paths(leading), np.ones((*leading.shape[:-1], 1))

    def closed_form(self, H: np.ndarray, blocks: dict[str, slice], projected: bool) -> np.ndarray:
        """Return the series (n, T, p) of embeddings `H` (n, m) (Algorithm 1).

        Nothing is projected.
        """
        leading = np.concatenate([H[:, blocks["initial"]], H[:, blocks["state"]]], axis=-1)
        flat = self.paths(leading) + self.residuals(H[:, blocks["observation"]])
        return flat.reshape(len(flat), self.n_steps, self.observation_dim)

    def paths(self, leading: np.ndarray) -> np.ndarray:
        """Return C m_t of all steps, (..., T p), from the initial and state blocks (..., T d)."""
        model = self.model
        blocks = leading.reshape(*leading.shape[:-1], self.n_steps, self.state_dim)
        states = np.empty_like(blocks)
        states[..., 0, :] = model.initial_mean_ + blocks[..., 0, :] @ model.initial_covariance_
        states[..., 1:, :] = blocks[..., 1:, :] @ model.state_covariance_
        for t in range(1, self.n_steps):
            states[..., t, :] += states[..., t - 1, :] @ model.transition_.T
        return (states @ model.observation_.T).reshape(*leading.shape[:-1], -1)

    def residuals(self, observation_block: np.ndarray) -> np.ndarray:
        """Return R h2_t = z_t - C m_t of all steps, (..., T p), from the block (..., T p)."""
        shape = observation_block.shape
        steps = observation_block.reshape(*shape[:-1], self.n_steps, self.observation_dim)
        return (steps @ self.model.observation_covariance_).reshape(shape)

    def output_density(self):
        """Return one Gaussian of all steps, as described for `Scores`.

        Its covariance of the steps s <= t is C P_s (A^(t - s))' C', with P_s the covariance of the
        state at step s, and R more where s = t.
        """
        model, n_steps, p = self.model, self.n_steps, self.observation_dim
        C, A = model.observation_, model.transition_
        mean, state = model.initial_mean_, model.initial_covariance_
        means = np.empty((n_steps, p))
        covariance = np.empty((n_steps, p, n_steps, p))
        for s in range(n_steps):
            means[s] = C @ mean
            across = state
            for t in range(s, n_steps):
                covariance[s, :, t] = C @ across @ C.T
                covariance[t, :, s] = covariance[s, :, t].T
                across = across @ A.T
            covariance[s, :, s] += model.observation_covariance_
            mean, state = A @ mean, A @ state @ A.T + model.state_covariance_
        size = n_steps * p
        return np.ones(1), means.reshape(1, size), covariance.reshape(1, size, size), "full"

    def _series(self, Z) -> np.ndarray:
        Z = as_numbers(Z, "Z")
        shape = (self.n_steps, self.observation_dim)
        if Z.ndim == 2 and Z.shape[1] == self.n_steps * self.observation_dim:
            Z = Z.reshape(len(Z), *shape)
        if Z.ndim != 3 or Z.shape[1:] != shape:
            raise ValueError(
                f"The embedding is one of series (n, {shape[0]}, {shape[1]}), the longest that the "
                f"model was fitted to; found the shape {Z.shape}."
            )
        incomplete = ~np.isfinite(Z).all(axis=(1, 2))
        if incomplete.any():
            row = int(np.flatnonzero(incomplete)[0])
            raise ValueError(
                f"Series to embed must be finite; series {row} holds NaN or infinity. Fill missing "
                "numbers first, for example with smooth(Z) @ observation_.T."
            )
        return Z


def _unscale(covariance: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return covariance^-1 v for all vectors v of an array (..., k)."""
    flat = vectors.reshape(-1, len(covariance))
    return np.linalg.solve(covariance, flat.T).T.reshape(vectors.shape)
