"""A sample of results for figures of this paper."""

from pathlib import Path

import numpy as np
from report_samples import METHODS

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.papers.blaschko.item_kinds.points import ImagePoints, pack
from workflow_lib.papers.blaschko.stages import queue_costs


def write_box_sample(folder: Path) -> tuple[dict, dict]:
    """Write an experiment on boxes, one method with detections; return its files and settings."""
    random, test = np.random.default_rng(0), np.arange(12, 24)
    corners, sides = random.integers(0, 50, (24, 2)), random.integers(10, 30, (24, 2))
    boxes = np.concatenate([corners, corners + sides], axis=1).astype(float)
    files = {"dataset": folder / "data.h5", "predictions": [], "all_regressions": []}
    words, positions = random.integers(0, 3, (24, 40)), random.random((24, 40, 2))
    images = [ImagePoints(*each, np.array([80, 80]), 3) for each in zip(words, positions)]
    tree = {"inputs": boxes, "outputs": boxes, **pack(images)}
    write_artifact(files["dataset"], tree, "dataset")
    files["splits"] = [folder / f"split-{split}" / "split.h5" for split in range(2)]
    for path in files["splits"]:
        write_artifact(path, {"train": np.arange(12), "test": test}, "split")
        for method in METHODS:
            found = boxes[test, None] + random.normal(scale=4, size=(12, 3, 4))
            item = {"training_size": 50, "outputs": found[:, 0]}
            if method != next(iter(METHODS)):
                scores = -np.sort(-random.random((12, 3, 1)), axis=1)
                item["detections"] = np.concatenate([found, scores], axis=2)
            files["predictions"].append(path.parent / method / "predictions.h5")
            write_artifact(files["predictions"][-1], {"item": item}, "predictions")
            item = {"training_size": 50, "word_weights": random.normal(size=3)}
            item["word_grid"] = {"n_cells": 2, "center": False, "levels": 1}
            files["all_regressions"].append(path.parent / method / "regression.h5")
            write_artifact(files["all_regressions"][-1], {"item": item}, "regression")
    files["share_predictions"] = files["predictions"] * 2
    files["queue_costs"] = folder / "queue-costs.csv"
    method, costs = next(iter(METHODS)), files["queue_costs"]
    split = folder / "queued.h5"
    write_artifact(split, {"train": test, "test": test[:2]}, "split")
    queue_costs.run(files["dataset"], [split], files["all_regressions"][:1], costs, method)
    return files, {"methods": METHODS, "shown_methods": METHODS, "metric": "overlap"}


SAMPLES = {"boxes": write_box_sample}


def prepare() -> None:
    """Do nothing: the figures can be drawn as they are."""
