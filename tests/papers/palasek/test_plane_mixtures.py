"""Mixtures in the plane: the common start, EM as an update, and a stream that changes."""

import numpy as np

from workflow_lib import GaussianMixtureModel, OnlineGaussianMixtureModel
from workflow_lib.papers.palasek.plane_mixtures import (
    FIRST_DEVIATION,
    STREAMS,
    VARIANTS,
    Size,
    draws,
    k_means_plus_plus,
    random_truth,
    started,
    stream_shortfalls,
)

SMALL = Size(draws=2, components=3, rows=600, batches=20)


def sample():
    random = np.random.default_rng(0)
    rows = random_truth(random, 3).sample(500, random)
    return rows, k_means_plus_plus(rows, 3, random)


def test_all_updates_begin_at_the_same_mixture():
    rows, means = sample()
    for variant in VARIANTS:
        model = started(OnlineGaussianMixtureModel(3, **variant.settings), rows, means)
        np.testing.assert_allclose(model.means_, means, atol=1e-12)
        np.testing.assert_allclose(model.weights_, 1 / 3)
        np.testing.assert_allclose(model.covariances_, FIRST_DEVIATION**2)
        assert model.n_batches_ == 0


def test_the_variant_em_is_em():
    rows, means = sample()
    model = started(OnlineGaussianMixtureModel(3, **VARIANTS[0].settings), rows, means)
    peer = GaussianMixtureModel(3, "diag")
    peer._set_parameters(model.weights_, model.means_, model.covariances_)
    shares = peer.responsibilities(rows)
    counts = shares.sum(axis=0)
    expected = shares.T @ rows / counts[:, None]
    model.partial_fit(rows)
    np.testing.assert_allclose(model.means_, expected, rtol=1e-9)
    np.testing.assert_allclose(model.weights_, counts / len(rows), rtol=1e-9)


def test_draws_are_reproducible_and_learning_helps():
    first, second = (list(draws(0, SMALL)) for _ in range(2))
    for ours, again in zip(first, second, strict=True):
        assert ours.shortfalls == again.shortfalls
        assert set(ours.shortfalls) == {"start", *(variant.name for variant in VARIANTS)}
        for name in ("EM", "stepwise EM, batches", "natural gradient, batches"):
            assert ours.shortfalls[name] < ours.shortfalls["start"]
            assert ours.shortfalls[name] > -0.05
    assert first[0].shortfalls != first[1].shortfalls


def test_models_lose_the_stream_where_it_jumps_and_find_it_again():
    found = stream_shortfalls(0, SMALL)
    assert list(found) == [variant.name for variant in STREAMS]
    for shortfalls in found.values():
        assert shortfalls.shape == (2, 20)
        mean = shortfalls.mean(axis=0)
        assert mean[10] > mean[9] + 0.5 and mean[19] < mean[10]
