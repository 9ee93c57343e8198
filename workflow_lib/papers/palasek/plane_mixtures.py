"""Mixtures in the plane learned by EM and from a stream, beside the true one.

The setting of Palasek and Patras (2017, section 3.1): 32 spherical Gaussians with random means,
deviations and weights; all models start from the same k-means++ means, equal weights and one
deviation. Rates of gradients are for rows of unit variance.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.mixtures.online_mixture import OnlineGaussianMixtureModel


class Size(NamedTuple):
    """Of a study: draws, components, training rows (and as many test rows), batches of a stream."""

    draws: int
    components: int
    rows: int
    batches: int


SIZE = Size(draws=10, components=32, rows=10_000, batches=300)
"""As in the paper; 10 draws instead of 3."""

SIDE = 10.0
"""Means are uniform from -SIDE to SIDE in both coordinates."""

FIRST_DEVIATION = 1.0
FLOOR = 1e-4
"""Smallest variance, as a share of that of the rows."""

BATCH, PASSES = 500, 10


class Variant(NamedTuple):
    """A way to learn a mixture: name, settings, and passes over batches or all rows at once."""

    name: str
    settings: dict[str, Any]
    passes: int = PASSES
    in_batches: bool = True


def _gradient(
    name: str, optimiser: str, rate: float, m_steps: int, in_batches: bool = True
) -> Variant:
    settings = {"optimiser": optimiser, "learning_rate": rate, "m_steps": m_steps}
    passes = PASSES if in_batches else 30
    return Variant(name, {"update": "gradient", **settings}, passes, in_batches)


VARIANTS = (
    Variant("EM", {"update": "natural", "step": 1.0}, 100, in_batches=False),
    _gradient("Adagrad 1, 1000 M-steps", "adagrad", 1.0, 1000, in_batches=False),
    _gradient("Nesterov 10, 1000 M-steps", "nesterov", 10.0, 1000, in_batches=False),
    _gradient("RMSProp 0.01, 1000 M-steps", "rmsprop", 0.01, 1000, in_batches=False),
    _gradient("Adagrad 1, 100 M-steps, batches", "adagrad", 1.0, 100),
    _gradient("Adagrad 1, 10 M-steps, batches", "adagrad", 1.0, 10),
    _gradient("Adagrad 0.03, 10 M-steps, batches", "adagrad", 0.03, 10),
    Variant("stepwise EM, batches", {"update": "stepwise"}),
    Variant("natural gradient, batches", {"update": "natural"}),
)
"""Those of the paper's Figures 1 to 3, then a lower rate and the updates without a rate."""


class Truth(NamedTuple):
    """A mixture of spherical Gaussians: weights (k,), means (k, 2), deviations (k,)."""

    weights: np.ndarray
    means: np.ndarray
    deviations: np.ndarray

    def sample(self, n_rows: int, random: np.random.Generator) -> np.ndarray:
        """Return rows (n_rows, 2)."""
        drawn = random.choice(len(self.weights), n_rows, p=self.weights)
        noise = random.normal(size=(n_rows, 2))
        return self.means[drawn] + self.deviations[drawn, None] * noise

    def model(self) -> GaussianMixtureModel:
        """Return it as a model, for log-likelihoods."""
        model = GaussianMixtureModel(len(self.weights), "diag")
        covariances = np.repeat(self.deviations[:, None] ** 2, 2, axis=1)
        model._set_parameters(self.weights, self.means, covariances)
        return model


class Draw(NamedTuple):
    """A true mixture, its training rows, and for each variant the model and its shortfall.

    A shortfall is how far the mean log-likelihood of the test rows is below that of the true
    mixture, in nats; a model that diverged is None, with an infinite shortfall.
    """

    truth: Truth
    train: np.ndarray
    true_score: float
    models: dict[str, GaussianMixtureModel | None]
    shortfalls: dict[str, float]


def random_truth(random: np.random.Generator, n_components: int) -> Truth:
    """Return a random mixture, with deviations from 0.2 to 1."""
    means = random.uniform(-SIDE, SIDE, (n_components, 2))
    deviations = random.uniform(0.2, 1.0, n_components)
    return Truth(random.dirichlet(np.full(n_components, 3.0)), means, deviations)


def draws(seed: int, size: Size) -> Iterator[Draw]:
    """Yield the draws, each with a model of every one of `VARIANTS` and of the start."""
    n_rows, n_components = size.rows, size.components
    for draw in range(size.draws):
        random = np.random.default_rng([seed, draw])
        truth = random_truth(random, n_components)
        train, test = truth.sample(n_rows, random), truth.sample(n_rows, random)
        true_score = float(truth.model().score_samples(test).mean())
        means = k_means_plus_plus(train, n_components, random)
        models: dict[str, GaussianMixtureModel | None] = {
            "start": started(OnlineGaussianMixtureModel(n_components), train, means)
        }
        for variant in VARIANTS:
            models[variant.name] = _learned(variant, train, means, random)
        shortfalls = {
            name: np.inf if model is None else true_score - float(model.score_samples(test).mean())
            for name, model in models.items()
        }
        yield Draw(truth, train, true_score, models, shortfalls)


def k_means_plus_plus(
    rows: np.ndarray, n_components: int, random: np.random.Generator
) -> np.ndarray:
    """Return the k-means++ centres (n_components, 2)."""
    from sklearn.cluster import kmeans_plusplus

    return kmeans_plusplus(rows, n_components, random_state=int(random.integers(2**31)))[0]


def started(
    model: OnlineGaussianMixtureModel, rows: np.ndarray, means: np.ndarray
) -> OnlineGaussianMixtureModel:
    """Return the model before its first batch, with these means, equal weights, one deviation."""
    settings = {**model.get_params(), "variance_floor": FLOOR}
    # Its first batch gives the centre and the spread; without M-steps it moves nothing else.
    model = OnlineGaussianMixtureModel(**settings)
    tree = OnlineGaussianMixtureModel(**{**settings, "m_steps": 0}).partial_fit(rows).state()
    shape, centred = means.shape, means - tree["centre"]
    if model.update == "gradient":
        deviations = np.full(shape, FIRST_DEVIATION) / tree["spread"]
        scaled = centred / tree["spread"]
        tree["coordinates"] = dict(alpha=np.zeros(len(means)), means=scaled, deviations=deviations)
    else:
        weights = np.full(len(means), 1.0 / len(means))
        variances = np.full(shape, FIRST_DEVIATION**2)
        tree["parameters"] = dict(
            weights=weights[None], means=centred[None], covariances=variances[None]
        )
        # Statistics of an average row of this mixture.
        second = weights[:, None] * (variances + centred**2)
        tree["running"] = dict(
            zip(tree["running"], (weights[None], (weights[:, None] * centred)[None], second[None]))
        )
    return model.with_state({**tree, "n_batches": 0, "n_rows": 0, "scores": np.empty(0)})


def _learned(
    variant: Variant, train: np.ndarray, means: np.ndarray, random: np.random.Generator
) -> GaussianMixtureModel | None:
    """Return the model after its passes over the training rows, or None if it diverged."""
    model = started(OnlineGaussianMixtureModel(len(means), **variant.settings), train, means)
    for _ in range(variant.passes):
        order = random.permutation(len(train))
        batch = BATCH if variant.in_batches else len(train)
        for first in range(0, len(train), batch):
            try:
                model.partial_fit(train[order[first : first + batch]])
            except ValueError:
                return None
    return model


STREAMS = (
    Variant("stepwise EM, falling steps", {"update": "stepwise"}),
    Variant("stepwise EM, steps of 0.2", {"update": "stepwise", "step": 0.2}),
    Variant("natural gradient, steps of 0.2", {"update": "natural", "step": 0.2}),
    _gradient("Adagrad 0.03, 10 M-steps", "adagrad", 0.03, 10),
    _gradient("RMSProp 0.003, 10 M-steps", "rmsprop", 0.003, 10),
)
"""What follows a stream: steps that fall, and steps that do not."""

JUMP = 5.0


def stream_shortfalls(seed: int, size: Size) -> dict[str, np.ndarray]:
    """Return for each of `STREAMS` the shortfalls (draws, batches) after every batch.

    In the middle of the stream all means move, each by a normal vector of deviation JUMP in both
    coordinates. Test rows are those of the mixture of the batch.
    """
    n_batches, n_components = size.batches, size.components
    found = {variant.name: np.empty((size.draws, n_batches)) for variant in STREAMS}
    for draw in range(size.draws):
        random = np.random.default_rng([seed, draw])
        before = random_truth(random, n_components)
        moved = before.means + JUMP * random.normal(size=before.means.shape)
        halves = before, before._replace(means=moved)
        tests = [truth.sample(4 * BATCH, random) for truth in halves]
        scores = [truth.model().score_samples(test).mean() for truth, test in zip(halves, tests)]
        first = before.sample(size.rows, random)
        means = k_means_plus_plus(first, n_components, random)
        models = [
            started(OnlineGaussianMixtureModel(n_components, **variant.settings), first, means)
            for variant in STREAMS
        ]
        for batch in range(n_batches):
            half = int(batch >= n_batches // 2)
            rows = halves[half].sample(BATCH, random)
            for variant, model in zip(STREAMS, models):
                score = model.partial_fit(rows).score_samples(tests[half]).mean()
                found[variant.name][draw, batch] = scores[half] - score
    return found
