"""The stage `new`: inspect the user's table and write a configuration that the user can edit."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from workflow_lib.core.errors import UserError
from workflow_lib.core.whole_files import remove_leftovers, write_text
from workflow_lib.table.proposal import Proposal
from workflow_lib.table.proposal_text import dataset_text, experiment_text, summary_lines
from workflow_lib.table.proposed_inputs import warn_of_marks
from workflow_lib.table.table_proposal import propose
from workflow_lib.table.table_request import COMMAND, checked_request, missing_marks
from workflow_lib.tabular.table_file import read_table
from workflow_lib.tabular.user_table import Table


def run(request: Mapping[str, Any], config_folder: Path) -> None:
    """Write the files of a table, as `write_settings` does, and print a summary."""
    print("\n".join(summary_lines(write_settings(request, config_folder))))


def write_settings(request: Mapping[str, Any], config_folder: Path) -> Proposal:
    """Write ``datasets/NAME.yaml`` and ``experiments/NAME.yaml``, and return what they propose.

    Existing files are never changed, and both files are written or none.

    `request` has typed values by key (`workflow_lib.table.table_request.REQUEST_KEYS`): at least
    ``name``, ``data``, and ``outputs`` or ``classes``; `config_folder` is the folder ``config``
    with ``datasets/``, ``experiments/``, ``methods/`` and ``models/``.

    Raises UserError when a file of this name exists, and for everything in the request or the table
    that prevents an experiment.
    """
    # Imported here, because pydantic takes longer to load than all else.
    from workflow_lib.run.named_settings import TABLES

    checked = checked_request(request)
    name = checked["name"]
    folders = [Path(config_folder, kind) for kind in ("datasets", "experiments")]
    targets = [folder.parent / TABLES / folder.name / f"{name}.yaml" for folder in folders]
    _check_name_is_free(folders, targets, name)

    def read(missing: Sequence[str]) -> Table:
        delimiter, sheet = checked.get("delimiter"), checked.get("sheet")
        return read_table(checked["data"], missing, delimiter, sheet=sheet)

    table = read(missing_marks(checked))
    proposal = propose(checked, table, Path(config_folder))
    proposal.notes[:0] = [f"{note}." for note in table.notes]
    warn_of_marks(proposal, lambda: read([""]))
    texts = [dataset_text(proposal), experiment_text(proposal)]
    with _locked(Path(config_folder)):
        present = [path for path in targets if path.exists()]
        is_half = present == targets[:1] and targets[0].read_bytes() == texts[0].encode()
        if present and not is_half:
            raise UserError(
                location=f"{COMMAND}, key name",
                found=f"{present[0]} exists already",
                expected="a name that is not taken; what you may have edited is never overwritten",
                remedy=f"remove it (rm {' '.join(map(str, present))}) or choose another name",
            )
        written: list[Path] = []
        try:
            for path, text in zip(targets, texts):
                remove_leftovers(path)
                if path not in present:
                    write_text(path, text)
                    written.append(path)
            _check_written(Path(config_folder), name)
        except UserError:
            for path in written:
                path.unlink()
            raise
    return proposal


def _check_name_is_free(folders: Sequence[Path], targets: Sequence[Path], name: str) -> None:
    """Raise an error where other settings than the targets have this name, also as a variant."""
    # Imported here, because pydantic takes longer to load than all else.
    from workflow_lib.run.named_settings import SettingsFolder

    for folder, target in zip(map(SettingsFolder, folders), targets):
        if name in folder and folder.file(name) != target:
            raise UserError(
                location=f"{COMMAND}, key name",
                found=f"{folder.location(name)} exists already",
                expected="a name that is not taken",
                remedy="choose another name",
            )


def _check_written(config_folder: Path, name: str) -> None:
    """Check the files of a table as a run does.

    Raises UserError for what a run would refuse of them.
    """
    # Imported here, because pydantic takes longer to load than all else.
    from workflow_lib.run.capabilities import check_experiment
    from workflow_lib.run.named_settings import ConfigurationFiles
    from workflow_lib.run.problems import raise_errors

    files = ConfigurationFiles(config_folder)
    found = [files.get(kind, name, COMMAND) for kind in ("dataset", "experiment")]
    if not files.errors:
        location = f"{COMMAND}, the files of {name}"
        files.errors += [UserError(location, reason) for reason in check_experiment(*found)]
    raise_errors(files.errors)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let no other request write in a folder of configuration during the block."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # Some network file systems have no locks.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
