"""The whole nested selection equals scikit-learn's grid search with every part refitted."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from each_case import each_case
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from small_data import COVARIANCE_TYPES, regression_data

from workflow_lib import (
    GaussianMixtureModel,
    GaussianModel,
    KernelRidgeRegressor,
    OutputFisherRegressor,
)
from workflow_lib.fitting import selection
from workflow_lib.fitting.fold_targets import FoldTargets, embedded_targets, scattered
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.fitting.selection import best_of
from workflow_lib.measures.metrics import average_relative_error, reference_errors
from workflow_lib.models.forward import ForwardEmbedding
from workflow_lib.models.output_scaling import fit_output_scaling
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.heldout import SeparateGrams, SharedGram
from workflow_lib.solvers.weak import WeakGrams

WIDTHS = [0.1, 1.0]  # here: gamma itself
ALPHAS = [1e-4, 1e-2, 1.0]
N_FOLDS = 4


def small_data(n_rows=32):
    X, Y = regression_data(n_rows, n_clusters=4, spread=2.0)
    folds = np.random.default_rng(0).permutation(np.arange(n_rows) % N_FOLDS)
    return X, Y, folds


def select_each(outputs, folds, grams, weak_grams, targets, alphas, *others):
    """Return the best grid points, of Gram matrices by the width of the rbf kernel."""
    grams_of, weak_grams_of = (
        of_width and (lambda kernel, of_width=of_width: of_width[kernel.width])
        for of_width in (grams, weak_grams)
    )
    alphas_by_kernel = {InputKernel("rbf", width): alphas for width in grams}
    return selection.select_each(
        outputs, folds, grams_of, weak_grams_of, targets, alphas_by_kernel, *others
    )


def select(*arguments):
    """Return the best grid point of all component counts, with one kind of projection."""
    *others, projected = arguments
    return best_of(select_each(*others, [projected]).values())


def output_scorer(coordinate):
    def score(truth, predictions):
        return -((truth[:, coordinate] - predictions[:, coordinate]) ** 2).sum()

    return make_scorer(score)


def searched(estimator, grid, X, Y, folds, **fit_parameters):
    """Return the parameters of all grid points, and the aRRMSE pooled over their splits."""
    search = GridSearchCV(
        estimator,
        grid,
        scoring={f"output_{j}": output_scorer(j) for j in range(Y.shape[1])},
        cv=PredefinedSplit(folds),
        refit=False,
    ).fit(X, Y, **fit_parameters)
    errors = [
        -sum(search.cv_results_[f"split{fold}_test_output_{j}"] for fold in range(N_FOLDS))
        for j in range(Y.shape[1])
    ]
    scores = average_relative_error(np.stack(errors, axis=-1), reference_errors(Y, folds))
    return search.cv_results_["params"], scores


def shared_grams(X, folds, center=True):
    return {
        width: SharedGram(gram_matrix(X, None, "rbf", width), folds, center) for width in WIDTHS
    }


def fold_targets(model, Y, folds, form="reduced", weak_memberships=None, scale="none"):
    """Return the targets of every fold, the model being fitted without the fold."""
    from sklearn.base import clone

    result = []
    for fold in range(N_FOLDS):
        kept = folds != fold
        known = impute_mean(Y[kept])
        scaling = fit_output_scaling(known, scale)
        fitted = clone(model).fit(scaling.apply(known))
        embedding = ForwardEmbedding(fitted, form)
        outputs = np.full(Y.shape, 1e9)  # held-out rows are never used
        outputs[kept] = scaling.apply(known)
        weak = None if weak_memberships is None else weak_memberships / fitted.weights_
        embedded = embedding.transform(outputs[kept])
        result.append(embedded_targets(embedding, embedded, outputs, kept, weak, scaling))
    return result


def with_mean_blocks(targets, folds):
    """Return the same targets with the block of the means itself, of every component count."""
    result = {}
    for count, by_fold in targets.items():
        result[count] = []
        for fold, known in enumerate(by_fold):
            kept = folds != fold
            embedded = known.embedding.transform(known.outputs_block[kept])
            mean = scattered(known.embedding.remaining_block(embedded), kept)
            result[count].append(replace(known, mean_block=mean, outputs_block=None))
    return result


# Every value of a setting meets every value of each other one.
MET = [(a, b, c, a != b, a != c, b != c) for a, b, c in itertools.product([True, False], repeat=3)]


@each_case(("is_shared", "projected", "center", "weak", "missing", "is_reduced"), MET)
def test_outputs_and_memberships_replace_the_mean_block(
    is_shared, projected, center, weak, missing, is_reduced
):
    penalty = "shared" if is_shared else "per_block"
    form = "reduced" if is_reduced else "full"
    X, Y, folds = small_data()
    Y = Y * [1.0, 5.0, *[0.3] * (Y.shape[1] - 2)] + 7.0
    if missing:
        Y[3, 0] = Y[10, 1] = Y[11, 1] = np.nan
    generator = np.random.default_rng(3)
    X_weak, memberships = generator.normal(size=(9, 4)), generator.dirichlet(np.ones(3), size=9)
    weak_grams = None
    if weak:
        weak_grams = {}
        for width in WIDTHS:
            pairs = []
            for fold in range(N_FOLDS):
                rows = np.vstack([X[folds != fold], X_weak])
                gram = gram_matrix(rows, None, "rbf", width)
                pairs.append((gram, gram_matrix(X[folds == fold], rows, "rbf", width)))
            weak_grams[width] = WeakGrams(pairs, len(X_weak), folds, center)
    targets = {}
    for count in (2, 3):
        model = GaussianMixtureModel(count, "tied_spherical", n_init=1, max_iter=10)
        weak_memberships = memberships[:, :count] / memberships[:, :count].sum(
            axis=1, keepdims=True
        )
        weak_memberships = weak_memberships if weak else None
        targets[count] = fold_targets(model, Y, folds, form, weak_memberships, "standard")
    for fold in range(N_FOLDS):
        # The same array, as the workflow passes it.
        same = targets[2][fold].outputs_block
        targets[3][fold] = replace(targets[3][fold], outputs_block=same)
    grams = shared_grams(X, folds, center)
    others = ALPHAS, [0.1, 2.0], penalty, [projected]
    ours = select_each(Y, folds, grams, weak_grams, targets, *others)
    explicit = with_mean_blocks(targets, folds)
    expected = select_each(Y, folds, grams, weak_grams, explicit, *others)
    for count, choice in ours.items():
        other = expected[count]
        assert choice.score == pytest.approx(other.score, rel=1e-10)
        np.testing.assert_allclose(choice.heldout_outputs, other.heldout_outputs, rtol=1e-8)
        # With one penalty and without the projection all counts are equal, up to rounding.
        assert (choice.kernel.width, choice.alpha_rest) == (other.kernel.width, other.alpha_rest)


def test_kernel_ridge_selection_equals_grid_search():
    X, Y, folds = small_data()
    targets = {None: [FoldTargets(None, None, Y)] * N_FOLDS}
    choice = select(Y, folds, shared_grams(X, folds), None, targets, ALPHAS, [], "shared", False)
    points, scores = searched(
        KernelRidgeRegressor(), {"gamma": WIDTHS, "alpha": ALPHAS}, X, Y, folds
    )
    # Points equal by algebra differ by rounding; the first of them is chosen.
    best = points[int(np.flatnonzero(scores <= scores.min() * (1 + 1e-9))[0])]
    assert (choice.kernel.width, choice.alpha_rest) == (best["gamma"], best["alpha"])
    assert choice.n_components is None
    assert np.isnan([choice.alpha_leading, choice.weak_weight]).all()
    assert choice.score == pytest.approx(scores.min(), rel=1e-10)


def all_scores(X, Y, folds, targets, penalty, projected, center=True):
    """Return the score of every grid point, by selections that have no other choice."""
    result = {}
    grams = shared_grams(X, folds, center)
    for width, count in itertools.product(WIDTHS, targets):
        one = {width: grams[width]}, None, {count: targets[count]}
        if penalty == "shared":
            pairs = [(p, p) for p in ALPHAS]
        else:
            pairs = list(itertools.product(ALPHAS, ALPHAS))
        for pi, mu in pairs:
            grid = [pi] if pi == mu else [pi, mu]
            choice = select(Y, folds, *one, grid, [], penalty, projected)
            if (choice.alpha_leading, choice.alpha_rest) == (pi, mu):
                result[width, count, pi, mu] = choice.score
    return result


def _pair(alpha):
    return alpha if isinstance(alpha, dict) else {"pi": alpha, "mu": alpha}


@each_case("covariance_type", COVARIANCE_TYPES)
@each_case(("penalty", "preimage"), [("shared", "closed_form"), ("per_block", "projected")])
def test_mixture_selection_equals_grid_search(covariance_type, penalty, preimage):
    X, Y, folds = small_data()
    counts = [1, 3]
    model = GaussianMixtureModel(3, covariance_type, n_init=1, max_iter=10)
    targets = {
        count: fold_targets(model.set_params(n_components=count), Y, folds) for count in counts
    }
    projected = preimage == "projected"
    choice = select(Y, folds, shared_grams(X, folds), None, targets, ALPHAS, [], penalty, projected)
    alphas = ALPHAS
    if penalty == "per_block":
        alphas = [{"pi": pi, "mu": mu} for pi in ALPHAS for mu in ALPHAS]
    points, scores = searched(
        OutputFisherRegressor(model, preimage=preimage),
        {"gamma": WIDTHS, "model__n_components": counts, "alpha": alphas},
        X,
        Y,
        folds,
    )
    assert choice.score == pytest.approx(scores.min(), rel=1e-10)
    best = points[int(scores.argmin())]
    pair = _pair(best["alpha"])
    chosen = (choice.kernel.width, choice.n_components, choice.alpha_rest)
    ties = {
        (point["gamma"], point["model__n_components"], _pair(point["alpha"])["mu"])
        for point, score in zip(points, scores, strict=True)
        if score <= scores.min() * (1 + 1e-9)
    }
    assert chosen in ties
    assert choice.n_components == min(count for _, count, _ in ties)
    # With one component the pi block is constant, and its penalty changes nothing.
    if choice.n_components > 1:
        assert choice.alpha_leading == pair["pi"]
    # Not the winner alone: every point that can be selected on its own has the same score.
    lookup = {
        (p["gamma"], p["model__n_components"], str(p["alpha"])): score
        for p, score in zip(points, scores, strict=True)
    }
    single = all_scores(X, Y, folds, targets, penalty, projected)
    assert len(single) >= len(WIDTHS) * len(counts) * len(ALPHAS)
    for (width, count, pi, mu), score in single.items():
        alpha = pi if penalty == "shared" else {"pi": pi, "mu": mu}
        assert score == pytest.approx(lookup[width, count, str(alpha)], rel=1e-10)


@each_case("center", [True, False])
@each_case("model", [GaussianModel(), GaussianModel("full")])
@each_case("form", ["reduced", "full"])
def test_gaussian_selection_equals_grid_search(center, model, form):
    X, Y, folds = small_data()
    targets = {1: fold_targets(model, Y, folds, form)}
    grams = shared_grams(X, folds, center)
    choice = select(Y, folds, grams, None, targets, ALPHAS, [], "shared", False)
    points, scores = searched(
        OutputFisherRegressor(model, form=form, preimage="closed_form", center=center),
        {"gamma": WIDTHS, "alpha": ALPHAS},
        X,
        Y,
        folds,
    )
    best = points[int(scores.argmin())]
    assert (choice.kernel.width, choice.alpha_rest) == (best["gamma"], best["alpha"])
    assert choice.score == pytest.approx(scores.min(), rel=1e-10)


@pytest.mark.parametrize("penalty", ["shared", "per_block"])
@pytest.mark.parametrize("shared", [True, False])
def test_weak_selection_equals_grid_search(penalty, shared):
    X, Y, folds = small_data()
    generator = np.random.default_rng(3)
    X_weak, memberships = generator.normal(size=(9, 4)), generator.dirichlet(np.ones(3), size=9)
    model = GaussianMixtureModel(3, "tied_spherical", n_init=1, max_iter=10)
    targets = {3: fold_targets(model, Y, folds, weak_memberships=memberships)}
    weights = [0.1, 2.0]
    weak_grams, grams = {}, {}
    for width in WIDTHS:
        pairs, labelled = [], []
        for fold in range(N_FOLDS):
            kept, heldout = X[folds != fold], X[folds == fold]
            rows = np.vstack([kept, X_weak])
            pairs.append(
                (gram_matrix(rows, None, "rbf", width), gram_matrix(heldout, rows, "rbf", width))
            )
            labelled.append(
                (gram_matrix(kept, None, "rbf", width), gram_matrix(heldout, kept, "rbf", width))
            )
        weak_grams[width] = WeakGrams(pairs, len(X_weak), folds, shared=shared)
        grams[width] = SeparateGrams(labelled, folds)
    n_fold_rows = len(X) * (N_FOLDS - 1) // N_FOLDS
    alphas = [{"pi": pi, "mu": mu} for pi in ALPHAS for mu in ALPHAS]
    points, scores = searched(
        OutputFisherRegressor(model),
        {
            "gamma": WIDTHS,
            "alpha": ALPHAS if penalty == "shared" else alphas,
            "weak_weight": [weight / (2 * n_fold_rows) for weight in weights],
        },
        X,
        Y,
        folds,
        X_weak=X_weak,
        weak_responsibilities=memberships,
    )
    theirs = {}
    for point, score in zip(points, scores, strict=True):
        alpha = point["alpha"]
        pair = (alpha, alpha) if penalty == "shared" else (alpha["pi"], alpha["mu"])
        weight = round(2 * n_fold_rows * point["weak_weight"], 9)
        theirs[point["gamma"], *pair, weight] = score
    # Grids of several shapes and orders, so that each has its optimum at another index.
    grids = [ALPHAS, ALPHAS[::-1], ALPHAS[:2], ALPHAS[1:], ALPHAS[2:]]
    for grid, order in itertools.product(grids, [weights, weights[::-1], weights[:1], weights[1:]]):
        choice = select(Y, folds, grams, weak_grams, targets, grid, order, penalty, True)
        competing = {
            (width, pi, mu, weight): score
            for (width, pi, mu, weight), score in theirs.items()
            if {pi, mu} <= set(grid) and weight in order
        }
        chosen = choice.kernel.width, choice.alpha_leading, choice.alpha_rest, choice.weak_weight
        assert chosen == min(competing, key=competing.get)
        assert choice.score == pytest.approx(min(competing.values()), rel=1e-10)


def test_infinite_penalties_may_be_best():
    # Inputs without any relation to the outputs: the training mean is the best prediction.
    generator = np.random.default_rng(0)
    X, Y = generator.normal(size=(40, 5)), generator.normal(size=(40, 2))
    folds = np.arange(40) % N_FOLDS
    targets = {None: [FoldTargets(None, None, Y)] * N_FOLDS}
    grid = [1e-6, 1e-3, np.inf]
    choice = select(Y, folds, shared_grams(X, folds), None, targets, grid, [], "shared", False)
    assert choice.alpha_rest == np.inf
    assert choice.score == pytest.approx(1.0)


def test_constant_outputs_leave_the_first_grid_point():
    X, Y, folds = small_data()
    Y = np.full_like(Y, 0.1)
    targets = {None: [FoldTargets(None, None, Y)] * N_FOLDS}
    choice = select(Y, folds, shared_grams(X, folds), None, targets, ALPHAS, [], "shared", False)
    assert (choice.kernel.width, choice.alpha_rest, choice.score) == (WIDTHS[0], ALPHAS[0], np.inf)


def test_wild_grid_points_do_not_disturb_the_others():
    # Without centring, memberships near zero make some closed-form predictions enormous.
    X, Y, folds = small_data()
    model = GaussianMixtureModel(6, n_init=1)
    grid = [1e-6, 1e-2, 1e4]
    targets = {6: fold_targets(model, Y, folds)}
    grams = shared_grams(X, folds, center=False)
    choice = select(Y, folds, grams, None, targets, grid, [], "per_block", False)
    points, scores = searched(
        OutputFisherRegressor(model, preimage="closed_form", center=False),
        {"gamma": WIDTHS, "alpha": [{"pi": pi, "mu": mu} for pi in grid for mu in grid]},
        X,
        Y,
        folds,
    )
    assert scores.max() > 100 * scores.min()
    best = points[int(scores.argmin())]
    assert choice.kernel.width == best["gamma"]
    assert {"pi": choice.alpha_leading, "mu": choice.alpha_rest} == best["alpha"]
    assert choice.score == pytest.approx(scores.min(), rel=1e-9)
