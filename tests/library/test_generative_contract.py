"""Properties of every generative model of outputs, and of its Fisher embedding.

A kind of model without cases in `CASES_OF` is tested with each of its covariances.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from each_case import each_case, in_turn
from sklearn.base import clone
from small_data import COVARIANCE_TYPES, clustered_outputs, numerical_jacobian

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.plugins import OUTPUT_MODELS
from workflow_lib.models.fisher import FisherEmbedding
from workflow_lib.models.kinds.base import ModelArguments
from workflow_lib.models.kinds.found import model_kinds
from workflow_lib.models.output_scaling import fit_output_scaling
from workflow_lib.models.storage import model_from_tree, model_to_tree, scaling_from_tree

KINDS = model_kinds()
MODELS = {kind: OUTPUT_MODELS.load(kind).Model for kind in KINDS}


class Case(NamedTuple):
    """A kind of model with its settings."""

    kind: str
    covariance_type: str
    n_components: int = 1
    n_channels: int = 1
    batch_size: int | None = None

    def model(self, **parameters):
        shared = {"variance_floor": 0.05, "n_init": 2, "random_state": 0}
        arguments = ModelArguments(
            **{name: getattr(self, name) for name in self._fields[1:]}, **shared
        )
        return OUTPUT_MODELS.load(self.kind).new(arguments).set_params(**parameters)

    @property
    def is_series(self) -> bool:
        return MODELS[self.kind].outputs_are_series

    @property
    def has_components(self) -> bool:
        return not self.is_series and MODELS[self.kind].has_component_block

    def outputs(self, n_rows: int = 60, spread: float = 1.5, dimension: int = 3) -> np.ndarray:
        """Return rows of the clusters in turn, or series of `dimension` + 1 steps."""
        if not self.is_series:
            return clustered_outputs(n_rows, dimension, spread=spread)
        random = np.random.default_rng(0)
        steps = random.normal(size=(n_rows, dimension + 1, self.n_channels))
        return steps.cumsum(axis=1) + 0.3 * random.normal(size=steps.shape)

    def embeddings(self, model) -> list[FisherEmbedding]:
        forms = [("reduced", "constrained")]
        if not self.is_series:
            forms += [("full", "constrained"), ("full", "matrix")]
        return [FisherEmbedding(model, *form) for form in forms]


CASES_OF = {
    "gaussian": [Case("gaussian", shape) for shape in COVARIANCE_TYPES],
    "gaussian_mixture": [
        *(Case("gaussian_mixture", shape, n) for shape in COVARIANCE_TYPES for n in (1, 3)),
        Case("gaussian_mixture", "diag", 3, batch_size=16),
    ],
    "state_space": [
        Case("state_space", shape, *sizes)
        for shape in ("spherical", "full")
        for sizes in ((1, 1), (2, 1), (2, 3), (3, 2))
    ],
}
for _kind in KINDS:
    CASES_OF.setdefault(_kind, [Case(_kind, shape) for shape in KINDS[_kind].covariances])
CASES = [case for kind in KINDS for case in CASES_OF[kind]]
OF_VECTORS = [case for case in CASES if not case.is_series]
# Of series, those with two states and three numbers per step, since each fit takes long.
BY_EM = [
    case
    for case in CASES
    if case.batch_size is None and (case.n_components, case.n_channels) in ((3, 1), (2, 3))
]


def name_of(value) -> str | None:
    if type(value) is Case:
        return "-".join(str(each) for each in value if each is not None)
    return None


def of_cases(cases: list[Case]):
    return each_case("case", cases, ids=name_of)


@cache
def fitted(case: Case):
    return case.model().fit(case.outputs())


MAY_BE_CAPPED = pytest.mark.filterwarnings("ignore:.*components were asked for")


def assert_usable(case: Case, model, Y: np.ndarray) -> None:
    """Assert that densities and embeddings are finite, and that the outputs are recovered."""
    assert np.isfinite(model.score_samples(Y)).all()
    for embedding in case.embeddings(model):
        H = embedding.transform(Y)
        assert H.shape == (len(Y), embedding.n_features) and np.isfinite(H).all()
        for preimage in ("closed_form", "projected"):
            back = embedding.inverse_transform(H, preimage)
            np.testing.assert_allclose(back, Y, atol=1e-9 * max(1.0, np.abs(Y).max()))


# --- fits ---------------------------------------------------------------------------------------


@each_case(("case", "value"), in_turn(CASES, [0.0, 0.1, 3.0]), ids=name_of)
@MAY_BE_CAPPED
def test_constant_outputs(case, value):
    Y = np.full_like(case.outputs(6), value)
    assert_usable(case, case.model().fit(Y), Y)


@of_cases(CASES)
@each_case(("n_rows", "dimension"), [(1, 3), (2, 1), (60, 1)])
@MAY_BE_CAPPED
def test_few_rows_and_single_outputs(case, n_rows, dimension):
    Y = case.outputs(n_rows, dimension=dimension)
    assert_usable(case, case.model().fit(Y), Y)


STATES = [lambda: 7, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)]


@each_case(("case", "make_state"), in_turn(CASES, STATES), ids=name_of)
def test_same_seed_same_fit_and_nothing_else_is_touched(case, make_state):
    Y = case.outputs()
    before, state = Y.copy(), np.random.get_state()[1].copy()
    seeded = "random_state" in case.model().get_params()
    first, second = (
        case.model(**({"random_state": make_state()} if seeded else {})).fit(Y) for _ in range(2)
    )
    np.testing.assert_array_equal(first.score_samples(Y), second.score_samples(Y))
    np.testing.assert_array_equal(Y, before)
    np.testing.assert_array_equal(np.random.get_state()[1], state)


@of_cases(CASES)
def test_order_of_rows_does_not_matter(case):
    # Clusters so far apart that every start finds them.
    Y = case.outputs(spread=20.0)
    order = np.random.default_rng(0).permutation(len(Y))
    first, second = (case.model().fit(rows).score_samples(Y) for rows in (Y, Y[order]))
    # Stepwise EM ends near the optimum, not at it.
    np.testing.assert_allclose(second, first, rtol=1e-6 if case.batch_size is None else 1e-3)


@of_cases(CASES)
def test_each_row_is_handled_as_if_it_were_alone(case):
    Y, model = case.outputs()[:8], fitted(case)
    alone = np.concatenate([model.score_samples(y[None]) for y in Y])
    np.testing.assert_allclose(alone, model.score_samples(Y), rtol=1e-10)
    for embedding in case.embeddings(model):
        rows = np.concatenate([embedding.transform(y[None]) for y in Y])
        np.testing.assert_allclose(rows, embedding.transform(Y), rtol=1e-9, atol=1e-9)


@of_cases(CASES)
def test_scaled_outputs_scale_the_model_and_nothing_else(case):
    Y = case.outputs()
    plain, scaled = fitted(case), case.model().fit(1e3 * Y)
    shift = Y[0].size * np.log(1e3)
    np.testing.assert_allclose(
        scaled.score_samples(1e3 * Y) + shift,
        plain.score_samples(Y),
        rtol=1e-6 if case.is_series else 1e-9,
    )
    if case.is_series:
        assert scaled.log_prior_ == pytest.approx(plain.log_prior_, rel=1e-6)
    else:
        ours, theirs = scaled.responsibilities(1e3 * Y), plain.responsibilities(Y)
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


def outputs_for_em(case: Case) -> dict:
    """Return outputs by name; for series some with numbers missing, or of different lengths."""
    if not case.is_series:
        return {
            name: clustered_outputs(40, spread=spread, n_clusters=4, seed=3)
            for name, spread in (("overlapping", 0.3), ("separated", 4.0))
        }
    Z, random = case.outputs(25, dimension=5), np.random.default_rng(0)
    holed, stepless = Z.copy(), Z.copy()
    holed[random.random(Z.shape) < 0.25] = np.nan
    holed[0, 1:3] = np.nan
    holed[:, 0, 0] = Z[:, 0, 0]
    stepless[random.random(Z.shape[:2]) < 0.3] = np.nan
    stepless[:, 0] = 0.5
    lengths = [3 + row % 4 for row in range(len(Z))]
    return {
        "complete": Z,
        "missing": holed,
        "whole steps": stepless,
        "lengths": [z[:length] for z, length in zip(Z, lengths)],
        "both": [z[:length] for z, length in zip(holed, lengths)],
    }


STRENGTHS = {"variance_floor": (1e-6, 0.05, 0.6), "prior_strength": (0.0, 1.0, 20.0)}
EM = [(case, name) for case in BY_EM for name in outputs_for_em(case)]


@each_case(
    ("case", "name", "strength", "seed"),
    # Every outputs meet every strength and every seed, and so do these two each other.
    [(*outputs, i, (i + index) % 3) for index, outputs in enumerate(EM) for i in range(3)],
    ids=name_of,
)
def test_em_never_lowers_its_objective(case, name, strength, seed):
    Y, series = outputs_for_em(case)[name], case.is_series
    parameter = "prior_strength" if series else "variance_floor"
    parameters = {parameter: STRENGTHS[parameter][strength], "random_state": seed}
    parameters |= (
        {"n_iter": 20, "n_init": 1} if series else {"max_iter": 40, "n_init": 1, "n_components": 5}
    )
    model = case.model(tol=-np.inf, **parameters).fit(Y)
    objectives = model.log_likelihoods_
    assert len(objectives) == (20 if series else 40)
    assert np.diff(objectives).min() >= -1e-10 * max(1.0, abs(objectives[-1]))
    likelihoods = model.score_samples(Y)
    reached = likelihoods.sum() + model.log_prior_ if series else likelihoods.mean()
    assert objectives[-1] == pytest.approx(reached, rel=1e-10)
    if series:
        assert model.log_prior_ <= 0 and (strength > 0 or model.log_prior_ == 0)
    for after, before in zip(Y, outputs_for_em(case)[name], strict=True):
        np.testing.assert_array_equal(after, before)


# --- embeddings ---------------------------------------------------------------------------------


@of_cases(CASES)
@each_case("preimage", ["closed_form", "projected", "gradient"])
def test_preimage_of_an_embedding_is_the_output(case, preimage):
    Y = case.outputs()
    for embedding in case.embeddings(fitted(case)):
        if (case.is_series, preimage) != (True, "gradient"):
            back = embedding.inverse_transform(embedding.transform(Y), preimage)
            np.testing.assert_allclose(back, Y, atol=1e-9)


@of_cases(CASES)
@each_case("distance", [0.0, 1.0, 1e3, 1e6])
def test_outputs_far_from_every_component_are_recovered(case, distance):
    directions = np.random.default_rng(0).normal(size=case.outputs(20).shape)
    assert_usable(case, fitted(case), distance * directions)
    if case.has_components:
        responsibilities = fitted(case).responsibilities(distance * directions)
        assert (responsibilities >= 0).all()
        np.testing.assert_allclose(responsibilities.sum(axis=1), 1.0, rtol=1e-9)


def log_density(y, weights, means, matrices):
    """Return log sum_j w_j N(y; mu_j, Sigma_j); weights need not sum to one."""
    density = 0.0
    for weight, mean, matrix in zip(weights, means, matrices):
        difference = y - mean
        exponent = -0.5 * difference @ np.linalg.solve(matrix, difference)
        density += weight * np.exp(exponent) / np.sqrt(np.linalg.det(2 * np.pi * matrix))
    return np.atleast_1d(np.log(density))


def scores_of_vector(model, y, shape: str) -> dict[str, np.ndarray]:
    """Return numerical derivatives of log p(y): pi (C), mu (C, d), sigma (C, size of `shape`)."""
    weights, means, covariances = model.weights_, model.means_, np.asarray(model.covariances_)
    n_components, d = means.shape
    if model.covariance_type == "diag":
        covariances = covariances[:, :, None] * np.eye(d)
    elif model.covariance_type != "full":
        covariances = np.broadcast_to(covariances, n_components)[:, None, None] * np.eye(d)
    basis = {"matrix": np.eye(d * d).reshape(-1, d, d), "trace": np.eye(d)[None]}
    basis["diagonal"] = np.eye(d)[:, :, None] * np.eye(d)

    def moved(changes):
        steps = np.tensordot(changes.reshape(n_components, -1), basis[shape], axes=1)
        return log_density(y, weights, means, covariances + steps)

    size = n_components * len(basis[shape])
    slopes = {
        "pi": numerical_jacobian(lambda w: log_density(y, w, means, covariances), weights),
        "mu": numerical_jacobian(
            lambda m: log_density(y, weights, m.reshape(means.shape), covariances), means.ravel()
        ),
        # Eq. (1) drops the factor 1/2 of the derivative by the covariance.
        "sigma": 2.0 * numerical_jacobian(moved, np.zeros(size)),
    }
    return {name: slope[0] for name, slope in slopes.items()}


def scores_of_series(model, z) -> np.ndarray:
    """Return numerical derivatives of log p(z) by the means of all states and observations.

    Moving these means moves that of z, step by step.
    """
    (T, p), d = z.shape, len(model.transition_)

    def moved(changes):
        initial, states, observations = np.split(changes, [d, T * d])
        state, shift = initial, np.empty((T, p))
        for t in range(T):
            if t > 0:
                state = model.transition_ @ state + states.reshape(T - 1, d)[t - 1]
            shift[t] = model.observation_ @ state + observations.reshape(T, p)[t]
        return model.score_samples((z - shift)[None])

    return numerical_jacobian(moved, np.zeros(T * (d + p)), step=1e-4)[0]


@of_cases(CASES)
def test_scores_are_derivatives_of_the_log_likelihood(case):
    model = fitted(case)
    shapes = {"full": "matrix", "diag": "diagonal"}
    for embedding in case.embeddings(model):
        Y = case.outputs()[:3]
        for y, score in zip(Y, embedding.transform(Y), strict=True):
            if case.is_series:
                np.testing.assert_allclose(score, scores_of_series(model, y), rtol=1e-6, atol=1e-6)
                continue
            of_block = embedding.covariance_block == "matrix"
            shape = "matrix" if of_block else shapes.get(case.covariance_type, "trace")
            expected = scores_of_vector(model, y, shape)
            if embedding.form == "reduced":
                expected["mu"] = expected["mu"].reshape(model.means_.shape).sum(axis=0)
            assert ("pi" in embedding.blocks) == case.has_components
            for name, columns in embedding.blocks.items():
                np.testing.assert_allclose(score[columns], expected[name], atol=1e-7)


# --- storage and parameters ---------------------------------------------------------------------


@of_cases(CASES)
def test_a_stored_model_is_restored_unchanged(case, tmp_path):
    Y, model = case.outputs(), fitted(case)
    scaling = fit_output_scaling(Y.reshape(len(Y), -1), "center")
    write_artifact(tmp_path / "model.h5", {"model": model_to_tree(model, scaling)}, "models")
    stored = read_artifact(tmp_path / "model.h5", "models")["model"]
    back = model_from_tree(stored)
    assert type(back) is type(model) is MODELS[case.kind]
    assert_usable(case, back, Y)
    np.testing.assert_array_equal(back.score_samples(Y), model.score_samples(Y))
    np.testing.assert_array_equal(scaling_from_tree(stored).offset, scaling.offset)
    for ours, theirs in zip(case.embeddings(back), case.embeddings(model), strict=True):
        np.testing.assert_array_equal(ours.transform(Y), theirs.transform(Y))
    if not case.is_series:
        assert (back.covariance_type, back.n_components_) == (
            model.covariance_type,
            model.n_components_,
        )
        np.testing.assert_array_equal(back.responsibilities(Y), model.responsibilities(Y))


@of_cases(CASES)
def test_models_can_be_cloned_set_and_shown(case):
    model = case.model()
    copy = clone(fitted(case))
    assert copy is not model and copy.get_params() == model.get_params()
    assert not {name for name in vars(copy) if name.endswith("_")}
    assert eval(repr(copy), {type(model).__name__: type(model)}).get_params() == model.get_params()
    name = "prior_variance" if case.is_series else "variance_floor"
    assert copy.set_params(**{name: 0.3}).get_params()[name] == 0.3 != model.get_params()[name]
    with pytest.raises(ValueError, match=f"Invalid parameter 'floor' for .*{name}"):
        copy.set_params(floor=1.0)


FAULTS = {
    "gaussian": [
        ({"variance_floor": 0.0}, "variance_floor must be positive"),
    ],
    "gaussian_mixture": [
        ({"n_components": 0}, "n_components must be at least 1"),
        ({"n_init": 0}, "n_init must be at least 1"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"variance_floor": 0.0}, "variance_floor must be positive"),
        ({"batch_size": 16, "variance_floor": 0.0}, "variance_floor must be positive"),
        ({"batch_size": 0}, "batch_size must be at least 1; found 0"),
    ],
    "state_space": [
        ({"state_dim": 0}, "state_dim must be at least 1"),
        ({"n_iter": 0}, "n_iter must be at least 1"),
        ({"n_init": 0}, "n_init must be at least 1"),
        ({"observation_dim": 0}, "observation_dim must be at least 1"),
        ({"prior_variance": 0.0}, "prior_variance must be positive"),
        ({"max_spectral_radius": 0.0}, "max_spectral_radius must be positive"),
    ],
}


@each_case(
    ("kind", "parameters", "message"),
    [(kind, *fault) for kind in KINDS for fault in FAULTS.get(kind, ())],
)
def test_parameters_out_of_range_are_refused(kind, parameters, message):
    case = CASES_OF[kind][0]
    with pytest.raises(ValueError, match=message):
        case.model(**parameters).fit(case.outputs())


@of_cases(OF_VECTORS)
@each_case(
    ("Y", "message"),
    [
        (np.zeros((30, 2, 2)), "must be a matrix .* found 3 axes"),
        (np.float64(1.0), "must be a matrix .* found 0 axes"),
        (np.zeros((0, 2)), r"must have rows and columns; found the shape \(0, 2\)"),
        (np.zeros((30, 0)), "must have rows and columns"),
        (np.array([[0.0], [np.nan]] + [[1.0]] * 20), "must be finite; row 1 holds NaN"),
        (np.array([[np.inf], [0.0]]), "must be finite; row 0 holds NaN or infinity"),
    ],
)
def test_outputs_that_cannot_be_used_are_named(case, Y, message):
    with pytest.raises(ValueError, match=message):
        case.model().fit(Y)


@of_cases(OF_VECTORS)
def test_a_vector_is_one_column(case):
    column = case.outputs(dimension=1)
    models = [case.model().fit(rows) for rows in (column[:, 0], column)]
    assert models[0].means_.shape == (case.n_components, 1)
    np.testing.assert_array_equal(
        models[0].score_samples(column[:, 0]), models[1].score_samples(column)
    )
