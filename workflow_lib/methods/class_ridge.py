"""Kernel ridge regression on classes: one set of scores, many decoders.

The class vectors of all classes are known, labelled or not, and all rows of a class have the same
one. So one mixture, fitted to all training rows, serves every fold: the class vectors that it saw
say nothing of which class a held-out row has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product

import numpy as np

from workflow_lib.core.parameters import check_choice
from workflow_lib.fitting.class_selection import (
    heldout_class_scores,
    least_error,
    one_hot,
    scaled_squared_error,
    select_class_scores,
)
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec, fit_specs
from workflow_lib.fitting.fitted_ridge import kernel_arrays, kernel_in
from workflow_lib.fitting.input_kernels import Grid, InputKernel, KernelGrid
from workflow_lib.fitting.point_selection import single_values
from workflow_lib.fitting.split_models import class_mixture
from workflow_lib.items.group_names import SELECTED, item_kernel
from workflow_lib.methods.contract import base
from workflow_lib.models.class_decoders import BLOCK_DECODERS, CLASS_DECODERS, MIXTURE_DECODERS
from workflow_lib.models.class_decoding import decoded_scores
from workflow_lib.models.forward import ForwardEmbedding
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.output_kernels import output_unit
from workflow_lib.solvers.ridge import fit_blocks
from workflow_lib.solvers.weak import WeakGrams

REGRESSORS = ("class_ridge",)
TASKS = ("classes",)
NEEDS = {"minutes": 2, "grams": 14, "cubic_minutes": 0.2}
READS = ("dataset", "split", "features", "models", "weak_labels")


@dataclass
class Method(base.Method):
    """Select and fit kernel ridge regression on classes.

    The kernel, its width and the penalty are those with the least `squared_error` of the
    out-of-fold scores of the class indicators; then the parameters of the decoder are those with
    the least `scaled_squared_error` after decoding, under that kernel and penalty. The penalty of a
    membership block, and the weight of its weak rows, are those with the least squared error of the
    predicted memberships of held-out rows, under the same kernel. Of grid points that are equal the
    first is chosen.

    With one example per class a held-out class has no example left, and nothing can be selected:
    `one_example` is used instead, and the item has no score. Of several kernels the first that
    is not linear serves then.

    Raises ValueError if `decoder` is unknown, or weak rows are to join one without a membership
    block.

    Attributes
    ----------
    decoder : str
        ``one_hot``: the scores themselves. ``least_loss``: minus the expected loss of each class,
        by the costs of the dataset or, without these, path lengths in its tree.
        ``output_kernel``: the class nearest to the prediction
        in the feature space of a Gaussian kernel on the class vectors. ``candidates``: the class
        with the reduced Fisher embedding nearest to the predicted one, coordinates of the pi block
        with a weight. ``class_block``: the class nearest in the embedding of indicators and
        component memberships, a block of memberships q(v_k) with a penalty and a weight of its own,
        which weak rows join. ``class_block_component_first``: the same, but only classes of the
        most probable component compete.
    kernel, kernels, widths, alphas
        As of `workflow_lib.fitting.input_kernels.KernelGrid.of_method`. The grid of `kernels`,
        and the penalties of a membership block, are extended where a chosen value lies on the
        edge.
    output_widths : sequence of float
        Scales of the output kernel in units of `output_unit` of the class vectors.
    components : str or sequence of int
        SELECTED, or the fixed counts that are run one by one; for decoders with a mixture.
    component_counts : sequence of int
        Counts that compete where `components` is SELECTED.
    block_weights : sequence of float
        Weights of the pi or membership block, relative to the other block.
    weak_weights : sequence of float
        Weights of a weak row relative to a labelled one.
    weak : bool
        Whether weak rows join.
    center : bool
        Fit an unpenalised intercept.
    one_example : mapping
        ``width``, ``alpha`` (of every block), ``output_width``, ``n_components``,
        ``block_weight`` and ``weak_weight`` with one example per class; the first of its list
        where one is missing.
    row_errors : {"mean", "median"}
        What the squared errors of the rows are averaged by, where the kernel, its width and the
        penalty are chosen. The parameters of decoders are chosen by pooled errors always.
    """

    decoder: str
    kernel: str
    widths: Sequence[float]
    alphas: Sequence[float]
    output_widths: Sequence[float]
    components: str | Sequence[int]
    component_counts: Sequence[int]
    block_weights: Sequence[float]
    weak_weights: Sequence[float]
    weak: bool
    center: bool
    one_example: Mapping[str, float]
    kernels: Sequence[str] | None = None
    row_errors: str = "mean"

    def __post_init__(self) -> None:
        check_choice("decoder", self.decoder, CLASS_DECODERS)
        if self.weak and self.decoder not in BLOCK_DECODERS:
            raise ValueError(
                f"weak rows join the decoders {BLOCK_DECODERS}; found {self.decoder!r}."
            )

    def specs(self, split: SplitData) -> list[FitSpec]:
        """Return the fits of each weak size, and of each fixed number of components."""
        counts: dict = {SELECTED: tuple(self.component_counts)}
        if self.decoder in MIXTURE_DECODERS and self.components != SELECTED:
            counts = {count: (count,) for count in self.components}
        return fit_specs(split.sizes, split.weak_sizes if self.weak else [0], counts)

    def select(self, data: FitData) -> base.Selection:
        fit, seconds = data.split.once("fit", data.size, lambda: self._fit_of_size(data))
        # With one example the number of components is fixed too, but for one that is run by itself.
        is_selected = data.spec.components == SELECTED
        counts = fit.grid.n_components if is_selected else data.spec.counts
        choice = fit.select(self.decoder, counts, data.spec.weak_size)
        entries = {
            "score": None if data.has_one_example else choice.score,
            "kernel": fit.kernel.name,
            "width": fit.kernel.width,
            "alpha_rest": fit.alpha,
            "edges": fit.edges_of(choice) or None,
            **fit.curves,
        }
        return base.Selection(
            choice.heldout_scores,
            entries | choice.entries(),
            # All fits of a size share these seconds, and each would need them alone.
            more_seconds={"selection_seconds": seconds},
            fitting=(fit, choice),
        )

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        fit, choice = selection.fitting
        duals = fit.refit(choice, data.spec.weak_size)
        decoding = choice.decoding
        codes = {"codes": decoding.codes, "code_weights": decoding.weights}
        arrays = _fitted_entries(duals) | codes
        return Fitted(self.decoder, fit.kernel, data.spec.weak_size, arrays)

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        kernel = InputKernel(item_kernel(entries, self.kernel), entries.get("width"))
        # Weak rows are known to the membership block only.
        known = entries.get("membership_dual_coefficients", entries["dual_coefficients"])
        return Fitted(self.decoder, kernel, len(known) - data.size, entries)

    def _fit_of_size(self, data: FitData) -> _Fit:
        """Return the fit of the training size, of which all its weak sizes and counts are made."""
        grid = _Grid(
            output_width=tuple(self.output_widths),
            n_components=tuple(self.component_counts),
            block_weight=tuple(self.block_weights),
            weak_weight=tuple(self.weak_weights),
        )
        kernel_grid = KernelGrid.of_method(
            self.kernel, self.kernels, self.widths, self.alphas, data.inputs
        )
        if data.has_one_example:
            grid = grid.single(self.one_example)
            kernel_grid = kernel_grid.single(self.one_example)
        return _Fit(data, grid, kernel_grid, self.center, self.row_errors)


class Fitted(base.Fitted):
    """Dual coefficients of the indicators and of a membership block, and codes of the classes.

    Parameters
    ----------
    decoder : str
    kernel : InputKernel
    weak_size : int
        Weak rows of the membership block.
    arrays : mapping
        ``dual_coefficients`` (n, K) and ``intercept`` (K,) of the indicators;
        ``membership_dual_coefficients`` (n + w, C) and ``membership_intercept`` (C,) of a
        membership block; ``codes`` and ``code_weights`` of the decoder, as far as it has them
        (`workflow_lib.models.class_decoding.decoded_scores`).
    """

    ARRAYS = (
        *("dual_coefficients", "intercept"),
        *("membership_dual_coefficients", "membership_intercept", "codes", "code_weights"),
    )

    def __init__(
        self, decoder: str, kernel: InputKernel, weak_size: int, arrays: Mapping[str, np.ndarray]
    ) -> None:
        self._decoder, self._kernel, self._weak_size = decoder, kernel, weak_size
        kept = {name: arrays.get(name) for name in self.ARRAYS}
        self._arrays = {name: array for name, array in kept.items() if array is not None}

    def predict(self, rows):
        return self.predictions(rows)["test_targets"]

    def predictions(self, rows):
        """Return the class scores (m, K), and ``test_memberships`` (m, C) of a membership block."""
        arrays = self._arrays
        K = rows.test_gram(*self._kernel, self._weak_size)
        dual = arrays["dual_coefficients"]
        indicators = K[:, : len(dual)] @ dual + arrays["intercept"]
        memberships = None
        if "membership_dual_coefficients" in arrays:
            dual = arrays["membership_dual_coefficients"]
            memberships = K[:, : len(dual)] @ dual + arrays["membership_intercept"]
        codes, weights = arrays.get("codes"), arrays.get("code_weights")
        scores = decoded_scores(self._decoder, indicators, memberships, codes, weights)
        return {"test_targets": scores, "test_memberships": memberships}

    def entries(self):
        return dict(self._arrays)

    def to_arrays(self):
        kernel = kernel_arrays(self._kernel, self._weak_size)
        return self._arrays | kernel | {"decoder": self._decoder}

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        return cls(arrays["decoder"], *kernel_in(arrays), arrays)


@dataclass(frozen=True)
class _Grid:
    """The values of each parameter of a decoder that compete."""

    output_width: Sequence
    n_components: Sequence
    block_weight: Sequence
    weak_weight: Sequence

    def single(self, fixed: Mapping[str, float]) -> _Grid:
        """Return the grid with one value of each parameter: that of `fixed`, or the first."""
        return _Grid(**single_values(vars(self), fixed))


@dataclass(frozen=True)
class _MembershipBlock:
    """The choice for the membership block: of a mixture, and how its memberships are predicted."""

    n_components: int
    """Component count asked for."""

    codes: np.ndarray
    """Array (K, C): memberships of the class vectors."""

    kernel: InputKernel
    """That of the class indicators."""

    alpha_leading: float
    """lambda_0 of the block."""

    weak_weight: float | None
    """Weight of a weak row relative to a labelled one; None without weak rows."""

    score: float
    """Squared error of the memberships of held-out rows."""

    heldout: np.ndarray
    """Array (n, C): memberships predicted for each training row without its fold."""

    edges: str = ""
    """Which chosen values lie on an edge of the grid, in words; empty for none."""

    alpha_rest: float = np.nan
    """NaN: the choice is that of the leading block alone."""


@dataclass(frozen=True)
class _Decoding:
    """One grid point of a decoder.

    Attributes
    ----------
    decoder : str
    codes, weights : array or None
        As in `decoded_scores`.
    parameters : dict
        The grid point, by the names of the artifact.
    block : _MembershipBlock or None
    """

    decoder: str
    codes: np.ndarray | None = None
    weights: np.ndarray | None = None
    parameters: dict = field(default_factory=dict)
    block: _MembershipBlock | None = None

    def decode(self, indicators: np.ndarray, memberships: np.ndarray | None) -> np.ndarray:
        """Return class scores (n, K) of predicted indicators (n, K), and memberships (n, C)."""
        return decoded_scores(self.decoder, indicators, memberships, self.codes, self.weights)


@dataclass(frozen=True)
class _Choice:
    """The grid point of a decoder with the lowest score, and its out-of-fold class scores."""

    decoding: _Decoding
    score: float
    heldout_scores: np.ndarray

    def entries(self) -> dict:
        """Return what was chosen, by the names of the artifact."""
        block = self.decoding.block
        if block is None:
            return self.decoding.parameters
        return self.decoding.parameters | {
            "n_components": block.n_components,
            "alpha_leading": block.alpha_leading,
            "weak_weight": block.weak_weight,
        }


class _Fit:
    """Selection and refit of all items of one training size.

    Attributes
    ----------
    grid : _Grid
    kernel : InputKernel
        Kernel on the inputs, and
    alpha : float
        penalty of the class indicators: those with the least error of their scores.
    curves : mapping
        The validation curves of this error, as the entry of an item.
    """

    def __init__(
        self,
        data: FitData,
        grid: _Grid,
        kernel_grid: KernelGrid,
        center: bool,
        row_errors: str = "mean",
    ) -> None:
        self._split, self._size, self._inputs = data.split, data.size, data.inputs
        self.grid, self._center = grid, center
        self._weak_grams_by_size: dict[int, WeakGrams] = {}
        self._labels, self._n_classes = data.labels, data.n_classes
        self._indicators = select_class_scores(
            self._inputs, self._labels, self._n_classes, kernel_grid, center, row_errors
        )
        self.curves = self._indicators.curves
        self.kernel, self.alpha = self._indicators.kernel, self._indicators.alpha_rest
        # Of the chosen kernel only penalties compete for a membership block.
        name, width = self.kernel
        self._block_grid = replace(kernel_grid, names=[name], widths=[width])

    def select(self, decoder: str, counts: Sequence[int], weak_size: int) -> _Choice:
        """Return the best grid point of a decoder, with one of the component `counts`."""
        choices = []
        for decoding in self._decodings(decoder, counts, weak_size):
            memberships = None if decoding.block is None else decoding.block.heldout
            decoded = decoding.decode(self._indicators.heldout_scores, memberships)
            weights = self._inputs.weights
            error = scaled_squared_error(decoded, self._labels, weights=weights)
            choices.append(_Choice(decoding, error, decoded))
        return choices[least_error([choice.score for choice in choices])]

    def edges_of(self, choice: _Choice) -> str:
        """Return which chosen values lie on an edge of their grid, in words; empty for none."""
        block = choice.decoding.block
        edges = [self._indicators.edges, "" if block is None else block.edges]
        return ", ".join(filter(None, edges))

    def refit(self, choice: _Choice, weak_size: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return dual coefficients and intercepts of each block, from all rows."""
        split, size, block = self._split, self._size, choice.decoding.block
        K = self._inputs.training_gram(*self.kernel, weak_size)
        indicators = one_hot(self._labels, self._n_classes)
        all_columns = {"": slice(None)}
        duals = [
            fit_blocks(
                K[:size, :size],
                indicators,
                all_columns,
                {"": self.alpha},
                self._center,
                row_weights=self._inputs.weights,
            )
        ]
        if block is None:
            return duals
        weak = None
        if weak_size:
            weak = {"": split.memberships(size, block.n_components, weak_size)}
        memberships = fit_blocks(
            K,
            indicators @ block.codes,
            all_columns,
            {"": block.alpha_leading},
            self._center,
            weak,
            block.weak_weight,
        )
        return [*duals, memberships]

    def _decodings(
        self, decoder: str, counts: Sequence[int], weak_size: int
    ) -> Iterator[_Decoding]:
        """Yield the grid points of a decoder."""
        if decoder == "one_hot":
            yield _Decoding(decoder)
        elif decoder == "least_loss":
            yield _Decoding(decoder, self._split.losses)
        elif decoder == "output_kernel":
            vectors = self._split.vectors
            for width in self.grid.output_width:
                gram = gram_matrix(vectors, None, "rbf", (width * output_unit(vectors)) ** -2)
                yield _Decoding(decoder, gram, parameters={"output_width": width})
        elif decoder == "candidates":
            for count, weight in product(counts, self.grid.block_weight):
                yield self._candidate_decoding(count, weight)
        else:
            for count in counts:
                block = self._membership_block(count, weak_size)
                for weight in self.grid.block_weight:
                    # The nearest code [indicators, memberships] of the classes.
                    weights = np.ones(sum(block.codes.shape))
                    weights[len(block.codes) :] = weight
                    parameters = {"block_weight": weight}
                    yield _Decoding(decoder, block.codes, weights, parameters, block)

    def _candidate_decoding(self, count: int, weight: float) -> _Decoding:
        model, vectors = class_mixture(self._split, self._size, count)
        embedding = ForwardEmbedding(model)
        codes = embedding.transform(vectors)
        weights = np.ones(codes.shape[1])
        weights[embedding.blocks["pi"]] = weight
        parameters = {"n_components": count, "block_weight": weight}
        return _Decoding("candidates", codes, weights, parameters)

    def _membership_block(self, count: int, weak_size: int) -> _MembershipBlock:
        """Return the membership block with the penalty and weak weight of the least error."""
        model, vectors = class_mixture(self._split, self._size, count)
        select = partial(self._best_block, model.responsibilities(vectors), count, weak_size)
        choice, edges = self._block_grid.search_one(select, extends=self._block_grid.is_relative)
        return replace(choice, edges=edges)

    def _best_block(
        self, codes: np.ndarray, count: int, weak_size: int, grid: Grid
    ) -> _MembershipBlock:
        """Return the best membership block of a grid of the kernel and its penalties."""
        alphas, targets = grid[self.kernel], codes[self._labels]
        if weak_size:
            candidates = list(product(alphas, self.grid.weak_weight))
            weak_targets = self._split.memberships(self._size, count, weak_size)
            predictions = np.empty((len(candidates), *targets.shape))
            solver = self._weak_grams(weak_size)
            n_folds = len(solver.heldout)
            by_fold = solver.predict([targets] * n_folds, [weak_targets] * n_folds, candidates)
            for rows, of_fold in zip(solver.heldout, by_fold, strict=True):
                predictions[:, rows] = of_fold
        else:
            candidates = [(alpha, None) for alpha in alphas]
            # Predictions are linear in the targets: those of memberships are scores times codes.
            scores = heldout_class_scores(
                self._inputs, self._labels, self._n_classes, self.kernel, alphas, self._center
            )
            predictions = scores @ codes
        errors = ((predictions - targets) ** 2).sum(axis=(1, 2))
        best = least_error(errors)
        alpha, weak_weight = candidates[best]
        return _MembershipBlock(
            count, codes, self.kernel, alpha, weak_weight, float(errors[best]), predictions[best]
        )

    def _weak_grams(self, weak_size: int) -> WeakGrams:
        if weak_size not in self._weak_grams_by_size:
            # Items come one weak size after the other, so that one is enough to keep.
            self._weak_grams_by_size = {
                weak_size: self._inputs.weak_heldout_solver(*self.kernel, self._center, weak_size)
            }
        return self._weak_grams_by_size[weak_size]


def _fitted_entries(duals: Sequence[tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return dual coefficients and intercepts of the blocks by the names of the artifact."""
    return {
        f"{prefix}{name}": values
        for prefix, solution in zip(("", "membership_"), duals)
        for name, values in zip(("dual_coefficients", "intercept"), solution, strict=True)
    }
