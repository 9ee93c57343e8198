"""Score spaces of topic models.

The terms of the free energy of a bag are those of
`workflow_lib.papers.perina.topic_model.free_energy_terms`: five blocks of Z, and one number. A
topic model has no exact posterior: its variational one serves both choices. Levels: `state` is by
topic, `symbol` splits the energy of the words by word (Z W), `term` sums each block; a bag has no
positions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import psi

from workflow_lib.inputs.score_spaces.base import ScoreTerms
from workflow_lib.papers.perina.hidden_markov_emissions import probability_scores, times_log
from workflow_lib.papers.perina.topic_model import (
    TopicModel,
    TopicPosterior,
    expected_topics,
    expected_words,
    free_energy_terms,
    read_counts,
)

MODEL = "workflow_lib.papers.perina.topic_model.TopicModel"
ITEMS = ("counts",)


class Terms(ScoreTerms):
    """The terms of a fitted `TopicModel`."""

    def lengths(self, X):
        """As `ScoreTerms.lengths`: words."""
        return np.asarray(read_counts(X).sum(axis=1)).ravel()

    def log_likelihoods(self, X, posterior):
        """As `ScoreTerms.log_likelihoods`: always the bound."""
        return self.model.score_samples(X)

    def free_energy(self, X, level, posterior):

        def terms(found: TopicPosterior) -> dict[str, np.ndarray]:
            blocks = free_energy_terms(self.model, found)
            if level == "symbol":
                words = expected_words(self.model, found)
                blocks["word_energy"] = -times_log(words, self.model.topics_)
            return blocks

        return self._collected(X, level, terms)

    def expected_counts(self, X, level, posterior):
        """As `ScoreTerms.expected_counts`: of words from each topic, by word at `symbol`."""

        def terms(found: TopicPosterior) -> dict[str, np.ndarray]:
            if level == "symbol":
                return {"topics": expected_words(self.model, found)}
            return {"topics": expected_topics(self.model, found)}

        return self._collected(X, level, terms)

    def fisher(self, X, parametrization, posterior):
        """As `ScoreTerms.fisher`: blocks `alpha` (Z) and `topics` (Z, W).

        In alpha, or (``softmax``) its logarithm; in the topics as free numbers, or their logits.
        """
        alpha = self.model.alpha_

        def scores(found: TopicPosterior) -> dict[str, np.ndarray]:
            by_alpha = found.log_weights - psi(alpha) + psi(alpha.sum())
            if parametrization == "softmax":
                by_alpha = by_alpha * alpha
            words = expected_words(self.model, found)
            by_topics = probability_scores(words, self.model.topics_, parametrization)
            return {"alpha": by_alpha, "topics": by_topics}

        return self._collected(X, "symbol", scores)

    def _collected(self, X, level: str, blocks_of) -> dict[str, np.ndarray]:
        if level == "position":
            raise ValueError("level='position' needs sequences; a bag has no order. Use 'state'.")
        parts = [blocks_of(found) for found in self.model.posteriors(X)]
        blocks = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        if level == "term":
            return {name: block.sum(axis=1) for name, block in blocks.items()}
        return blocks


def arguments_of(items: Mapping[str, Any]) -> dict[str, Any]:
    """Return nothing: the counts tell the number of words."""
    return {}


def fit_models(models: Sequence[TopicModel], X, subsets: Sequence[np.ndarray]) -> list[TopicModel]:
    """Fit each model to a subset of the counts `X` (n, W)."""
    return [model.fit(X[subset]) for model, subset in zip(models, subsets, strict=True)]


def to_arrays(model: TopicModel) -> dict[str, np.ndarray]:
    """Return the parameters of a fitted model by the names of its attributes."""
    return {name: np.asarray(getattr(model, name)) for name in ("topics_", "alpha_")}


def from_arrays(arrays: Mapping[str, Any]) -> TopicModel:
    """Return the model of `to_arrays`."""
    model = TopicModel(len(arrays["alpha_"]))
    model.topics_, model.alpha_ = arrays["topics_"], arrays["alpha_"]
    return model
