"""The errors of outputs and classes are those of scikit-learn, split by split."""

import numpy as np
import pytest
from report_samples import write_calibration
from sklearn.metrics import (
    precision_recall_fscore_support,
    r2_score,
    root_mean_squared_error,
)

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.protocol.output_errors import CLASS_MEASURES, output_errors
from workflow_lib.report.calibration_splits import splits_of
from workflow_lib.report.labels import format_in_unit


def test_errors_of_outputs_are_means_over_the_splits(tmp_path):
    tree = read_artifact(write_calibration(tmp_path, n_outputs=3)[0], "calibration")
    for k in range(3):
        tree[f"split-{k}"]["truth"][:, 2] = 0.1
        tree[f"split-{k}"]["reference"][2] = 0.0
    frame = output_errors(splits_of(tree), ["a", "a", "=c"])
    for index in range(2):
        expected = []
        for k in range(3):
            truth, predicted = (
                tree[f"split-{k}"][name][:, index] for name in ("truth", "predicted")
            )
            known = ~np.isnan(truth)
            pair = truth[known], predicted[known]
            expected.append((r2_score(*pair), root_mean_squared_error(*pair)))
        for name, values in zip(("r_squared", "rmse"), np.transpose(expected), strict=True):
            assert frame[name][index] == pytest.approx(values.mean())
            assert frame[f"{name}_deviation"][index] == pytest.approx(values.std(ddof=1))
        parts = [tree[f"split-{k}"] for k in range(3)]
        ratios = [np.sqrt(part["errors"][index] / part["reference"][index]) for part in parts]
        assert frame["relative_error"][index] == pytest.approx(np.mean(ratios))
    # A constant output has an error in its unit, but none relative to its spread.
    assert frame.loc[2, ["relative_error", "r_squared"]].isna().all()
    assert frame["rmse"][2] > 0 and list(frame["n_splits"]) == [3, 3, 0]


def test_errors_of_classes_are_means_over_the_splits_that_have_them():
    random = np.random.default_rng(0)
    tree = {
        f"split-{k}": {
            "rows": np.arange(20),
            "true_classes": random.integers(0, 3 - (k == 1), 20),
            "predicted_classes": random.integers(0, 3, 20),
        }
        for k in range(2)
    }
    frame = output_errors(list(tree.values()), ["a", "b", "c"])
    by_split = np.array(
        [
            precision_recall_fscore_support(
                split["true_classes"],
                split["predicted_classes"],
                labels=range(3),
                zero_division=np.nan,
            )[:3]
            for split in tree.values()
        ]
    )
    for name, values in zip(("precision", "recall", "f1"), by_split.swapaxes(0, 1), strict=True):
        np.testing.assert_allclose(frame[name], np.nanmean(values, axis=0))
    assert set(CLASS_MEASURES) <= set(frame) and list(frame["n_splits"]) == [2, 2, 1]


@pytest.mark.parametrize(
    ("mean", "deviation", "text"),
    [
        (171.77, 18.2, "172 \u00b1 18"),
        (0.01404, 0.00212, "0.0140 \u00b1 0.0021"),
        (0.0, 0.0, "0.00 \u00b1 0.00"),
        (2.5e12, np.nan, "2.50e+12"),
        (np.nan, np.nan, "\u2013"),
    ],
)
def test_an_error_in_a_unit_has_three_digits(mean, deviation, text):
    assert format_in_unit(mean, deviation) == text
