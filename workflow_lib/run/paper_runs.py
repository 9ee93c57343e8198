"""Which runs make which tables and figures of published papers."""

from __future__ import annotations

from pathlib import Path

from workflow_lib.core.errors import UserError
from workflow_lib.core.yaml_files import read_yaml
from workflow_lib.report.ofer_comparison import compares_ofer
from workflow_lib.run.named_settings import SettingsFolder, listed_experiments
from workflow_lib.run.studies import study_files


def paper_runs(folder: str | Path) -> dict[str, list[dict]]:
    """Return, for the default run and each study of a folder, the experiments that it runs.

    A run does not depend on the files of other runs: those that cannot be read are left out.
    Experiments that are names of datasets have no published tables.

    Parameters
    ----------
    folder : path
        The folder ``config``, with ``config.yaml``, ``studies/``, ``experiments/`` and
        ``datasets/``.

    Returns
    -------
    dict
        Name of the study, empty for the default run -> a mapping for each experiment:
        ``experiment``, ``dataset``, ``dataset_file`` (the path of its file, below the folder),
        ``paper_tables`` (values of ``paper_table``), ``figure_kinds``, ``stand_in_for`` (None or
        text),
        ``compares_ofer`` (whether all of it may stand in for tables of Djerrab et al. 2018),
        ``reader``, ``is_user_supplied`` (whether the user must supply the files of the dataset) and
        ``minutes`` (of all jobs of the run, None where they are not known).
        Sorted by name.
    """
    folder, runs = Path(folder), {}
    experiments = SettingsFolder(folder / "experiments")
    datasets = SettingsFolder(folder / "datasets")
    for study, path in {"": folder / "config.yaml", **study_files(folder)}.items():
        try:
            run = read_yaml(path)
        except UserError:
            continue
        names, methods = run.get("experiments"), (run.get("defaults") or {}).get("methods")
        found = (
            [
                _experiment(folder, name, methods, experiments, datasets)
                for name in listed_experiments(folder, names)
            ]
            if isinstance(names, list)
            else []
        )
        minutes = (run.get("about") or {}).get("minutes")
        if any(found):
            runs[study] = [each | {"minutes": minutes} for each in found if each]
    return runs


def _experiment(
    folder: Path,
    name: object,
    methods: object,
    experiments: SettingsFolder,
    datasets: SettingsFolder,
) -> dict | None:
    """Return the entry of an experiment, None where its dataset has no file.

    `methods` are those of experiments of the run that name none.
    """
    settings = _keys(experiments, name) or {"dataset": name}
    dataset = _keys(datasets, settings.get("dataset"))
    if not dataset:
        return None
    options = dataset.get("options") or {}
    return {
        "experiment": name,
        "dataset": settings["dataset"],
        "dataset_file": datasets.file(settings["dataset"]).relative_to(folder).as_posix(),
        "paper_tables": _values(settings.get("tables"), "paper_table"),
        "figure_kinds": _values(settings.get("figures"), "kind"),
        "stand_in_for": dataset.get("stand_in_for"),
        "compares_ofer": compares_ofer(settings, methods),
        "reader": str(dataset.get("reader")),
        "is_user_supplied": any(map(options.get, ("folder", "collection", "user_supplied"))),
    }


def _keys(folder: SettingsFolder, name: object) -> dict:
    try:
        return folder.keys(name)
    except UserError:
        return {}


def _values(parts: object, key: str) -> list:
    """Return the values of a key of tables or figures, without those that have none."""
    parts = parts if isinstance(parts, list) else []
    found = [part.get(key) for part in parts if isinstance(part, dict)]
    return [value for value in found if value is not None]
