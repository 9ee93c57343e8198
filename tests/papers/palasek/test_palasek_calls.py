"""Tools of scikit-learn take the public class of this paper."""

import numpy as np
from sklearn.model_selection import cross_val_score

from workflow_lib import FisherVectorNetwork


def test_scores_of_folds():
    bags = [np.random.default_rng(i).normal(i % 2, 1, (5, 2)) for i in range(20)]
    scores = cross_val_score(FisherVectorNetwork(2, n_epochs=1), bags, np.arange(20) % 2, cv=2)
    assert scores.shape == (2,) and (scores >= 0.5).all()
