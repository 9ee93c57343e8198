"""A fit to rows that never are in memory as a whole, in steps that can be jobs of their own.

1. `StreamPlan.made` reads a sample of the inputs, and all outputs: it draws folds, learns how
   inputs are prepared, chooses landmarks, and with them the kernel and its width on the sample;
   for Output Fisher Embedding Regression it fits a mixture to the training outputs of each fold.
2. `StreamPlan.sums` reads a block of rows once and returns the sums of
   `workflow_lib.solvers.feature_sums`, by fold. Those of several blocks add up (`added`).
3. `StreamPlan.solved` solves ridge regression without each fold, for every penalty.
4. `StreamPlan.errors` reads a block again where errors do not follow from the sums, because the
   pre-image is not linear. They add up, too.
5. `StreamPlan.fitted` chooses the penalties with the least error of held-out rows, measures the
   error of the test rows, and fits to all rows.

Folds and test rows are drawn by row, so that the result does not depend on the blocks but for the
order of additions. Everything that sees outputs learns from the training rows of a fold alone; how
inputs are scaled, and the landmarks, come from inputs of all folds, never from test rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np

from workflow_lib.core.errors import ArgumentError
from workflow_lib.core.seeds import derive_seed
from workflow_lib.fitting.fitted_features import FittedFeatureRidge
from workflow_lib.fitting.fold_targets import (
    FoldTargets,
    TargetColumns,
    decoded_at,
    embedded_targets,
    squared_errors,
)
from workflow_lib.fitting.input_kernels import InputKernel, KernelGrid
from workflow_lib.fitting.landmark_ridge_fit import LANDMARK_METHOD
from workflow_lib.fitting.prepared_inputs import kernel_gamma
from workflow_lib.fitting.selection import Choice, best_point, grid_points, is_better
from workflow_lib.inputs.preparation import InputPreparation, fit_preparation
from workflow_lib.items.group_names import components_group, fold_group, size_group
from workflow_lib.measures.metrics import relative_error
from workflow_lib.models.forward import ForwardEmbedding
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.mixtures.online_mixture import OnlineGaussianMixtureModel
from workflow_lib.models.output_scaling import OutputScaling, fit_output_scaling
from workflow_lib.models.storage import model_from_tree, model_to_tree, scaling_from_tree
from workflow_lib.solvers.device_sums import BLOCK_NUMBERS as DEVICE_NUMBERS
from workflow_lib.solvers.device_sums import DeviceSums, device_namespace
from workflow_lib.solvers.feature_ridge import BLOCK_NUMBERS, FeatureRidge
from workflow_lib.solvers.feature_sums import FeatureSums
from workflow_lib.solvers.landmarks import (
    CANDIDATES_PER_LANDMARK,
    Features,
    LandmarkFeatures,
    LinearFeatures,
    choose_landmarks,
)

OUTPUT_ROWS = 2**16
"""Rows of a block of outputs, where outputs alone are read."""

MIXTURE_ROWS = 1024
"""Rows of a batch from which a mixture learns."""

FORM, COVARIANCE_BLOCK, PREIMAGE = "reduced", "constrained", "projected"
"""Of the embedding."""

PROJECTIONS = (True, False)
"""Whether predicted memberships are projected on the simplex; both compete."""

_ARRAYS = ("origin", "target_origin", "curve", "sample")
"""Arrays of a plan that are stored under their names."""


@dataclass(frozen=True)
class StreamSettings:
    """What is fitted.

    Attributes
    ----------
    n_components : int or None
        Of the mixture whose Fisher scores are regressed; None to regress the outputs themselves.
    kernels, widths : sequences of str and float
        Those that compete on the sample; widths in units of
        `workflow_lib.fitting.prepared_inputs.kernel_gamma`.
    alphas : sequence of float
        Penalties that compete on all rows, relative to each kernel
        (`workflow_lib.fitting.input_kernels`); infinity is the mean.
    n_landmarks : int
        m. The sample has 20 m rows.
    n_folds : int
        At least 2.
    test_share : float
        Share of the rows that are kept back until penalties are chosen, for the error of the
        result; they join the last fit.
    center : bool
        Whether there is an unpenalised intercept.
    scale : {"standard", "none"}
    metric : {"arrmse", "rrmse"}
    seed : int
    """

    n_components: int | None = None
    kernels: Sequence[str] = ("linear", "rbf", "laplacian")
    widths: Sequence[float] = (0.01, 0.1, 1.0, 10.0)
    alphas: Sequence[float] = (*(10.0**power for power in range(-9, 1)), float("inf"))
    n_landmarks: int = 1000
    n_folds: int = 5
    test_share: float = 0.1
    center: bool = True
    scale: str = "standard"
    metric: str = "arrmse"
    seed: int = 1

    def folds(self, n_rows: int) -> np.ndarray:
        """Return the fold (n,) of each row; that of test rows is `n_folds`."""
        order = np.random.default_rng(derive_seed(self.seed, "folds", n_rows)).permutation(n_rows)
        folds = np.empty(n_rows, dtype=np.int16)
        n_test = int(self.test_share * n_rows)
        folds[order[:n_test]] = self.n_folds
        folds[order[n_test:]] = np.arange(n_rows - n_test) % self.n_folds
        return folds


@dataclass
class Solutions:
    """What `StreamPlan.solved` returns.

    ``vars`` gives arrays to store, of which ``Solutions(**arrays)`` makes the same again.
    """

    weights: dict[str, np.ndarray]
    """By fold, the test rows last: array (m, n_penalties, d) of the values of features. Without a
    mixture those without the test rows alone."""

    intercepts: dict[str, np.ndarray]
    """Array (n_penalties, d) by fold."""

    errors: np.ndarray
    """Array (n_folds + 1, n_penalties, d): squared errors of the outputs regressed themselves, with
    or without a mixture, summed over rows; those of the test rows last."""

    total: dict[str, Any]
    """The `FeatureSums` of all rows, as arrays."""

    n_test: int
    """Test rows."""


@dataclass
class StreamedMethod:
    """A method that was fitted to a stream of rows, and its errors."""

    tree: dict[str, Any]
    """Of `workflow_lib.methods.contract.saved_method.SavedMethod`."""

    choice: Choice
    """What was chosen, without held-out outputs; ``score`` is the relative error of held-out
    rows."""

    test_score: float
    """Relative error, by the `metric`, of the test rows, by a fit without them; NaN if there are
    none."""

    test_errors: np.ndarray
    """Array (d,): their root mean squared error; NaN if there are none."""

    n_rows: int
    """Rows of the last fit."""

    point: int
    """The number of the chosen grid point."""


@dataclass
class StreamPlan:
    """What is known before the pass over the rows; see the module.

    Attributes
    ----------
    settings : StreamSettings
    n_rows : int
        Of the file, with those that lack an output.
    preparation : InputPreparation
    kernel : InputKernel
    landmarks : array (m, k) or None
        Of prepared inputs; None where these are few enough to be the features of a linear kernel.
    origin : array (m,)
        Mean of the values of features over the sample.
    target_origin : array (d,)
        Mean of the outputs over the sample.
    models : list of trees
        `workflow_lib.models.storage.model_to_tree` of the mixtures without each fold, without the
        test rows, and of all rows; empty where outputs are regressed.
    curve : array (n_kernels,)
        Relative error of each kernel on the sample, in the order of the grid.
    sample : array (s, q)
        Some inputs of training rows, as they are in the file.
    """

    settings: StreamSettings
    n_rows: int
    preparation: InputPreparation
    kernel: InputKernel
    landmarks: np.ndarray | None
    origin: np.ndarray
    target_origin: np.ndarray
    models: list[Mapping]
    curve: np.ndarray
    sample: np.ndarray
    _features: Features | None = field(default=None, repr=False)

    @classmethod
    def made(cls, X, Y, settings: StreamSettings, unpaired=None) -> StreamPlan:
        """Return the plan for inputs `X` (n, q) and outputs `Y` (n, d).

        Raises ArgumentError if shapes differ, values are infinite, or there are fewer than two
        training rows.

        Parameters
        ----------
        X, Y : arrays, or anything that gives arrays for slices and for sorted row numbers
            NaN where missing; a row that lacks an output is left out, and from one without any
            input only mixtures learn.
        settings : StreamSettings
        unpaired : array (u, d), or anything that gives arrays for slices, or None
            Outputs without inputs, from which all mixtures learn, too.
        """
        if len(X) != len(Y):
            raise ArgumentError(
                _location(Y, "Y"), f"{len(Y)} rows", f"{len(X)}, as the inputs have", "give both"
            )
        folds = settings.folds(len(X))
        complete = [
            ~np.isnan(_rows_of(Y, slice(start, start + OUTPUT_ROWS), "Y")).any(axis=1)
            for start in range(0, len(Y), OUTPUT_ROWS)
        ]
        complete = np.concatenate([np.empty(0, dtype=bool), *complete])
        known = np.flatnonzero(complete & (folds < settings.n_folds))
        if len(known) < 2:
            raise _too_few(Y, "Y", int(complete.sum()), "all outputs")
        generator = np.random.default_rng(derive_seed(settings.seed, "sample", len(X)))
        n_sample = CANDIDATES_PER_LANDMARK * settings.n_landmarks
        if len(known) > n_sample:
            known = np.sort(generator.choice(known, n_sample, replace=False, shuffle=False))
        sample = _rows_of(X, known, "X")
        with_inputs = ~np.isnan(sample).all(axis=1)
        sample, known = sample[with_inputs], known[with_inputs]
        outputs = _rows_of(Y, known, "Y")
        if len(known) < 2:
            raise _too_few(X, "X", len(known), "inputs")
        preparation = fit_preparation(sample, settings.scale)
        rows = preparation.apply(sample)
        landmarks = choose_landmarks(
            rows, settings.n_landmarks, "rbf", None, LANDMARK_METHOD, generator
        )
        models = []
        if settings.n_components is not None:
            models = _mixtures(Y, folds, outputs, folds[known], settings, unpaired)
        target_origin = outputs.mean(axis=0) if settings.center else np.zeros(outputs.shape[1])
        plan = cls(
            settings,
            len(X),
            preparation,
            InputKernel("linear"),
            landmarks,
            np.empty(0),
            target_origin,
            models,
            np.empty(0),
            sample,
        )
        plan._choose_kernel(rows, outputs, np.unique(folds[known], return_inverse=True)[1])
        return plan

    def _choose_kernel(self, rows, outputs, folds) -> None:
        """Set the kernel, by the errors of held-out rows of the sample."""
        settings = self.settings
        curve, best, chosen = [], None, None
        for kernel in self._grid.kernels():
            features = self._features_of(kernel)
            ridge = FeatureRidge(features, rows, folds, settings.center)
            alphas = self._alphas(kernel)
            if len(np.unique(folds)) > 1:
                errors = sum(ridge.solve(outputs, alphas).squared_errors)
                points = grid_points(alphas, [np.nan], "shared", False)
                scores = relative_error(errors, errors[-1], settings.metric)
                choice, _ = best_point(kernel, None, False, points, scores)
                curve.append(choice.score)
                if best is not None and not is_better(choice, best):
                    continue
                best = choice
            elif chosen is not None:
                continue
            chosen = kernel, features
        self.kernel, self._features = chosen
        self.curve = np.array(curve)
        if isinstance(self._features, LinearFeatures):
            self.landmarks = None
        origin = self._values(rows).mean(axis=0)
        self.origin = origin if settings.center else np.zeros(len(origin))

    @property
    def _grid(self) -> KernelGrid:
        settings, n_columns = self.settings, self.preparation.n_columns
        return KernelGrid(settings.kernels, settings.widths, settings.alphas, n_columns, True)

    def _alphas(self, kernel: InputKernel) -> list[float]:
        """Return the penalties of a kernel; the last is the training mean."""
        finite = [alpha for alpha in self.settings.alphas if np.isfinite(alpha)]
        return [alpha * self._grid.unit(kernel) for alpha in finite] + [np.inf]

    def _features_of(self, kernel: InputKernel) -> Features:
        n_columns = self.preparation.n_columns
        if kernel.name == "linear" and n_columns <= self.settings.n_landmarks:
            return LinearFeatures(n_columns)
        gamma = kernel_gamma(kernel.name, kernel.width, n_columns)
        return LandmarkFeatures(self.landmarks, kernel.name, gamma)

    @property
    def features(self) -> Features:
        """The features of the chosen kernel."""
        if self._features is None:
            self._features = self._features_of(self.kernel)
        return self._features

    def _values(self, rows: np.ndarray) -> np.ndarray:
        features = self.features
        return features.transform(rows) if features.factor is None else features.values(rows)

    def sums(self, X, Y, rows: range, device: str | None = None) -> list[FeatureSums]:
        """Return the sums of a range of the rows, by fold, those of the test rows last.

        The targets are the outputs, and then the blocks that are regressed for each model.

        Raises ArgumentError for infinite values.

        Parameters
        ----------
        X, Y
        rows : range
        device : str or None, default=None
            Where products are made (`workflow_lib.solvers.device_sums.device_namespace`).
        """
        origin = np.zeros(self._columns[-1].stop)
        origin[: len(self.target_origin)] = self.target_origin
        n_parts, on_device = self.settings.n_folds + 1, device_namespace(device)
        if on_device:
            added = DeviceSums(self.features, self.origin, origin, n_parts, *on_device)
            for folds, inputs, outputs in self._row_blocks(X, Y, rows, DEVICE_NUMBERS):
                added.add(inputs, self._all_targets(outputs), folds)
            return added.sums()
        sums = [FeatureSums.of_no_rows(self.origin, origin) for _ in range(n_parts)]
        for folds, inputs, outputs in self._row_blocks(X, Y, rows):
            T, values = self._all_targets(outputs), self._values(inputs)
            for fold in np.unique(folds):
                chosen = folds == fold
                sums[fold].add(values[chosen], T[chosen])
        return sums

    def _all_targets(self, outputs: np.ndarray) -> np.ndarray:
        """Return the outputs and what is regressed for each model, side by side."""
        models = range(len(self.models))
        return np.hstack([outputs, *(self._regressed(index, outputs) for index in models)])

    def solved(self, sums: Sequence[FeatureSums]) -> Solutions:
        """Return the solutions without each fold, from the sums of all rows by fold, which are
        overwritten."""
        features, settings, alphas = self.features, self.settings, self._alphas(self.kernel)
        if features.factor is not None:
            sums = [part.of_features(features.factor) for part in sums]
        of_outputs, *of_models = self._columns
        found = Solutions({}, {}, np.zeros(0), {}, sums[-1].n_rows)
        errors = np.zeros((settings.n_folds + 1, len(alphas), len(self.target_origin)))
        for fold, part in enumerate(sums):
            if not part.n_rows:
                continue
            training = reduce(add, (each for other, each in enumerate(sums[:-1]) if other != fold))
            weights, intercepts = training.of_targets(of_outputs).ridge(alphas, settings.center)
            errors[fold] = part.of_targets(of_outputs).squared_errors(weights, intercepts)
            if of_models:
                training = training.of_targets(of_models[fold])
                weights, intercepts = training.ridge(alphas, settings.center)
            if of_models or fold == settings.n_folds:
                dual = features.dual(weights)
                found.weights[str(fold)] = dual.reshape(len(dual), *intercepts.shape)
                found.intercepts[str(fold)] = intercepts
        found.errors = errors
        total = reduce(add, sums).of_targets(of_models[-1] if of_models else of_outputs)
        found.total = dict(vars(total))
        return found

    def errors(self, solutions: Solutions, X, Y, rows: range) -> np.ndarray:
        """Return the squared errors (n_folds + 1, n_points, d) of a range of rows after the
        pre-image, summed over them; those of the test rows last. Points are all pairs of penalties,
        with and then without the projection."""
        settings, n_points = self.settings, len(self._alphas(self.kernel)) ** 2
        shape = settings.n_folds + 1, len(PROJECTIONS), n_points, len(self.target_origin)
        total = np.zeros(shape)
        for folds, inputs, outputs in self._row_blocks(X, Y, rows):
            values = self.features.values(inputs)
            for fold in np.unique(folds):
                known = folds == fold
                predicted = self._grid_predictions(solutions, fold, values[known])
                targets = self._fold_targets(fold, outputs[known])
                columns = TargetColumns({None: [targets]}, has_weak_rows=False)
                split = columns.split(None, 0, predicted)
                for index, projected in enumerate(PROJECTIONS):
                    total[fold, index] += squared_errors(
                        outputs[known], targets, split, projected, "per_block", settings.center
                    )
        return total.reshape(shape[0], -1, shape[-1])

    def fitted(self, solutions: Solutions, errors: np.ndarray | None = None) -> StreamedMethod:
        """Return the method fitted to all rows, with the penalties of the least error.

        Parameters
        ----------
        solutions : Solutions
        errors : array (n_folds + 1, n_points, d) or None
            The sum of `errors` over all rows, with a mixture.
        """
        settings, alphas = self.settings, self._alphas(self.kernel)
        # With an infinite penalty the outputs themselves are predicted by their training mean.
        of_mean = solutions.errors[:-1, -1].sum(axis=0)
        of_mean_in_test = solutions.errors[-1, -1]
        errors = solutions.errors if errors is None else errors
        points = grid_points(alphas, [np.nan], "per_block", bool(self.models))
        scores = relative_error(errors[:-1].sum(axis=0), of_mean, settings.metric)
        count, repeated = settings.n_components, points * len(PROJECTIONS)
        choice, index = best_point(self.kernel, count, False, repeated, scores)
        choice = replace(choice, projected=bool(self.models) and PROJECTIONS[index // len(points)])
        total = FeatureSums(**solutions.total)
        weights, intercepts = total.ridge([self._penalties(choice)], settings.center)
        arrays = {"weights": self.features.dual(weights), "intercept": intercepts[0]}
        if self.landmarks is not None:
            arrays["landmarks"] = self.landmarks
        fitted = FittedFeatureRidge(arrays, self.kernel)
        chosen: dict[str, Any] = {"training_size": total.n_rows}
        tree: dict[str, Any] = {"module": "kernel_ridge"}
        if self.models:
            chosen |= {"n_components": count, "projected": choice.projected}
            tree |= {"form": FORM, "covariance_block": COVARIANCE_BLOCK, "preimage": PREIMAGE}
            stored = {components_group(count): {fold_group(None): self.models[-1]}}
            tree["models"] = {size_group(total.n_rows): stored}
        tree["parts"] = {"all": {"fitted": fitted.to_arrays(), "chosen": chosen}}
        test = errors[-1, index]
        return StreamedMethod(
            tree,
            choice,
            float(relative_error(test, of_mean_in_test, settings.metric)),
            np.sqrt(test / solutions.n_test) if solutions.n_test else np.full(len(test), np.nan),
            total.n_rows,
            index,
        )

    def test_predictions(
        self, solutions: Solutions, point: int, X, Y, n_rows: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the inputs (b, q), outputs (b, d) and predictions (b, d) of the first test rows
        with all outputs, by the fit without them.

        Parameters
        ----------
        solutions : Solutions
        point : int
            Of `StreamedMethod`.
        X, Y
        n_rows : int
            How many, at most.
        """
        tests = np.flatnonzero(self.settings.folds(self.n_rows) == self.settings.n_folds)[:n_rows]
        inputs, outputs = _rows_of(X, tests, "X"), _rows_of(Y, tests, "Y")
        known = ~np.isnan(outputs).any(axis=1) & ~np.isnan(inputs).all(axis=1)
        inputs, outputs = inputs[known], outputs[known]
        if not known.any():
            return inputs, outputs, outputs
        values = self.features.values(self.preparation.apply(inputs))
        predicted = self._grid_predictions(solutions, self.settings.n_folds, values)
        if not self.models:
            return inputs, outputs, predicted[point]
        targets = self._fold_targets(self.settings.n_folds, outputs)
        columns = TargetColumns({None: [targets]}, has_weak_rows=False).split(None, 0, predicted)
        number, index = divmod(point, len(predicted) ** 2)
        decoded = decoded_at(targets, columns, index, PROJECTIONS[number], "per_block")
        return inputs, outputs, decoded

    def _grid_predictions(self, solutions: Solutions, fold: int, values: np.ndarray) -> np.ndarray:
        """Return what is predicted without a fold from values (b, m), (n_penalties, b, d)."""
        intercepts = solutions.intercepts[str(fold)]
        weights = solutions.weights[str(fold)].reshape(-1, intercepts.size)
        predicted = (values @ weights).reshape(-1, *intercepts.shape) + intercepts
        return predicted.transpose(1, 0, 2)

    def _row_blocks(
        self, X, Y, rows: range, numbers: int = BLOCK_NUMBERS
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield the folds (b,), prepared inputs (b, k) and outputs (b, d) of blocks of rows."""
        folds, size = self.settings.folds(self.n_rows), len(self.origin)
        size = max(1, numbers // max(size, self._columns[-1].stop))
        for start in range(rows.start, rows.stop, size):
            block = slice(start, min(start + size, rows.stop))
            outputs = _rows_of(Y, block, "Y")
            inputs = _rows_of(X, block, "X")
            known = ~np.isnan(outputs).any(axis=1) & ~np.isnan(inputs).all(axis=1)
            if known.any():
                yield folds[block][known], self.preparation.apply(inputs[known]), outputs[known]

    @cached_property
    def _columns(self) -> list[slice]:
        """The columns of the outputs among the targets, and those of each model."""
        widths = [len(self.target_origin)]
        for index, (embedding, _) in enumerate(self._embeddings):
            is_last = index == len(self.models) - 1
            leading = embedding.leading_columns.stop
            widths.append(embedding.n_features if is_last else leading + widths[0])
        ends = np.cumsum(widths).tolist()
        return [slice(*pair) for pair in zip([0, *ends], ends, strict=False)]

    @cached_property
    def _embeddings(self) -> list[tuple[ForwardEmbedding, OutputScaling]]:
        return [
            (
                ForwardEmbedding(model_from_tree(model), FORM, COVARIANCE_BLOCK),
                scaling_from_tree(model),
            )
            for model in self.models
        ]

    def _fold_targets(self, index: int, outputs: np.ndarray) -> FoldTargets:
        """Return the targets of rows with these outputs under a model."""
        embedding, scaling = self._embeddings[index]
        scaled = scaling.apply(outputs)
        everywhere = np.ones(len(outputs), dtype=bool)
        embedded = embedding.transform(scaled)
        return embedded_targets(embedding, embedded, scaled, everywhere, scaling=scaling)

    def _regressed(self, index: int, outputs: np.ndarray) -> np.ndarray:
        """Return what is regressed for a model; for that of all rows, the whole embedding."""
        if index < len(self.models) - 1:
            targets = {None: [self._fold_targets(index, outputs)]}
            return TargetColumns(targets, has_weak_rows=False).labelled()[0]
        embedding, scaling = self._embeddings[index]
        return embedding.transform(scaling.apply(outputs))

    def _penalties(self, choice: Choice) -> np.ndarray:
        """Return the chosen penalty of each column that is regressed in the last fit."""
        if not self.models:
            return np.full(len(self.target_origin), choice.alpha_rest)
        embedding, _ = self._embeddings[-1]
        penalties = np.full(embedding.n_features, choice.alpha_rest)
        penalties[embedding.leading_columns] = choice.alpha_leading
        return penalties

    def to_tree(self) -> dict[str, Any]:
        """Return the plan as a tree for an artifact."""
        tree = {name: getattr(self, name) for name in _ARRAYS}
        tree |= {"n_rows": self.n_rows, "preparation": self.preparation.tree()}
        tree |= {"settings": json.dumps(asdict(self.settings)), "kernel": self.kernel.name}
        if self.kernel.width is not None:
            tree["width"] = self.kernel.width
        if self.landmarks is not None:
            tree["landmarks"] = self.landmarks
        return tree | {"models": {str(index): model for index, model in enumerate(self.models)}}

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> StreamPlan:
        """Return the plan of `to_tree`."""
        models = tree["models"]
        return cls(
            StreamSettings(**json.loads(tree["settings"])),
            int(tree["n_rows"]),
            InputPreparation.from_tree(tree["preparation"]),
            InputKernel(tree["kernel"], tree.get("width")),
            tree.get("landmarks"),
            models=[models[str(index)] for index in range(len(models))],
            **{name: tree[name] for name in _ARRAYS},
        )


def added(parts: Sequence[Sequence[FeatureSums]]) -> list[FeatureSums]:
    """Return the sums by fold of several ranges of rows, added up in their order."""
    return [reduce(add, of_fold) for of_fold in zip(*parts, strict=True)]


def _mixtures(Y, folds, sampled, sampled_folds, settings, unpaired) -> list[dict]:
    """Return the mixtures without each fold, without the test rows, and of all rows, as trees.

    They start from the sampled rows, since a file may be sorted, go on with blocks of all rows in
    random order, and end with one variance for all components (`_tied`).
    """
    k = settings.n_folds
    seed = derive_seed(settings.seed, "mixtures", len(folds))
    learns = [lambda fold, index=index: (fold != index) & (fold != k) for index in range(k + 1)]
    learns.append(lambda fold: fold >= -1)
    found = []
    for learn in learns:
        known = sampled[learn(sampled_folds)]
        scaling = fit_output_scaling(known, "standard")
        model = OnlineGaussianMixtureModel(
            settings.n_components, "spherical", random_state=derive_seed(seed, "start")
        )
        found.append((learn, scaling, model.partial_fit(scaling.apply(known))))
    parts = [(Y, folds, "Y")]
    if unpaired is not None:
        parts.append((unpaired, np.full(len(unpaired), -1), "Y_unpaired"))
    starts = [(*part, start) for part in parts for start in range(0, len(part[1]), OUTPUT_ROWS)]
    generator = np.random.default_rng(seed)
    for number in generator.permutation(len(starts)):
        rows, of_rows, name, start = starts[number]
        block = slice(start, min(start + OUTPUT_ROWS, len(of_rows)))
        outputs = _rows_of(rows, block, name)
        order = generator.permutation(np.flatnonzero(~np.isnan(outputs).any(axis=1)))
        outputs, of_block = outputs[order], of_rows[block][order]
        for learn, scaling, model in found:
            scaled = scaling.apply(outputs[learn(of_block)])
            for begin in range(0, len(scaled), MIXTURE_ROWS):
                model.partial_fit(scaled[begin : begin + MIXTURE_ROWS])
    return [model_to_tree(_tied(model), scaling) for _, scaling, model in found]


def _tied(model: OnlineGaussianMixtureModel) -> GaussianMixtureModel:
    """Return a mixture with one variance for all components: with equal penalties its regression is
    then that of the outputs, so that the choice among penalties can only gain on it."""
    tied = GaussianMixtureModel(model.n_components_, "tied_spherical")
    tied.weights_, tied.means_ = model.weights_, model.means_
    tied.covariances_ = float(model.weights_ @ model.covariances_)
    return tied


def _rows_of(rows, chosen, name: str) -> np.ndarray:
    """Return rows as float64, and refuse infinite ones."""
    values = np.asarray(rows[chosen], dtype=np.float64)
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        first = chosen.start if isinstance(chosen, slice) else 0
        number = row + first if isinstance(chosen, slice) else chosen[row]
        names = getattr(rows, "names", None)
        in_column = f"'{names[column]}'" if names else column + 1
        raise ArgumentError(
            _location(rows, name),
            f"an infinite value in row {number + 1}, column {in_column}",
            "numbers, NaN where missing",
            "correct it, or leave the row out",
        )
    return values


def _too_few(rows, name: str, n_rows: int, what: str) -> ArgumentError:
    return ArgumentError(
        _location(rows, name),
        f"{n_rows} sample{'' if n_rows == 1 else 's'} with {what}",
        "at least 2 to learn from, as errors are those of rows that a fit has not seen",
        "give more rows",
    )


def _location(rows, name: str) -> str:
    return getattr(rows, "location", f"argument {name}")
