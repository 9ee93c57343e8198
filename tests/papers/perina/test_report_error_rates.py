"""Figures of error rates and accuracies against a hyper-parameter that methods share."""

import numpy as np
import pytest

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.validation_curves import NO_KERNEL, GridErrors
from workflow_lib.papers.perina.figures import score_over_states
from workflow_lib.report.figures import error_over_cost

SHOWN = {
    "nfess": {"label": "nFESS", "color": "#0072B2", "marker": "o"},
    "map-hmm": {"label": "MAP", "color": "#D55E00", "marker": "s"},
}


@pytest.fixture
def regressions(tmp_path):
    """Return the files of two splits of a machine on scores and of the most probable model."""
    found = {method: [] for method in SHOWN}
    for split, add in enumerate((0.0, 0.1)):
        for method, kernel, prefix in (
            ("nfess", "linear", "score_space__"),
            ("map-hmm", NO_KERNEL, "estimator__"),
        ):
            errors = GridErrors()
            chosen = {f"{prefix}n_states": 4}
            rates = np.array([0.3, 0.1]) + add
            # The criterion has another unit, and another order.
            errors.add(kernel, {f"{prefix}n_states": [2, 4]}, [9.0, 8.0], error_rates=rates)
            if method == "nfess":
                chosen["cost"] = 0.1
                axes = {"cost": [0.1, 10.0]}
                errors.add(kernel, axes, [1.0, 5.0], error_rates=[0.2 + add, 0.1 + add])
            item = {"training_size": 20, "weak_size": 0, "components": "selected"}
            found[method].append(tmp_path / f"{method}-{split}.h5")
            item |= errors.entry(kernel, chosen)
            write_artifact(found[method][-1], {"n-20": item}, "regression")
    return found


def lines_of(figure) -> list:
    return [c.lines[0].get_data() for c in figure.axes[0].containers]


def test_error_rates_against_the_cost_are_means_over_splits(regressions):
    figure = error_over_cost.draw(regressions, title="Toy", shown_methods=SHOWN)
    assert len(figure.axes) == 1
    (line,) = lines_of(figure)
    np.testing.assert_allclose(line, [[0.1, 10.0], [25.0, 15.0]])
    # The ring is where selection was, not where the rate is lowest.
    (ring,) = figure.axes[0].collections[1:]
    np.testing.assert_allclose(ring.get_offsets(), [[0.1, 25.0]])


def test_accuracies_against_states_whatever_names_them(regressions):
    figure = score_over_states.draw(regressions, title="Toy", shown_methods=SHOWN)
    for line in lines_of(figure):
        np.testing.assert_allclose(line, [[2.0, 4.0], [65.0, 85.0]])
    assert figure.axes[0].get_xlabel() == "number of states"
    assert len(lines_of(figure)) == 2
    with pytest.raises(UserError, match="no method holds error rates .* of n_states or n_topics"):
        score_over_states.draw({}, title="Toy", shown_methods=SHOWN)
