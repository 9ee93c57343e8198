"""The public class of this paper, and how it is called."""

import numpy as np

from workflow_lib import FisherVectorNetwork

BAGS = [np.random.default_rng(i).normal(i % 2, 1, (5, 2)) for i in range(20)]
CLASSES = np.arange(20) % 2
OF_BAGS = ("fit", "partial_fit", "objective", "score", "transform", "predict")

CASES = {"network": (FisherVectorNetwork(2, n_epochs=1), BAGS, OF_BAGS)}
CLASSIFIERS = {"network": CLASSES}
ALLOWED = {}
NETWORK = FisherVectorNetwork(2, n_epochs=0)
SECOND = {
    "weights": [(NETWORK, lambda model, w: model.fit(BAGS, CLASSES, sample_weight=w), np.ones(20))]
}
