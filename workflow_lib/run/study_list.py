"""The list of all studies, as `snakemake studies` prints it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from workflow_lib.core.errors import UserError
from workflow_lib.core.yaml_files import read_yaml
from workflow_lib.run.models import DatasetSettings, StudyDescription
from workflow_lib.run.named_settings import SettingsFolder, contents_files
from workflow_lib.run.needed_data import has_files, megabytes, missing_downloads, missing_supplies
from workflow_lib.run.paper_runs import paper_runs
from workflow_lib.run.studies import study_files

DEFAULT = "(default)"
"""How the run of ``config.yaml`` is listed, which is no study."""

OTHERS = "Without a publication"

ROW = "{:<19} {:<36} {:<14} {:>4} {:>6} {}"
HEAD = ROW.format("study", "what", "tables", "min", "memory", "data")

LAST_LINES = (
    "",
    "    snakemake --cores 4 --config study=NAME    runs one; without study=, the default run",
    "    snakemake -n --config study=NAME           says what it needs: jobs, time, memory, data",
    "min: CPU minutes of all jobs, measured, of long runs on one or two splits of each experiment",
    "memory: what four jobs request; blank: not known",
    "* on stand-ins for data that you would have to supply",
)


def study_lines(folder: str | Path) -> list[str]:
    """Return the lines of the list of studies, grouped by the publication that they follow.

    A file that cannot be read is listed with the reason.

    Parameters
    ----------
    folder : path
        The folder of the configuration.
    """
    folder = Path(folder)
    numbers, papers = _published(folder)
    files = {"": folder / "config.yaml", **study_files(folder)}
    runs, datasets = paper_runs(folder), _Datasets(folder)
    groups: dict[str, list[str]] = {paper: [] for paper in (*papers.values(), OTHERS)}
    for name, path in files.items():
        try:
            keys = read_yaml(path)
            about = StudyDescription.model_validate(keys.get("about") or {})
        except UserError as error:
            groups[OTHERS].append(f"{name or DEFAULT:<19} {error}")
            continue
        except ValidationError:
            about = StudyDescription()
        experiments = runs.get(name, [])
        tables = {table for each in experiments for table in each["paper_tables"]}
        group = papers.get(about.paper, about.paper) or OTHERS
        groups.setdefault(group, []).append(
            ROW.format(
                name or DEFAULT,
                about.topic,
                _short([n for table in tables for n in numbers.get(table, ())]),
                about.minutes or "",
                f"{about.memory} GB" if about.memory else "",
                _data(experiments, keys.get("stand_ins") or {}, datasets),
            ).rstrip()
        )
    lines = [HEAD]
    for group, rows in groups.items():
        lines += ["", group, *rows] if rows else []
    return [*lines, *LAST_LINES]


def _published(folder: Path) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return the numbers of published tables by ``paper_table``, and publications by their key."""
    numbers, papers = {}, {}
    for contents in contents_files(folder):
        with contents.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["paper_table"] and row["kind"] == "table":
                    numbers.setdefault(row["paper_table"], []).append(row["number"])
                    papers.setdefault(row["paper_table"].partition("-")[0], row["paper"])
    return numbers, papers


def _short(numbers: Iterable[str]) -> str:
    """Return the numbers of tables, with those that follow each other as ``1-20``."""
    plain = sorted({int(number) for number in numbers if number.isdigit()})
    firsts = [n for n in plain if n - 1 not in plain]
    lasts = [n for n in plain if n + 1 not in plain]
    parts = [
        f"{first}-{last}" if last - first > 1 else ",".join(map(str, sorted({first, last})))
        for first, last in zip(firsts, lasts, strict=True)
    ]
    # As `2 (scenes)`, of which the number suffices.
    others = sorted({re.split(" ", number)[0] for number in numbers} - set(map(str, plain)))
    return ",".join(parts + others)


class _Datasets:
    """The datasets of a folder of configuration; each is read once."""

    def __init__(self, folder: Path) -> None:
        self._experiments = SettingsFolder(folder / "experiments")
        self._datasets = SettingsFolder(folder / "datasets")
        self._known: dict[str, DatasetSettings | None] = {}

    def of_experiment(self, name: str) -> str:
        """Return the dataset of an experiment, which may be the name of a dataset itself."""
        if name not in self._experiments:
            return name
        return self._experiments.keys(name).get("dataset", name)

    def get(self, name: str) -> DatasetSettings | None:
        """Return a dataset; None if there is none, or it has a fault."""
        if name not in self._known:
            try:
                self._known[name] = DatasetSettings.model_validate(self._datasets.keys(name))
            except (UserError, ValidationError):
                self._known[name] = None
        return self._known[name]


def _data(experiments: list[dict], stand_ins: dict, datasets: _Datasets) -> str:
    """Return where the data of a run are: ``here``, ``download 12 MB`` or ``you supply``."""
    names, is_replaced = [], False
    for each in experiments:
        dataset = datasets.get(each["dataset"])
        if each["experiment"] not in stand_ins or dataset is None:
            names.append(each["dataset"])
        elif has_files(each["dataset"], dataset):
            names.append(each["dataset"])
        else:
            is_replaced = True
            names += [datasets.of_experiment(name) for name in stand_ins[each["experiment"]]]
    found = {name: datasets.get(name) for name in names}
    used = {name: dataset for name, dataset in found.items() if dataset}
    if any(map(missing_supplies, used.values())):
        return "you supply"
    missing = [size for item in used.items() for size in missing_downloads(*item)]
    text = f"download {megabytes(sum(missing))}" if missing else "here"
    return f"{text}*" if is_replaced else text
