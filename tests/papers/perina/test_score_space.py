"""Score spaces of hidden Markov models: sums, bounds, derivatives, and what they have in common."""

import re
import tracemalloc

import numpy as np
import pytest
from each_case import each_case
from hidden_markov_samples import EMISSIONS, enumerated, likelihoods, model_with, sequences_of
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from small_data import numerical_jacobian

from workflow_lib import HiddenMarkovModel, ScoreSpace, TopicModel
from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.papers.perina.hidden_markov.posterior import mean_field
from workflow_lib.papers.perina.score_space_storage import model_from_tree, model_to_tree
from workflow_lib.papers.perina.score_spaces import hidden_markov as hidden_markov_scores
from workflow_lib.papers.perina.sequences import arrange

POSTERIORS = ("exact", "mean_field")
SUMMED = ("state", "symbol", "term")
KINDS = ("free_energy", "fisher", "expected_counts", "log_likelihood")


def lengths_of(sequences) -> np.ndarray:
    return np.array([len(sequence) for sequence in sequences])


def equal_sequences(emission: str, n: int = 6, length: int = 5) -> list[np.ndarray]:
    return sequences_of(emission, (length,) * n)


def standardised(columns: np.ndarray) -> np.ndarray:
    return (columns - columns.mean(axis=0)) / columns.std(axis=0)


# --- the free energy -----------------------------------------------------------------------------


@each_case("emission", EMISSIONS)
@each_case("posterior", POSTERIORS)
@each_case("level", SUMMED)
def test_the_terms_of_every_level_sum_to_the_free_energy(level, posterior, emission):
    model, sequences = model_with(emission), sequences_of(emission, (5, 1, 30, 2, 300))
    space = ScoreSpace(model, level=level, posterior=posterior)
    sums = space.transform(sequences).sum(axis=1) * lengths_of(sequences)
    bound = ScoreSpace(model, "log_likelihood", posterior=posterior).transform(sequences)
    np.testing.assert_allclose(sums, -bound[:, 0], rtol=1e-10, atol=1e-12)
    if posterior == "exact":
        expected = -model.score_samples(sequences)
        np.testing.assert_allclose(sums, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("emission", EMISSIONS)
@pytest.mark.parametrize("posterior", POSTERIORS)
def test_the_terms_of_every_step_sum_to_those_of_the_states(posterior, emission):
    model, sequences = model_with(emission), equal_sequences(emission)
    by_step = ScoreSpace(model, level="position", posterior=posterior)
    by_state = ScoreSpace(model, level="state", posterior=posterior)
    steps, states = by_step.transform(sequences), by_state.transform(sequences) * 5
    assert steps.shape[1] == 3 + 4 * 9 + 3 + 4 * 9 + 5 * 3
    assert list(by_step.blocks) == list(by_state.blocks)
    for name, columns in by_state.blocks.items():
        width = columns.stop - columns.start
        summed = steps[:, by_step.blocks[name]].reshape(len(steps), -1, width).sum(axis=1)
        np.testing.assert_allclose(states[:, columns], summed, atol=1e-11)


@pytest.mark.parametrize("emission", EMISSIONS)
def test_the_terms_are_those_of_enumerated_posteriors(emission):
    model, sequences = model_with(emission), sequences_of(emission)
    space = ScoreSpace(model, level="state", divide_by_length=False)
    vectors = space.transform(sequences)
    for vector, sequence in zip(vectors, sequences):
        _, gamma, xi = enumerated(model, sequence)
        blocks = {
            "initial_entropy": gamma[0] * np.log(gamma[0]),
            "transition_entropy": (xi * np.log(xi / gamma[:-1, :, None])).sum(axis=0),
            "initial_energy": -gamma[0] * np.log(model.initial_),
            "transition_energy": -(xi * np.log(model.transitions_)).sum(axis=0),
            "emission_energy": -(gamma * np.log(likelihoods(model, sequence))).sum(axis=0),
        }
        assert list(blocks) == list(space.blocks)
        for name, expected in blocks.items():
            np.testing.assert_allclose(vector[space.blocks[name]], expected.ravel(), atol=1e-11)


def test_the_first_sum_of_eq_12_as_printed_misses_the_likelihood():
    model, (sequence,) = model_with("categorical"), sequences_of("categorical", (5,))
    log_p, gamma, xi = enumerated(model, sequence)
    vector = ScoreSpace(model, divide_by_length=False).transform([sequence])[0]
    space = ScoreSpace(model).fit([sequence])
    conditional = vector[space.blocks["transition_entropy"]].sum()
    printed = vector.sum() - conditional + (xi * np.log(xi)).sum()
    inner = (gamma[:-1] * np.log(gamma[:-1])).sum()
    assert printed == pytest.approx(-log_p + inner, rel=1e-10)


@pytest.mark.parametrize(
    ("level", "numbers"),
    [("state", 3 + 9 + 3 + 9 + 3), ("symbol", 3 + 9 + 3 + 9 + 12), ("term", 5)],
)
def test_blocks_are_the_columns_in_order(level, numbers):
    space = ScoreSpace(model_with("categorical"), level=level)
    assert space.fit(sequences_of("categorical")).blocks == space.blocks
    assert space.transform(sequences_of("categorical")).shape == (5, numbers)
    ends = [0, *(block.stop for block in space.blocks.values())]
    assert [block.start for block in space.blocks.values()] == ends[:-1] and ends[-1] == numbers


@pytest.mark.parametrize("emission", EMISSIONS)
def test_one_state_has_no_entropy_and_the_energy_of_independent_steps(emission):
    model, sequences = model_with(emission, 1), sequences_of(emission)
    vectors = ScoreSpace(model, level="term", divide_by_length=False).transform(sequences)
    np.testing.assert_allclose(vectors[:, :4], 0.0, atol=1e-12)
    np.testing.assert_allclose(vectors[:, 4], -model.score_samples(sequences), rtol=1e-12)


def test_identity_transitions_leave_the_entropy_of_the_mixture():
    model, sequences = model_with("categorical"), sequences_of("categorical")
    model.transitions_ = np.eye(3)
    space = ScoreSpace(model, divide_by_length=False)
    vectors = space.transform(sequences)
    np.testing.assert_allclose(vectors.sum(axis=1), -model.score_samples(sequences), atol=1e-12)
    for name in ("transition_entropy", "transition_energy"):
        np.testing.assert_allclose(vectors[:, space.blocks[name]], 0.0, atol=1e-12)


# --- mean field ----------------------------------------------------------------------------------


@each_case("emission", EMISSIONS)
@each_case("length", [1, 2, 3, 9])
def test_mean_field_bounds_the_likelihood_and_its_free_energy_never_rises(length, emission):
    model = model_with(emission)
    sequences = sequences_of(emission, (length, 1, 2, length, 7))
    emissions = model.observation_model()
    batch = emissions.read(sequences)
    layout = arrange(batch, [np.arange(5)], padded=True)
    q, courses = mean_field(model.parameters(), emissions, emissions.observe(batch, layout), layout)
    assert (np.diff(courses, axis=0) <= 1e-12).all() and len(courses) > 1
    order = layout.order[0]
    assert (courses[-1] >= -model.score_samples(sequences)[order] - 1e-12).all()
    present = np.arange(len(order)) < layout.own
    np.testing.assert_allclose(q.sum(axis=0), present, atol=1e-12)


@pytest.mark.parametrize("emission", EMISSIONS)
def test_mean_field_is_exact_where_all_transition_rows_are_equal(emission):
    model, sequences = model_with(emission), sequences_of(emission, (9, 1, 4, 2))
    model.transitions_ = np.tile(model.transitions_[0], (3, 1))
    for kind in KINDS:
        exact, field = (
            ScoreSpace(model, kind, posterior=posterior).transform(sequences)
            for posterior in POSTERIORS
        )
        np.testing.assert_allclose(field, exact, atol=1e-9)


def test_mean_fields_do_not_depend_on_the_other_sequences():
    model = model_with("categorical")
    sequences = sequences_of("categorical", (40, 3, 8, 40, 21, 1, 8, 15))
    together = ScoreSpace(model, posterior="mean_field").transform(sequences)
    alone = [ScoreSpace(model, posterior="mean_field").transform([own])[0] for own in sequences]
    np.testing.assert_allclose(together, alone, atol=1e-12)


def test_mean_fields_are_finite_under_probabilities_of_zero():
    model = model_with("categorical")
    model.transitions_ = np.array([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]])
    sequences = sequences_of("categorical")
    bound = ScoreSpace(model, "log_likelihood", posterior="mean_field").transform(sequences)[:, 0]
    assert (bound <= model.score_samples(sequences) + 1e-9).all()


# --- derivatives ---------------------------------------------------------------------------------


def softmax(logits: np.ndarray) -> np.ndarray:
    values = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return values / values.sum(axis=-1, keepdims=True)


def with_parameters(model, vector, parametrization):
    """Return the model with the parameters of a vector, in the order of the blocks."""
    other, begin = clone(model), 0
    for name in ("initial_", "transitions_", *model.observation_model().names):
        array = getattr(model, name)
        values = vector[begin : begin + array.size].reshape(array.shape)
        begin += array.size
        if parametrization == "softmax" and name == "variances_":
            values = np.exp(values)
        elif parametrization == "softmax" and name != "means_":
            values = softmax(values)
        setattr(other, name, values)
    return other


def vector_of(model, parametrization) -> np.ndarray:
    arrays = []
    for name in ("initial_", "transitions_", *model.observation_model().names):
        array = getattr(model, name)
        arrays.append(np.log(array) if parametrization == "softmax" and name != "means_" else array)
    return np.concatenate([array.ravel() for array in arrays])


@pytest.mark.parametrize("emission", EMISSIONS)
@pytest.mark.parametrize("parametrization", ["free", "softmax"])
def test_fisher_scores_are_the_derivatives_of_the_log_likelihood(parametrization, emission):
    model, sequences = model_with(emission), sequences_of(emission)
    found = ScoreSpace(model, "fisher", parametrization=parametrization).transform(sequences)
    expected = numerical_jacobian(
        lambda vector: with_parameters(model, vector, parametrization).score_samples(sequences),
        vector_of(model, parametrization),
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("emission", EMISSIONS)
def test_mean_field_scores_are_the_derivatives_of_the_bound(emission, monkeypatch):
    from workflow_lib.papers.perina.hidden_markov import posterior as hidden_markov_posterior

    monkeypatch.setattr(hidden_markov_posterior, "TOLERANCE", 1e-15)
    model, sequences = model_with(emission), sequences_of(emission)

    def bound(vector):
        other = with_parameters(model, vector, "softmax")
        space = ScoreSpace(other, "log_likelihood", posterior="mean_field")
        return space.transform(sequences)[:, 0]

    found = ScoreSpace(model, "fisher", posterior="mean_field").transform(sequences)
    expected = numerical_jacobian(bound, vector_of(model, "softmax"))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("emission", EMISSIONS)
def test_the_mean_score_vanishes_at_the_maximum_likelihood(emission):
    sequences = sequences_of(emission, (12, 20, 9) * 5)
    settings = {"prior": 0.0, "tol": 0.0, "n_init": 1, "max_iter": 3000, "variance_floor": 1e-9}
    model = HiddenMarkovModel(2, emission, **settings).fit(sequences)
    scores = ScoreSpace(model, "fisher").transform(sequences)
    assert np.abs(scores).max() > 0.1
    np.testing.assert_allclose(scores.mean(axis=0), 0.0, atol=1e-4)


@pytest.mark.parametrize("emission", EMISSIONS)
def test_top_is_the_log_odds_and_the_scores_of_both_classes(emission):
    models = [model_with(emission, seed=seed) for seed in (0, 1)]
    sequences = sequences_of(emission)
    space = ScoreSpace(models, "top")
    vectors = space.transform(sequences)
    log_p = [model.score_samples(sequences) for model in models]
    scores = [ScoreSpace(model, "fisher").transform(sequences) for model in models]
    expected = np.hstack([(log_p[0] - log_p[1])[:, None], scores[0], -scores[1]])
    np.testing.assert_allclose(vectors, expected, atol=1e-12)
    assert list(space.blocks)[:3] == ["log_odds", "initial_0", "transitions_0"]


def test_top_of_several_classes_has_the_log_odds_of_each():
    models = [model_with("categorical", seed=seed) for seed in range(3)]
    sequences = sequences_of("categorical")
    space = ScoreSpace(models, "top")
    found = space.transform(sequences)[:, space.blocks["log_odds"]]
    p = np.exp([model.score_samples(sequences) for model in models]).T
    np.testing.assert_allclose(found, np.log(p / (p.sum(axis=1, keepdims=True) - p)), atol=1e-10)


# --- what the kinds have in common ---------------------------------------------------------------


@each_case("emission", EMISSIONS)
@each_case("level", ["position", *SUMMED])
def test_minus_one_and_one_are_the_weights_of_the_rule_of_the_higher_likelihood(level, emission):
    models = [model_with(emission, seed=seed) for seed in (0, 1)]
    sequences = equal_sequences(emission, 40)
    space = ScoreSpace(models, level=level)
    vectors = space.transform(sequences)
    first = sum(block.stop - block.start for name, block in space.blocks.items() if "_0" in name)
    weights = np.where(np.arange(vectors.shape[1]) < first, -1.0, 1.0)
    higher = models[0].score_samples(sequences) > models[1].score_samples(sequences)
    assert 5 < higher.sum() < 35
    np.testing.assert_array_equal(vectors @ weights > 0, higher)


def test_energies_by_letter_are_free_fisher_scores_and_expected_counts_up_to_their_scale():
    model, sequences = model_with("categorical"), sequences_of("categorical", (5, 9, 3, 12) * 3)
    energies = ScoreSpace(model, "free_energy", "symbol")
    fisher = ScoreSpace(model, "fisher", parametrization="free", divide_by_length=True)
    counts = ScoreSpace(model, "expected_counts", "symbol")
    own = energies.transform(sequences)
    for space in (fisher, counts):
        expected = space.transform(sequences)
        for name in ("initial", "transitions", "emissions"):
            energy = own[:, energies.blocks[f"{name.removesuffix('s')}_energy"]]
            np.testing.assert_allclose(
                standardised(energy), standardised(expected[:, space.blocks[name]]), atol=1e-9
            )
    for sequence, vector in zip(sequences, expected):
        if len(sequence) < 6:
            _, gamma, _ = enumerated(model, sequence)
            by_letter = [gamma[sequence == letter].sum(axis=0) for letter in range(4)]
            found = vector[counts.blocks["emissions"]] * len(sequence)
            np.testing.assert_allclose(found, np.transpose(by_letter).ravel(), atol=1e-12)


@pytest.mark.parametrize("level", ["position", *SUMMED])
def test_expected_counts_of_vectors(level):
    model, sequences = model_with("gaussian"), equal_sequences("gaussian", 3)
    space = ScoreSpace(model, "expected_counts", level, divide_by_length=False)
    vectors = space.transform(sequences)
    gamma, xi = (np.array(each) for each in model.posteriors(sequences))
    expected = {"initial": gamma[:, 0], "transitions": xi, "states": gamma}
    if level != "position":
        expected |= {"transitions": xi.sum(axis=1), "states": gamma.sum(axis=1)}
    if level == "term":
        expected = {
            name: values.sum(axis=tuple(range(1, values.ndim))) for name, values in expected.items()
        }
    if level == "symbol":
        powers = {"squares": np.square(sequences), "sums": np.array(sequences)}
        expected |= {name: np.einsum("nks,nkd->nsd", gamma, own) for name, own in powers.items()}
    assert set(space.blocks) == set(expected)
    for name, values in expected.items():
        found = vectors[:, space.blocks[name]]
        np.testing.assert_allclose(found, values.reshape(3, -1), atol=1e-10)


@each_case("kind", [*KINDS, "top"])
@each_case("posterior", POSTERIORS)
def test_blocks_of_sequences_change_nothing(kind, posterior, monkeypatch):
    models = [model_with("categorical", seed=seed) for seed in (0, 1)]
    sequences = sequences_of("categorical", (5, 9, 3, 12) * 3)
    space = ScoreSpace(models, kind, posterior=posterior)
    expected = space.transform(sequences)
    monkeypatch.setattr(hidden_markov_scores, "BLOCK_NUMBERS", 30)
    np.testing.assert_allclose(space.transform(sequences), expected, atol=1e-12)


@pytest.mark.parametrize("level", SUMMED)
def test_no_array_holds_the_pairs_of_states_of_every_step(level):
    model = model_with("categorical", 10)
    sequences = sequences_of("categorical", (100,) * 500)
    tracemalloc.start()
    ScoreSpace(model, level=level).transform(sequences)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.7 * 8 * 500 * 99 * 10 * 10


def test_lengths_divide_what_was_asked_for():
    model, sequences = model_with("categorical"), sequences_of("categorical")
    for kind, divided in (("free_energy", True), ("expected_counts", True), ("fisher", False)):
        plain, per_length = (
            ScoreSpace(model, kind, divide_by_length=divide).transform(sequences)
            for divide in (False, True)
        )
        np.testing.assert_allclose(plain / lengths_of(sequences)[:, None], per_length)
        default = ScoreSpace(model, kind).transform(sequences)
        np.testing.assert_array_equal(default, per_length if divided else plain)


# --- the estimator -------------------------------------------------------------------------------


def labelled(n: int = 60) -> tuple[list[np.ndarray], np.ndarray]:
    random = np.random.default_rng(0)
    y = np.arange(n) % 2
    rates = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
    return [random.choice(4, size=random.integers(8, 20), p=rates[label]) for label in y], y


@pytest.mark.parametrize("kind", ["free_energy", "top"])
def test_models_of_classes_are_fitted_to_the_rows_of_their_class_only(kind):
    X, y = labelled()
    settings = {"n_symbols": 4, "max_iter": 20}
    space = ScoreSpace([HiddenMarkovModel(2, **settings), HiddenMarkovModel(2, **settings)], kind)
    vectors = space.fit_transform(X, y)
    for model, label in zip(space.models_, (1, 0)):
        alone = HiddenMarkovModel(2, **settings).fit([X[row] for row in np.flatnonzero(y == label)])
        np.testing.assert_array_equal(model.emissions_, alone.emissions_)
    assert not hasattr(space.models[0], "emissions_")
    np.testing.assert_array_equal(ScoreSpace(space.models_, kind).transform(X), vectors)


def test_score_spaces_are_transformers_of_scikit_learn():
    X, y = labelled()
    models = [HiddenMarkovModel(2, n_symbols=4, max_iter=20) for _ in range(2)]
    pipeline = make_pipeline(ScoreSpace(models), StandardScaler(), LinearSVC())
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.8
    assert clone(ScoreSpace(models, "fisher")).kind == "fisher"


@pytest.mark.parametrize(
    ("model", "X"),
    [
        (HiddenMarkovModel(2, n_symbols=4), [[0, 1, 3], [2]]),
        (HiddenMarkovModel(2, "gaussian"), [np.eye(3), np.ones((2, 3))]),
        (TopicModel(2), [[1, 2, 0], [0, 1, 5]]),
    ],
    ids=["letters", "vectors", "bags"],
)
def test_stored_models_are_the_same(model, X, tmp_path):
    model = clone(model).set_params(max_iter=3).fit(X)
    path = tmp_path / "model.h5"
    write_artifact(path, {"model": model_to_tree(model)}, "input_models")
    again = model_from_tree(read_artifact(path, "input_models")["model"])
    for kind in KINDS:
        np.testing.assert_array_equal(
            ScoreSpace(again, kind).transform(X), ScoreSpace(model, kind).transform(X)
        )


def test_fitted_models_are_kept():
    X, y = labelled()
    model = HiddenMarkovModel(2, max_iter=5).fit(X)
    assert ScoreSpace(model).fit(X).models_[0] is model


@each_case(
    ("arguments", "message"),
    [
        ({"kind": "fess"}, "kind must be one of"),
        ({"level": "letter"}, "level must be one of"),
        ({"posterior": "variational"}, "posterior must be one of"),
        ({"parametrization": "natural"}, "parametrization must be one of"),
        ({"kind": "top"}, "kind='top' needs a model for each class"),
        ({"level": "position"}, "level='position' needs sequences of one length; there are"),
        ({"models": []}, "There are no models."),
        ({"models": HiddenMarkovModel()}, "is not fitted. Call fit first."),
    ],
)
def test_bad_settings_are_named(arguments, message):
    arguments = {"models": model_with("categorical")} | arguments
    with pytest.raises(ValueError, match=re.escape(message)):
        ScoreSpace(**arguments).transform(sequences_of("categorical"))


def test_other_lengths_than_those_of_fit_are_refused_by_position():
    space = ScoreSpace(model_with("categorical"), level="position")
    space.fit(equal_sequences("categorical"))
    with pytest.raises(ValueError, match="other columns than those of fit"):
        space.transform(equal_sequences("categorical", length=4))


def test_classes_that_unfitted_models_need_are_asked_for():
    X, y = labelled()
    space = ScoreSpace([HiddenMarkovModel(2), HiddenMarkovModel(2)])
    with pytest.raises(ValueError, match="need the classes y"):
        space.fit(X)
    with pytest.raises(ValueError, match="60 items have 59 classes"):
        space.fit(X, y[1:])
    with pytest.raises(ValueError, match="2 models for 1 classes"):
        space.fit(X, np.zeros(60))


def test_impossible_sequences_are_named():
    model = model_with("categorical")
    model.emissions_ = np.array([[0.5, 0.5, 0, 0]] * 3)
    with pytest.raises(ValueError, match="Sequence 1 is impossible under the model"):
        ScoreSpace(model).transform([[0, 1], [0, 2], [1, 1]])


def test_models_without_a_score_space_are_refused():
    class Other:
        pass

    with pytest.raises(TypeError, match="Other has no score space"):
        ScoreSpace(Other()).transform([[0]])
