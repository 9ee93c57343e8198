"""A mixture, Fisher vectors and a linear classifier of bags, trained together as one network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from workflow_lib.core.array_arguments import as_items, as_numbers
from workflow_lib.core.parameters import ParameterMixin, check_parameters, checks, random_generator
from workflow_lib.items.kinds.bags import some_rows
from workflow_lib.models.gradient_steps import GradientSteps
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.mixtures.mixture_gradient import Coordinates, expected_gradient, softmax
from workflow_lib.models.mixtures.online_mixture import OnlineGaussianMixtureModel
from workflow_lib.papers.palasek import fisher_layer
from workflow_lib.papers.palasek.momentum import MomentumSteps
from workflow_lib.papers.palasek.row_layer import RowLayer, check_layer

UNLABELLED = -1

BAGS_AT_ONCE = 64
"""Bags whose vectors are computed together, to limit memory."""

FLOOR = 0.05
"""Smallest variance of a component, as a fraction of the mean variance of the first mixture."""

SVM_TOLERANCE, SVM_STEPS = 1e-6, 100_000
"""Of the linear support vector machine, the start of the linear layer."""

MAX_ROWS = 30_000
"""Rows of all bags, drawn at random, to which the first mixture is fitted."""

BATCHES_WITHOUT = ("used", "dropped", "replaced")
"""What becomes of the unlabelled bags of a batch."""


class FisherVectorNetwork(ParameterMixin):
    """Bags of rows, some of them labelled, classified by a trained Fisher vector.

    A layer turns a bag into the Fisher vector of its rows under a diagonal mixture
    (`workflow_lib.papers.palasek.fisher_layer`), and a linear layer gives the score s_j of each
    class. The cost of labelled bags is the squared hinge loss (Palasek & Patras 2017, eq. (10))

        C_sup = penalty / 2 (|W|^2 + |b|^2) + mean over bags of sum_j max(0, 1 - y_j s_j)^2,

    with y_j = 1 for the class of the bag and -1 for others, and with the intercepts b penalised as
    in scikit-learn's ``LinearSVC``. The unsupervised objective F is the mean
    log-likelihood bound of the rows of all bags of the batch, labelled or not (eq. (2)), and the
    two together are C_hybrid = C_sup - unlabelled_weight F (eq. (11)). A batch has, as in section
    4, one E-step, then `m_steps` ascents of F, then one step of all parameters down C_hybrid.

    With a `layer` the rows are what it makes of those of the bags. It is trained by C_sup alone:
    the gradient of the vectors in the rows goes on into its weights, that of F does not, because
    rows without spread would raise it most (section 4).

    The mixture starts from `model` or is fitted to rows of the bags; the classifier starts from the
    linear support vector machine on the vectors of labelled bags, which the network equals with
    `n_epochs` = 0.

    Parameters
    ----------
    n_components : int, default=16
    model : GaussianMixtureModel or None, default=None
        A fitted mixture with ``covariance_type="diag"`` to start from.
    start : {"em", "k_means"}, default="em"
        Without `model`: a fit by EM, or the k-means++ start of Palasek & Patras (2017), section 5.
    start_bags : {"all", "labelled"}, default="all"
        Whose rows give the first mixture.
    classifier : {"svm", "zero"}, default="svm"
        Start of the linear layer.
    penalty : float, default=0.01
        Of the weights of the linear layer.
    unlabelled_weight : float, default=0.1
        Lambda of eq. (11); 0.1 as in the paper.
    learning_rate : float, default=1e-4
        Of the steps down C_hybrid, in units of the spread of the rows.
    m_steps : int, default=0
        Ascents of F before every step, by Adagrad. With m_steps=0 and unlabelled_weight=0
        unlabelled bags have no influence beside that on the first mixture.
    m_step_rate : float, default=0.01
        Learning rate of these ascents. The paper's is 1.
    batch_size : int, default=20
        Labelled bags in a batch, and with ``batches="halves"`` as many unlabelled ones; with
        ``batches="mixed"`` all bags of a batch.
    batches : {"halves", "mixed"}, default="halves"
        Whether a batch has as many unlabelled as labelled bags, which are drawn in an order of
        their own, or the bags in any order, as in the paper.
    n_epochs : int, default=30
        Passes over the labelled bags (``halves``) or over all (``mixed``). The last is the result.
    root, length : bool, default=True
        Signed roots and unit length of the vectors.
    in_batches : {"used", "dropped", "replaced"}, default="used"
        What becomes of the unlabelled bags of a batch once it is drawn. The others are controls for
        what unlabelled bags add: ``dropped`` leaves the same batches of labelled bags, ``replaced``
        puts labelled ones, drawn at random, instead of them, so that there are as many updates by
        batches of the same size.
    refit : bool, default=False
        Whether the linear layer is at last replaced by the support vector machine on the trained
        vectors of labelled bags: a control for what the vectors gain.
    random_state : int, Generator, RandomState or None, default=0
    layer : RowLayer or None, default=None
        A layer of the rows to start from (`workflow_lib.papers.palasek.row_layer`). `model` is then
        a mixture of what it returns.
    optimiser : {"rmsprop", "momentum"}, default="rmsprop"
        Of the steps down C_hybrid: RMSProp, or gradient descent with momentum, by which the paper
        trains classifiers of fixed vectors (section 5.1.2).
    trained : {"network", "classifier"}, default="network"
        What these steps move: all parameters, or those of the linear layer alone.

    Attributes
    ----------
    classes_ : array (m,)
    mixture_ : GaussianMixtureModel
        The trained mixture, in the units of the rows.
    coef_, intercept_ : arrays (m, p), (m,)
        The linear layer. Of two classes too, both have a row.
    history_ : list of dict
        After every epoch: the mean ``loss`` (of labelled bags, without penalty) and
        ``log_likelihood`` (nats per row, of all rows seen) of its batches before their steps, and
        the number of ``updates`` so far.

    Examples
    --------
    >>> import numpy as np
    >>> from workflow_lib import FisherVectorNetwork
    >>> random = np.random.default_rng(0)
    >>> bags = [random.normal(2 * (i % 2), 1, (30, 2)) for i in range(20)]
    >>> y = [i % 2 if i < 10 else -1 for i in range(20)]
    >>> network = FisherVectorNetwork(n_components=2, n_epochs=2).fit(bags, y)
    >>> network.predict(bags[:4])
    array([0, 1, 0, 1])
    """

    allowed: ClassVar = checks(
        whole="n_components batch_size",
        count="m_steps n_epochs",
        positive="penalty learning_rate m_step_rate",
        not_negative="unlabelled_weight",
        flag="root length refit",
        seed="random_state",
        start=("em", "k_means"),
        start_bags=("all", "labelled"),
        classifier=("svm", "zero"),
        batches=("halves", "mixed"),
        in_batches=BATCHES_WITHOUT,
        optimiser=("rmsprop", "momentum"),
        trained=("network", "classifier"),
    ) | {"layer": check_layer}
    estimator_type = "classifier"
    input_tags: ClassVar = {"two_d_array": False}

    def __init__(
        self,
        n_components: int = 16,
        model: GaussianMixtureModel | None = None,
        start: str = "em",
        start_bags: str = "all",
        classifier: str = "svm",
        penalty: float = 0.01,
        unlabelled_weight: float = 0.1,
        learning_rate: float = 1e-4,
        m_steps: int = 0,
        m_step_rate: float = 0.01,
        batch_size: int = 20,
        batches: str = "halves",
        n_epochs: int = 30,
        root: bool = True,
        length: bool = True,
        random_state=0,
        in_batches: str = "used",
        refit: bool = False,
        layer: RowLayer | None = None,
        optimiser: str = "rmsprop",
        trained: str = "network",
    ) -> None:
        self.n_components = n_components
        self.model = model
        self.start = start
        self.start_bags = start_bags
        self.classifier = classifier
        self.penalty = penalty
        self.unlabelled_weight = unlabelled_weight
        self.learning_rate = learning_rate
        self.m_steps = m_steps
        self.m_step_rate = m_step_rate
        self.batch_size = batch_size
        self.batches = batches
        self.n_epochs = n_epochs
        self.root = root
        self.length = length
        self.random_state = random_state
        self.in_batches = in_batches
        self.refit = refit
        self.layer = layer
        self.optimiser = optimiser
        self.trained = trained

    def fit(
        self,
        bags: Sequence[np.ndarray],
        y,
        sample_weight=None,
        after_epoch: Callable[[FisherVectorNetwork], object] | None = None,
    ) -> FisherVectorNetwork:
        """Fit to `bags`, n arrays (m_i, d), and their classes `y` (n,), -1 for unlabelled bags.

        `sample_weight` (n,) are positive weights of the bags in the mean of C_sup, for example of
        bags with uncertain classes; None: all weigh the same. `after_epoch` is called with the
        network before the first epoch and after each.

        Raises ValueError if a bag is empty, not finite or of another width than the others, if
        there are not two classes, or a parameter is out of range.
        """
        check_parameters(self)
        bags = _checked_bags(bags)
        y = _checked_labels(y, len(bags))
        weights = _checked_weights(sample_weight, len(bags))
        seeds = random_generator(self.random_state).spawn(3)
        self._begin(bags, y, np.unique(y[y != UNLABELLED]), seeds[0], weights)
        note = after_epoch or (lambda network: None)
        note(self)
        for _ in range(self.n_epochs):
            scores = [
                self._step([bags[bag] for bag in batch], y[batch], weights[batch])
                for batch in self._batches(y, *seeds[1:])
                if len(batch)
            ]
            self._note(scores)
            note(self)
        if self.refit:
            self._fit_machine(bags, y, weights)
        self._publish()
        return self

    def partial_fit(self, bags: Sequence[np.ndarray], y, classes=None) -> FisherVectorNetwork:
        """Make one step by a batch of `bags` with classes `y`, -1 for unlabelled bags.

        The first call starts the network from this batch, and needs `classes`, unless all of them
        are in `y`.
        """
        check_parameters(self)
        bags = _checked_bags(bags, self._width if hasattr(self, "_centre") else None)
        y = _checked_labels(y, len(bags))
        if not hasattr(self, "classes_"):
            found = np.unique(y[y != UNLABELLED] if classes is None else classes)
            generator = random_generator(self.random_state)
            self._begin(bags, y, found, generator, np.ones(len(y)))
        unknown = sorted({*y.tolist()} - {UNLABELLED, *self.classes_.tolist()})
        if unknown:
            raise ValueError(f"The classes {unknown} are not among {self.classes_.tolist()}.")
        self._note([self._step(bags, y, np.ones(len(y)))])
        self._publish()
        return self

    def transform(self, bags: Sequence[np.ndarray]) -> np.ndarray:
        """Return the Fisher vectors (n, C + 2 C d) of bags under the trained mixture."""
        bags = self._scaled(self._read(bags))
        parts = [
            fisher_layer.forward(
                bags[first : first + BAGS_AT_ONCE], self._coordinates, self.root, self.length
            ).vectors
            for first in range(0, len(bags), BAGS_AT_ONCE)
        ]
        return np.concatenate(parts)

    def decision_function(self, bags: Sequence[np.ndarray]) -> np.ndarray:
        """Return the score of every class (n, m)."""
        return self.transform(bags) @ self.coef_.T + self.intercept_

    def predict(self, bags: Sequence[np.ndarray]) -> np.ndarray:
        """Return the class with the highest score of each bag (n,)."""
        best = self.decision_function(bags).argmax(axis=1)
        return self.classes_[best]

    def objective(self, bags: Sequence[np.ndarray], y) -> float:
        """Return C_hybrid of bags, with the posterior of the present mixture."""
        bags = self._scaled(self._read(bags))
        y = _checked_labels(y, len(bags))
        return self._cost_and_gradients(bags, y, np.ones(len(y)), None)[0]

    def score(self, bags: Sequence[np.ndarray], y, sample_weight=None) -> float:
        """Return the share of bags whose class `y` (n,) is predicted, weighted where asked."""
        predicted = self.predict(bags)
        y = _checked_labels(y, len(predicted))
        return float(
            np.average(predicted == y, weights=_checked_weights(sample_weight, len(predicted)))
        )

    def _read(self, bags) -> list[np.ndarray]:
        if not hasattr(self, "_centre"):
            self._check_is_fitted()
        return _checked_bags(bags, self._width)

    @property
    def _width(self) -> int:
        """Numbers of a row of the bags."""
        return len(self._centre if self._layer is None else self._layer.shift)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the trained network as arrays, from which `from_arrays` predicts."""
        return {
            **self._coordinates._asdict(),
            "centre": self._centre,
            "unit": self._unit,
            "coef": self.coef_,
            "intercept": self.intercept_,
            "classes": self.classes_,
            "root": self.root,
            "length": self.length,
            **({} if self._layer is None else {"layer": self._layer.to_arrays()}),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> FisherVectorNetwork:
        """Return the network of `to_arrays`, which cannot be trained further."""
        network = cls(
            len(arrays["alpha"]), root=bool(arrays["root"]), length=bool(arrays["length"])
        )
        network._coordinates = Coordinates(*(arrays[name] for name in Coordinates._fields))
        network._centre, network._unit = arrays["centre"], float(arrays["unit"])
        network.coef_, network.intercept_ = arrays["coef"], arrays["intercept"]
        network.classes_ = arrays["classes"]
        network._layer = RowLayer.from_arrays(arrays["layer"]) if "layer" in arrays else None
        network._publish()
        return network

    # Start

    def _begin(self, bags, y, classes, generator, weights) -> None:
        if len(classes) < 2:
            raise ValueError(f"There must be labelled bags of two classes; found {len(classes)}.")
        if self.model is not None and not hasattr(self.model, "means_"):
            raise ValueError(f"model must be a fitted mixture or None; found {self.model!r}.")
        self.classes_, self.history_, self._n_updates = np.asarray(classes), [], 0
        self._layer = self.layer
        if self.layer is not None and len(self.layer.shift) != bags[0].shape[1]:
            raise ValueError(
                f"The bags have {bags[0].shape[1]} columns, and layer has {len(self.layer.shift)}."
            )
        rows = self._of_layer(bags)
        labelled = np.flatnonzero(y != UNLABELLED)
        used = labelled if self.start_bags == "labelled" and len(labelled) else np.arange(len(y))
        mixture = self.model
        if mixture is None:
            own = [rows[bag] for bag in used]
            mixture = first_mixture(own, self.n_components, self.start, generator)
        elif mixture.covariance_type != "diag":
            raise ValueError("model must have covariance_type='diag'.")
        elif mixture.means_.shape[1] != rows[0].shape[1]:
            raise ValueError(
                f"The bags have {rows[0].shape[1]} columns, and model has "
                f"{mixture.means_.shape[1]}."
            )
        self._centre = mixture.weights_ @ mixture.means_
        between = mixture.weights_ @ (mixture.means_ - self._centre) ** 2
        variance = float((between + mixture.weights_ @ mixture.covariances_).mean())
        self._unit = np.sqrt(variance) if variance > 0 else 1.0
        self._coordinates = Coordinates(
            np.log(mixture.weights_),
            (mixture.means_ - self._centre) / self._unit,
            np.sqrt(mixture.covariances_) / self._unit,
        )
        # A mixture to start from may have smaller variances.
        self._least = min(np.sqrt(FLOOR), self._coordinates.deviations.min())
        if self.optimiser == "momentum":
            self._descents: GradientSteps = MomentumSteps(self.learning_rate)
        else:
            self._descents = GradientSteps("rmsprop", self.learning_rate)
        self._ascents = GradientSteps("adagrad", self.m_step_rate)
        n_features = self._coordinates.alpha.size + 2 * self._coordinates.means.size
        self.coef_ = np.zeros((len(classes), n_features))
        self.intercept_ = np.zeros(len(classes))
        if self.classifier == "svm" and len(np.unique(y[labelled])) == len(classes):
            self._fit_machine(bags, y, weights)

    def _fit_machine(self, bags, y, weights) -> None:
        """Set the linear layer to the support vector machine on the vectors of labelled bags."""
        labelled = np.flatnonzero(y != UNLABELLED)
        vectors = self.transform([bags[bag] for bag in labelled])
        self.coef_, self.intercept_ = fit_squared_hinge(
            vectors, self._signs(y[labelled]), self.penalty, weights[labelled]
        )

    # Steps

    def _batches(self, y, of_labelled, of_unlabelled):
        """Yield the indices of the bags of every batch of an epoch."""
        labelled, unlabelled = np.flatnonzero(y != UNLABELLED), np.flatnonzero(y == UNLABELLED)
        is_mixed = self.batches == "mixed"
        order = of_labelled.permutation(len(y) if is_mixed else labelled)
        for first in range(0, len(order), self.batch_size):
            batch, drawn = order[first : first + self.batch_size], unlabelled[:0]
            if is_mixed:
                batch, drawn = batch[y[batch] != UNLABELLED], batch[y[batch] == UNLABELLED]
            elif len(unlabelled):
                size = min(len(batch), len(unlabelled))
                drawn = of_unlabelled.choice(unlabelled, size, replace=False)
            if self.in_batches == "dropped":
                drawn = drawn[:0]
            elif self.in_batches == "replaced":
                drawn = of_unlabelled.choice(labelled, len(drawn))
            yield np.concatenate([batch, drawn])

    def _step(self, bags, y, weights) -> tuple[float, float]:
        """Make one step by a batch; return the loss and the bound F before it. Raises ValueError if
        the parameters are no longer finite."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            scores = self._steps_of_batch(bags, y, weights)
        if not self._coordinates.are_finite() or not np.isfinite(self.coef_).all():
            raise ValueError(
                f"The parameters are no longer finite: learning_rate={self.learning_rate} or "
                f"m_step_rate={self.m_step_rate} is too large."
            )
        return scores

    def _steps_of_batch(self, given, y, weights) -> tuple[float, float]:
        bags = self._scaled(given)
        rows = np.concatenate(bags)
        powers = fisher_layer.powers_of(rows)
        posterior = fisher_layer.posterior_of(powers, self._coordinates)
        sums = fisher_layer.mean_sums(powers, posterior)
        bound = fisher_layer.bound(sums, posterior, self._coordinates)
        for _ in range(self.m_steps):
            self._move(self._ascents.steps(expected_gradient(*sums, self._coordinates)))
        _, loss, gradients = self._cost_and_gradients(bags, y, weights, (sums, posterior))
        if "rows" in gradients:
            labelled = np.concatenate([given[bag] for bag in np.flatnonzero(y != UNLABELLED)])
            gradients |= self._layer.gradients(labelled, gradients.pop("rows") / self._unit)
        if gradients:
            steps = self._descents.steps(gradients)
            if "directions" in steps:
                self._layer = self._layer.moved(
                    {name: -steps.pop(name) for name in self._layer.weights}
                )
            self.coef_ = self.coef_ - steps.pop("coef", 0.0)
            self.intercept_ = self.intercept_ - steps.pop("intercept", 0.0)
            self._move({name: -step for name, step in steps.items()})
        return loss, bound - np.log(self._unit) * rows.shape[1]

    def _cost_and_gradients(self, bags, y, weights, held):
        """Return C_hybrid, the loss of labelled bags, and the gradients of C_hybrid. `held` are the
        sums and the posterior of the E-step; None: those of the present mixture."""
        labelled = np.flatnonzero(y != UNLABELLED)
        gradients: dict[str, np.ndarray] = {}
        loss, cost = np.nan, 0.0
        if len(labelled):
            passed = fisher_layer.forward(
                [bags[bag] for bag in labelled], self._coordinates, self.root, self.length
            )
            vectors = passed.vectors
            signs = self._signs(y[labelled])
            margins = 1.0 - signs * (vectors @ self.coef_.T + self.intercept_)
            violations = np.maximum(margins, 0.0)
            shares = weights[labelled, None] / weights[labelled].sum()
            loss = float((shares * violations**2).sum())
            squares = float((self.coef_**2).sum() + (self.intercept_**2).sum())
            cost = loss + 0.5 * self.penalty * squares
            in_scores = -2.0 * shares * signs * violations
            if self.trained == "network":
                gradients = fisher_layer.backward(
                    passed,
                    self._coordinates,
                    in_scores @ self.coef_,
                    self.root,
                    self.length,
                    of_rows=self._layer is not None,
                )
            gradients["coef"] = in_scores.T @ vectors + self.penalty * self.coef_
            gradients["intercept"] = in_scores.sum(axis=0) + self.penalty * self.intercept_
        if self.unlabelled_weight > 0:
            if held is None:
                powers = fisher_layer.powers_of(np.concatenate(bags))
                posterior = fisher_layer.posterior_of(powers, self._coordinates)
                held = fisher_layer.mean_sums(powers, posterior), posterior
            cost -= self.unlabelled_weight * fisher_layer.bound(*held, self._coordinates)
            own = expected_gradient(*held[0], self._coordinates)
            for name, ascent in own.items() if self.trained == "network" else ():
                gradients[name] = gradients.get(name, 0.0) - self.unlabelled_weight * ascent
        return cost, loss, gradients

    def _move(self, steps) -> None:
        self._coordinates = self._coordinates.moved(steps, self._least)

    def _note(self, scores) -> None:
        losses, bounds = zip(*scores)
        losses = [loss for loss in losses if not np.isnan(loss)]
        loss = float(np.mean(losses)) if losses else float("nan")
        self._n_updates += len(scores)
        self.history_.append(
            {"loss": loss, "log_likelihood": float(np.mean(bounds)), "updates": self._n_updates}
        )

    def _signs(self, y) -> np.ndarray:
        return np.where(y[:, None] == self.classes_, 1.0, -1.0)

    def _scaled(self, bags) -> list[np.ndarray]:
        return [(bag - self._centre) / self._unit for bag in self._of_layer(bags)]

    def _of_layer(self, bags) -> list[np.ndarray]:
        return bags if self._layer is None else [self._layer.transform(bag) for bag in bags]

    def _publish(self) -> None:
        alpha, means, deviations = self._coordinates
        mixture = GaussianMixtureModel(len(alpha), "diag", FLOOR)
        mixture._set_parameters(
            softmax(alpha), means * self._unit + self._centre, (deviations * self._unit) ** 2
        )
        self.mixture_ = mixture


def first_mixture(
    bags: Sequence[np.ndarray], n_components: int, start: str, generator: np.random.Generator
) -> GaussianMixtureModel:
    """Return the mixture of the rows of bags that a network starts from.

    `start` is ``em``, a fit by EM, or ``k_means``: clusters by k-means++ and k-means, and one
    variance of each column. Of more than MAX_ROWS rows so many are drawn.
    """
    rows = some_rows(bags, MAX_ROWS, generator)
    if start == "em":
        model = GaussianMixtureModel(n_components, "diag", FLOOR, n_init=1, random_state=generator)
        return model.fit(rows)
    return OnlineGaussianMixtureModel(
        n_components, update="gradient", m_steps=0, variance_floor=FLOOR, random_state=generator
    ).partial_fit(rows)


def fit_squared_hinge(
    vectors: np.ndarray, signs: np.ndarray, penalty: float, sample_weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (m, p) and intercepts (m,) that minimise C_sup of all vectors (n, p).

    `signs` (n, m) are 1 for the class of the bag and -1 for others, `sample_weight` (n,) the
    weights of the bags in the mean.
    """
    # Imported here, because it takes longer to load than most batches to learn.
    from sklearn.svm import LinearSVC

    cost, weights = 1.0 / (penalty * len(vectors)), sample_weight / sample_weight.mean()
    machines = [
        LinearSVC(C=cost, tol=SVM_TOLERANCE, max_iter=SVM_STEPS, random_state=0).fit(
            vectors, sign, weights
        )
        for sign in signs.T
    ]
    return (
        np.concatenate([machine.coef_ for machine in machines]),
        np.concatenate([machine.intercept_ for machine in machines]),
    )


def _checked_labels(y, n_bags: int) -> np.ndarray:
    if np.ma.is_masked(y):
        raise ValueError(f"y holds masked classes. Write {UNLABELLED} for an unlabelled bag.")
    y = np.asarray(y)
    if y.shape != (n_bags,):
        raise ValueError(f"y must have one class for each of {n_bags} bags; found {y.shape}.")
    return y


def _checked_weights(weights, n_bags: int) -> np.ndarray:
    weights = np.ones(n_bags) if weights is None else as_numbers(weights, "sample_weight")
    if weights.shape != (n_bags,) or not ((weights > 0) & np.isfinite(weights)).all():
        raise ValueError(f"sample_weight must be {n_bags} positive numbers, one for each bag.")
    return weights


def _checked_bags(bags, width: int | None = None) -> list[np.ndarray]:
    checked = []
    for index, bag in enumerate(as_items(bags, "Bags")):
        bag = as_numbers(bag, f"Bag {index}")
        if bag.ndim != 2 or 0 in bag.shape:
            raise ValueError(f"Bag {index} must be rows of numbers; found the shape {bag.shape}.")
        width = width or bag.shape[1]
        if bag.shape[1] != width:
            raise ValueError(f"Bag {index} has {bag.shape[1]} columns; expected {width}.")
        if not np.isfinite(bag).all():
            raise ValueError(f"Bag {index} holds NaN or infinity.")
        checked.append(bag)
    return checked
