"""Properties of every task: what follows from it exists, and its datasets are evaluated."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest
from measure_samples import Rows, outputs_of, scores_of

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.report.quantities import QUANTITIES
from workflow_lib.run.models import ExperimentSettings
from workflow_lib.run.named_settings import SettingsFolder
from workflow_lib.tasks.base import PER_CLASS
from workflow_lib.tasks.found import (
    all_measures,
    measures_of,
    metrics_of,
    task_of,
    tasks,
    usual_measures,
)

ROOT = Path(__file__).parents[2]
METHODS = set(SettingsFolder(ROOT / "config" / "methods").names)


@pytest.fixture(params=tasks())
def task(request):
    return tasks()[request.param]


def test_tasks_have_an_order_and_the_metric_of_an_experiment_is_the_first():
    assert len({task.order for task in tasks().values()}) == len(tasks())
    first = next(iter(tasks().values()))
    assert ExperimentSettings.model_fields["metric"].default == metrics_of(first)[0]


def test_the_configuration_can_name_all_measures_without_numpy():
    program = (
        "import sys; from workflow_lib.tasks.found import all_measures; "
        "print(len(all_measures()), 'numpy' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert shown.stdout == f"{len(all_measures())} False\n", shown.stderr


def test_a_task_is_described(task):
    for text in (task.description, task.predicts, task.part, task.parts, task.baseline):
        assert text.strip() == text != ""
    for sentence in filter(None, (task.selection, task.grouped)):
        assert re.search(r"\w\.$", sentence)
    assert {task.reference, *task.methods} <= METHODS
    assert len(set(task.splits)) == len(task.splits)


def test_a_task_has_a_metric_and_measures(task):
    assert metrics_of(task)
    assert usual_measures(task.outputs) or task.further_outputs
    for metric in metrics_of(task):
        assert QUANTITIES[metric].task.outputs == task.outputs
        assert QUANTITIES[metric].is_per_class == (PER_CLASS in task.splits)


def test_its_datasets_are_recognised_and_have_all_its_measures(task, tmp_path):
    rows = Rows(*outputs_of(task.outputs).sample())
    found = scores_of(tmp_path, task.outputs, rows)
    assert task_of(read_artifact(tmp_path / "d.h5", "dataset")).outputs == task.outputs
    measures = measures_of(*task.further_outputs, task.outputs)
    assert {name for name, each in measures.items() if not each.may_be_absent} <= set(found)
    others = {name for each in tasks().values() for name in measures_of(each.outputs)}
    assert not set(found) & (others - set(measures))
    with (tmp_path / "coordinates.csv").open() as file:
        parts = list(csv.DictReader(file))
    assert parts and all(float(part["error"]) >= 0 for part in parts)
