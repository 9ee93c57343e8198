"""The settings classes accept what they should, and refuse the rest."""

import math

import pytest
from configuration_example import DATASET, EMBEDDED, EXPERIMENT, MIXTURE, RIDGE, RUN
from each_case import each_case
from pydantic import ValidationError

from workflow_lib.core.grids import RidgeGrid
from workflow_lib.methods.keys.kernel_ridge import Parameters as RidgeMethod
from workflow_lib.run.models import (
    DatasetSettings,
    ExperimentSettings,
    ModelSettings,
    RunSettings,
    SourceSettings,
    TableSettings,
)
from workflow_lib.run.reference import SECTIONS

SOURCE = {
    "path": "mulan-mtr/edm.arff",
    "address": "https://example.org/edm.arff",
    "sha256": "0a" * 32,
    "size": 10,
}


def test_defaults_of_the_run():
    run = RunSettings(experiments=("first",))
    assert (run.seed, run.n_splits, run.n_folds) == (1, 5, 5)
    assert run.defaults.training_sizes == (20, 50, 100, 200)
    assert run.defaults.weak_sizes == ()
    assert run.defaults.methods == "default"
    assert [table.kind for table in run.defaults.tables] == ["error"]


def test_accepted_values():
    assert ExperimentSettings(**EXPERIMENT, test_size=300).test_size == 300
    assert ExperimentSettings(**EXPERIMENT, test_size=0.4).test_size == 0.4
    assert ExperimentSettings(**EXPERIMENT, components=[2, 4]).components == (2, 4)
    assert RidgeMethod(**EMBEDDED).grid.alpha == (0.1, math.inf)
    assert RidgeGrid(alpha=[1], width=[1, 0.3]).width == (1.0, 0.3)
    assert DatasetSettings(**DATASET, sources=[SOURCE]).sources[0].size == 10


@each_case(
    ("model", "valid", "change"),
    [
        (RunSettings, RUN, {"seed": -1}),
        (RunSettings, RUN, {"seed": True}),
        (RunSettings, RUN, {"seed": "1"}),
        (RunSettings, RUN, {"n_folds": 1}),
        (RunSettings, RUN, {"n_splits": 0}),
        (RunSettings, RUN, {"n_splits": 10**6}),
        (RunSettings, RUN, {"n_landmarks": 2**63}),
        (RunSettings, RUN, {"experiments": ["x" * 61]}),
        (RunSettings, RUN, {"experiments": []}),
        (RunSettings, RUN, {"experiments": "first"}),
        (RunSettings, RUN, {"experiments": ["first", "first"]}),
        (RunSettings, RUN, {"experiments": ["../first"]}),
        (ExperimentSettings, EXPERIMENT, {"training_sizes": []}),
        (ExperimentSettings, EXPERIMENT, {"training_sizes": [50, 20]}),
        (ExperimentSettings, EXPERIMENT, {"training_sizes": [20, 20]}),
        (ExperimentSettings, EXPERIMENT, {"training_sizes": [0, 20]}),
        (ExperimentSettings, EXPERIMENT, {"weak_sizes": [20.5]}),
        (ExperimentSettings, EXPERIMENT, {"test_size": 0}),
        (ExperimentSettings, EXPERIMENT, {"test_size": 1.0}),
        (ExperimentSettings, EXPERIMENT, {"test_size": 1.5}),
        (ExperimentSettings, EXPERIMENT, {"test_size": True}),
        (ExperimentSettings, EXPERIMENT, {"test_size": math.nan}),
        (ExperimentSettings, EXPERIMENT, {"components": "chosen"}),
        (ExperimentSettings, EXPERIMENT, {"components": []}),
        (ExperimentSettings, EXPERIMENT, {"kernel": "gaussian"}),
        (RidgeMethod, RIDGE, {"label": "$x^$"}),
        (RidgeMethod, RIDGE, {"color": "blue"}),
        (RidgeMethod, RIDGE, {"color": "#12345"}),
        (RidgeMethod, RIDGE, {"marker": "circle"}),
        (RidgeMethod, RIDGE, {"grid": {"alpha": [0.0]}}),
        (RidgeMethod, RIDGE, {"grid": {"alpha": [math.nan]}}),
        (RidgeMethod, RIDGE, {"grid": {"alpha": [1.0, 1.0]}}),
        (RidgeMethod, RIDGE, {"grid": {"width": [math.inf]}}),
        (RidgeMethod, RIDGE, {"grid": {"alpha": []}}),
        (RidgeMethod, RIDGE, {"in_default": "yes"}),
        (ModelSettings, MIXTURE, {"variance_floor": 0.0}),
        (ModelSettings, MIXTURE, {"variance_floor": 1.5}),
        (ModelSettings, MIXTURE, {"n_init": 10**6}),
        (ModelSettings, MIXTURE, {"covariance_type": "tied"}),
        (SourceSettings, SOURCE, {"sha256": "0a" * 31}),
        (SourceSettings, SOURCE, {"address": "ftp://example.org/edm.arff"}),
        (SourceSettings, SOURCE, {"path": "../edm.arff"}),
        (SourceSettings, SOURCE, {"path": "/edm.arff"}),
        (DatasetSettings, DATASET, {"title": "in $"}),
        (DatasetSettings, DATASET, {"reader": None}),
        (DatasetSettings, DATASET, {"sources": [SOURCE, SOURCE | {"path": "other/edm.arff"}]}),
        (DatasetSettings, DATASET, {"titel": "People"}),
    ],
)
def test_refused_values(model, valid, change):
    model.model_validate(valid)
    with pytest.raises(ValidationError):
        model.model_validate(valid | change)


def test_two_tables_of_one_name_are_refused():
    table = TableSettings(name="error", kind="error", caption="Errors.")
    with pytest.raises(ValidationError, match="different names"):
        ExperimentSettings(**EXPERIMENT, tables=[table, table])


def test_settings_cannot_be_changed():
    with pytest.raises(ValidationError):
        ModelSettings(**MIXTURE).n_init = 3


@each_case("model", [model for _, _, model in SECTIONS])
def test_every_key_is_described(model):
    for name, field in model.model_fields.items():
        assert field.description, f"{model.__name__}.{name} has no description"
