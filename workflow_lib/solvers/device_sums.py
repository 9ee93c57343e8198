"""The sums over many rows on another device, such as a GPU.

The operations are those that NumPy and torch have in common; in float64 the sums agree with
`workflow_lib.solvers.feature_sums` but for rounding. Targets are made by the processor.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from workflow_lib.solvers.feature_sums import FeatureSums
from workflow_lib.solvers.landmarks import Features, LandmarkFeatures

BLOCK_NUMBERS = 2**25
"""Numbers of a block of kernel values on the device (256 MB)."""

CHUNK_NUMBERS = 2**24
"""Differences of coordinates that the kernel ``laplacian`` holds at a time (128 MB)."""


class DeviceSums:
    """Adds up blocks of rows on a device, by fold.

    Parameters
    ----------
    features : Features
    origin : array (m,)
    target_origin : array (d,)
    n_parts : int
        Numbers of folds, with the test rows.
    namespace : module
        NumPy, or torch.
    device : str
        As the namespace names it, such as ``cuda``.
    """

    def __init__(
        self,
        features: Features,
        origin: np.ndarray,
        target_origin: np.ndarray,
        n_parts: int,
        namespace: ModuleType,
        device: str,
    ) -> None:
        self._features, self._namespace, self._device = features, namespace, device
        self._origins = origin, target_origin
        self._origin, self._target_origin = self._put(origin), self._put(target_origin)
        m, d = len(origin), len(target_origin)
        zeros = np.zeros((m, m)), np.zeros((m, d)), np.zeros(m), np.zeros(d), np.zeros(d)
        self._parts = [[self._put(array) for array in zeros] for _ in range(n_parts)]
        self._counts = [0] * n_parts
        if isinstance(features, LandmarkFeatures):
            self._landmarks = self._put(features.landmarks)
            if features.factor is None:
                self._projection = self._put(features.projection)

    def add(self, inputs: np.ndarray, targets: np.ndarray, folds: np.ndarray) -> None:
        """Add rows with prepared inputs (b, k), targets (b, d) and folds (b,)."""
        values = self._values(self._put(inputs)) - self._origin
        targets = self._put(targets) - self._target_origin
        for fold in np.unique(folds).tolist():
            rows = self._put(np.flatnonzero(folds == fold))
            V, T = values[rows], targets[rows]
            added = V.T @ V, V.T @ T, V.sum(0), T.sum(0), (T * T).sum(0)
            self._parts[fold] = [
                known + more for known, more in zip(self._parts[fold], added, strict=True)
            ]
            self._counts[fold] += len(rows)

    def sums(self) -> list[FeatureSums]:
        """Return the sums by fold, as arrays of NumPy."""
        return [
            FeatureSums(
                *self._origins,
                np.asfortranarray(self._taken(part[0])),
                *(self._taken(array) for array in part[1:]),
                n_rows=count,
            )
            for part, count in zip(self._parts, self._counts, strict=True)
        ]

    def _put(self, array: np.ndarray) -> Any:
        return self._namespace.asarray(array, device=self._device)

    def _taken(self, array: Any) -> np.ndarray:
        return np.asarray(array.cpu() if hasattr(array, "cpu") else array)

    def _values(self, X: Any) -> Any:
        """Return what is summed of prepared inputs."""
        features = self._features
        if not isinstance(features, LandmarkFeatures):
            return X
        values = self._kernel_values(X)
        return values @ self._projection if features.factor is None else values

    def _kernel_values(self, X: Any) -> Any:
        L, features = self._landmarks, self._features
        if features.kernel == "linear":
            return X @ L.T
        if features.kernel == "rbf":
            squares = (X * X).sum(1)[:, None] + (L * L).sum(1)[None, :] - 2.0 * (X @ L.T)
            return self._namespace.exp(-features.gamma * squares)
        step = max(1, CHUNK_NUMBERS // (L.shape[0] * L.shape[1]))
        parts = [
            self._namespace.exp(
                -features.gamma * abs(X[start : start + step, None, :] - L[None]).sum(2)
            )
            for start in range(0, len(X), step)
        ]
        return self._namespace.concatenate(parts)


def device_namespace(device: str | None) -> tuple[ModuleType, str] | None:
    """Return torch and the name of a device; None to stay on the processor.

    Raises ValueError if a device is named and torch, or the device, is not there.

    Parameters
    ----------
    device : str or None
        ``cuda``, for example; ``auto`` for a GPU where torch finds one; None for none.
    """
    if device is None:
        return None
    try:
        import torch
    except ImportError as error:
        if device == "auto":
            return None
        raise ValueError(
            f"device {device!r} needs the package torch, which cannot be imported ({error}); "
            "install the extra 'deep', or leave device out."
        ) from error
    if device == "auto":
        return (torch, "cuda") if torch.cuda.is_available() else None
    try:
        torch.zeros(1, dtype=torch.float64, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        raise ValueError(
            f"device {device!r} cannot hold numbers of 64 bits ({error}); name another one, or "
            "leave device out."
        ) from error
    return torch, device
