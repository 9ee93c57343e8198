"""The tables on which methods are compared: all tables of numbers of the catalogue."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workflow_lib.items.scales import TEXT_SCALES
from workflow_lib.run.models import DatasetSettings
from workflow_lib.run.named_settings import SettingsFolder
from workflow_lib.tasks.found import tasks

TRAINING_SIZES = (20, 50, 100, 200)

TEST_SIZE = 0.25
"""As in the study mulan: with a larger share some tables could not fill the largest sizes."""

OWN_EXPERIMENT = {"linnerud": {"training_sizes": [10], "test_size": 0.5}}
"""Of 20 rows, half are training rows and half test rows."""

USER_SUPPLIED = "its files are user-supplied"

OF_RUNS = "its rows belong to runs, which a random split would separate"

LEFT_OUT = {
    "drug-activity-paper": USER_SUPPLIED,
    "first-impressions-s1": USER_SUPPLIED,
    "first-impressions-s2": USER_SUPPLIED,
    "haxby": OF_RUNS,
    "haxby-volumes": OF_RUNS,
    "kogan10k": "its inputs are texts, and its files are fetched by hand",
    "many-rows": "made for 200,000 training rows; with few rows it is another synthetic mixture",
    "series-synthetic-states": "the rows and inputs of series-synthetic with the hidden states",
}
"""Why a table is left out, where the reason does not follow from its settings."""

MULAN = ("atp1d", "edm", "enb", "jura", "oes97", "sf1", "sf2", "slump", "wq")

EARLIER = (
    *MULAN,
    "d1-informative",
    "d1-overlapping",
    "d2",
    "digits-completion",
    "linnerud",
    "monthly-stocks",
    "series-synthetic",
    "stock-covariances",
)
"""Tables that were compared, or had methods made for them, while our methods could still be changed
by their errors. The errors on all others say how our methods do on tables that are new to them."""


@dataclass(frozen=True)
class Table:
    """A table of the comparison.

    Attributes
    ----------
    scale : str
        How its inputs are prepared, for all methods: ``standard`` or ``none``.
    is_made : bool
        Whether it is synthetic.
    has_groups : bool
        Whether its rows belong to groups, such as days, which splits and folds then keep whole.
    is_new : bool
        Whether nothing of our methods was chosen by its errors.
    """

    name: str
    title: str
    scale: str
    is_made: bool
    has_groups: bool
    is_new: bool

    @property
    def experiment(self) -> dict[str, Any]:
        """The keys of its experiment, but for the methods."""
        common = {"training_sizes": list(TRAINING_SIZES), "test_size": TEST_SIZE}
        split = {"split": "grouped", "whole_groups": "folds"} if self.has_groups else {}
        own = OWN_EXPERIMENT.get(self.name, {})
        return {"title": self.title, "dataset": self.name, **common, **split, **own}


def study_tables(config: Path) -> tuple[dict[str, Table], dict[str, str]]:
    """Return the tables of ``config/datasets`` by name, and why each other dataset is left out."""
    tables, left_out = {}, {}
    datasets = SettingsFolder(config / "datasets")
    for name in datasets.names:
        settings = DatasetSettings.model_validate(datasets.keys(name))
        reason = LEFT_OUT.get(name) or _no_table_of_numbers(settings)
        if reason:
            left_out[name] = reason
            continue
        tables[name] = Table(
            name=name,
            title=settings.title,
            scale=settings.inputs.scale,
            is_made="synthetic" in settings.reader,
            has_groups=bool(settings.options.get("group")),
            is_new=name not in EARLIER,
        )
    return tables, left_out


def _no_table_of_numbers(settings: DatasetSettings) -> str:
    """Return why a dataset is no table of numbers; empty where it is one."""
    inputs, options = settings.inputs, settings.options
    if settings.drawn_as:
        return "it is a version of another dataset"
    task = tasks()[settings.task]
    if task.outputs != "numbers":
        return f"it predicts {task.predicts}"
    if options.get("encode") or options.get("encoder"):
        return "it has columns of names"
    if inputs.scale in TEXT_SCALES:
        return "its inputs are texts"
    if inputs.kernel == "tanimoto":
        return "its inputs are molecules"
    if inputs.kernel == "precomputed":
        return "its inputs are a Gram matrix"
    return ""
