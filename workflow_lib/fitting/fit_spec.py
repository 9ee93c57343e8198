"""The fits of one job of a method: one for every training size, and those of studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workflow_lib.items.group_names import SELECTED, item_group

MAX_COMPONENT_SHARE = 0.6
"""Of several mixtures, one with more components than this share of the training rows is left
out."""


@dataclass(frozen=True)
class FitSpec:
    """One fit that is selected, made and scored on its own: an item of the artifacts.

    Attributes
    ----------
    training_size, weak_size : int
    components : int or str
        A fixed number, or SELECTED.
    counts : tuple
        Component counts that compete, or are averaged; (None,) without a generative model.
    weak_weight : float or None
        lambda_2 of eq. (14) where a study fixes it.
    noise : float
        Share of the weak rows whose label is wrong.
    setting : str
        What a study fixes, in words; empty outside of studies.
    unpaired_size : int
        Outputs without inputs.
    """

    training_size: int
    weak_size: int = 0
    components: int | str = SELECTED
    counts: tuple = (None,)
    weak_weight: float | None = None
    noise: float = 0.0
    setting: str = ""
    unpaired_size: int = 0

    @property
    def name(self) -> str:
        """Name of its group in the artifacts."""
        return item_group(self.training_size, self.weak_size, self.components, self.setting)


def counts_of_size(counts: Sequence[int | None], size: int) -> tuple[int | None, ...]:
    """Return the component counts that a number of training rows allows, or else the first."""
    if len(counts) < 2 or counts[0] is None:
        return tuple(counts)
    most = max(MAX_COMPONENT_SHARE * size, counts[0])
    return tuple(count for count in counts if count <= most)


def counts_by_setting(
    components: str | Sequence[int], component_counts: Sequence[int], has_model: bool
) -> dict[int | str, tuple]:
    """Return, for each value of `FitSpec.components`, the component counts that compete in it.

    Parameters
    ----------
    components : str or sequence of int
        SELECTED, or the fixed counts that are run one by one.
    component_counts : sequence of int
        Counts that compete where `components` is SELECTED.
    has_model : bool
        Whether there is a generative model.
    """
    if not has_model:
        return {SELECTED: (None,)}
    if components == SELECTED:
        return {SELECTED: tuple(component_counts)}
    return {count: (count,) for count in components}


def fit_specs(
    sizes: Sequence[int],
    weak_sizes: Sequence[int] = (0,),
    counts: Mapping[int | str, tuple] | None = None,
    studies: Mapping[str, Sequence[float]] | None = None,
) -> list[FitSpec]:
    """Return the fits of all sizes, and those of the studies at the largest sizes.

    Parameters
    ----------
    sizes, weak_sizes : sequences of int
    counts : mapping or None, default=None
        As from `counts_by_setting`; None without a generative model.
    studies : mapping or None, default=None
        ``weak_weight`` and ``weak_noise``: values that are each run on their own.
    """
    counts = {SELECTED: (None,)} if counts is None else counts
    specs = [
        FitSpec(size, weak_size, components, competing)
        for size in sizes
        for weak_size in weak_sizes
        for components, competing in counts.items()
    ]
    if not studies or max(weak_sizes, default=0) == 0:
        return specs
    largest = max(sizes), max(weak_sizes)
    for setting in counts.items():
        for value in studies.get("weak_weight", ()):
            name = f"weak_weight={value:g}"
            specs.append(FitSpec(*largest, *setting, weak_weight=value, setting=name))
        for value in studies.get("weak_noise", ()):
            name = f"weak_noise={value:g}"
            specs.append(FitSpec(*largest, *setting, noise=value, setting=name))
    return specs


def unpaired_specs(sizes: Sequence[int], unpaired_sizes: Sequence[int]) -> list[FitSpec]:
    """Return the fits of each size with the most outputs without inputs, and studies of fewer.

    The studies are one fit for each number of such outputs, and one for none. Fits of equal rows
    follow each other, so that they may share a selection.
    """
    most, counts = max(unpaired_sizes, default=0), unpaired_sizes
    studied = sorted({0, *counts}) if counts else []
    settings = [*((count, f"unpaired_size={count}") for count in studied), (most, "")]
    return [
        FitSpec(size, unpaired_size=count, setting=setting)
        for size in sizes
        for count, setting in settings
    ]
