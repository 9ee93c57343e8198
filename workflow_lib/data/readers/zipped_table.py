"""Reader of a published table in a zip archive, with the options of the reader ``table``."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import StrictBool

from workflow_lib.data.readers import table
from workflow_lib.tabular.tables import FETCH_AGAIN, only_source, wrong_source


class Options(table.Options):
    """Options of the reader ``zipped_table``: those of ``table``, and the following."""

    file: table.Name
    """Path of the table in the archive, which is the only source."""

    log_outputs: StrictBool = False
    """Whether each output y, such as a count, becomes log(1 + y); negative values are refused."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return the dataset of `workflow_lib.data.readers.table.read`; `seed` is not used.

    Raises UserError for an archive that is damaged or lacks the table, for an output below 0 that
    would become log(1 + y), and as the reader ``table``.
    """
    from workflow_lib.core.archives import opened_zip, readable
    from workflow_lib.tabular.table_file import read_table

    path = only_source(sources, "zipped_table")
    with (
        readable(path, "a zip archive", FETCH_AGAIN),
        opened_zip(path) as archive,
        tempfile.TemporaryDirectory() as folder,
    ):
        if options.file not in archive.namelist():
            found = f"there is no '{options.file}' among {len(archive.namelist())} files"
            raise wrong_source(str(path), found, "the table that the option file names")
        content = Path(folder, Path(options.file).name)
        content.write_bytes(archive.read(options.file))
        rows = read_table(content, options.missing_values, options.delimiter)
    rows.location = f"{path}, {options.file}"
    tree = table.dataset_of(rows, options)
    return _with_logarithms(tree, rows.location) if options.log_outputs else tree


def _with_logarithms(tree: dict[str, Any], location: str) -> dict[str, Any]:
    """Return the tree with log(1 + y) as outputs, with names that say so."""
    import json

    import numpy as np

    outputs, names = tree["outputs"], json.loads(tree["names"]["outputs"])
    negative = np.argwhere(outputs < 0)
    if len(negative):
        row, column = negative[0]
        line = tree["rows"]["line"][row]
        raise wrong_source(
            f"{location}, line {line}, column '{names[column]}'",
            f"the negative value {outputs[row, column]:g}",
            "outputs that are not negative where the option log_outputs is true",
        )
    names = json.dumps([f"log(1 + {name})" for name in names], ensure_ascii=False)
    return tree | {"outputs": np.log1p(outputs), "names": tree["names"] | {"outputs": names}}
