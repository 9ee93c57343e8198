"""The published numbers, and the table of accuracies with their intervals."""

import numpy as np
import pandas as pd
import pytest
from published import by_row, rows_of, text_of
from scipy.stats import binomtest

from workflow_lib.core.result_columns import SCORES
from workflow_lib.papers.varoquaux.table_kinds import accuracy_intervals
from workflow_lib.report.table_text import TableOptions


def test_the_numbers_of_hospitals_are_those_of_the_text():
    text = text_of("limited-data-varoquaux")
    for name, (first, second) in by_row(rows_of("varoquaux", "varoquaux-1-1")).items():
        line = next(line for line in text.splitlines() if line.startswith(f"{name}\t"))
        assert [cell.split("(")[0] for cell in line.split("\t")[1:]] == [first, second]


def test_the_interval_stands_beside_the_accuracy_of_each_method():
    random, rows = np.random.default_rng(0), []
    for method, accuracy in (("class-krr", 0.9), ("m-svm", 0.7)):
        for split in range(4):
            share = random.binomial(200, accuracy) / 200
            known = {"method": method, "split": split, "training_size": 5, "n_train": 50}
            known |= {"components": "selected", "weak_size": 0, "n_test": 200}
            rows.append(known | {"quantity": "accuracy", "value": share})
    scores = pd.DataFrame(rows).reindex(columns=SCORES, fill_value="")
    methods = {name: {"label": name, "regressor": ""} for name in ("class-krr", "m-svm")}
    options = TableOptions(methods, "accuracy", "Digits")
    cells = accuracy_intervals.cells(scores, options)
    assert list(cells["method"]) == ["class-krr", "m-svm"] and set(cells["n_test"]) == {200}
    for row in cells.itertuples():
        right = row.mean * 200
        around = [binomtest(int(limit), 200).proportion_ci() for limit in (right, np.ceil(right))]
        assert around[0].low - 1e-9 <= row.low <= around[1].low + 1e-9
        assert around[0].high - 1e-9 <= row.high <= around[1].high + 1e-9
        assert row.binomial_deviation == pytest.approx((row.mean * (1 - row.mean) / 200) ** 0.5)
    layout = accuracy_intervals.layout(cells, options)
    assert f"{100 * cells['mean'][0]:.1f} [" in str(layout.blocks[0].rows[0])
    assert layout.notes[0] == "200 test rows."
