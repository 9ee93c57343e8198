"""Which kernels on the inputs compete, with which widths and penalties, and what lies on an edge.

A method may name several kernels. Their grid of penalties is then relative: a penalty p stands for
alpha = p u, with u the size of the kernel's centred diagonal for standardised inputs,

    u = q                 for the linear kernel of q inputs,
    u = min(1, width)     for kernels with a width (1 - exp(-width) is close to it).

So one grid suits smooth and narrow kernels alike: as the width goes to zero, u / width goes to one,
and rbf kernel ridge regression to the linear one with the same p. The result is stored as alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from workflow_lib.measures.metrics import MIN_GAIN
from workflow_lib.solvers.heldout import MIN_RELATIVE_RIDGE

if TYPE_CHECKING:
    from workflow_lib.fitting.prepared_inputs import PreparedInputs

WITH_WIDTH = ("rbf", "laplacian")
"""Kernels that have a width."""

FURTHER = (10.0**0.5, 10.0)
"""Factors by which a grid is extended beyond the edge on which a chosen value lies."""

MIN_PENALTY = 1e-8
"""The relative penalty below which a grid is not extended. See also `KernelGrid.min_penalty`."""

Grid = dict["InputKernel", list[float]]
"""The penalties alpha of each kernel that competes."""


class InputKernel(NamedTuple):
    """A kernel on the inputs; ``width`` is in units of `kernel_gamma`, None for those without."""

    name: str
    width: float | None = None


@dataclass(frozen=True)
class KernelGrid:
    """The kernels of a method, the widths of those that have one, and the penalties.

    Attributes
    ----------
    names : sequence of str
    widths, alphas : sequences of float
        Penalties may be infinite.
    n_columns : int
        Inputs, as the linear kernel counts them.
    is_relative : bool
        Whether penalties are in units of `alpha_unit`; else they are alpha itself.
    n_rows : int
        Training rows.
    """

    names: Sequence[str]
    widths: Sequence[float]
    alphas: Sequence[float]
    n_columns: int = 1
    is_relative: bool = False
    n_rows: int = 1

    def kernels(self) -> list[InputKernel]:
        """Return the kernels that compete, in the order of their names and widths."""
        return [
            InputKernel(name, width)
            for name in self.names
            for width in (self.widths if name in WITH_WIDTH else [None])
        ]

    @classmethod
    def of_method(
        cls,
        kernel: str,
        kernels: Sequence[str] | None,
        widths: Sequence[float],
        alphas: Sequence[float],
        inputs: PreparedInputs,
    ) -> KernelGrid:
        """Return the grid of a method.

        Parameters
        ----------
        kernel : str
            That of the inputs.
        kernels : sequence of str or None
            Those that compete, with relative penalties; None for `kernel` alone, with penalties as
            they are.
        widths, alphas
        inputs : PreparedInputs
            Of the fit, for the number of its columns and rows.
        """
        names, sizes = list(kernels or [kernel]), (inputs.n_columns, len(inputs.folds))
        return cls(names, widths, alphas, sizes[0], bool(kernels), sizes[1])

    def single(self, values: Mapping[str, float]) -> KernelGrid:
        """Return the grid of one point, for where nothing can be selected.

        Parameters
        ----------
        values : mapping
            ``width`` and ``alpha``; the first of the grid where one is missing.
        """
        return replace(
            self,
            names=[kernel_without_selection(self.names)],
            widths=[values["width"]] if "width" in values else self.widths[:1],
            alphas=[values["alpha"]] if "alpha" in values else self.alphas[:1],
        )

    @property
    def min_penalty(self) -> float:
        """The relative penalty down to which the grid goes where ever smaller ones are chosen.

        The largest eigenvalue of a centred Gram matrix of n rows is at most n times the size of its
        diagonal. Below this penalty, held-out predictions could lose digits.
        """
        return max(MIN_PENALTY, MIN_RELATIVE_RIDGE * self.n_rows)

    def unit(self, kernel: InputKernel) -> float:
        """Return what the penalties of a kernel are multiplied by."""
        return alpha_unit(kernel, self.n_columns) if self.is_relative else 1.0

    def all(self) -> Grid:
        """Return every kernel with its penalties alpha."""
        return {kernel: self._alphas(kernel, self.alphas) for kernel in self.kernels()}

    def extended(self, choices: Iterable) -> Grid:
        """Return what lies beyond the edges on which choices lie; nothing where none does.

        Two further values half a decade apart, of the width with all penalties, of a penalty for
        its kernel with all others.

        Parameters
        ----------
        choices : iterable of `workflow_lib.fitting.selection.Choice`
        """
        found: Grid = {}
        for choice in choices:
            alphas = list(self.alphas)
            kernel = choice.kernel
            for is_lower, is_upper in self._alpha_edges(choice, self.all().get(kernel, ())):
                finite = [value for value in self.alphas if value < float("inf")]
                if is_lower:
                    alphas += [min(finite) / factor for factor in FURTHER]
                if is_upper:
                    alphas += [max(finite) * factor for factor in FURTHER]
            further = [kernel] if len(alphas) > len(self.alphas) else []
            is_lower, is_upper = _edges(kernel.width, set(self.widths))
            if is_lower:
                further += [kernel._replace(width=kernel.width / factor) for factor in FURTHER]
            if is_upper:
                further += [kernel._replace(width=kernel.width * factor) for factor in FURTHER]
            for other in further:
                known = found.get(other, [])
                found[other] = sorted({*known, *self._alphas(other, alphas)})
        return found

    def search(self, select: Callable[[Grid], dict], extends: bool) -> tuple[dict, Grid]:
        """Return the best choices of the grid and of its extension, and the extension.

        Parameters
        ----------
        select : function of a grid
            Returns choices by any key; each has a ``score``, lower is better.
        extends : bool
            Whether the grid is extended once where a chosen value lies on its edge, and then by
            ever smaller penalties for as long as the smallest one is chosen, down to
            `min_penalty`.
        """
        found = select(self.all())
        extension = further = self.extended(found.values()) if extends else {}
        while further:
            for key, choice in select(further).items():
                # Choices equal by algebra differ by rounding; that of the grid is kept.
                if choice.score < found[key].score * (1.0 - MIN_GAIN):
                    found[key] = choice
            further = self._lower(found.values(), extension)
            extension = extension | {
                kernel: sorted({*extension.get(kernel, ()), *alphas})
                for kernel, alphas in further.items()
            }
        return found, extension

    def search_one(self, select: Callable[[Grid], Any], extends: bool) -> tuple[Any, str]:
        """Return the choice of a function with one choice, as `search`, and its `edges_of`."""
        found, extension = self.search(lambda grid: {None: select(grid)}, extends)
        return found[None], self.edges_of(found[None], extension)

    def _lower(self, choices: Iterable, extension: Grid) -> Grid:
        """Return smaller penalties where the smallest one of an extended grid was chosen. They
        stand with all others of their kernel, since the leading and the other blocks have penalties
        of their own."""
        found: Grid = {}
        for choice in choices:
            kernel = choice.kernel
            known = extension.get(kernel, [])
            lowest = min(known, default=0.0)
            is_lowest = lowest in (choice.alpha_leading, choice.alpha_rest)
            # Rounding of the products of a unit must not decide.
            least = 0.999 * self.min_penalty * self.unit(kernel)
            if is_lowest and lowest / max(FURTHER) > least:
                found[kernel] = sorted({*known, *(lowest / factor for factor in FURTHER)})
        return found

    def edges_of(self, choice, extension: Mapping[InputKernel, Sequence[float]]) -> str:
        """Return which chosen values lie on an edge of the grid with its extension, in words.

        For example ``lowest width, lowest alpha``; empty for none. With two penalties the one of
        the leading block is the ``leading alpha``.
        """
        widths = {other.width for other in extension if other.name == choice.kernel.name}
        widths.update(self.widths)
        alphas = (*self.all().get(choice.kernel, ()), *extension.get(choice.kernel, ()))
        found = {"width": _edges(choice.kernel.width, widths)}
        names = ("leading alpha", "alpha")
        found |= dict(zip(names, self._alpha_edges(choice, alphas), strict=True))
        return ", ".join(
            f"{word} {name}"
            for name, edges in found.items()
            for word, is_edge in zip(("lowest", "highest"), edges, strict=True)
            if is_edge
        )

    @staticmethod
    def _alpha_edges(choice, alphas: Iterable[float]) -> list[tuple[bool, bool]]:
        return [_edges(alpha, set(alphas)) for alpha in (choice.alpha_leading, choice.alpha_rest)]

    def _alphas(self, kernel: InputKernel, alphas: Sequence[float]) -> list[float]:
        unit = self.unit(kernel)
        return [float(alpha) * unit for alpha in alphas]


def kernel_without_selection(names: Sequence[str]) -> str:
    """Return the kernel that serves where nothing can be selected: the first that is not linear.

    The linear one where there is no other.
    """
    return next((name for name in names if name != "linear"), names[0])


def alpha_unit(kernel: InputKernel, n_columns: int) -> float:
    """Return the size of the centred diagonal of a kernel on `n_columns` standardised inputs."""
    if kernel.name == "linear":
        return float(n_columns)
    return min(1.0, kernel.width) if kernel.name in WITH_WIDTH else 1.0


def _edges(value: float | None, values: set[float]) -> tuple[bool, bool]:
    """Return whether a value is the lowest and the highest of several finite ones. A single value
    was given, not chosen. An infinite one is the end of all grids, and no edge."""
    if value is None or len(values) < 2 or value == float("inf"):
        return False, False
    return value == min(values), value == max(values)
