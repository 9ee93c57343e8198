"""Hidden Markov models with random parameters, random sequences, and sums over all paths."""

import itertools

import numpy as np

from workflow_lib import HiddenMarkovModel

LENGTHS = (5, 1, 3, 5, 2)
EMISSIONS = ("categorical", "gaussian")


def random_rows(random, *shape) -> np.ndarray:
    """Return random distributions along the last axis."""
    rows = random.gamma(1.0, size=shape)
    return rows / rows.sum(axis=-1, keepdims=True)


def model_with(emission: str, n_states: int = 3, seed: int = 0) -> HiddenMarkovModel:
    """Return a model with random parameters; 4 letters, or 2 numbers per step."""
    random = np.random.default_rng(seed)
    model = HiddenMarkovModel(n_states, emission)
    model.initial_ = random_rows(random, n_states)
    model.transitions_ = random_rows(random, n_states, n_states)
    if emission == "categorical":
        model.emissions_ = random_rows(random, n_states, 4)
    else:
        model.means_ = random.normal(size=(n_states, 2))
        model.variances_ = random.uniform(0.3, 2.0, size=(n_states, 2))
    return model


def sequences_of(emission: str, lengths=LENGTHS, seed: int = 1) -> list[np.ndarray]:
    """Return random sequences; one letter in five or so is unknown."""
    random = np.random.default_rng(seed)
    if emission == "categorical":
        return [random.integers(-1, 4, length) for length in lengths]
    return [random.normal(scale=1.5, size=(length, 2)) for length in lengths]


def likelihoods(model, sequence) -> np.ndarray:
    """Return p(x_k | state) (K, S)."""
    if model.emission == "categorical":
        return np.where(sequence >= 0, model.emissions_[:, sequence], 1.0).T
    distances = (sequence[:, None] - model.means_) ** 2 / model.variances_
    return np.exp(-0.5 * (distances + np.log(2 * np.pi * model.variances_)).sum(axis=2))


def enumerated(model, sequence):
    """Return log p, gamma and xi as sums over all paths."""
    n_states, length = len(model.initial_), len(sequence)
    b = likelihoods(model, sequence)
    gamma, xi = np.zeros((length, n_states)), np.zeros((length - 1, n_states, n_states))
    for path in itertools.product(range(n_states), repeat=length):
        p = model.initial_[path[0]] * np.prod(b[range(length), path])
        p *= np.prod([model.transitions_[pair] for pair in itertools.pairwise(path)])
        gamma[range(length), path] += p
        xi[range(length - 1), path[:-1], path[1:]] += p
    total = gamma[0].sum()
    return np.log(total), gamma / total, xi / total
