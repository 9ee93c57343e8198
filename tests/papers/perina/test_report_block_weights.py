"""Shares of the blocks of score spaces: those of the weights, or gradients, of the machines."""

import numpy as np
import pytest
from reader_samples import refusal
from sklearn.svm import SVC
from small_data import numerical_jacobian
from test_report_sequence_posteriors import (
    LABELS,
    METHOD,
    model_of,
    sequences_of,
    write_sequence_sample,
)

from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.inputs.score_columns import ScoreColumns
from workflow_lib.papers.perina.figures import block_weights
from workflow_lib.papers.perina.score_space import ScoreSpace

COST = 10.0


def training_columns():
    """Return the standardised columns (4, m) of the training rows, and their score space."""
    space = ScoreSpace([model_of(1, 3), model_of(0, 3)], level="symbol")
    columns = space.transform(sequences_of(range(4)))
    return ScoreColumns.fit(columns), columns, space


def test_squared_gradients_of_a_linear_machine_are_its_squared_weights():
    columns_map, columns, _ = training_columns()
    # More columns than rows: the machine sees coordinates in the span of the rows.
    assert columns_map.basis.shape[1] == 4
    found = block_weights.squared_gradients(
        columns_map, columns, LABELS[:4], 2, InputKernel("linear", None), COST
    )
    Z, n_inputs = columns_map.standardised(columns), columns_map.of(columns).shape[1]
    cost = COST / n_inputs / columns_map.unit**2
    weights = SVC(C=cost, kernel="linear").fit(Z, LABELS[:4]).coef_[0]
    expected = weights**2 / (weights**2).sum()
    np.testing.assert_allclose(found / found.sum(), expected, rtol=1e-2, atol=1e-5)


def test_squared_gradients_of_an_rbf_machine_equal_differences():
    columns_map, columns, _ = training_columns()
    kernel = InputKernel("rbf", 1.0)
    found = block_weights.squared_gradients(columns_map, columns, LABELS[:4], 2, kernel, COST)
    Z, inputs = columns_map.standardised(columns), columns_map.of(columns)
    gamma = block_weights.kernel_gamma("rbf", 1.0, inputs.shape[1]) / columns_map.unit**2
    machine = SVC(C=COST, gamma=gamma).fit(Z, LABELS[:4])
    gradients = [
        numerical_jacobian(lambda z: machine.decision_function(z[None]), row)[0] for row in Z
    ]
    np.testing.assert_allclose(found, np.mean(np.square(gradients), axis=0), rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize("kernel", [{"kernel": "linear"}, {"kernel": "rbf", "width": 1.0}])
def test_bars_are_the_shares_of_the_blocks(tmp_path, kernel):
    files, settings = write_sequence_sample(tmp_path, kernel=kernel)
    figure = draw(files, settings["shown_methods"])
    (axis,) = figure.axes
    columns_map, columns, space = training_columns()
    chosen = InputKernel(kernel["kernel"], kernel.get("width"))
    squares = block_weights.squared_gradients(columns_map, columns, LABELS[:4], 2, chosen, COST)
    expected = [
        squares[np.isin(columns_map.kept, range(block.start, block.stop))].sum() / squares.sum()
        for block in space.blocks.values()
    ]
    (bars,) = axis.containers
    np.testing.assert_allclose([bar.get_width() for bar in bars], expected, rtol=1e-9)
    names = [tick.get_text() for tick in axis.get_yticklabels()]
    assert names[0] == "initial entropy, b" and names[-1] == "emission energy, a"
    is_linear = int(kernel["kernel"] == "linear")
    assert axis.get_title(loc="left") == f"nFESS; linear kernel in {is_linear} of 1 split"


def test_other_methods_are_refused(tmp_path):
    files, _ = write_sequence_sample(tmp_path, kernel={"kernel": "linear"})
    for change in ({"score_space": None}, {"regressor": "most_probable_class"}):
        message = refusal(draw, files, {"nfess": METHOD | change})
        assert "no shown method that is a support vector machine on a score space" in message


def draw(files, methods):
    return block_weights.draw(
        files["dataset"],
        files["splits"],
        {"hmm": files["all_input_models"]},
        {"nfess": files["all_regressions"]},
        shown_methods=methods,
        title="Toy",
    )
