"""Mixtures in batches: sums are those of plain loops, and the fit is near that of full EM."""

import h5py
import numpy as np
import pytest
from each_case import each_case
from small_data import COVARIANCE_TYPES, clustered_outputs

from workflow_lib.models.covariance import (
    clip_eigenvalues,
    estimate_covariances,
    log_gaussian_densities,
)
from workflow_lib.models.mixtures import mixture, mixture_batches
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.mixtures.mixture_batches import (
    Parameters,
    RowReader,
    Statistics,
    expectation,
    expectation_maximisation,
    features,
    maximisation,
    statistics_of_memberships,
    stepwise,
)

FLOOR = 0.05


@pytest.fixture(autouse=True)
def few_start_rows(monkeypatch):
    """Compare the starts on few rows, so that stepwise EM has something left to do."""
    monkeypatch.setattr(mixture, "START_ROWS", 200)
    monkeypatch.setattr(mixture, "START_ROWS_PER_COMPONENT", 20)


def many_outputs(n_rows: int = 3000, spread: float = 4.0, seed: int = 0) -> np.ndarray:
    """Return outputs (n, 3) of three clusters in random order, far from the origin."""
    Y = clustered_outputs(n_rows, spread=spread, seed=seed) + 100.0
    return np.random.default_rng(seed).permutation(Y)


def random_memberships(n_rows, n_components=3, n_starts=2, seed=0) -> np.ndarray:
    memberships = np.random.default_rng(seed).dirichlet(
        np.ones(n_components), size=(n_starts, n_rows)
    )
    return memberships.transpose(0, 2, 1)


def start_statistics(values, memberships, covariance_type) -> Statistics:
    return statistics_of_memberships(
        values, lambda block: memberships[:, :, block], memberships.shape[:2], covariance_type
    )


def fit_from(values, memberships, covariance_type, tol):
    """Return the end of EM from the memberships of one start."""
    start = start_statistics(values, memberships, covariance_type)
    return expectation_maximisation(values, start, covariance_type, FLOOR, 50, tol)[0]


def in_batches(covariance_type="spherical", **parameters) -> GaussianMixtureModel:
    return GaussianMixtureModel(3, covariance_type, **{"batch_size": 128} | parameters)


def nearest_means(model, other) -> np.ndarray:
    """Return for every component of `model` the nearest component of `other`."""
    differences = model.means_[:, None] - other.means_
    return (differences**2).sum(axis=2).argmin(axis=1)


class RecordedRows:
    """Rows that can only be sliced, and record how many were requested at once."""

    def __init__(self, Y) -> None:
        self.Y, self.shape, self.lengths = Y, Y.shape, []

    def __getitem__(self, rows: slice) -> np.ndarray:
        self.lengths.append(rows.stop - rows.start)
        return self.Y[rows]


@each_case("covariance_type", COVARIANCE_TYPES)
@each_case("block_numbers", [1, 10**6], ids=["many blocks", "one block"])
def test_steps_are_those_of_densities_and_weighted_moments(
    covariance_type, block_numbers, monkeypatch
):
    monkeypatch.setattr(mixture_batches, "BLOCK_NUMBERS", block_numbers)
    Y = clustered_outputs(150)
    centre = Y.mean(axis=0)
    memberships = random_memberships(150)
    values = features(Y, centre, covariance_type)
    statistics = start_statistics(values, memberships, covariance_type)
    parameters = maximisation(statistics, covariance_type, FLOOR)
    expected, log_likelihoods = expectation(values, parameters, covariance_type)
    for start in range(2):
        weights, means, covariances = (part[start] for part in parameters)
        means = means + centre
        responsibilities = memberships[start].T
        np.testing.assert_allclose(weights, responsibilities.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(means, responsibilities.T @ Y / weights[:, None] / 150)
        np.testing.assert_allclose(
            covariances,
            estimate_covariances(Y, responsibilities, means, covariance_type, FLOOR),
            rtol=1e-10,
        )
        joint = np.log(weights) + log_gaussian_densities(Y, means, covariances, covariance_type)
        evidence = np.logaddexp.reduce(joint, axis=1)
        posterior = np.exp(joint - evidence[:, None])
        assert log_likelihoods[start] == pytest.approx(evidence.sum(), rel=1e-12)
        np.testing.assert_allclose(expected.counts[start], posterior.sum(axis=0), rtol=1e-10)
        np.testing.assert_allclose(
            expected.sums[start], posterior.T @ (Y - centre), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_starts_run_together_as_each_alone_and_in_any_order_of_rows(covariance_type):
    Y, memberships = clustered_outputs(80, spread=1.0), random_memberships(80, n_starts=4)
    values = features(Y, Y.mean(axis=0), covariance_type)
    start = start_statistics(values, memberships, covariance_type)
    together = expectation_maximisation(values, start, covariance_type, FLOOR, 200, 1e-6)
    assert len({len(fit.log_likelihoods) for fit in together}) > 1
    order = np.random.default_rng(0).permutation(80)
    for index, fit in enumerate(together):
        (alone,) = expectation_maximisation(
            values[order],
            start_statistics(
                values[order], memberships[index : index + 1, :, order], covariance_type
            ),
            covariance_type,
            FLOOR,
            200,
            1e-6,
        )
        np.testing.assert_allclose(fit.log_likelihoods, alone.log_likelihoods, rtol=1e-10)
        for ours, theirs in zip(fit.parameters, alone.parameters):
            np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_component_that_loses_its_rows_has_no_influence(covariance_type):
    Y = clustered_outputs(60, n_clusters=2)
    centre = Y.mean(axis=0)
    values = features(Y, centre, covariance_type)
    two = np.eye(2)[np.arange(60) % 2].T[None]
    # The third component has a negligible membership of each row, and disappears.
    three = np.concatenate([two, np.full((1, 1, 60), 1e-11)], axis=1)
    expected, found = (
        fit_from(values, memberships, covariance_type, 1e-12).parameters
        for memberships in (two, three)
    )
    assert found.weights[0, 2] == 0
    assert len(mixture.of_one_start(found, centre)["weights"]) == 2
    np.testing.assert_allclose(found.weights[0, :2], expected.weights[0], rtol=1e-7)
    np.testing.assert_allclose(found.means[0, :2], expected.means[0], atol=1e-7)


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_components_absent_from_the_start_stay_absent_and_change_nothing(covariance_type):
    Y = clustered_outputs(60, n_clusters=2)
    values = features(Y, Y.mean(axis=0), covariance_type)
    two = np.eye(2)[np.arange(60) % 2].T[None]
    three = np.concatenate([two[:, :1], np.zeros((1, 1, 60)), two[:, 1:]], axis=1)
    expected, found = (
        fit_from(values, memberships, covariance_type, 1e-6) for memberships in (two, three)
    )
    np.testing.assert_allclose(found.log_likelihoods, expected.log_likelihoods, rtol=1e-12)
    np.testing.assert_allclose(found.parameters.weights[0, [0, 2]], expected.parameters.weights[0])
    assert found.parameters.weights[0, 1] == 0


def test_eigenvalues_of_a_stack_are_clipped_as_those_of_each():
    factors = np.random.default_rng(0).normal(size=(2, 3, 4, 4))
    matrices = factors @ factors.transpose(0, 1, 3, 2)
    floor = float(np.median(np.linalg.eigvalsh(matrices)[..., 0]))
    clipped = clip_eigenvalues(matrices, floor)
    for index in np.ndindex(2, 3):
        alone = clip_eigenvalues(matrices[index], floor)
        np.testing.assert_allclose(clipped[index], alone, rtol=1e-12)
        eigenvalues, eigenvectors = np.linalg.eigh(matrices[index])
        expected = eigenvectors @ np.diag(np.maximum(eigenvalues, floor)) @ eigenvectors.T
        np.testing.assert_allclose(alone, expected, atol=1e-10)
    with pytest.raises(ValueError, match="infs or NaNs"):
        clip_eigenvalues(np.full((2, 2), np.nan), 0.1)


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_separated_clusters_are_those_of_full_em(covariance_type):
    Y = many_outputs(spread=8.0)
    full = in_batches(covariance_type, batch_size=None).fit(Y)
    batches = in_batches(covariance_type).fit(Y)
    order = nearest_means(full, batches)
    assert sorted(order) == [0, 1, 2]
    # The clusters have unit variance.
    np.testing.assert_allclose(batches.means_[order], full.means_, atol=1e-2)
    np.testing.assert_allclose(batches.weights_[order], full.weights_, atol=1e-3)
    assert batches.log_likelihoods_[-1] == pytest.approx(full.log_likelihoods_[-1], abs=1e-4)


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_likelihood_of_overlapping_clusters_is_not_far_below_that_of_full_em(covariance_type):
    Y = many_outputs(spread=1.5)
    full = in_batches(covariance_type, batch_size=None).fit(Y)
    batches = in_batches(covariance_type).fit(Y)
    assert batches.log_likelihoods_[-1] > full.log_likelihoods_[-1] - 1e-2


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_fixed_point_of_full_em_is_one_of_the_last_step_over_all_rows(covariance_type, monkeypatch):
    # Steps of zero length leave only the pass over all rows.
    monkeypatch.setattr(mixture_batches, "STEP_OFFSET", 1e300)
    Y = many_outputs(500, spread=1.0)
    centre = Y.mean(axis=0)
    values = features(Y, centre, covariance_type)
    start = start_statistics(values, random_memberships(500, n_starts=1), covariance_type)
    (full,) = expectation_maximisation(values, start, covariance_type, FLOOR, 5000, 1e-14)
    found = stepwise(
        RowReader(Y),
        64,
        centre,
        full.parameters,
        Y,
        covariance_type,
        FLOOR,
        200,
        1e-6,
        np.random.default_rng(0),
    )
    for ours, theirs in zip(found.parameters, full.parameters):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    assert found.log_likelihoods[-1] == pytest.approx(full.log_likelihoods[-1], abs=1e-10)


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_moments_of_the_mixture_are_those_of_all_rows(covariance_type):
    # True of an M-step over all rows, whatever the memberships, and of no sample.
    Y = many_outputs(1500, spread=1.0)
    model = in_batches(covariance_type, variance_floor=1e-6).fit(Y)
    centre = Y.mean(axis=0)
    means = model.means_ - centre
    np.testing.assert_allclose(model.weights_ @ means, 0.0, atol=1e-12)
    covariances = np.asarray(model.covariances_)
    within = {
        "tied_spherical": lambda: 3 * covariances * np.ones(3),
        "spherical": lambda: 3 * covariances,
        "diag": lambda: covariances.sum(axis=1),
        "full": lambda: np.trace(covariances, axis1=1, axis2=2),
    }[covariance_type]()
    total = model.weights_ @ (within + (means**2).sum(axis=1))
    assert total == pytest.approx(((Y - centre) ** 2).sum(axis=1).mean(), rel=1e-10)


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_last_likelihood_is_that_of_the_stored_parameters(covariance_type):
    Y = many_outputs(1000, spread=1.0)
    model = in_batches(covariance_type).fit(Y)
    assert model.score_samples(Y).mean() == pytest.approx(model.log_likelihoods_[-1], rel=1e-11)


def test_passes_end_by_the_stated_rule(monkeypatch):
    Y = many_outputs(1000, spread=1.0)
    model = in_batches().fit(Y)
    rises = np.diff(model.log_likelihoods_[:-1])
    assert (rises[:-1] >= mixture_batches.PASS_TOLERANCE).all()
    assert rises[-1] < mixture_batches.PASS_TOLERANCE or len(rises) + 1 == 20
    assert len(in_batches(max_iter=2, tol=-10.0).fit(Y).log_likelihoods_) <= 2 + 1
    monkeypatch.setattr(mixture_batches, "PASS_TOLERANCE", -10.0)
    monkeypatch.setattr(mixture_batches, "MAX_PASSES", 4)
    assert len(in_batches(tol=-10.0).fit(Y).log_likelihoods_) == 4 + 1


@pytest.mark.parametrize("n_rows", [128, 20])
def test_rows_that_fit_into_one_batch_are_fitted_by_full_em(n_rows):
    Y = clustered_outputs(n_rows)
    full, batch = (in_batches(batch_size=size).fit(Y) for size in (None, 128))
    np.testing.assert_array_equal(batch.means_, full.means_)
    np.testing.assert_array_equal(batch.covariances_, full.covariances_)
    np.testing.assert_array_equal(batch.log_likelihoods_, full.log_likelihoods_)


def test_dataset_on_disk_gives_what_the_array_gives(tmp_path):
    Y = many_outputs(1000).astype(np.float32)
    from_array = in_batches().fit(Y.astype(np.float64))
    with h5py.File(tmp_path / "outputs.h5", "w") as file:
        file["outputs"] = Y
        from_disk = in_batches().fit(file["outputs"])
        np.testing.assert_array_equal(from_disk.means_, from_array.means_)
        np.testing.assert_array_equal(from_disk.covariances_, from_array.covariances_)
        np.testing.assert_array_equal(from_disk.log_likelihoods_, from_array.log_likelihoods_)
        np.testing.assert_array_equal(
            from_disk.responsibilities(file["outputs"]), from_array.responsibilities(Y)
        )
        one_batch = in_batches(batch_size=1000).fit(file["outputs"])
        np.testing.assert_array_equal(one_batch.means_, in_batches(batch_size=1000).fit(Y).means_)


def test_never_more_rows_than_a_batch_are_read_at_once(monkeypatch):
    monkeypatch.setattr(mixture_batches, "BLOCK_NUMBERS", 300)
    rows = RecordedRows(many_outputs(1000))
    model = in_batches().fit(rows)
    assert max(rows.lengths) == 128
    # The moments, every pass but the last likelihood, the M-step and that likelihood.
    assert sum(rows.lengths) == 1000 * (1 + len(model.log_likelihoods_) - 1 + 2)
    rows.lengths.clear()
    model.score_samples(rows)
    assert max(rows.lengths) == 100
    assert sum(rows.lengths) == 1000


def test_same_seed_same_model_and_other_seeds_other_draws():
    Y = many_outputs(1000, spread=1.0)
    first, second, other = (in_batches(random_state=seed).fit(Y) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first.means_, second.means_)
    np.testing.assert_array_equal(first.log_likelihoods_, second.log_likelihoods_)
    assert first.log_likelihoods_[0] != other.log_likelihoods_[0]


def test_every_row_is_in_one_batch_and_sorted_rows_are_mixed():
    Y = np.arange(1000.0)[:, None]
    batches = list(RowReader(Y).shuffled_batches(128, np.random.default_rng(0)))
    np.testing.assert_array_equal(np.sort(np.concatenate(batches), axis=0), Y)
    assert max(len(batch) for batch in batches) <= 128
    for batch in batches:
        # Of a thousand sorted rows, some of the first, the second and the last third.
        assert set((batch // 334).astype(int)[:, 0]) == {0, 1, 2}


@each_case("size", [1, 7, 16, 17, 1000])
@each_case("n_rows", [1, 16, 50, 129])
def test_batches_of_any_size_hold_all_rows(n_rows, size):
    Y = np.arange(float(n_rows))
    generator = np.random.default_rng(0)
    shuffled = list(RowReader(Y).shuffled_batches(size, generator))
    np.testing.assert_array_equal(np.sort(np.concatenate(shuffled), axis=0)[:, 0], Y)
    assert 0 < min(map(len, shuffled)) <= max(map(len, shuffled)) <= size
    in_order = [batch for _, batch in RowReader(Y).batches(size)]
    np.testing.assert_array_equal(np.concatenate(in_order)[:, 0], Y)


def test_sorted_rows_are_fitted_as_well_as_shuffled_ones():
    Y = many_outputs(3000, spread=1.5)
    by_first_output = Y[np.argsort(Y[:, 0])]
    shuffled, ordered = (in_batches().fit(rows) for rows in (Y, by_first_output))
    assert ordered.log_likelihoods_[-1] > shuffled.log_likelihoods_[-1] - 1e-2


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_moments_and_sample_of_one_pass_are_those_of_all_rows(offset):
    Y = np.random.default_rng(0).normal(size=(333, 4)) + offset
    mean, variance, sample = RowReader(Y).moments_and_sample(50, 40, np.random.default_rng(1))
    np.testing.assert_allclose(mean, Y.mean(axis=0), rtol=1e-14, atol=1e-14)
    assert variance == pytest.approx(Y.var(axis=0).mean(), rel=1e-12 if offset == 0 else 1e-8)
    indices = [int(np.flatnonzero((Y == row).all(axis=1))[0]) for row in sample]
    assert indices == sorted(set(indices))
    assert len(indices) == 40
    assert indices[-1] - indices[0] > 200


def test_stepwise_drops_a_component_without_rows():
    Y = many_outputs(600, spread=20.0)
    centre = Y.mean(axis=0)
    full = in_batches(batch_size=None, variance_floor=1e-6).fit(Y)
    start = Parameters(
        np.append(full.weights_, 1e-9)[None],
        np.vstack([full.means_ - centre, [[1e3, 0.0, 0.0]]])[None],
        np.append(full.covariances_, 1.0)[None],
    )
    found = stepwise(
        RowReader(Y), 64, centre, start, Y, "spherical", FLOOR, 9, 1e-6, np.random.default_rng(0)
    )
    assert found.parameters.weights[0, 3] == 0
    assert found.parameters.weights.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(found.parameters.means[0, :3] + centre, full.means_, atol=1e-4)


def test_more_components_than_distinct_rows_of_the_sample_are_capped_with_a_warning():
    Y = np.repeat(clustered_outputs(3), 200, axis=0)
    message = "7 components were asked for, .* only 3 distinct outputs in a sample of 200 rows"
    with pytest.warns(UserWarning, match=message) as warned:
        model = GaussianMixtureModel(7, batch_size=64).fit(Y)
    assert warned[0].filename == __file__
    assert (model.n_components_, model.n_dropped_) == (3, 4)
    np.testing.assert_allclose(np.sort(model.means_, axis=0), np.sort(Y[::200], axis=0), atol=1e-5)


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_scores_in_blocks_are_those_of_every_row(covariance_type, monkeypatch):
    Y = many_outputs(700, spread=1.0)
    model = in_batches(covariance_type).fit(Y)
    joint = np.log(model.weights_) + log_gaussian_densities(
        Y, model.means_, model.covariances_, covariance_type
    )
    evidence = np.logaddexp.reduce(joint, axis=1)
    monkeypatch.setattr(mixture_batches, "BLOCK_NUMBERS", 300)
    np.testing.assert_allclose(model.score_samples(Y), evidence, rtol=1e-12)
    np.testing.assert_allclose(
        model.responsibilities(Y), np.exp(joint - evidence[:, None]), atol=1e-12
    )


def test_values_that_are_not_finite_are_named_by_their_row():
    Y = many_outputs(500)
    Y[301, 1] = np.nan
    with pytest.raises(ValueError, match="Y must be finite; row 301 holds NaN"):
        in_batches().fit(Y)
    model = in_batches().fit(many_outputs(500))
    with pytest.raises(ValueError, match="Y must be finite; row 301 holds NaN"):
        model.responsibilities(Y)
