"""Rows of numbers."""

import json

import numpy as np
from small_data import clustered_outputs


def sample():
    """Return true, predicted and training outputs."""
    truth = clustered_outputs(12)
    noise = np.random.default_rng(1).normal(size=truth.shape)
    return truth, truth + noise, clustered_outputs(20, seed=5)


def entries(everything, predictions):
    """Return what the dataset and the item of the predictions have besides what all have."""
    names = json.dumps([f"y{column}" for column in range(everything.shape[1])])
    return {"outputs": everything, "names": {"outputs": names}}, {"outputs": predictions}
