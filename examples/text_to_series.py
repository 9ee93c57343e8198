"""From a text to a short time series: words in, the next eight values out.

A synthetic report says whether a value is going to rise or to fall, and the following series rises
or falls with noise. Texts become weighted counts of words; the outputs are modelled by a
state-space model, whose embedding has one penalty for the path and another for the noise around it.
Run it by ``python examples/text_to_series.py``.
"""

from __future__ import annotations

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, KFold

from workflow_lib import KernelRidgeRegressor, OutputFisherRegressor, StateSpaceModel

WORDS = {
    +1: ["growth", "record", "strong", "demand", "expansion"],
    -1: ["loss", "decline", "weak", "lawsuit", "closure"],
    0: ["quarter", "market", "board", "product", "report", "customers"],
}
N_TRAINING, N_TEST, N_STEPS, N_WORDS = 40, 200, 8, 12
NOISE = 0.6
ALPHAS = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]


def made_reports(n_rows: int, generator: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Return texts and the series (n_rows, 8, 1) that follow them."""
    mood = generator.uniform(-1.0, 1.0, size=n_rows)
    texts = []
    for value in mood:
        rising = (1.0 + value) / 2.0
        kinds = generator.choice([1, -1, 0], p=[rising / 2, (1 - rising) / 2, 0.5], size=N_WORDS)
        texts.append(" ".join(generator.choice(WORDS[kind]) for kind in kinds))
    steps = np.arange(1, N_STEPS + 1)
    path = mood[:, None] * 3.0 * (1.0 - 0.7**steps)
    series = path + NOISE * generator.standard_normal((n_rows, N_STEPS))
    return texts, series[:, :, None]


def main() -> None:
    generator = np.random.default_rng(0)
    texts, Z = made_reports(N_TRAINING, generator)
    new_texts, new_Z = made_reports(N_TEST, generator)
    words = TfidfVectorizer().fit(texts)
    X, new_X = words.transform(texts).toarray(), words.transform(new_texts).toarray()
    folds = KFold(5, shuffle=True, random_state=1)
    path_and_noise = [
        {"initial": path, "state": path, "observation": noise}
        for path in ALPHAS
        for noise in (*ALPHAS, np.inf)
    ]
    methods = {
        "kernel ridge regression": GridSearchCV(
            KernelRidgeRegressor(kernel="linear"),
            {"alpha": ALPHAS},
            cv=folds,
            scoring="neg_mean_squared_error",
        ),
        "state-space embedding": GridSearchCV(
            OutputFisherRegressor(StateSpaceModel(state_dim=1, n_init=1), kernel="linear"),
            {"alpha": path_and_noise},
            cv=folds,
            scoring="neg_mean_squared_error",
        ),
    }
    flat, new_flat = Z[:, :, 0], new_Z[:, :, 0]
    print(f"{N_TRAINING} reports, series of {N_STEPS} steps: root mean squared error, new reports")
    print(f"{'training mean':<24} {error(flat.mean(axis=0), new_flat):.3f}")
    for name, method in methods.items():
        predicted = method.fit(X, flat).predict(new_X)
        print(f"{name:<24} {error(predicted, new_flat):.3f}")
    print(f"{'noise of the series':<24} {NOISE:.3f}")
    for text in ("growth record strong", "loss decline lawsuit"):
        series = method.predict(words.transform([text]).toarray())[0]
        steps = " ".join(f"{value:+.1f}" for value in series)
        print(f"predicted after '{text}': {steps}")


def error(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Return the root mean squared error over all rows and steps."""
    return float(np.sqrt(np.mean((predicted - truth) ** 2)))


if __name__ == "__main__":
    main()
