"""Output Fisher Embedding Regression as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from workflow_lib.core.errors import ArgumentError
from workflow_lib.core.parameters import ParameterMixin, check_kind, check_parameters, checks
from workflow_lib.core.stored_rows import StackedRows, are_stored
from workflow_lib.models.covariance import absolute_floor
from workflow_lib.models.fisher import PREIMAGES, FisherEmbedding
from workflow_lib.models.forward import FORMS
from workflow_lib.models.mixtures.gaussian import GaussianModel
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.posterior_noise import choose_noise
from workflow_lib.solvers.any_estimator import (
    TAKE_WEIGHTS,
    fit_embeddings,
    fit_outputs,
    predict_outputs,
    takes_weights,
)
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.kernel_ridge import (
    KernelInputMixin,
    KernelRidgeRegressor,
    check_square,
    checked_inputs,
    checked_outputs,
)
from workflow_lib.solvers.landmark_solution import LandmarkSolutionMixin
from workflow_lib.solvers.ridge import fit_blocks

N_FOLDS = 5
"""Folds whose held-out predictions choose the noise of the posterior pre-image."""


def _check_model(name: str, model) -> None:
    """Raise ValueError unless `model` is a generative model of outputs."""
    if model is not None and (isinstance(model, type) or not hasattr(model, "outputs_are_series")):
        raise ValueError(
            f"{name} must be a GaussianModel, GaussianMixtureModel or StateSpaceModel, or None; "
            f"found {model!r}."
        )


def _check_regressor(name: str, regressor) -> None:
    """Raise ValueError unless `regressor` is an estimator that predicts."""
    is_class = isinstance(regressor, type)
    if regressor is not None and (is_class or not hasattr(regressor, "predict")):
        raise ValueError(
            f"{name} must be a regressor, such as Ridge(), or None; found {regressor!r}."
        )


def _check_penalties(name: str, alpha) -> None:
    """Raise ValueError unless every penalty is a positive number."""
    for each in alpha.values() if isinstance(alpha, dict) else [alpha]:
        check_kind("penalty", name, each)


class OutputFisherRegressor(KernelInputMixin, LandmarkSolutionMixin, RegressorMixin, BaseEstimator):
    """Output Fisher Embedding Regression (OFER; Djerrab, Garcia, Sangnier & d'Alche-Buc 2018).

    1. Fit a generative model p_theta to the training outputs and embed each as its Fisher score.
    2. Regress the embedding from the input by kernel ridge regression, eq. (13); weak rows, of
       which only the component memberships are known, join the `pi` block by eq. (14).
    3. Return from the predicted embedding to an output by the pre-image, eq. (7) and (10), or
       Algorithm 1 for series.

    With one penalty, an intercept and a tied variance (or a state-space model), this **is**
    multi-output kernel ridge regression; differences come only from a penalty per block, the
    projection on the simplex, variances per component, weak rows, and outputs without inputs.

    Parameters
    ----------
    model : GaussianModel, GaussianMixtureModel, StateSpaceModel or None, default=None
        The generative model; a clone is fitted. None means ``GaussianMixtureModel()``. For a
        ``StateSpaceModel`` the outputs are series of equal length.
    form : {"reduced", "full"}, default="reduced"
        Form of the Fisher embedding; only the reduced one has an exact closed-form pre-image.
    kernel : {"rbf", "linear", "precomputed", "tanimoto"}, default="rbf"
    gamma : float or None, default=None
        Inverse squared width of the rbf kernel; None means 1 / number of inputs.
    alpha : float or dict, default=1.0
        lambda_0 of eq. (13): the system solved is (K + 2 l alpha I) with l labelled rows, as in
        scikit-learn's ``KernelRidge(alpha=2 * l * alpha)`` plus an intercept. A dictionary gives
        each block a penalty of its own, for example ``{"pi": 1e-3, "mu": 1e-2}``, or for series
        ``{"initial": 1e-2, "state": 1e-2, "observation": 1.0}``. Infinity predicts the block's
        mean.
    weak_weight : float, default=1.0
        lambda_2 of eq. (14), which carries no 1/(2 l): a weak row weighs 2 l lambda_2 times a
        labelled one.
    preimage : {"projected", "closed_form", "gradient", "posterior"}, default="projected"
        See `FisherEmbedding.inverse_transform`. The noise of ``posterior`` is a multiple of the
        residual variances of five folds, which choose it too (`choose_noise`).
    center : bool, default=True
        Fit an unpenalised intercept for every block (of the weighted problem where there are weak
        rows). Without an intercept, eq. (10) divides by a number that can change sign.
    max_gram_rows, n_landmarks, random_state
        As of `KernelRidgeRegressor`, which also tells what is done with more rows. Weak rows and
        precomputed kernels are refused there.
    regressor : scikit-learn regressor or None, default=None
        Predicts the embedding; a clone is fitted, or a clone for each column if it predicts
        single outputs. None: kernel ridge regression as above. With a regressor, `kernel`, `gamma`,
        `alpha`, `center`, `max_gram_rows`, `n_landmarks` and `random_state` are not used. With weak
        rows the `pi` block has a clone of its own, fitted to the labelled rows with weight 1 and
        the weak rows with weight 2 l `weak_weight`, so that `fit` must take ``sample_weight``.

    Attributes
    ----------
    model_ : the fitted generative model
    embedding_ : FisherEmbedding
    dual_coef_ : array (l + w, m)
        Rows of the labelled, then of the weak inputs; zero for weak rows outside the `pi` block.
        Above `max_gram_rows` the rows of `X_fit_`: h(x) = k(x, X_fit_) dual_coef_ + intercept_.
    intercept_ : array (m,)
    X_fit_ : array (l + w, q), or None where precomputed
        Above `max_gram_rows` the landmarks, or the unit vectors where there are none.
    landmarks_ : array (n_landmarks, q) or None
        None where the solution is exact.
    noise_ : Noise
        Variances (d,) of the noise of the posterior pre-image, and the multiple chosen; with this
        pre-image only.
    regressor_ : the fitted regressor
        Where `regressor` is given; with weak rows a dictionary of those of ``pi`` and ``rest``. The
        four attributes before it exist for kernel ridge regression only.
    """

    safe_to_load = True
    allowed: ClassVar = {
        **KernelRidgeRegressor.allowed,
        **checks(not_negative="weak_weight", form=FORMS, preimage=PREIMAGES),
        "model": _check_model,
        "regressor": _check_regressor,
        "alpha": _check_penalties,
    }

    def __init__(
        self,
        model=None,
        form="reduced",
        kernel="rbf",
        gamma=None,
        alpha=1.0,
        weak_weight=1.0,
        preimage="projected",
        center=True,
        max_gram_rows=None,
        n_landmarks=1000,
        random_state=0,
        regressor=None,
    ):
        self.model = model
        self.form = form
        self.kernel = kernel
        self.gamma = gamma
        self.alpha = alpha
        self.weak_weight = weak_weight
        self.preimage = preimage
        self.center = center
        self.max_gram_rows = max_gram_rows
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.regressor = regressor

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.regressor is not None:
            tags.input_tags.pairwise = get_tags(self.regressor).input_tags.pairwise
            tags.input_tags.positive_only = False
        return tags

    def fit(self, X, Y, X_weak=None, weak_responsibilities=None, Y_unpaired=None):
        """Fit to labelled rows, and to weak rows and outputs without inputs where given.

        Parameters
        ----------
        X : array (l, q)
            Inputs; with ``kernel="precomputed"`` the Gram matrix (l, l).
        Y : array (l,) or (l, d)
            Outputs. Series: (l, T, p), or (l, T p) with ``StateSpaceModel(observation_dim=p)``.
        X_weak : array (w, q) or None
            Inputs of the weak rows; precomputed: their kernel values (w, l + w) against the
            labelled, then the weak rows.
        weak_responsibilities : array (w, C) or None
            Component memberships q of the weak rows, soft or one-hot, rows summing to one. Their
            target in the `pi` block is q / pi.
        Y_unpaired : array (m, d) or None
            Outputs of rows whose inputs are not known, shaped as `Y`. The generative model learns
            from them too, and so do the embedding and the pre-image. With a ``GaussianModel``, or a
            ``GaussianMixtureModel`` with ``batch_size``, they may stay in a file and be read in
            batches: a dataset of h5py or an array that numpy maps from a file.

        Raises
        ------
        ValueError
            If data are not finite or shapes differ, a penalty is not positive, a block or a
            choice is unknown, weak rows are given to a model without a `pi` block or to a
            `regressor` that takes no weights, or there are more than `max_gram_rows` rows, some of
            them weak or all of them precomputed.
        """
        check_parameters(self)
        X, X_weak = checked_inputs(X), checked_inputs(X_weak, "X_weak")
        Y, Y_unpaired = checked_outputs(Y), checked_inputs(Y_unpaired, "Y_unpaired")
        weak_responsibilities = checked_inputs(weak_responsibilities, "weak_responsibilities")
        if X_weak is None and weak_responsibilities is not None:
            raise ValueError("weak_responsibilities was given without X_weak.")
        if X_weak is not None and self.regressor is not None:
            _check_takes_weights(self.regressor)
        model = GaussianMixtureModel() if self.model is None else self.model
        series_shape = np.shape(Y)[1:] if model.outputs_are_series and np.ndim(Y) == 3 else None
        if series_shape is not None:
            Y = Y.reshape(len(Y), -1)
        X, Y = validate_data(self, X, Y, multi_output=True, y_numeric=True, dtype=np.float64)
        is_large = self.regressor is None and self._exceeds_gram_limit(
            len(X), has_weak_rows=X_weak is not None
        )
        self._output_shape = Y.shape[1:] if series_shape is None else series_shape
        outputs = np.asarray(Y, dtype=np.float64).reshape(len(Y), *(self._output_shape or (1,)))
        known = outputs
        if are_stored(Y_unpaired):
            known = StackedRows(outputs, _checked_stored(model, Y_unpaired, outputs.shape[1:]))
        elif Y_unpaired is not None:
            known = np.concatenate([outputs, self._checked_unpaired(Y_unpaired, outputs.shape[1:])])
        self.model_ = clone(model).fit(known)
        self.embedding_ = FisherEmbedding(self.model_, self.form)
        if self.preimage == "posterior":
            _warn_of_raised_variances(self.model_, known)
            self.noise_ = self._chosen_noise(X, outputs, X_weak, weak_responsibilities, Y_unpaired)
        if self.regressor is not None:
            targets = self.embedding_.transform(outputs)
            self.regressor_ = self._fitted_regressor(X, targets, X_weak, weak_responsibilities)
            self._fit_without_landmarks()
            return self
        alphas = self._penalties()
        if is_large:
            by_column = np.empty(self.embedding_.n_features)
            for name, columns in self.embedding_.blocks.items():
                by_column[columns] = alphas[name]
            # Outputs are embedded in blocks too, as an embedding can be much wider than they are.
            self._fit_on_landmarks(
                X, lambda rows: self.embedding_.transform(outputs[rows]), by_column
            )
            return self
        targets = self.embedding_.transform(outputs)
        K = gram_matrix(X, None, self.kernel, self.gamma)
        check_square(K, self.kernel)
        n_labelled = len(K)
        n_weak = 0
        if X_weak is not None:
            X_weak, memberships = self._check_weak(X_weak, weak_responsibilities, n_labelled)
            n_weak = len(X_weak)
            self._exceeds_gram_limit(n_labelled + n_weak, has_weak_rows=True)
            K = self._joint_gram(X, X_weak, K)
        joins = n_weak and self.weak_weight > 0
        self.dual_coef_, self.intercept_ = fit_blocks(
            K,
            targets,
            self.embedding_.blocks,
            alphas,
            self.center,
            {"pi": memberships / self.model_.weights_} if joins else None,
            2.0 * n_labelled * self.weak_weight,
        )
        if self.kernel == "precomputed":
            self.X_fit_ = None
        else:
            self.X_fit_ = np.vstack([X, X_weak]) if n_weak else X
        self._fit_without_landmarks()
        return self

    def predict(self, X):
        """Return predicted outputs (n,), (n, d) or (n, T, p), as in `fit`, for inputs `X` (n, q).

        With ``kernel="precomputed"``, `X` holds the kernel values (n, l + w) against the labelled,
        then the weak rows.
        """
        predictions = self._in_blocks(self._outputs, self._checked_inputs(X))
        return predictions.reshape(len(predictions), *self._output_shape)

    def predict_embedding(self, X) -> np.ndarray:
        """Return the predicted embeddings h(x), an array (n, m), before the pre-image."""
        return self._in_blocks(self._embeddings, self._checked_inputs(X))

    def _outputs(self, X) -> np.ndarray:
        """Return the outputs (n, d) or (n, T, p) predicted from checked inputs."""
        noise = self.noise_.variances if self.preimage == "posterior" else None
        H = self._embeddings(X)
        return self.embedding_.inverse_transform(H, self.preimage, noise_covariance=noise)

    def _embeddings(self, X) -> np.ndarray:
        """Return the embeddings (n, m) predicted from checked inputs."""
        if self.regressor is None:
            return self._kernel_predictions(X)
        return predict_outputs(self.regressor_, X)

    def _fitted_regressor(self, X, targets, X_weak, weak_responsibilities):
        """Return the fitted regressor; with weak rows those of the `pi` block and the rest."""
        if X_weak is None:
            return fit_outputs(self.regressor, X, targets)
        X_weak, memberships = self._check_weak(X_weak, weak_responsibilities, len(X))
        weak_targets = memberships / self.model_.weights_
        weak_weight = 2.0 * len(X) * self.weak_weight
        return fit_embeddings(self.regressor, X, targets, X_weak, weak_targets, weak_weight)

    def _checked_inputs(self, X) -> np.ndarray:
        """Return the inputs (n, q) or precomputed kernel values (n, l + w) of `predict`."""
        check_is_fitted(self)
        X = checked_inputs(X)
        if self.kernel != "precomputed" or self.regressor is not None:
            return validate_data(self, X, reset=False, dtype=np.float64)
        K = check_array(X, dtype=np.float64)
        if K.shape[1] != len(self.dual_coef_):
            raise ValueError(
                f"X has {K.shape[1]} features, but {type(self).__name__} is expecting "
                f"{len(self.dual_coef_)} features as input."
            )
        return K

    def _checked_unpaired(self, Y_unpaired, shape: tuple[int, ...]) -> np.ndarray:
        """Return outputs without inputs in the shape of the others. Raises ArgumentError for rows
        without any output, and for another number of outputs than Y has."""
        unpaired = check_array(
            Y_unpaired,
            dtype=np.float64,
            allow_nd=True,
            ensure_2d=False,
            ensure_all_finite="allow-nan",
        )
        location, expected = f"{type(self).__name__}.fit, Y_unpaired", int(np.prod(shape))
        if unpaired.size != len(unpaired) * expected:
            raise ArgumentError(
                location=location,
                found=f"outputs of the shape {unpaired.shape}",
                expected=f"{expected} numbers a row, as Y has",
                remedy="give the same outputs as in Y, in the same order",
            )
        missing = np.isnan(unpaired.reshape(len(unpaired), -1))
        empty = np.flatnonzero(missing.all(axis=1))
        if len(empty):
            numbers = ", ".join(map(str, empty[:10])) + ", ..." * (len(empty) > 10)
            raise ArgumentError(
                location=f"{location}, rows {numbers} (counted from 0)",
                found="no output is known",
                expected="rows of known outputs: without inputs nothing else is known of them",
                remedy="remove these rows",
            )
        check_array(unpaired, allow_nd=True, ensure_2d=False)
        return unpaired.reshape(len(unpaired), *shape)

    def _chosen_noise(self, X, outputs, X_weak, weak_responsibilities, Y_unpaired):
        """Return the noise of the posterior pre-image, chosen by folds of the labelled rows.

        A fold's model is fitted without its outputs. Where there are weak rows it keeps the
        components of the model of all outputs, which their memberships refer to.
        """
        n_rows = len(outputs)
        n_folds = min(N_FOLDS, n_rows)
        if n_folds < 2:
            raise ValueError("The pre-image 'posterior' needs two labelled rows for its noise.")
        folds = np.random.default_rng(0).permutation(np.arange(n_rows) % n_folds)
        flat = outputs.reshape(n_rows, -1)
        heldout, posteriors = np.empty_like(flat), []
        for fold in range(n_folds):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            estimator = clone(self).set_params(preimage="projected")
            if X_weak is not None and "pi" in self.embedding_.blocks:
                estimator.set_params(model=_SameComponents(self.model_))
            inputs, weak, others = self._inputs_of_fold(X, X_weak, train, test)
            estimator.fit(inputs, outputs[train], weak, weak_responsibilities, Y_unpaired)
            heldout[test] = estimator.predict(others).reshape(len(test), -1)
            posteriors.append(estimator.embedding_.posterior_mean)
        return choose_noise(flat, heldout, folds, posteriors)

    def _inputs_of_fold(self, X, X_weak, train, test):
        """Return the training, weak and held-out inputs of a fold."""
        if self.kernel != "precomputed" or self.regressor is not None:
            return X[train], X_weak, X[test]
        if X_weak is None:
            return X[np.ix_(train, train)], None, X[np.ix_(test, train)]
        X_weak = np.asarray(X_weak, dtype=np.float64)
        kept = np.concatenate([train, np.arange(len(X), X_weak.shape[1])])
        others = np.hstack([X[np.ix_(test, train)], X_weak[:, test].T])
        return X[np.ix_(train, train)], X_weak[:, kept], others

    def _penalties(self) -> dict[str, float]:
        blocks = list(self.embedding_.blocks)
        if not isinstance(self.alpha, dict):
            return dict.fromkeys(blocks, self.alpha)
        if sorted(self.alpha) != sorted(blocks):
            raise ValueError(
                f"alpha names the blocks {sorted(self.alpha)}; this embedding has {blocks}."
            )
        return self.alpha

    def _check_weak(self, X_weak, weak_responsibilities, n_labelled):
        if "pi" not in self.embedding_.blocks:
            raise ValueError("Weak rows need a mixture: this model's embedding has no pi block.")
        if weak_responsibilities is None:
            raise ValueError("X_weak was given without weak_responsibilities.")
        X_weak = check_array(X_weak, dtype=np.float64)
        memberships = check_array(weak_responsibilities, dtype=np.float64)
        expected_columns = self.n_features_in_
        if self.kernel == "precomputed" and self.regressor is None:
            expected_columns = n_labelled + len(X_weak)
        if X_weak.shape[1] != expected_columns:
            raise ValueError(f"X_weak has {X_weak.shape[1]} columns; expected {expected_columns}.")
        expected = (len(X_weak), self.model_.n_components_)
        if memberships.shape != expected:
            raise ValueError(
                f"weak_responsibilities has the shape {memberships.shape}; expected {expected}, "
                "one column for each component of the fitted mixture."
            )
        if memberships.min() < 0 or not np.allclose(memberships.sum(axis=1), 1.0, atol=1e-6):
            raise ValueError("The rows of weak_responsibilities must be probabilities (sum 1).")
        return X_weak, memberships

    def _joint_gram(self, X, X_weak, K):
        n_labelled = len(K)
        if self.kernel == "precomputed":
            across, within = X_weak[:, :n_labelled], X_weak[:, n_labelled:]
        else:
            across = gram_matrix(X_weak, X, self.kernel, self.gamma)
            within = gram_matrix(X_weak, None, self.kernel, self.gamma)
        return np.block([[K, across.T], [across, within]])


def _checked_stored(model, Y_unpaired, shape: tuple[int, ...]):
    """Return outputs without inputs that stay in a file, if the model can read them in batches."""
    if not (isinstance(model, GaussianModel) or getattr(model, "batch_size", None)):
        raise ValueError(
            f"Y_unpaired stays in a file, which a {type(model).__name__} cannot read in batches. "
            "Use GaussianModel, or GaussianMixtureModel with batch_size, or pass an array."
        )
    if tuple(Y_unpaired.shape[1:]) != shape:
        raise ValueError(
            f"Y_unpaired has the shape {tuple(Y_unpaired.shape)}; expected {shape} for each row, "
            "as Y has."
        )
    return Y_unpaired


def _warn_of_raised_variances(model, known) -> None:
    """Warn where a full covariance is singular but for its floor, from outputs in memory."""
    if getattr(model, "covariance_type", None) != "full" or are_stored(known):
        return
    floor = absolute_floor(known, model.variance_floor)
    smallest = np.linalg.eigvalsh(model.covariances_)
    n_raised = int((smallest <= floor * (1.0 + 1e-9)).sum(axis=1).max())
    if n_raised:
        warnings.warn(
            f"In {n_raised} of {smallest.shape[1]} directions the outputs vary by less than the "
            "smallest variance allowed, so that the covariance of the model was raised there: by "
            "variance_floor relative to the mean variance of the outputs.",
            stacklevel=3,
        )


def _check_takes_weights(regressor) -> None:
    if not takes_weights(regressor):
        raise ValueError(
            f"{type(regressor).__name__} cannot learn from weak rows, because its fit takes no "
            f"sample_weight. Use a regressor that does, such as {TAKE_WEIGHTS}, or leave out "
            "X_weak."
        )


class _SameComponents(ParameterMixin):
    """A mixture of some of the outputs whose components keep their meaning.

    Parameters
    ----------
    fitted : GaussianMixtureModel
        The mixture of all outputs, whose responsibilities each fit begins and ends with.
    """

    outputs_are_series = False

    def __init__(self, fitted) -> None:
        self.fitted = fitted

    def __sklearn_clone__(self):
        return self

    def fit(self, Y):
        """Return the mixture of outputs `Y` (n, d), by one M-step from their responsibilities."""
        model = clone(self.fitted)
        return model.fit_from_responsibilities(Y, self.fitted.responsibilities(Y))
