"""Reader of the Linnerud data of scikit-learn: from exercises to bodily measures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import dataset_tree


class Options(Settings):
    """The reader ``linnerud`` takes no options."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return three exercises as inputs (20, 3) and three bodily measures as outputs (20, 3).

    Inputs are the numbers of chin-ups, sit-ups and jumps; outputs are weight (pounds), waist
    (inches) and pulse (beats per minute). No argument is used.
    """
    from sklearn.datasets import load_linnerud

    data = load_linnerud()
    return dataset_tree(
        data.data,
        data.target,
        data.feature_names,
        data.target_names,
        location="the Linnerud data of scikit-learn",
    )
