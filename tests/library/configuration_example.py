"""A small config/ folder for the tests of the configuration."""

from pathlib import Path

import yaml

DATASET = {
    "title": "Linnerud",
    "description": "Exercises and physiology of twenty people.",
    "reader": "linnerud",
    "licence": "BSD-3-Clause",
    "citation": "Tenenhaus (1998)",
}
MIXTURE = {"kind": "gaussian_mixture", "covariance_type": "tied_spherical"}
RIDGE = {
    "label": "Ridge",
    "summary": "Kernel ridge regression.",
    "color": "#000000",
    "marker": "o",
    "in_default": True,
    "grid": {"alpha": [0.1, 1.0], "width": [1]},
}
EMBEDDED = RIDGE | {
    "label": "Embedded",
    "model": "mixture",
    "form": "reduced",
    "preimage": "projected",
    "penalty": "per_block",
    "grid": {"alpha": [0.1, float("inf")], "width": [1], "n_components": [1, 2, 4]},
}
WEAK = EMBEDDED | {"label": "Weak", "weak": True, "grid": EMBEDDED["grid"] | {"weak_weight": [1.0]}}
FOREST = RIDGE | {
    "label": "Forest",
    "regressor": "random_forest",
    "grid": {"max_features": [1.0], "n_trees": 10},
}
EXPERIMENT = {"title": "An experiment", "dataset": "people"}
RUN = {"seed": 1, "n_splits": 2, "experiments": ["first"]}


def write(folder: Path, name: str, content: dict | str) -> None:
    """Write one YAML file, for example ``methods/ridge``, below `folder`."""
    path = folder / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
    path.write_text(text, encoding="utf-8")


def write_example(folder: Path) -> Path:
    """Write the whole example below `folder` and return it."""
    write(folder, "datasets/people", DATASET)
    write(folder, "models/mixture", MIXTURE)
    write(folder, "methods/ridge", RIDGE)
    write(folder, "methods/embedded", EMBEDDED)
    write(folder, "methods/weak", WEAK)
    write(folder, "methods/forest", FOREST)
    write(folder, "experiments/first", EXPERIMENT)
    return folder
