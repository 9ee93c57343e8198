"""Draws row-kinds.svg from the results of the study row-kinds.

    python docs/draw_row_kinds.py

Run from the top of the checkout, after the run.
"""

from __future__ import annotations

from pathlib import Path

from workflow_lib.report.figures.relative_curve import draw_differences, relative_errors
from workflow_lib.report.labels import range_in_words
from workflow_lib.report.results import read_scores
from workflow_lib.report.style import save_figure
from workflow_lib.run.named_settings import SettingsFolder

PANELS = {
    "digits-row-kinds": "Handwritten digits",
    "drug-activity-row-kinds": "Drug activity (a stand-in)",
    "mixture-d2-row-kinds": "Simulated mixture",
}
METHODS = ("rows-labelled", "rows-weak", "rows-unlabelled", "rows-unpaired", "rows-all")
ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Draw the figure, a panel for each experiment."""
    folders = {kind: SettingsFolder(ROOT / "config" / kind) for kind in ("methods", "experiments")}
    methods = {name: folders["methods"].keys(name) for name in METHODS}
    panels, n_splits = {}, set()
    for experiment, title in PANELS.items():
        path = ROOT / "results" / experiment / "scores.csv"
        settings = folders["experiments"].keys(experiment)
        metric, scores = settings.get("metric", "arrmse"), read_scores(path)
        panels[title] = relative_errors(scores, metric, methods, path)
        n_splits.add(scores["split"].nunique())
    title = (
        f"300 further rows of each kind; {range_in_words(n_splits)} splits, mean \u00b1 standard "
        "deviation"
    )
    figure = draw_differences(panels, "error", methods, title)
    save_figure(figure, ROOT / "docs" / "row-kinds.svg")


main()
