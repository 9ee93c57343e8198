"""The public classes of this paper, and how they are called."""

import numpy as np

from workflow_lib import HiddenMarkovModel, ScoreSpace, TopicModel

COUNTS = np.random.default_rng(0).integers(1, 5, size=(20, 3)).astype(float)
VECTORS = [np.random.default_rng(i).normal(i % 2, 1, (5, 2)) for i in range(20)]
LETTERS = [rows[:, 0].astype(int).clip(0) for rows in VECTORS]
OF_SEQUENCES = ("fit", "score_samples", "posteriors")

CASES = {
    "topics": (TopicModel(2, max_iter=2), COUNTS, ("fit", "score_samples", "proportions")),
    "letters": (HiddenMarkovModel(2, n_init=1, max_iter=2), LETTERS, OF_SEQUENCES),
    "vectors": (HiddenMarkovModel(2, "gaussian", n_init=1, max_iter=2), VECTORS, OF_SEQUENCES),
    "score space": (ScoreSpace(TopicModel(2, max_iter=2)), COUNTS, ("fit", "transform")),
}
CLASSIFIERS = {}
ALLOWED = {
    ("letters", "masked"): "unknown",
    ("topics", "sparse"): "documented",
    ("score space", "sparse"): "documented",
    ("letters", "no columns"): "a sequence has one axis",
    ("letters", "other width"): "a sequence has one axis",
}
SECOND = {}
