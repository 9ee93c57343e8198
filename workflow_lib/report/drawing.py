"""Drawings that show no data of a run: pictures of this package, written as figures are."""

from pathlib import Path
from typing import BinaryIO

READS_ALL_OF = "drawings"
"""The folder whose files are read here (`workflow_lib.core.imports`)."""


class Drawing:
    """A picture of the folder `READS_ALL_OF` as SVG and PNG, saved as matplotlib's figures are."""

    def __init__(self, name: str):
        self.name = name

    def savefig(self, file: BinaryIO, *, format: str, **_) -> None:
        """Write the picture to an open file; its metadata are those that it has."""
        path = Path(__file__).with_name(READS_ALL_OF) / f"{self.name}.{format}"
        file.write(path.read_bytes())
