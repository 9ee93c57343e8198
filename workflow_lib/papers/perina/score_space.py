"""Score spaces: what a generative model sees in an item, as a vector of fixed length."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from workflow_lib.core.parameters import ParameterMixin, check_parameters, checks
from workflow_lib.inputs.score_spaces.base import LEVELS, PARAMETRIZATIONS, POSTERIORS, ScoreTerms
from workflow_lib.inputs.score_spaces.found import terms_module

KINDS = ("free_energy", "fisher", "top", "expected_counts", "log_likelihood")


class ScoreSpace(ParameterMixin):
    """Maps items (sequences, or bags of counts) to vectors by generative models, for a classifier.

    With the parameters theta and the posterior q of the hidden variables h, the free energy

        F(x) = sum_h q(h) log q(h) - sum_h q(h) log p(h, x | theta)

    is a sum of terms, each for a part of the model: those of the entropy of q say how certain the
    part is, the others (energies) how well the item fits it. F is at least -log p(x), and equal to
    it for the exact posterior. The vector of these terms is the free energy score space (FESS;
    Perina, Cristani, Castellani, Murino & Jojic 2009).

    Where the paper errs: F bounds -log p(x) from above, not from below (after eq. (2)); the first
    sum over pairs of eq. (12) must hold log of xi / gamma, the conditional probability, for the
    terms to sum to -log p(x); and the weights that make a linear classifier the rule of the higher
    likelihood are -1 for the terms of the first (positive) class and +1 for those of the second,
    not the reverse (lemma 3.1). It states that one model is fitted, and builds its score of
    one for each class; both are possible here.

    Parameters
    ----------
    models : model, or list of models
        One generative model of all items, or one for each class, the positive class first. Those
        that are fitted are kept as they are; `fit` fits the others.
    kind : {"free_energy", "fisher", "top", "expected_counts", "log_likelihood"}
        ``free_energy``: the terms of F. ``fisher``: the derivatives of log p(x) in the parameters
        (Jaakkola & Haussler 1999). ``top``: the log odds of the first of two classes, its Fisher
        score, and minus that of the second (Tsuda et al. 2002, with equal priors); for more
        classes, the log odds of each against the others, and the Fisher scores of all.
        ``expected_counts``: the expected sufficient statistics. ``log_likelihood``: log p(x).
    level : {"position", "state", "symbol", "term"}, default="state"
        How far the terms of the free energy, or the counts, are summed. ``position``: not at all,
        for sequences of equal length (the FESS of the paper). ``state``: over steps (nFESS).
        ``symbol``: the same, but emissions by letter (number of a vector, word), too. ``term``: one
        number for each block. The other kinds have one level only.
    posterior : {"exact", "mean_field"}, default="exact"
        The distribution q. ``mean_field``: independent steps, with the least F, in which case all
        kinds use -F instead of log p(x). Topic models have no exact posterior and always use
        their variational one.
    parametrization : {"softmax", "free"}, default="softmax"
        Of Fisher scores: in the logits of probabilities, and logarithms of variances; or in the
        probabilities, as if they need not sum to one, and in the variances.
    divide_by_length : bool or None, default=None
        Whether vectors are divided by the length of the item. None: free energies and counts that
        are summed over steps are, nothing else is.

    Attributes
    ----------
    blocks : dict of slice
        Columns of each block, in order, after `fit` or `transform`. Names end in ``_0``, ``_1``,
        .. where there are several models.
    """

    allowed: ClassVar = checks(
        flag_or_none="divide_by_length",
        kind=KINDS,
        level=LEVELS,
        posterior=POSTERIORS,
        parametrization=PARAMETRIZATIONS,
    )
    estimator_type = None
    input_tags: ClassVar = {"two_d_array": False}

    def __init__(
        self,
        models,
        kind: str = "free_energy",
        level: str = "state",
        posterior: str = "exact",
        parametrization: str = "softmax",
        divide_by_length: bool | None = None,
    ) -> None:
        self.models = models
        self.kind = kind
        self.level = level
        self.posterior = posterior
        self.parametrization = parametrization
        self.divide_by_length = divide_by_length

    def fit(self, X, y=None) -> ScoreSpace:
        """Fit the models that are not fitted, and set the columns.

        Raises ValueError if a choice is unknown, `X` is not what the models take, or the classes
        that unfitted models need are missing or of another number.

        Parameters
        ----------
        X : list of n items
            What the models take.
        y : array (n,), default=None
            Classes. Where there are several models and some are not fitted, the k-th is fitted to
            the items of the k-th class in sorted order, the last class first.
        """
        check_parameters(self)
        if y is not None and len(y) != _count(X):
            raise ValueError(f"{_count(X)} items have {len(y)} classes.")
        models = self._listed_models()
        rows = _rows_of_models(X, y, models)
        self.models_ = [
            model
            if _is_fitted(model)
            else type(model)(**model.get_params(deep=False)).fit(_rows(X, own))
            for model, own in zip(models, rows)
        ]
        # One item shows the columns of all.
        self.blocks = _columns(self._blocks(self._terms(), X[:1]))
        return self

    def fit_transform(self, X, y=None) -> np.ndarray:
        """Return the vectors (n, m) of the items to which the models are fitted."""
        return self.fit(X, y).transform(X)

    def transform(self, X) -> np.ndarray:
        """Return the vectors (n, m) of items.

        Raises ValueError if a choice is unknown, a model is not fitted, `X` is not what the models
        take, lengths differ where the level is ``position``, or an item is impossible under a
        model.
        """
        check_parameters(self)
        terms = self._terms()
        blocks = self._blocks(terms, X)
        columns = _columns(blocks)
        if hasattr(self, "models_") and columns != self.blocks:
            raise ValueError(
                "These items have other columns than those of fit: level='position' needs "
                "sequences of one length. Use level='state'."
            )
        self.blocks = columns
        vectors = np.concatenate([each.reshape(len(each), -1) for each in blocks.values()], axis=1)
        divides = self.divide_by_length
        if divides is None:
            divides = self.kind in ("free_energy", "expected_counts") and self.level != "position"
        if divides:
            vectors /= terms[0].lengths(X)[:, None]
        return vectors

    def __sklearn_is_fitted__(self) -> bool:
        return all(map(_is_fitted, getattr(self, "models_", None) or self._listed_models()))

    def _terms(self) -> list[ScoreTerms]:
        models = getattr(self, "models_", None) or self._listed_models()
        terms = []
        for index, model in enumerate(models):
            module = terms_module(model)
            if not _is_fitted(model):
                # scikit-learn expects its own error, which is a ValueError.
                from sklearn.exceptions import NotFittedError

                raise NotFittedError(f"Model {index} ({model!r}) is not fitted. Call fit first.")
            terms.append(module.Terms(model))
        return terms

    def _blocks(self, terms: list[ScoreTerms], X) -> dict[str, np.ndarray]:
        if self.kind == "top":
            return self._tangents(terms, X)
        several = len(terms) > 1
        blocks = {}
        for index, own in enumerate(terms):
            for name, block in self._blocks_of_one(own, X).items():
                blocks[f"{name}_{index}" if several else name] = block
        return blocks

    def _blocks_of_one(self, terms: ScoreTerms, X) -> dict[str, np.ndarray]:
        if self.kind == "log_likelihood":
            return {"log_likelihood": terms.log_likelihoods(X, self.posterior)}
        if self.kind == "fisher":
            return terms.fisher(X, self.parametrization, self.posterior)
        return getattr(terms, self.kind)(X, self.level, self.posterior)

    def _tangents(self, terms: list[ScoreTerms], X) -> dict[str, np.ndarray]:
        """Return the log odds of the classes and their derivatives."""
        if len(terms) < 2:
            raise ValueError("kind='top' needs a model for each class; there is one model.")
        log_p = np.stack([own.log_likelihoods(X, self.posterior) for own in terms], axis=1)
        if len(terms) == 2:
            blocks = {"log_odds": log_p[:, 0] - log_p[:, 1]}
        else:
            blocks = {"log_odds": log_p - log_sum_of_others(log_p)}
        for index, own in enumerate(terms):
            sign = -1.0 if len(terms) == 2 and index == 1 else 1.0
            for name, block in own.fisher(X, self.parametrization, self.posterior).items():
                blocks[f"{name}_{index}"] = sign * block
        return blocks

    def _listed_models(self) -> list:
        models = list(self.models) if isinstance(self.models, list | tuple) else [self.models]
        if not models:
            raise ValueError("There are no models.")
        return models


def _columns(blocks: dict[str, np.ndarray]) -> dict[str, slice]:
    """Return the columns of blocks (n, ...) that are put next to each other."""
    columns, begin = {}, 0
    for name, block in blocks.items():
        end = begin + int(np.prod(block.shape[1:]))
        columns[name], begin = slice(begin, end), end
    return columns


def log_sum_of_others(log_p: np.ndarray) -> np.ndarray:
    """Return log of the sum of exp(log_p) (n, C) over all other columns, for each column."""
    n_classes = log_p.shape[1]
    others = np.broadcast_to(log_p[:, None], (len(log_p), n_classes, n_classes)).copy()
    others[:, np.arange(n_classes), np.arange(n_classes)] = -np.inf
    highest = others.max(axis=2, keepdims=True)
    return (highest + np.log(np.exp(others - highest).sum(axis=2, keepdims=True)))[..., 0]


def _is_fitted(model) -> bool:
    """Return whether a model has parameters, as scikit-learn sees it."""
    return getattr(model, "__sklearn_is_fitted__", lambda: True)()


def _count(X) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _rows(X, rows):
    """Return some of the items, of a matrix or of a list."""
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows]


def _rows_of_models(X, y, models: list) -> list:
    """Return the training rows of each model."""
    everything = np.arange(_count(X))
    if len(models) == 1 or all(map(_is_fitted, models)):
        return [everything] * len(models)
    if y is None:
        raise ValueError("Several models that are not fitted need the classes y of the items.")
    if np.ndim(y) != 1 or np.ma.is_masked(y):
        raise ValueError("The classes y must be a vector without masked values.")
    y = np.asarray(y)
    classes = np.unique(y)[::-1]
    if len(classes) != len(models):
        raise ValueError(f"There are {len(models)} models for {len(classes)} classes.")
    return [np.flatnonzero(y == label) for label in classes]
