"""Classifiers as baselines: support vector machines, a perceptron and a random forest.

All predict a score for every class, higher is better. A class without a training row has the
lowest score for every row: nothing is known about it, and it must not win because of the units of
the other scores.
"""

import warnings

import numpy as np
from sklearn import config_context
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from workflow_lib.solvers.machines import SupportVectorMachines

HIDDEN_UNITS = 100
"""Units of the hidden layer, the default of scikit-learn."""

MAX_ITERATIONS = 100
"""Steps of L-BFGS after which the fit of a perceptron ends."""

# scikit-learn warns that labels of many classes may be continuous; here classes have few examples.
FEW_EXAMPLES = "The number of unique classes is greater than 50%"


def fit_support_vector_machines(
    K: np.ndarray, labels: np.ndarray, n_classes: int, cost: float
) -> SupportVectorMachines:
    """Return machines that separate each class from all others (Rifkin & Klautau, JMLR 2004).

    Parameters
    ----------
    K : array (l, l)
        Gram matrix of the training rows.
    labels : int array (l,)
        Their classes, numbers from 0 to `n_classes` - 1.
    n_classes : int
    cost : float
        C, the cost of a violation of the margin; positive.
    """
    known = np.bincount(labels, minlength=n_classes) > 0
    indices = np.flatnonzero(known)
    dual, intercept = np.zeros((len(K), n_classes)), np.zeros(n_classes)
    if len(indices) == 1:
        # There is no other class: every row is on the side of this class.
        return SupportVectorMachines(dual, np.where(known, 1.0, 0.0), known)
    # Half the time of a small fit would be checks of the same matrix and the same parameters.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        # The machines of two classes are one machine, with opposite signs.
        for label in indices if len(indices) > 2 else indices[1:]:
            machine = SVC(C=cost, kernel="precomputed").fit(K, labels == label)
            dual[machine.support_, label] = machine.dual_coef_[0]
            intercept[label] = machine.intercept_[0]
    if len(indices) == 2:
        first, second = indices
        dual[:, first], intercept[first] = -dual[:, second], -intercept[second]
    return SupportVectorMachines(dual, intercept, known)


def fit_perceptron(X: np.ndarray, labels: np.ndarray, l2_penalty: float, seed: int):
    """Return a perceptron with one hidden layer of `HIDDEN_UNITS` rectified units.

    For rows `X` (l, q) it minimises the cross-entropy plus l2_penalty / (2 l) times the sum of the
    squared weights, which start at random, by L-BFGS: for a few hundred rows that is faster than
    stochastic gradients and has no step size.
    """
    perceptron = MLPClassifier(
        hidden_layer_sizes=(HIDDEN_UNITS,),
        alpha=l2_penalty,
        solver="lbfgs",
        max_iter=MAX_ITERATIONS,
        random_state=seed,
    )
    with warnings.catch_warnings():
        # The steps are few on purpose: early stopping also regularises, and the penalty is selected
        # by the error of held-out rows with the same number of steps.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message=FEW_EXAMPLES)
        return perceptron.fit(X, labels)


def fit_forest_classifier(
    X: np.ndarray, labels: np.ndarray, n_trees: int, max_features: float, seed: int
) -> RandomForestClassifier:
    """Return a forest of classification trees of rows `X` (l, q) (Breiman, Machine Learning 2001).

    One thread, since the workflow runs jobs in parallel.

    `max_features` is the share of the features that are candidates at each split of a node.
    """
    forest = RandomForestClassifier(
        n_estimators=n_trees, max_features=max_features, oob_score=True, random_state=seed, n_jobs=1
    )
    with warnings.catch_warnings():
        # `out_of_bag_probabilities` handles rows that are in every bootstrap sample.
        warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
        warnings.filterwarnings("ignore", message=FEW_EXAMPLES)
        return forest.fit(X, labels)


def class_probabilities(classifier, X: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the class probabilities (m, K) of a fitted perceptron or forest for rows `X` (m, q).

    Zero for classes without a training row.
    """
    known = classifier.classes_
    # scikit-learn's perceptron gives no probability of a single class.
    probabilities = classifier.predict_proba(X) if len(known) > 1 else 1.0
    scores = np.zeros((len(X), n_classes))
    scores[:, known] = probabilities
    return scores


def out_of_bag_probabilities(
    forest: RandomForestClassifier, labels: np.ndarray, n_classes: int
) -> np.ndarray:
    """Return the out-of-bag class probabilities (l, K) of the training rows.

    Each is the mean over the trees whose bootstrap sample lacks the row, about a third of them
    (Breiman, Machine Learning 2001, section 3.1). A row in every bootstrap sample takes the class
    frequencies of all other rows.

    Parameters
    ----------
    forest : RandomForestClassifier
        From `fit_forest_classifier`.
    labels : int array (l,)
        The classes it was fitted to.
    n_classes : int
    """
    indicators = np.eye(n_classes)[labels]
    others = (indicators.sum(axis=0) - indicators) / max(len(labels) - 1, 1)
    scores = np.zeros(indicators.shape)
    scores[:, forest.classes_] = forest.oob_decision_function_
    # scikit-learn leaves these rows at zero, and probabilities sum to 1.
    return np.where(scores.sum(axis=1, keepdims=True) > 0, scores, others)
