"""The stage `new`: inspect the user's table and write a configuration that the user can edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workflow_lib.datasets.proposal_text import dataset_text, experiment_text, summary_lines
from workflow_lib.datasets.proposed_inputs import warn_of_marks
from workflow_lib.datasets.table_file import read_table
from workflow_lib.datasets.table_proposal import propose
from workflow_lib.datasets.table_request import COMMAND, checked_request, missing_marks
from workflow_lib.datasets.user_table import Table
from workflow_lib.errors import UserError


def run(request: Mapping[str, Any], config_folder: Path) -> None:
    """Write ``datasets/NAME.yaml`` and ``experiments/NAME.yaml`` and print a summary.

    Existing files are never changed, and both files are written or none.

    Parameters
    ----------
    request : mapping
        Typed values by key (see `workflow_lib.datasets.table_request.REQUEST_KEYS`): at least
        ``name``, ``data``, and ``outputs`` or ``classes``.
    config_folder : Path
        The folder ``config`` with ``datasets/``, ``experiments/``, ``methods/`` and ``models/``.

    Raises
    ------
    UserError
        When a file of this name exists, and for everything in the request or the table that
        prevents an experiment.
    """
    checked = checked_request(request)
    name = checked["name"]
    targets = [Path(config_folder) / kind / f"{name}.yaml" for kind in ("datasets", "experiments")]
    for path in targets:
        if path.exists():
            raise UserError(
                place=f"{COMMAND}, key name",
                found=f"{path} exists already",
                expected="a name that is not taken; what you may have edited is never overwritten",
                remedy=f"remove it (rm {' '.join(map(str, targets))}) or choose another name",
            )

    def read(missing: Sequence[str]) -> Table:
        delimiter, sheet = checked.get("delimiter"), checked.get("sheet")
        return read_table(checked["data"], missing, delimiter, sheet=sheet)

    table = read(missing_marks(checked))
    proposal = propose(checked, table, Path(config_folder))
    proposal.notes[:0] = [f"{note}." for note in table.notes]
    warn_of_marks(proposal, lambda: read([""]))
    texts = [dataset_text(proposal), experiment_text(proposal)]
    written: list[Path] = []
    try:
        for path, text in zip(targets, texts):
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
        _check_written(Path(config_folder), name)
    except (OSError, UserError) as error:
        for path in written:
            path.unlink(missing_ok=True)
        if isinstance(error, UserError):
            raise
        raise UserError(
            place=str(path),
            found=f"the file cannot be written ({error})",
            expected="a folder that may be written to, with free space",
            remedy="fix the permissions or free space, then run the same command again",
        ) from error
    print("\n".join(summary_lines(proposal)))


def _check_written(config_folder: Path, name: str) -> None:
    """Check the files of a table as a run does.

    Raises
    ------
    UserError
        For what a run would refuse of them.
    """
    # Imported here, because pydantic takes longer to load than all else.
    from workflow_lib.config.capabilities import check_experiment
    from workflow_lib.config.files import ConfigurationFiles
    from workflow_lib.config.problems import raise_errors

    files = ConfigurationFiles(config_folder)
    found = [files.get(kind, name, COMMAND) for kind in ("dataset", "experiment")]
    if not files.errors:
        place = f"{COMMAND}, the files of {name}"
        files.errors += [UserError(place, reason) for reason in check_experiment(*found)]
    raise_errors(files.errors)
