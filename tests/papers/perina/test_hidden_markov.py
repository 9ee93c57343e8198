"""Hidden Markov models: enumeration of all paths, hmmlearn, special cases, and bad input."""

import re
import sys

import numpy as np
import pytest
from each_case import each_case
from hidden_markov_samples import EMISSIONS, enumerated, likelihoods, model_with, sequences_of
from sklearn.base import clone

from workflow_lib import HiddenMarkovModel
from workflow_lib.papers.perina.hidden_markov import fitting as hidden_markov_fitting
from workflow_lib.papers.perina.hidden_markov import model as hidden_markov
from workflow_lib.papers.perina.hidden_markov.fitting import expectation_maximisation
from workflow_lib.papers.perina.hidden_markov.model import fit_models

# --- posteriors ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_states", [1, 2, 3])
@pytest.mark.parametrize("emission", EMISSIONS)
def test_probabilities_are_sums_over_all_paths(emission, n_states):
    model, sequences = model_with(emission, n_states), sequences_of(emission)
    scores, (gamma, xi) = model.score_samples(sequences), model.posteriors(sequences)
    for index, sequence in enumerate(sequences):
        expected = enumerated(model, sequence)
        assert scores[index] == pytest.approx(expected[0], rel=1e-12)
        np.testing.assert_allclose(gamma[index], expected[1], atol=1e-12)
        np.testing.assert_allclose(xi[index], expected[2], atol=1e-12)


@pytest.mark.parametrize("emission", EMISSIONS)
def test_long_sequences_do_not_underflow_and_blocks_change_nothing(emission, monkeypatch):
    model, sequences = model_with(emission), sequences_of(emission, (3000, 7, 40, 900))
    scores, posteriors = model.score_samples(sequences), model.posteriors(sequences)
    assert (scores[0] < -2000) and np.isfinite(scores).all()
    for gamma in posteriors.gamma:
        np.testing.assert_allclose(gamma.sum(axis=1), 1.0, atol=1e-9)
    monkeypatch.setattr(hidden_markov, "BLOCK_NUMBERS", 3000)
    np.testing.assert_allclose(model.score_samples(sequences), scores, rtol=1e-13)
    for own, again in zip(posteriors.xi, model.posteriors(sequences).xi):
        np.testing.assert_allclose(again, own, atol=1e-12)


def test_vectors_far_from_every_state_have_finite_scores():
    model = model_with("gaussian")
    (score,) = model.score_samples([np.full((4, 2), 1e6)])
    assert -1e14 < score < -1e11
    assert np.isfinite(model.posteriors([np.full((4, 2), 1e6)]).gamma[0]).all()


def test_impossible_sequences_have_probability_zero():
    model = model_with("categorical")
    model.emissions_ = np.array([[0.5, 0.5, 0, 0]] * 3)
    scores = model.score_samples([[0, 2, 1], [0, -1, 1]])
    assert scores[0] == -np.inf and np.isfinite(scores[1])
    assert not model.posteriors([[0, 2, 1]]).xi[0].any()


# --- special cases -------------------------------------------------------------------------------


def test_one_state_is_independent_letters():
    sequences = sequences_of("categorical", (30, 8, 1))
    model = HiddenMarkovModel(1, n_symbols=4, prior=0.5).fit(sequences)
    letters = np.concatenate(sequences)
    counts = np.bincount(letters[letters >= 0], minlength=4) + 0.5
    np.testing.assert_allclose(model.emissions_[0], counts / counts.sum(), rtol=1e-12)
    expected = [np.log(model.emissions_[0][own[own >= 0]]).sum() for own in sequences]
    np.testing.assert_allclose(model.score_samples(sequences), expected, rtol=1e-12)


def test_one_state_of_vectors_is_a_gaussian():
    sequences = sequences_of("gaussian", (30, 8, 1))
    model = HiddenMarkovModel(1, "gaussian").fit(sequences)
    values = np.concatenate(sequences)
    np.testing.assert_allclose(model.means_[0], values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(model.variances_[0], values.var(axis=0), rtol=1e-12)


@pytest.mark.parametrize("emission", EMISSIONS)
def test_identity_transitions_are_a_mixture_of_independent_steps(emission):
    model, sequences = model_with(emission), sequences_of(emission)
    model.transitions_ = np.eye(3)
    expected = [model.initial_ @ likelihoods(model, own).prod(axis=0) for own in sequences]
    np.testing.assert_allclose(model.score_samples(sequences), np.log(expected), rtol=1e-12)


# --- EM ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [0.0, 0.5])
@pytest.mark.parametrize("emission", EMISSIONS)
def test_em_never_lowers_its_objective(emission, prior):
    sequences = sequences_of(emission, (20, 3, 1, 12, 20, 9) * 4)
    model = HiddenMarkovModel(3, emission, prior=prior, max_iter=60, tol=0.0, n_init=2)
    objectives = model.fit(sequences).log_likelihoods_
    assert len(objectives) > 10
    assert (np.diff(objectives) >= -1e-10 * abs(objectives[-1])).all()
    total = model.score_samples(sequences).sum()
    assert objectives[-1] - model.log_prior_ == pytest.approx(total, rel=1e-12)
    probabilities = [model.initial_, *model.transitions_]
    probabilities += [*model.emissions_] if emission == "categorical" else []
    if prior:
        expected = prior * sum(np.log(each).sum() for each in probabilities)
        assert model.log_prior_ == pytest.approx(expected, rel=1e-12)
    else:
        assert model.log_prior_ == 0.0
    for each in probabilities:
        assert each.sum() == pytest.approx(1.0, rel=1e-12)


def after_iterations(emission, start: HiddenMarkovModel, sequences, n: int):
    """Return the parameters and the likelihood after EM without prior from given parameters."""
    family = start.observation_model()
    family.prior, family.variance_floor = 0.0, 1e-12
    batch = family.read(sequences)
    subset = np.arange(len(sequences))
    (fit,) = expectation_maximisation(
        start.parameters(), family, batch, [subset], prior=0.0, max_iter=n, tol=-1.0
    )
    return fit


@pytest.mark.parametrize("n_iterations", [1, 2, 7])
@pytest.mark.parametrize("emission", EMISSIONS)
def test_em_without_prior_goes_the_way_of_hmmlearn(emission, n_iterations):
    from hmmlearn import hmm

    start = model_with(emission)
    sequences = [np.maximum(own, 0) for own in sequences_of(emission, (9, 4, 15, 2, 9))]
    if emission == "gaussian":
        sequences = sequences_of(emission, (9, 4, 15, 2, 9))
    settings = {"n_iter": n_iterations, "tol": -np.inf, "init_params": ""}
    if emission == "categorical":
        theirs = hmm.CategoricalHMM(3, implementation="scaling", n_features=4, **settings)
        theirs.emissionprob_ = start.emissions_
    else:
        theirs = hmm.GaussianHMM(
            3, min_covar=0.0, covars_prior=0.0, covars_weight=0.0, means_weight=0.0, **settings
        )
        theirs.n_features = 2
        theirs.means_, theirs.covars_ = start.means_, start.variances_
    theirs.startprob_, theirs.transmat_ = start.initial_, start.transitions_
    lengths = [len(own) for own in sequences]
    stacked = np.concatenate(sequences).reshape(sum(lengths), -1)
    theirs.fit(stacked, lengths)

    ours = after_iterations(emission, start, sequences, n_iterations)
    initial, transitions, emitted = (each for each in ours.parameters)
    np.testing.assert_allclose(initial[0], theirs.startprob_, atol=1e-9)
    np.testing.assert_allclose(transitions[0], theirs.transmat_, atol=1e-9)
    if emission == "categorical":
        np.testing.assert_allclose(emitted[0][0], theirs.emissionprob_, atol=1e-9)
    else:
        variances = np.array([np.diag(matrix) for matrix in theirs.covars_])
        np.testing.assert_allclose(emitted[0][0], theirs.means_, atol=1e-8)
        np.testing.assert_allclose(emitted[1][0], variances, atol=1e-8)
    np.testing.assert_allclose(ours.objectives[:-1], theirs.monitor_.history, rtol=1e-10)
    assert ours.objectives[-1] == pytest.approx(theirs.score(stacked, lengths), rel=1e-10)


@pytest.mark.parametrize("emission", EMISSIONS)
def test_the_engine_of_hmmlearn_finds_the_same_model(emission):
    sequences = sequences_of(emission, (20, 3, 1, 12, 20, 9))
    settings = {"emission": emission, "n_init": 2, "max_iter": 20}
    models = [
        HiddenMarkovModel(3, random_state=seed, engine="batched", **settings) for seed in (0, 1)
    ]
    others = [clone(model).set_params(engine="hmmlearn") for model in models]
    subsets = [np.arange(6), np.arange(1, 5)]
    for own, other in zip(
        fit_models(models, sequences, subsets), fit_models(others, sequences, subsets)
    ):
        np.testing.assert_allclose(own.log_likelihoods_, other.log_likelihoods_, rtol=1e-9)
        np.testing.assert_allclose(own.transitions_, other.transitions_, atol=1e-7)


@pytest.mark.parametrize(("n", "engine"), [(2, "hmmlearn"), (200, "batched")])
def test_few_sequences_have_the_compiled_recursion_and_many_that_of_all_at_once(n, engine):
    sequences = sequences_of("categorical", [40] * n)
    own, other = (
        HiddenMarkovModel(2, n_init=1, max_iter=5, engine=name).fit(sequences)
        for name in ("auto", engine)
    )
    np.testing.assert_array_equal(own.transitions_, other.transitions_)


def test_the_engine_of_hmmlearn_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "hmmlearn", None)
    HiddenMarkovModel(2, max_iter=2).fit([[0, 1]])
    with pytest.raises(ImportError, match="needs the package hmmlearn"):
        HiddenMarkovModel(2, engine="hmmlearn").fit([[0, 1]])


@pytest.mark.parametrize("emission", EMISSIONS)
def test_models_fitted_together_are_those_fitted_alone(emission, monkeypatch):
    sequences = sequences_of(emission, (20, 3, 1, 12, 20, 9) * 4)
    settings = {"emission": emission, "n_init": 2, "max_iter": 30}
    settings |= {"n_symbols": 4} if emission == "categorical" else {}
    kinds = [(2, 0), (3, 1), (2, 2), (3, 0)]
    subsets = [np.arange(24), np.arange(5, 12), np.array([23, 0, 4]), np.arange(0, 24, 2)]
    together = fit_models(
        [HiddenMarkovModel(states, random_state=seed, **settings) for states, seed in kinds],
        sequences,
        subsets,
    )
    for (states, seed), subset, own in zip(kinds, subsets, together):
        alone = HiddenMarkovModel(states, random_state=seed, **settings)
        alone.fit([sequences[index] for index in subset])
        assert len(own.log_likelihoods_) == len(alone.log_likelihoods_)
        np.testing.assert_allclose(own.log_likelihoods_, alone.log_likelihoods_, rtol=1e-9)
        np.testing.assert_allclose(own.transitions_, alone.transitions_, atol=1e-7)
    monkeypatch.setattr(hidden_markov_fitting, "BLOCK_NUMBERS", 500)
    monkeypatch.setattr(hidden_markov, "TOGETHER_NUMBERS", 150)
    again = fit_models([clone(model) for model in together], sequences, subsets)
    for own, blocked in zip(together, again):
        np.testing.assert_allclose(own.initial_, blocked.initial_, atol=1e-7)


def test_the_same_seed_gives_the_same_model_and_the_best_start_is_kept():
    sequences = sequences_of("categorical", (25, 9, 14) * 5)
    first, again = (HiddenMarkovModel(3, n_init=4).fit(sequences) for _ in range(2))
    np.testing.assert_array_equal(first.emissions_, again.emissions_)
    single = HiddenMarkovModel(3, n_init=1).fit(sequences)
    assert first.log_likelihoods_[-1] >= single.log_likelihoods_[-1] - 1e-9


@pytest.mark.parametrize("emission", EMISSIONS)
def test_simulated_states_are_found_again(emission):
    random = np.random.default_rng(0)
    transitions = np.array([[0.9, 0.1], [0.2, 0.8]])
    table = np.array([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]])
    states = np.empty((300, 40), dtype=int)
    states[:, 0] = random.integers(2, size=300)
    for step in range(1, 40):
        states[:, step] = random.random(300) < transitions[states[:, step - 1], 1]
    if emission == "categorical":
        sequences = (random.random(states.shape)[..., None] > table.cumsum(axis=1)[states]).sum(-1)
    else:
        sequences = random.normal(3.0 * states, 1.0)
    model = HiddenMarkovModel(2, emission).fit(sequences)
    order = np.argsort(model.emissions_[:, 2] if emission == "categorical" else model.means_[:, 0])
    np.testing.assert_allclose(model.transitions_[np.ix_(order, order)], transitions, atol=0.05)
    if emission == "categorical":
        np.testing.assert_allclose(model.emissions_[order], table, atol=0.05)
    else:
        np.testing.assert_allclose(model.means_[order, 0], [0, 3], atol=0.1)
        np.testing.assert_allclose(model.variances_, 1.0, atol=0.1)


def test_variances_keep_their_floor():
    sequences = [np.repeat([[0.0, 0.0], [1.0, 5.0]], 6, axis=0)] * 3
    model = HiddenMarkovModel(2, "gaussian", variance_floor=0.1, max_iter=30, tol=0.0)
    model.fit(sequences)
    floor = 0.1 * np.concatenate(sequences).var(axis=0).mean()
    np.testing.assert_allclose(model.variances_, floor, rtol=1e-9)
    assert (np.diff(model.log_likelihoods_) >= -1e-9).all()


def test_more_states_than_distinct_steps_and_constant_vectors_stay_finite():
    for sequences in ([np.zeros((4, 2))] * 2, [np.array([[0.0, 1], [2, 1]])] * 3):
        model = HiddenMarkovModel(4, "gaussian").fit(sequences)
        assert np.isfinite(model.score_samples(sequences)).all()
        assert np.isfinite(model.means_).all() and (model.variances_ > 0).all()
    # Without a prior a state that is not used keeps its probabilities.
    model = HiddenMarkovModel(4, prior=0.0, tol=0.0).fit([[0, 1], [0]])
    assert np.isfinite(model.transitions_).all()
    np.testing.assert_allclose(model.transitions_.sum(axis=1), 1.0)


def test_sequences_of_one_letter_work():
    model = HiddenMarkovModel(2, n_symbols=3).fit([[0], [2], [-1], [2]])
    assert np.isfinite(model.score_samples([[1]])).all()
    assert model.posteriors([[1]]).xi[0].shape == (0, 2, 2)


# --- bad input -----------------------------------------------------------------------------------


@each_case(
    ("emission", "sequences", "message"),
    [
        ("categorical", [], "There are no sequences."),
        ("categorical", [[0, 1], []], "Sequence 1 is empty. Leave it out."),
        ("categorical", [[0, 1], [1, 4]], "Sequence 1 holds the letter 4; letters are 0 to 3"),
        ("categorical", [[0, -2]], "Sequence 0 holds the letter -2"),
        ("categorical", [[0.0, np.nan]], "sequence 0 holds float64 (or NaN)"),
        ("categorical", ["ACGT"], "has the shape ()"),
        ("categorical", "ACGT", "Put a single sequence into a list."),
        ("categorical", np.array([0, 1]), "sequence 0 has the shape ()"),
        ("gaussian", [np.zeros((0, 2))], "Sequence 0 is empty."),
        ("gaussian", [np.zeros((3, 2)), np.zeros((3, 1))], "Sequence 1 has 1 numbers per step"),
        ("gaussian", [[[0.0, np.nan]]], "sequence 0 holds NaN or infinity"),
        ("gaussian", [np.zeros((2, 2, 2))], "sequence 0 has (2, 2, 2)"),
    ],
)
def test_bad_sequences_are_named(emission, sequences, message):
    model = HiddenMarkovModel(2, emission, n_symbols=4)
    with pytest.raises(ValueError, match=re.escape(message)):
        model.fit(sequences)
    if "numbers per step" not in message:
        with pytest.raises(ValueError, match=re.escape(message)):
            model_with(emission).score_samples(sequences)


def test_unknown_letters_alone_need_the_number_of_letters():
    with pytest.raises(ValueError, match="All letters are unknown"):
        HiddenMarkovModel(2).fit([[-1, -1]])
    HiddenMarkovModel(2, n_symbols=3).fit([[-1, -1]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_states": 0}, "n_states must be at least 1; found 0."),
        ({"emission": "poisson"}, "emission must be one of"),
        ({"engine": "gpu"}, "engine must be one of"),
        ({"prior": -0.5}, "prior must not be negative; found -0.5."),
        ({"variance_floor": 0.0}, "variance_floor must be positive; found 0.0."),
        ({"n_symbols": 0}, "n_symbols must be at least 1; found 0."),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        HiddenMarkovModel(**settings).fit([[0, 1]])


def test_models_fitted_together_share_their_settings():
    with pytest.raises(ValueError, match="must have one prior"):
        fit_models([HiddenMarkovModel(prior=1.0), HiddenMarkovModel()], [[0, 1]])
    with pytest.raises(ValueError, match="The subset of model 1 is empty"):
        fit_models([HiddenMarkovModel()] * 2, [[0, 1]], [np.array([0]), np.array([], dtype=int)])
