"""The mixture: EM never lowers the likelihood, agrees with scikit-learn, and handles edge cases."""

import warnings

import numpy as np
import pytest
from each_case import each_case
from scipy.cluster.vq import kmeans2
from sklearn.mixture import GaussianMixture
from small_data import COVARIANCE_TYPES, clustered_outputs, fitted_model

from workflow_lib.models.mixtures.mixture import (
    GaussianMixtureModel,
    _distinct_partitions,
    _distinct_rows,
    k_means_labels,
)

THEIR_TYPES = ("spherical", "diag", "full")


def their_mixture(model: GaussianMixtureModel, **parameters) -> GaussianMixture:
    """Return scikit-learn's mixture with the parameters of ours, ready for EM steps."""
    if model.covariance_type == "full":
        precisions = np.linalg.inv(model.covariances_)
    else:
        precisions = 1.0 / np.asarray(model.covariances_)
    return GaussianMixture(
        n_components=model.n_components_,
        covariance_type=model.covariance_type,
        weights_init=model.weights_,
        means_init=model.means_,
        precisions_init=precisions,
        reg_covar=1e-12,
        tol=0.0,
        **parameters,
    )


@pytest.mark.parametrize("covariance_type", THEIR_TYPES)
def test_densities_and_one_step_agree_with_scikit_learn(covariance_type):
    Y = clustered_outputs(80, spread=1.0)
    ours = GaussianMixtureModel(
        3, covariance_type, variance_floor=1e-9, n_init=1, max_iter=3, tol=-1.0
    ).fit(Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = their_mixture(ours, max_iter=1).fit(Y)
    # scikit-learn's fit: an E-step with the initial parameters, then one M-step.
    assert theirs.lower_bound_ == pytest.approx(ours.log_likelihoods_[-1], rel=1e-10)
    before = ours.responsibilities(Y)
    stepped = GaussianMixtureModel(3, covariance_type, variance_floor=1e-9)
    stepped.fit_from_responsibilities(Y, before)
    np.testing.assert_allclose(stepped.weights_, theirs.weights_, rtol=1e-5)
    np.testing.assert_allclose(stepped.means_, theirs.means_, rtol=1e-5)
    np.testing.assert_allclose(stepped.covariances_, theirs.covariances_, rtol=1e-5)
    np.testing.assert_allclose(stepped.score_samples(Y), theirs.score_samples(Y), rtol=1e-5)


@pytest.mark.parametrize("covariance_type", THEIR_TYPES)
def test_fitted_densities_and_responsibilities_equal_those_of_scikit_learn(covariance_type):
    Y = clustered_outputs(80, spread=1.0)
    theirs = GaussianMixture(
        3, covariance_type=covariance_type, reg_covar=1e-9, random_state=0
    ).fit(Y)
    ours = GaussianMixtureModel(3, covariance_type)
    ours.weights_, ours.means_ = theirs.weights_, theirs.means_
    ours.covariances_ = theirs.covariances_
    np.testing.assert_allclose(ours.score_samples(Y), theirs.score_samples(Y), rtol=1e-10)
    np.testing.assert_allclose(ours.responsibilities(Y), theirs.predict_proba(Y), atol=1e-12)


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_separated_clusters_are_found(covariance_type):
    Y = clustered_outputs(90, spread=20.0)
    labels = fitted_model(covariance_type, Y=Y).responsibilities(Y).argmax(axis=1)
    for cluster in range(3):
        assert len(np.unique(labels[cluster::3])) == 1
    assert len(np.unique(labels)) == 3


def test_more_components_than_distinct_outputs_are_capped_with_a_warning():
    Y = np.repeat(clustered_outputs(3), 5, axis=0)
    with pytest.warns(UserWarning, match="7 components were asked for, .* only 3 distinct"):
        model = GaussianMixtureModel(7).fit(Y)
    assert model.n_components_ == 3
    assert model.n_dropped_ == 4
    assert len(model.weights_) == len(model.means_) == len(model.covariances_) == 3


def test_one_row_and_constant_outputs_leave_one_component():
    for Y in (np.array([[1.0, 2.0]]), np.full((6, 2), 0.1)):
        with pytest.warns(UserWarning, match="only 1 distinct"):
            model = GaussianMixtureModel(4).fit(Y)
        assert model.n_components_ == 1
        np.testing.assert_allclose(model.means_, Y[:1], rtol=1e-15)
        assert np.isfinite(model.score_samples(Y)).all()


def test_floor_holds_where_a_component_has_one_row():
    Y = np.vstack([clustered_outputs(30, spread=1.0), [[60.0, 60.0, 60.0]]])
    model = GaussianMixtureModel(2, variance_floor=0.05).fit(Y)
    assert model.covariances_.min() == pytest.approx(0.05 * Y.var(axis=0).mean(), rel=1e-12)


def test_same_seed_same_model_and_other_seeds_other_draws():
    Y = clustered_outputs(40, spread=0.5)
    first, second = (GaussianMixtureModel(4, random_state=7).fit(Y) for _ in range(2))
    np.testing.assert_array_equal(first.means_, second.means_)
    np.testing.assert_array_equal(first.log_likelihoods_, second.log_likelihoods_)
    starts = {
        GaussianMixtureModel(4, n_init=1, max_iter=1, random_state=seed).fit(Y).log_likelihoods_[0]
        for seed in range(8)
    }
    assert len(starts) > 1


def test_more_starts_never_give_a_lower_likelihood():
    Y = clustered_outputs(40, n_clusters=5, spread=1.0)
    likelihoods = [
        GaussianMixtureModel(5, n_init=n_init, random_state=1).fit(Y).log_likelihoods_[-1]
        for n_init in (1, 2, 5, 10)
    ]
    assert np.diff(likelihoods).min() >= 0


@pytest.mark.parametrize("n_clusters", [2, 5, 9])
@pytest.mark.parametrize("spread", [0.3, 4.0], ids=["overlapping", "separated"])
def test_k_means_draws_and_clusters_are_those_of_scipy(n_clusters, spread):
    Y = clustered_outputs(40, spread=spread, n_clusters=4, seed=3)
    for seed in range(5):
        generator = np.random.default_rng(seed)
        ours = k_means_labels(Y, n_clusters, 3, np.random.default_rng(seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for labels in ours:
                theirs = kmeans2(Y, n_clusters, minit="++", iter=10, rng=generator)[1]
                np.testing.assert_array_equal(labels, theirs)


def test_k_means_chooses_every_row_where_there_are_no_more():
    Y = np.repeat(clustered_outputs(6), 3, axis=0)
    for labels in k_means_labels(Y, 6, 10, np.random.default_rng(0)):
        assert sorted(np.bincount(labels)) == [3] * 6


def test_starts_that_only_renumber_clusters_are_left_out():
    labels = np.array([[0, 0, 1, 2], [2, 2, 0, 1], [0, 1, 1, 2], [1, 1, 0, 0], [3, 3, 1, 0]])
    np.testing.assert_array_equal(_distinct_partitions(labels), labels[[0, 2, 3]])


@each_case("n_distinct", [1, 2, 9, 40])
@each_case("enough", [1, 3, 10, 100])
def test_distinct_rows_are_counted_as_far_as_it_matters(n_distinct, enough):
    Y = np.repeat(clustered_outputs(n_distinct), 5, axis=0)
    for rows in (Y, np.random.default_rng(0).permutation(Y)):
        assert min(_distinct_rows(rows, enough), enough) == min(n_distinct, enough)
        if n_distinct < enough:
            assert _distinct_rows(rows, enough) == n_distinct


def test_first_of_starts_with_the_same_optimum_is_kept():
    Y = clustered_outputs(60, spread=20.0)
    one, many = (GaussianMixtureModel(3, n_init=n_init, random_state=1).fit(Y) for n_init in (1, 9))
    assert one.log_likelihoods_[-1] == pytest.approx(many.log_likelihoods_[-1], abs=1e-10)
    np.testing.assert_array_equal(one.means_, many.means_)


def test_parameters_from_memberships_are_weighted_moments():
    Y = clustered_outputs(30)
    memberships = np.eye(3)[np.arange(30) % 3]
    model = GaussianMixtureModel(3, variance_floor=1e-9)
    model.fit_from_responsibilities(Y, memberships)
    np.testing.assert_allclose(model.weights_, 1 / 3, rtol=1e-6)
    for j in range(3):
        np.testing.assert_allclose(model.means_[j], Y[j::3].mean(axis=0), atol=1e-5)
        assert model.covariances_[j] == pytest.approx(Y[j::3].var(axis=0).mean(), rel=1e-5)


def test_empty_components_keep_their_index_and_the_overall_mean():
    Y = clustered_outputs(30)
    memberships = np.eye(3)[np.array([0, 2])[np.arange(30) % 2]]
    model = GaussianMixtureModel(3).fit_from_responsibilities(Y, memberships)
    assert model.n_components_ == 3
    assert 0 < model.weights_[1] < 1e-6
    np.testing.assert_allclose(model.means_[1], Y.mean(axis=0), rtol=1e-12)
    assert np.isfinite(model.score_samples(Y)).all()
