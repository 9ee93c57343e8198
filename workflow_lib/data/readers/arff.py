"""Reader of ARFF tables whose last columns are the outputs, as in the Mulan benchmark.

The format: https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/. Numeric
and nominal attributes are read, dense rows only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, Strict, StrictBool

from workflow_lib.core.errors import UserError
from workflow_lib.core.settings import Settings
from workflow_lib.tabular.arff_text import arff_table
from workflow_lib.tabular.tables import dataset_tree, only_source, read_text, rows_with_outputs

if TYPE_CHECKING:
    import numpy as np

    from workflow_lib.tabular.user_table import Table


class Options(Settings):
    """Options of the reader ``arff``."""

    targets: Annotated[int, Strict(), Field(ge=1)]
    """How many of the last attributes are outputs; all before them are inputs."""

    allow_constant_outputs: StrictBool = False
    """Whether an output that has the same value in every row is accepted."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return the dataset in the single ARFF file of `sources`; `seed` is not used.

    Nominal inputs become one indicator column per declared class, named ``name=class``. A
    missing input (``?``) is NaN, in all indicator columns when it is nominal; rows with a
    missing output are dropped and counted. Nominal outputs are read as numbers.

    Raises UserError naming the file, the line, the column and the value that cannot be read.
    """
    import numpy as np

    path = only_source(sources, "arff")
    table, classes = arff_table(read_text(path), str(path))
    n_inputs = len(table.names) - options.targets
    if n_inputs < 1:
        raise UserError(
            location=f"{path}, option targets",
            found=f"{options.targets} targets in a file of {len(table.names)} attributes",
            expected="fewer targets than attributes",
            remedy="fix targets in the options of the dataset",
        )
    input_names: list[str] = []
    blocks = []
    for name in table.names[:n_inputs]:
        if name in classes:
            input_names += [f"{name}={value}" for value in classes[name]]
            blocks.append(_indicators(table, name, classes[name]))
        else:
            input_names.append(name)
            blocks.append(table.matrix([name]))
    output_names = table.names[n_inputs:]
    inputs, outputs = rows_with_outputs(np.hstack(blocks), table.matrix(output_names))
    return dataset_tree(
        inputs,
        outputs,
        input_names,
        output_names,
        location=str(path),
        rows_read=table.n_rows,
        allow_constant_outputs=options.allow_constant_outputs,
    )


def _indicators(table: Table, name: str, classes: Sequence[str]) -> np.ndarray:
    """Return one column per class: 1 where the row has it, 0 elsewhere, NaN where missing."""
    import numpy as np

    texts = table.strings(name)
    for row, text in enumerate(texts):
        if text and text not in classes:
            raise UserError(
                location=table.where(row, name),
                found=f"'{text}' is not a class of this attribute",
                expected=f"one of: {', '.join(classes)}",
                remedy="fix the value, or add the class to the @attribute line",
            )
    indicators = (texts[:, None] == np.array(classes, dtype=object)).astype(np.float64)
    indicators[texts == ""] = np.nan
    return indicators
