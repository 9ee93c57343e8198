"""The stage of the data profile: facts about a table, and into how many groups its outputs fall."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.seeds import derive_seed
from workflow_lib.core.whole_files import write_text
from workflow_lib.data.bags_of_rows import profiled
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.table.data_profile import data_profile
from workflow_lib.tabular.table_file import MISSING_VALUES, read_table

MAX_COMPONENTS = 8

MIN_ROWS_PER_COMPONENT = 5
"""Complete rows required per component: fewer do not make a group."""

MAX_ROWS = 5000
"""Most rows that the mixtures are fitted to, a random sample of larger tables."""

MAX_FULL_OUTPUTS = 20
"""Most outputs for which full covariances are compared with spherical ones."""


def run(dataset: Path, file: Path, options: Mapping[str, Any], output: Path, seed: int) -> None:
    """Write the facts about a table as JSON.

    Raises UserError when the table cannot be read.

    Parameters
    ----------
    dataset : Path
        The dataset artifact that the reader made from the file.
    file : Path
        The table itself.
    options : mapping
        Options of the reader ``table``, or ``bag_table``: the profile is then that of the bags.
    output : Path
        The JSON file: what `data_profile` returns; ``mixture`` (see `outputs_mixture`), null for
        classes; and of bags ``bag_rows``, the number of their rows.
    """
    missing = options.get("missing_values") or MISSING_VALUES
    table = read_table(file, missing, options.get("delimiter"), sheet=options.get("sheet"))
    table = table.with_formats(options.get("number_formats") or {})
    if "bag" in options:
        bags, roles = profiled(table, options)
        facts = data_profile(bags, roles) | {"bag_rows": table.n_rows}
    else:
        facts = data_profile(table, options)
    tree = read_artifact(dataset, "dataset")
    facts["mixture"] = None if "classes" in tree else outputs_mixture(tree["outputs"], seed)
    text = json.dumps(facts, indent=1, ensure_ascii=False, allow_nan=False)
    write_text(output, text + "\n")


def outputs_mixture(outputs: np.ndarray, seed: int) -> dict[str, Any] | None:
    """Return the number of groups in outputs (n, d), according to Gaussian mixtures.

    Mixtures of 1 to `MAX_COMPONENTS` components, with spherical and (with at most
    `MAX_FULL_OUTPUTS` outputs) full covariances, are fitted to the complete rows, standardised.
    The mixture with the lowest Bayesian information criterion, BIC = -2 log L + p log n (Schwarz
    1978) with p free parameters, is reported. It describes the data; no method uses it.

    The dict has ``n_components``, ``covariance_type``, ``bic`` (by covariance type, a list over 1,
    2, ... components), ``sizes`` (rows of each component, largest first) and ``n_rows``; None with
    fewer complete rows than two components need, or where no output varies.
    """
    complete = outputs[~np.isnan(outputs).any(axis=1)]
    if len(complete) < 2 * MIN_ROWS_PER_COMPONENT:
        return None
    if len(complete) > MAX_ROWS:
        generator = np.random.default_rng(derive_seed(seed, "rows"))
        complete = complete[np.sort(generator.choice(len(complete), MAX_ROWS, replace=False))]
    # Relative to the largest, because squares of huge numbers overflow.
    largest = np.abs(complete).max(axis=0)
    scaled = complete / np.where(largest > 0, largest, 1.0)
    deviations = scaled.std(axis=0)
    varying = deviations > 1e-12
    if not varying.any():
        return None
    rows = ((scaled - scaled.mean(axis=0)) / np.where(varying, deviations, 1.0))[:, varying]
    n_rows, dimension = rows.shape
    shapes = ("spherical", "full") if dimension <= MAX_FULL_OUTPUTS else ("spherical",)
    largest_count = min(MAX_COMPONENTS, n_rows // MIN_ROWS_PER_COMPONENT)
    criteria: dict[str, list[float]] = {}
    best: tuple[float, GaussianMixtureModel] | None = None
    for shape in shapes:
        criteria[shape] = []
        for count in range(1, largest_count + 1):
            model = GaussianMixtureModel(
                count, covariance_type=shape, random_state=derive_seed(seed, shape, count)
            )
            with warnings.catch_warnings():
                # Outputs with few distinct rows have fewer components, as expected.
                warnings.simplefilter("ignore")
                model.fit(rows)
            free = dimension * (dimension + 1) // 2 if shape == "full" else 1
            n_parameters = model.n_components_ * (1 + dimension + free) - 1
            log_likelihood = n_rows * float(model.log_likelihoods_[-1])
            criterion = -2.0 * log_likelihood + n_parameters * math.log(n_rows)
            criteria[shape].append(criterion)
            if best is None or criterion < best[0]:
                best = criterion, model
    model = best[1]
    likeliest = model.responsibilities(rows).argmax(axis=1)
    members = np.bincount(likeliest, minlength=model.n_components_)
    return {
        "n_components": int(model.n_components_),
        "covariance_type": model.covariance_type,
        "bic": criteria,
        "sizes": sorted(members.tolist(), reverse=True),
        "n_rows": n_rows,
    }
