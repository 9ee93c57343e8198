"""Names of the groups inside artifacts: training sizes, components, folds and items."""

import math
from collections.abc import Mapping, Sequence

SELECTED = "selected"

TRAINING_TARGETS = "training_targets"
"""The entry of what is predicted for the training rows, in a "regression" artifact."""

DETECTIONS = "detections"
"""The entry of several boxes found in each test row, in artifacts of predictions and before:
(m, k, 5), left, top, right, bottom in pixels and the score, the best first; boxes that were not
found are empty, and have the lowest score."""

# Entries of an item that may be infinite: such a penalty keeps its block at the training mean;
# such a score stands for none, where the training outputs are constant.
UNBOUNDED_ENTRIES = ("alpha_leading", "alpha_rest", "joint_alpha", "score")


def size_group(training_size: int) -> str:
    """Return the name of the group of one training size, for example ``n-50``."""
    return f"n-{training_size}"


def components_group(n_components: int | str) -> str:
    """Return the name of the group of one component count, for example ``C-4``."""
    return f"C-{n_components}"


def fold_group(fold: int | None) -> str:
    """Return the name of the group of one fold, or of all training rows for None."""
    return "all" if fold is None else f"fold-{fold}"


def item_group(training_size: int, weak_size: int, components: int | str, setting: str = "") -> str:
    """Return the name of one item of regression and prediction artifacts.

    `components` is a fixed number, or SELECTED where cross-validation chooses it; `setting` names
    what a study fixes, for example ``weak_noise=0.2``.
    """
    name = f"{size_group(training_size)}_w-{weak_size}_{components_group(components)}"
    return f"{name}_{setting}" if setting else name


def requested_weak_size(weak_size: int, partition: Mapping) -> int:
    """Return the number of weak rows that was asked for where `weak_size` rows joined.

    Of a table's own weak rows as many join as the training rows of a split can tell something of,
    so that the numbers differ from split to split; what was asked for is the same.
    """
    requested = partition.get("weak_sizes_asked", partition.get("weak_sizes", ()))
    joined = map(int, partition.get("weak_sizes", ()))
    return int(dict(zip(joined, requested, strict=True)).get(weak_size, weak_size))


def item_kernel(item: Mapping, kernel: str) -> str:
    """Return the kernel of an item: the one that was chosen for it, or that of the experiment."""
    return str(item.get("kernel", kernel))


def chosen_entries(item: Mapping) -> dict:
    """Return what was chosen for an item: its entries that are numbers or texts."""
    return {
        key: value
        for key, value in item.items()
        if not (hasattr(value, "shape") or isinstance(value, Mapping))
    }


def unbounded_entries(items: Mapping[str, Mapping]) -> tuple[str, ...]:
    """Return the entries that may be infinite, with those of `chosen_entries` that are.

    The "regression" artifact was refused where an entry was infinite that its method does not name.
    """
    chosen = [entry for item in items.values() for entry in chosen_entries(item).items()]
    infinite = {key for key, value in chosen if isinstance(value, float) and math.isinf(value)}
    return (*UNBOUNDED_ENTRIES, *sorted(infinite.difference(UNBOUNDED_ENTRIES)))


def heldout_entry(item: Mapping) -> dict:
    """Return what an item holds of the training rows, each predicted without its fold."""
    return {name: item[name] for name in ("heldout_outputs",) if name in item}


def detections_entry(item: Mapping) -> dict:
    """Return the boxes that an item holds besides the best, if any."""
    return {name: item[name] for name in (DETECTIONS,) if name in item}


def members_of(item: Mapping) -> list[dict]:
    """Return what an item has for each component count that it averages over; itself for one."""
    return [{**item, **member} for member in item.get("members", {"": {}}).values()]


def predicts_training_rows(members: Sequence[Mapping]) -> bool:
    """Return whether there is an error of the training rows to be computed for an item."""
    return all(TRAINING_TARGETS in member for member in members)
