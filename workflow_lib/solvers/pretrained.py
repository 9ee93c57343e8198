"""Pretrained networks for small tables, as one scikit-learn estimator of several outputs.

TabICL (Qu et al. 2025, arXiv 2502.05564) and TabPFN (Hollmann et al. 2025,
https://doi.org/10.1038/s41586-024-08328-6) read the training rows together with the new rows, and
predict one output each time. Their weights are a file of the user.
"""

import hashlib
from numbers import Integral
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from workflow_lib.core.errors import UserError
from workflow_lib.core.optional_packages import is_installed, not_installed

OWN_ARGUMENTS = {
    "tabicl": {"allow_auto_download": False, "n_jobs": 1},
    # TabPFN has no such argument: it downloads only where the file is missing, and it is not here.
    "tabpfn": {},
}
"""Arguments of the network of each package that the other one does not have."""


class PretrainedRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """The predictions f(x; X, y_j) of a pretrained network f for each output j.

    X (n, q) are the training rows and y_j their values of the output, in its units; rows that lack
    it are left out, and an output with one value is predicted by it. The weights of f are those of
    the checkpoint: `fit` keeps the rows, without loading the network, and `predict` gives them to
    it, once for each output. Fitted objects hold no part of the network but the digest of its file.

    A stored estimator may hold such an object only where the user trusts the class, because the
    object names a file that is then read; it is read only if its digest is that of the object.

    Parameters
    ----------
    package : {"tabicl", "tabpfn"}
    checkpoint : str
        Path of the weights, as the authors of the package publish them. Nothing is downloaded.
    n_estimators : int, default=8
        Number of views of the table (columns in another order or scale) whose predictions are
        averaged.
    device : str, default="cpu"
        Where the network computes, in the words of torch.
    random_state : int, RandomState or None, default=None
        Of the views.

    Attributes
    ----------
    X_ : array (n, q)
    y_ : array (n,) or (n, d)
        NaN where missing.
    digest_ : str
        SHA-256 of the checkpoint.
    """

    _parameter_constraints = {
        "package": [StrOptions(set(OWN_ARGUMENTS))],
        "checkpoint": [str],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "device": [str],
        "random_state": ["random_state"],
    }

    def __init__(self, package, checkpoint, n_estimators=8, device="cpu", random_state=None):
        self.package = package
        self.checkpoint = checkpoint
        self.n_estimators = n_estimators
        self.device = device
        self.random_state = random_state

    def _validate_params(self):
        """Check the parameters, the package and that the checkpoint is there, as `fit` does.

        Raises
        ------
        InvalidParameterError
        UserError
            If the package is not installed, or there is no such file.
        """
        super()._validate_params()
        if not is_installed(self.package):
            raise not_installed(self.package, f"package {self.package}")
        # No pipe or device, from which reading might never end.
        if not Path(self.checkpoint).is_file():
            raise self._refused(
                f"there is no file {self.checkpoint}",
                f"the weights of {self.package}, as its authors publish them",
                "get the file (no run downloads it) and put it there, or name another one in "
                "settings.checkpoint of the method",
            )

    def fit(self, X, y):
        """Keep the inputs `X` (n, q) and the outputs `y` (n,) or (n, d), NaN where missing.

        Raises UserError if the package is not installed, or there is no checkpoint, and ValueError
        if an output has no value.
        """
        self._validate_params()
        self.X_ = validate_data(self, X, dtype=np.float64)
        self.y_ = check_array(
            y, ensure_2d=False, ensure_all_finite="allow-nan", dtype=np.float64, input_name="y"
        )
        unknown = np.isnan(np.atleast_2d(self.y_.T)).all(axis=1)
        if unknown.any():
            raise ValueError(f"Output {np.flatnonzero(unknown)[0]} of y has no value.")
        self.digest_ = self._digest()
        return self

    def predict(self, X):
        """Return the predicted outputs (m,) or (m, d) of inputs `X` (m, q).

        Raises UserError if the checkpoint is missing or another one, or the package is not
        installed.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        self._check_digest()
        predicted = [self._output(y, X) for y in np.atleast_2d(self.y_.T)]
        return np.stack(predicted, axis=1).reshape(len(X), *self.y_.shape[1:])

    def _output(self, y: np.ndarray, X: np.ndarray) -> np.ndarray:
        known = ~np.isnan(y)
        if np.ptp(y[known]) == 0.0:
            return np.full(len(X), y[known][0])
        try:
            if self.package == "tabicl":
                from tabicl import TabICLRegressor as network
            else:
                from tabpfn import TabPFNRegressor as network
        except ImportError as error:
            raise not_installed(self.package, f"package {self.package}", error) from error
        fitted = network(
            n_estimators=self.n_estimators,
            # TabPFN looks for a bare name in another folder, too.
            model_path=str(Path(self.checkpoint).absolute()),
            device=self.device,
            random_state=self.random_state,
            **OWN_ARGUMENTS[self.package],
        ).fit(self.X_[known], y[known])
        return np.asarray(fitted.predict(X), dtype=np.float64)

    def __setstate__(self, state):
        """Restore a stored or copied object; a fitted one only where its checkpoint is the same."""
        super().__setstate__(state)
        if hasattr(self, "digest_"):
            self._check_digest()

    def _digest(self) -> str:
        with open(self.checkpoint, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _check_digest(self) -> None:
        self._validate_params()
        found = self._digest()
        if found != self.digest_:
            raise self._refused(
                f"the file has the SHA-256 {found}",
                f"{self.digest_}, that of the weights that the model was fitted with",
                "put that file there, or fit the model again",
            )

    def _refused(self, found: str, expected: str, remedy: str) -> UserError:
        return UserError(f"the checkpoint {self.checkpoint}", found, expected, remedy)
