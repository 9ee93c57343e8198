"""Mixtures from a stream, and the Fisher vector layer, beside other libraries.

``partial_fit`` of a batch is compared with an EM iteration of scikit-learn, and with ``summarize``
and ``from_summaries`` of pomegranate. Ascents of F on the sums of a batch are compared with the
same ascents by automatic differentiation of torch through its rows, and the layer forward and
backward with torch's.
"""

import warnings

import numpy as np

from benchmarks.measuring import Measurement, at_least, at_most, compared, where_installed
from workflow_lib import GaussianMixtureModel, OnlineGaussianMixtureModel
from workflow_lib.models.mixtures.mixture_gradient import Coordinates, expected_gradient

TITLE = "Mixtures from a stream, and the Fisher vector layer"

ROWS = 2000
# Columns and components.
SHAPES = [(32, 16), (64, 64)]
ITERATIONS = 5
ASCENTS = 100
BAGS, BAG_ROWS = 20, 256
EQUAL = 1e-6
ROOTS_EQUAL = 1e-3

ITERATION_GAIN, POMEGRANATE_GAIN, ASCENT_GAIN = 1.3, 15, 40
NOTE = "n is rows of a batch, p is columns"


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: every shape, and the peers that are installed."""
    shapes = [{"d": d, "components": c} for d, c in (SHAPES[:1] if quick else SHAPES)]
    peers = {"sklearn": ["batches"], "pomegranate": ["summaries"], "torch": ["ascents", "layer"]}
    return [
        measurement
        for package, functions in peers.items()
        for measurement in where_installed(
            package, [Measurement(name, shape) for name in functions for shape in shapes]
        )
    ]


def rows_of(d: int, components: int, seed: int = 0) -> np.ndarray:
    """Return rows of a mixture (ROWS, d), which is the same for every seed."""
    centres = 2.0 * np.random.default_rng(0).normal(size=(components, d))
    random = np.random.default_rng(seed + 1)
    return centres[random.integers(components, size=ROWS)] + random.normal(size=(ROWS, d))


def learned(d: int, components: int) -> OnlineGaussianMixtureModel:
    """Return a mixture that has seen one batch."""
    return OnlineGaussianMixtureModel(components).partial_fit(rows_of(d, components))


def in_words(d: int, components: int) -> str:
    """Return the shape."""
    return f"{components} components, {d} columns"


def batches(d: int, components: int) -> list[dict[str, str]]:
    """Time a batch, and an iteration of scikit-learn."""
    from sklearn.mixture import GaussianMixture

    rows, model = rows_of(d, components, 1), learned(d, components)
    peer = GaussianMixture(
        components,
        covariance_type="diag",
        max_iter=ITERATIONS,
        tol=0.0,
        weights_init=model.weights_,
        means_init=model.means_,
        precisions_init=1.0 / model.covariances_,
        init_params="random_from_data",
    )

    def iterations():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return peer.fit(rows)

    return compared(
        ROWS,
        d,
        {
            f"a batch by stepwise EM: {in_words(d, components)}": lambda: model.partial_fit(rows),
            "EM iteration by scikit-learn": iterations,
        },
        at_least(ITERATION_GAIN),
        work={"EM iteration by scikit-learn": 1.0 / ITERATIONS},
        note=f"{NOTE}; a fifth of five iterations, with their preparation",
    )


def summaries(d: int, components: int) -> list[dict[str, str]]:
    """Time a batch, and that of pomegranate."""
    import torch
    from pomegranate.distributions import Normal
    from pomegranate.gmm import GeneralMixtureModel

    torch.set_num_threads(1)
    rows, model = rows_of(d, components, 1), learned(d, components)
    parts = [
        Normal(torch.tensor(mean), torch.tensor(variances), covariance_type="diag", min_cov=1e-3)
        for mean, variances in zip(model.means_, model.covariances_)
    ]
    peer = GeneralMixtureModel(parts, priors=torch.tensor(model.weights_), inertia=0.5)
    tensor = torch.tensor(rows)

    def peer_batch():
        peer.summarize(tensor)
        peer.from_summaries()

    return compared(
        ROWS,
        d,
        {
            f"a batch by stepwise EM: {in_words(d, components)}": lambda: model.partial_fit(rows),
            "summarize and from_summaries of pomegranate": peer_batch,
        },
        at_least(POMEGRANATE_GAIN),
        note=NOTE,
    )


def ascents(d: int, components: int) -> list[dict[str, str]]:
    """Time ascents of F on the sums of a batch, and by torch through its rows."""
    import torch

    from workflow_lib.papers.palasek import fisher_layer

    torch.set_num_threads(1)
    rows, coordinates = coordinates_of(d, components)
    powers = fisher_layer.powers_of(rows)
    posterior = fisher_layer.posterior_of(powers, coordinates)
    sums = fisher_layer.mean_sums(powers, posterior)
    rate = 1e-3

    def ours():
        moved = coordinates
        for _ in range(ASCENTS):
            steps = expected_gradient(*sums, moved)
            moved = Coordinates(*(own + rate * steps[n] for n, own in moved._asdict().items()))
        return moved

    x, q = torch.tensor(rows), torch.tensor(posterior)

    def peer():
        parts = [torch.tensor(values, requires_grad=True) for values in coordinates]
        for _ in range(ASCENTS):
            alpha, means, deviations = parts
            joint = torch.log_softmax(alpha, 0) - torch.log(deviations).sum(1)
            distance = ((x[:, None] - means) / deviations).square().sum(2)
            objective = (q * (joint - 0.5 * distance)).sum() / len(x)
            gradients = torch.autograd.grad(objective, parts)
            parts = [
                (own + rate * step).detach().requires_grad_() for own, step in zip(parts, gradients)
            ]
        return Coordinates(*(part.detach().numpy() for part in parts))

    name = "the same by automatic differentiation of torch, on rows"
    return compared(
        ROWS,
        d,
        {f"{ASCENTS} ascents on sums: {in_words(d, components)}": ours, name: peer},
        at_least(ASCENT_GAIN, EQUAL),
        agreement=largest_difference,
        once=(name,),
        note=NOTE,
    )


def layer(d: int, components: int) -> list[dict[str, str]]:
    """Time the Fisher vectors of bags and their gradients, and torch's."""
    import torch

    from workflow_lib.papers.palasek import fisher_layer

    torch.set_num_threads(1)
    _, coordinates = coordinates_of(d, components)
    random = np.random.default_rng(5)
    bags = list(random.normal(size=(BAGS, BAG_ROWS, d)))
    directions = random.normal(size=(BAGS, components + 2 * components * d))

    def ours():
        passed = fisher_layer.forward(bags, coordinates)
        return Coordinates(**fisher_layer.backward(passed, coordinates, directions))

    x, v = torch.tensor(np.array(bags)), torch.tensor(directions)

    def peer():
        parts = [torch.tensor(values, requires_grad=True) for values in coordinates]
        value = (torch_vectors(torch, x, *parts) * v).sum()
        return Coordinates(*(part.numpy() for part in torch.autograd.grad(value, parts)))

    return compared(
        BAGS * BAG_ROWS,
        d,
        {
            f"Fisher vectors of {BAGS} bags and their gradients: {in_words(d, components)}": ours,
            "the same by torch": peer,
        },
        at_most(1.0, ROOTS_EQUAL),
        agreement=largest_difference,
        note="n is rows of all bags, p is columns; the derivative of a root near zero "
        "magnifies rounding",
    )


def torch_vectors(torch, x, alpha, means, deviations):
    """Return improved Fisher vectors (n, C + 2 C d) of bags (n, m, d) by products of matrices.

    Numbers of a component far from all rows of a bag are 0, where torch's gradient of the root
    would be NaN.
    """
    weights, precisions = torch.softmax(alpha, 0), deviations**-2
    joint = x.square() @ (-0.5 * precisions.T) + x @ (means * precisions).T
    joint = joint + alpha - torch.log(deviations).sum(1) - 0.5 * (means**2 * precisions).sum(1)
    q = torch.softmax(joint, 2).transpose(1, 2) / x.shape[1]
    counts, first, second = q.sum(2), q @ x, q @ x.square()
    roots = weights.sqrt()
    by_means = (first - means * counts[..., None]) / (deviations * roots[:, None])
    squares = second - 2 * means * first + (means**2 - deviations**2) * counts[..., None]
    by_deviations = squares / (2**0.5 * deviations**2 * roots[:, None])
    parts = [(counts - weights) / roots, by_means.flatten(1), by_deviations.flatten(1)]
    raw = torch.cat(parts, 1)
    rooted = torch.sign(raw) * raw.abs().clamp_min(1e-300).sqrt()
    return rooted / rooted.norm(dim=1, keepdim=True)


def coordinates_of(d: int, components: int) -> tuple[np.ndarray, Coordinates]:
    """Return rows in units of their spread, and the coordinates of a mixture of them."""
    rows = rows_of(d, components)
    rows = (rows - rows.mean(axis=0)) / rows.std()
    model = GaussianMixtureModel(components, "diag", n_init=1, max_iter=3).fit(rows)
    return rows, Coordinates(np.log(model.weights_), model.means_, np.sqrt(model.covariances_))


def largest_difference(ours: Coordinates, theirs: Coordinates) -> float:
    """Return the largest difference of arrays, relative to the largest number of each."""
    return max(
        float(np.abs(own - other).max() / np.abs(other).max()) for own, other in zip(ours, theirs)
    )
