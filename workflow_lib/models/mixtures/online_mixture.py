"""Gaussian mixtures that learn from a stream of rows, one batch after the other."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from workflow_lib.core.array_arguments import as_output_matrix, check_ignored
from workflow_lib.core.parameters import check_parameters, checks, random_generator
from workflow_lib.models.covariance import floor_from_variance
from workflow_lib.models.gradient_steps import OPTIMISERS, GradientSteps
from workflow_lib.models.mixtures import mixture_batches
from workflow_lib.models.mixtures.mixture import (
    START_ROWS,
    START_ROWS_PER_COMPONENT,
    GaussianMixtureModel,
    k_means_labels,
    of_one_start,
)
from workflow_lib.models.mixtures.mixture_batches import Parameters, RowReader, Statistics
from workflow_lib.models.mixtures.mixture_gradient import Coordinates, expected_gradient, softmax

UPDATES = ("stepwise", "gradient", "natural")
COVARIANCES = ("spherical", "diag")

STATE_VERSION = 1
"""Of the trees of `OnlineGaussianMixtureModel.state`; raised when their names or meaning change."""


class OnlineGaussianMixtureModel(GaussianMixtureModel):
    """A Gaussian mixture learned in batches of rows, by generalised EM.

    Every batch has one E-step, whose result are three sums over its rows: of the responsibilities,
    and of these times the rows and their squares. The update is

    - ``stepwise``: running statistics of an average row move towards those of the batch,
      s <- (1 - step) s + step s_batch, and give the parameters by an M-step (Cappe & Moulines
      2009);
    - ``natural``: the same, where s is not kept but that of the present parameters: ascent of the
      log-likelihood of the batch in the expectation parameters of a row and its component, by the
      gradient that their Fisher information makes independent of the coordinates (Sato & Ishii
      2000). It differs from ``stepwise`` where the floor under the variances was active;
    - ``gradient``: `m_steps` steps of gradient ascent of
      F = E log p(y, z) + H(q) (Palasek & Patras 2017, eq. (2)) with the responsibilities held, in
      the means, the deviations and alpha, with weights softmax(alpha).

    With all rows as the batch and steps of 1, the first two are one step of EM. The first rows wait
    until there are as many different ones as components; then a k-means++ start gives the
    parameters. Scale, centre and floor are those of these first rows, of `fit` those of a sample.

    Parameters
    ----------
    n_components : int, default=4
    covariance_type : {"diag", "spherical"}, default="diag"
    update : {"stepwise", "gradient", "natural"}, default="stepwise"
        ``stepwise`` needs no rate and reaches the likelihood of EM in the fewest batches.
    optimiser : {"adagrad", "rmsprop", "nesterov"}, default="adagrad"
        Of ``gradient`` (`workflow_lib.models.gradient_steps`).
    learning_rate : float, default=0.1
        Of ``gradient``: for rows whose mean variance is 1 at the start.
    m_steps : int, default=5
        Of ``gradient``: its steps in every batch, as in Palasek & Patras (2017), section 5.
    step : float or None, default=None
        Of the other updates: None for the falling (t + 4)^-0.55 in batch t = 1, 2, ..., which
        converges; a number in (0, 1] for a constant step, which follows a stream that changes.
    variance_floor : float, default=0.05
        Smallest variance, as a fraction of the mean variance.
    random_state : int, Generator, RandomState or None, default=0
    batch_size : int, default=1024
        Rows of a batch in `fit`.
    max_passes : int, default=20
        Most passes over the rows in `fit`, which ends sooner when a pass raises their mean
        log-likelihood by less than `mixture_batches.PASS_TOLERANCE`.

    Attributes
    ----------
    weights_, means_, covariances_, n_components_, n_dropped_
        As `GaussianMixtureModel`, from the first update on.
    n_batches_, n_rows_ : int
        Batches and rows of all updates.
    log_likelihoods_ : array (n_batches_,)
        Mean log-likelihood (nats per row) of every batch before its update.

    Examples
    --------
    >>> import numpy as np
    >>> from workflow_lib import OnlineGaussianMixtureModel
    >>> random = np.random.default_rng(0)
    >>> model = OnlineGaussianMixtureModel(n_components=2)
    >>> for _ in range(20):
    ...     rows = np.concatenate([random.normal(-5, 1, (60, 1)), random.normal(5, 1, (40, 1))])
    ...     model = model.partial_fit(rows)
    >>> np.sort(model.means_[:, 0]).round()
    array([-5.,  5.])
    """

    allowed: ClassVar = checks(
        whole="n_components batch_size max_passes",
        count="m_steps",
        positive="learning_rate variance_floor",
        share_or_none="step",
        seed="random_state",
        covariance_type=COVARIANCES,
        update=UPDATES,
        optimiser=OPTIMISERS,
    )

    def __init__(
        self,
        n_components: int = 4,
        covariance_type: str = "diag",
        update: str = "stepwise",
        optimiser: str = "adagrad",
        learning_rate: float = 0.1,
        m_steps: int = 5,
        step: float | None = None,
        variance_floor: float = 0.05,
        random_state=0,
        batch_size: int = 1024,
        max_passes: int = mixture_batches.MAX_PASSES,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.update = update
        self.optimiser = optimiser
        self.learning_rate = learning_rate
        self.m_steps = m_steps
        self.step = step
        self.variance_floor = variance_floor
        self.random_state = random_state
        self.batch_size = batch_size
        self.max_passes = max_passes

    @property
    def log_likelihoods_(self) -> np.ndarray:
        """Mean log-likelihood of every batch before its update."""
        return np.array(self._scores)

    def fit(self, Y, y=None) -> OnlineGaussianMixtureModel:
        """Fit to rows `Y` (n, d) in passes over batches in random order; `y` is ignored.

        `Y` may be anything that gives rows when sliced, for example an h5py dataset; only a batch
        and a sample of the rows, for the start, are in memory. What was learned before is
        forgotten. With fewer different rows than components, as many components are fitted as
        there are different rows, with a warning.

        Raises
        ------
        ValueError
            If `Y` is empty or not finite, or a parameter is out of range.
        """
        check_parameters(self)
        rows = RowReader(Y)
        check_ignored(y, rows.n_rows, self)
        self._check_columns(Y)
        self._forget()
        generator = random_generator(self.random_state)
        n_sample = max(START_ROWS, START_ROWS_PER_COMPONENT * self.n_components)
        *_, sample = rows.moments_and_sample(self.batch_size, min(n_sample, rows.n_rows), generator)
        self._start(sample, generator)
        before = -np.inf
        for _ in range(self.max_passes):
            total = 0.0
            for batch in rows.shuffled_batches(self.batch_size, generator):
                self._learn(batch)
                total += self._scores[-1] * len(batch)
            mean = total / rows.n_rows
            if mean - before < mixture_batches.PASS_TOLERANCE:
                break
            before = mean
        return self

    def partial_fit(self, Y, y=None) -> OnlineGaussianMixtureModel:
        """Learn from one batch of rows `Y` (n, d), of any number; `y` is ignored.

        Until there are `n_components` different rows, they are kept and nothing is learned.

        Raises
        ------
        ValueError
            If `Y` is empty, not finite or of another width than before, a parameter is out of
            range, or the learning rate is so large that the parameters are no longer finite.
        """
        check_parameters(self)
        names, Y = Y, as_output_matrix(Y)
        check_ignored(y, len(Y), self)
        if not hasattr(self, "_first_rows"):
            self._check_columns(names)
            self._forget()
        width = self._centre.shape[0] if self._started else self._first_rows.shape[-1]
        if width and Y.shape[1] != width:
            raise ValueError(f"Y must have {width} columns as before; found {Y.shape[1]}.")
        if self._started:
            self._check_columns(names, Y.shape[1])
        if not self._started:
            Y = np.concatenate([self._first_rows.reshape(-1, Y.shape[1]), Y])
            if len(np.unique(Y, axis=0)) < self.n_components:
                self._first_rows = Y
                return self
            self._start(Y, random_generator(self.random_state))
        self._learn(Y)
        return self

    def state(self) -> dict[str, Any]:
        """Return all that was learned as a tree of arrays, from which `with_state` goes on."""
        if not hasattr(self, "_first_rows"):
            self._forget()
        tree = {
            "version": STATE_VERSION,
            "update": self.update,
            "covariance_type": self.covariance_type,
            "n_batches": self.n_batches_,
            "n_rows": self.n_rows_,
            "scores": self.log_likelihoods_,
            "first_rows": self._first_rows,
        }
        if not self._started:
            return tree
        tree |= {"centre": self._centre, "spread": self._spread, "floor": self._floor}
        if self.update == "gradient":
            optimiser = {"optimiser": self.optimiser, **self._steps.state}
            return tree | {"coordinates": self._coordinates._asdict(), "steps": optimiser}
        return tree | {"parameters": self._parameters._asdict(), "running": self._running._asdict()}

    def with_state(self, tree: Mapping[str, Any]) -> OnlineGaussianMixtureModel:
        """Take over the `state` of a model with the same settings; return this model.

        Raises
        ------
        ValueError
            If the state is of another version, update or shape of covariances.
        """
        check_parameters(self)
        expected = {
            "version": STATE_VERSION,
            "update": self.update,
            "covariance_type": self.covariance_type,
        }
        for key, value in expected.items():
            if tree.get(key) != value:
                raise ValueError(
                    f"The stored state has the {key} {tree.get(key)!r}; this model has {value!r}. "
                    "Learn from the stream again, or make a model with the settings of the state."
                )
        self._forget()
        self.n_batches_, self.n_rows_ = int(tree["n_batches"]), int(tree["n_rows"])
        self._scores = np.asarray(tree["scores"]).tolist()
        self._first_rows = np.array(tree["first_rows"])
        if "centre" not in tree:
            return self
        self._centre = np.array(tree["centre"])
        self._spread, self._floor = float(tree["spread"]), float(tree["floor"])
        if self.update == "gradient":
            stored = dict(tree["steps"])
            if stored.pop("optimiser") != self.optimiser:
                raise ValueError(
                    f"The stored state is of the optimiser {tree['steps']['optimiser']!r}; this "
                    f"model has {self.optimiser!r}."
                )
            self._steps = GradientSteps(self.optimiser, self.learning_rate)
            self._steps.state = {name: np.array(values) for name, values in stored.items()}
            names, stored = Coordinates._fields, tree["coordinates"]
            self._coordinates = Coordinates(*(np.array(stored[name]) for name in names))
            self._publish(self._parameters_of(self._coordinates))
        else:
            self._running = Statistics(*(np.array(tree["running"][n]) for n in Statistics._fields))
            names = Parameters._fields
            self._publish(Parameters(*(np.array(tree["parameters"][name]) for name in names)))
        return self

    # The stream

    @property
    def _started(self) -> bool:
        return self._spread > 0

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    def _forget(self) -> None:
        self._spread, self._first_rows = 0.0, np.empty((0, 0))
        self._scores: list[float] = []
        self.n_batches_ = self.n_rows_ = 0

    def _start(self, rows: np.ndarray, generator: np.random.Generator) -> None:
        """Set the parameters by k-means, with the variances of all clusters together."""
        n_distinct = len(np.unique(rows, axis=0))
        n_components = min(self.n_components, n_distinct)
        if n_components < self.n_components:
            warnings.warn(
                f"{self.n_components} components were asked for, but there are only {n_distinct} "
                f"distinct rows; {n_components} are used.",
                stacklevel=3,
            )
        self._centre = rows.mean(axis=0)
        variance = float(rows.var(axis=0).mean())
        self._floor = floor_from_variance(variance, self.variance_floor)
        self._spread = float(np.sqrt(variance)) or 1.0
        self._first_rows = np.empty((0, 0))
        (labels,) = k_means_labels(rows, n_components, 1, generator)
        values = mixture_batches.features(rows, self._centre, self.covariance_type)
        clusters = np.arange(n_components)[:, None]
        statistics = mixture_batches.statistics_of_memberships(
            values,
            lambda block: (labels[None, None, block] == clusters).astype(np.float64),
            (1, n_components),
            self.covariance_type,
        )
        parameters = mixture_batches.maximisation(statistics, self.covariance_type, 0.0)
        # Variances of single clusters of few rows are near zero.
        weights = parameters.weights.reshape(1, -1, *[1] * (parameters.covariances.ndim - 2))
        pooled = (weights * parameters.covariances).sum(axis=1, keepdims=True)
        covariances = np.broadcast_to(
            np.maximum(pooled, self._floor), parameters.covariances.shape
        ).copy()
        parameters = parameters._replace(covariances=covariances)
        running, _ = mixture_batches.expectation(values, parameters, self.covariance_type)
        self._running = Statistics(*(total / len(rows) for total in running))
        if self.update == "gradient":
            self._steps = GradientSteps(self.optimiser, self.learning_rate)
            self._coordinates = self._coordinates_of(parameters)
        self._publish(parameters)

    def _learn(self, rows: np.ndarray) -> None:
        """Make one update by a batch."""
        values = mixture_batches.features(rows, self._centre, self.covariance_type)
        totals, score = mixture_batches.expectation(values, self._parameters, self.covariance_type)
        self.n_batches_ += 1
        if self.update == "gradient":
            self._ascend(Statistics(*(total / len(rows) for total in totals)))
            self._publish(self._parameters_of(self._coordinates))
        else:
            running = self._running
            if self.update == "natural":
                running = expected_statistics(self._parameters)
            step = self.step or mixture_batches.falling_step(self.n_batches_)
            self._running = mixture_batches.moved(running, totals, len(rows), step)
            self._publish(
                mixture_batches.maximisation(self._running, self.covariance_type, self._floor)
            )
        self.n_rows_ += len(rows)
        self._scores.append(float(score[0]) / len(rows))

    def _publish(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._set_parameters(**of_one_start(parameters, self._centre))

    # Gradient ascent, in units of the spread of the rows

    def _ascend(self, statistics: Statistics) -> None:
        unit = self._spread
        counts, sums, second = (values[0] for values in statistics)
        scaled = counts, sums / unit, second / unit**2
        least = np.sqrt(self._floor) / unit
        coordinates = self._coordinates
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(self.m_steps):
                steps = self._steps.steps(expected_gradient(*scaled, coordinates))
                coordinates = coordinates.moved(steps, least)
        if not coordinates.are_finite():
            raise ValueError(
                f"The parameters are no longer finite in batch {self.n_batches_}: "
                f"learning_rate={self.learning_rate} is too large for {self.optimiser}. Lower it "
                "and begin again."
            )
        self._coordinates = coordinates

    def _coordinates_of(self, parameters: Parameters) -> Coordinates:
        return Coordinates(
            np.log(parameters.weights[0]),
            parameters.means[0] / self._spread,
            np.sqrt(parameters.covariances[0]) / self._spread,
        )

    def _parameters_of(self, coordinates: Coordinates) -> Parameters:
        return Parameters(
            softmax(coordinates.alpha)[None],
            coordinates.means[None] * self._spread,
            (coordinates.deviations[None] * self._spread) ** 2,
        )


def expected_statistics(parameters: Parameters) -> Statistics:
    """Return the statistics of an average row of a mixture, its expectation parameters."""
    weights, means, covariances = parameters
    sums = weights[:, :, None] * means
    if covariances.ndim == 3:
        return Statistics(weights, sums, weights[:, :, None] * (covariances + means**2))
    squares = means.shape[2] * covariances + (means**2).sum(axis=2)
    return Statistics(weights, sums, weights * squares)
