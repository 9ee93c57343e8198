"""Settings of this paper are combined with others that they need."""

import pytest
from configuration_example import DATASET, EXPERIMENT, RIDGE, write, write_example
from each_case import each_case
from test_config_capabilities import (
    CLASSES,
    K_FOLD,
    OF_CLASSES,
    ONE_HOT,
    RANK,
    WITH_WEAK,
    method_of,
    reasons_of,
)
from test_config_loading import message_of

from workflow_lib.run import capabilities
from workflow_lib.run.models import DatasetSettings, ExperimentSettings

FITTED_RANK = RANK | {"regressor": "fitted_rank_ridge"}
JOINT_KERNEL = RIDGE | {
    "regressor": "joint_kernel_ridge",
    "grid": RIDGE["grid"] | {"coupling": [0.0, 1.0]},
}
STRUCTURED = RIDGE | {"regressor": "structured_svm", "grid": {"cost": [1.0], "width": [1.0]}}
BOXES = RIDGE | {"regressor": "box_machine", "grid": {"cost": [1]}}
PASTED = {
    "task": "boxes",
    "reader": "pasted_objects",
    "options": {"scene_members": "a/*/*.png", "object_members": "b/*/*.png", "object_class": "c"}
    | {"scene_classes": ["d"], "codebook_classes": ["e"]},
}
GRAPHS = {"reader": "labelled_graphs", "task": "classes"}


@each_case(
    ("method", "reason"),
    [
        (FITTED_RANK, None),
        (FITTED_RANK | {"grid": RIDGE["grid"]}, "needs grid.rank, and takes no grid.coup"),
        (JOINT_KERNEL | {"dependence": "correlation"}, None),
        (JOINT_KERNEL | {"grid": RANK["grid"]}, "needs grid.coupling, and takes no grid.r"),
    ],
)
def test_coupled_outputs_need_a_rank_or_a_coupling(method, reason):
    if reason is None:
        assert reasons_of(method) == []
        return
    # A dataset on which any method could run.
    dataset = {"task": "series", "inputs": {"lagged_values": "separate"}}
    reasons = reasons_of(method, None, dataset, WITH_WEAK)
    assert any(reason in message for message in reasons), reasons
    assert capabilities.check_method(method_of(method)[0], None) == reasons


def test_methods_of_boxes_are_for_images_as_points():
    overlap = EXPERIMENT | {"metric": "overlap"}
    assert not reasons_of(BOXES, None, PASTED, overlap)
    assert not reasons_of(RIDGE, None, PASTED, overlap)
    found = reasons_of(BOXES, None, {"task": "boxes"}, overlap)
    assert any("for points, and the reader" in message for message in found)
    assert any("predicts boxes, and the task" in message for message in reasons_of(BOXES))
    forest = RIDGE | {"regressor": "random_forest", "grid": {"max_features": [0.5], "n_trees": 5}}
    refused = reasons_of(forest, None, PASTED, overlap)
    assert any(
        "predicts rows of numbers or series, and the task is boxes" in message
        for message in refused
    )


def test_structured_machines_are_for_classes():
    method = STRUCTURED | {"class_similarity": "learned_tree"}
    assert not reasons_of(method, None, CLASSES, OF_CLASSES)


@each_case(
    ("method", "dataset", "experiment", "reason"),
    [
        (
            STRUCTURED | {"loss": "class_losses"},
            CLASSES,
            OF_CLASSES,
            "loss: class_losses needs a dataset with class_tree or class_costs",
        ),
        (
            STRUCTURED | {"class_similarity": "given_tree"},
            {"task": "classes", "class_costs": "costs.csv"},
            OF_CLASSES,
            "class_similarity: given_tree needs a dataset with class_tree",
        ),
    ],
)
def test_structured_machines_need_what_their_losses_and_trees_are_of(
    method, dataset, experiment, reason
):
    (message,) = reasons_of(method, dataset=dataset, experiment=experiment)
    assert reason in message
    assert capabilities.check_method(method_of(method)[0], None) == []


def test_graphs_are_no_numbers():
    experiment = OF_CLASSES
    (message,) = reasons_of(ONE_HOT, None, GRAPHS, experiment)
    assert "gives graphs, and the method would take their codes for numbers" in message
    assert reasons_of(ONE_HOT | {"items": "graphs"}, None, GRAPHS, experiment) == []


@each_case(
    ("dataset", "experiment", "reason"),
    [
        (
            {"options": {"image": "size"}},
            K_FOLD
            | {
                "training_sizes": ["all"],
                "figures": [{"name": "a", "kind": "weight_map", "caption": "b"}],
            },
            "figures of kind weight_map need training_sizes that are numbers",
        ),
        ({"task": "boxes"}, {}, "boxes need split"),
        ({}, {"metric": "overlap"}, "rows of numbers need split"),
        (
            {},
            {"tables": [{"name": "a", "kind": "error", "errors": ["overlap"], "caption": "b"}]},
            "of a table are of boxes, and the task is regression",
        ),
        (
            {},
            {"figures": [{"name": "a", "kind": "weight_map", "caption": "b"}]},
            "weight_map needs inputs with places on a slice",
        ),
    ],
)
def test_contradictory_experiments_are_refused(dataset, experiment, reason):
    message = capabilities.check_experiment(
        DatasetSettings(**DATASET | dataset), ExperimentSettings(**EXPERIMENT | experiment)
    )
    assert any(reason in text for text in message), message


@pytest.mark.parametrize(
    ("part", "kind"),
    [("tables", "queue_resets"), ("tables", "queue_ratios"), ("figures", "box_queues")],
)
def test_costs_of_queues_need_a_method_for_boxes(tmp_path, part, kind):
    folder = write_example(tmp_path / "config")
    shown = {"name": "queues", "kind": kind, "caption": "Some."}
    write(folder, "experiments/first", EXPERIMENT | {part: [shown]})
    message = message_of(folder)
    assert (
        f"experiment 'first', table or figure 'queues', key kind: {kind} shows a result of methods "
        "that the experiment lacks. Expected a method that is for boxes alone" in message
    )
    assert f"of kind {kind} shows a search for boxes, and the task is regression" in message
