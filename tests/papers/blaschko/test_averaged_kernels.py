"""Kernels that are averaged: features side by side whose inner products are their mean."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from test_untrusted_settings import NO_CLASSES, faults

from workflow_lib.items.kinds.graphs import Graph, graph_rows
from workflow_lib.methods.contract.method_file import FeatureLearner
from workflow_lib.methods.input_steps.learned_features import _facts_of_data
from workflow_lib.papers.blaschko.averaged_kernels import AveragedKernels
from workflow_lib.papers.blaschko.extra_features import NumbersBeside
from workflow_lib.papers.blaschko.weisfeiler_lehman import WeisfeilerLehman
from workflow_lib.solvers.stored.estimator import estimator_bytes, estimator_from_bytes

KERNELS = "workflow_lib.papers.blaschko.averaged_kernels.AveragedKernels"
WL = "workflow_lib.papers.blaschko.weisfeiler_lehman.WeisfeilerLehman"
BESIDE = "workflow_lib.papers.blaschko.extra_features.NumbersBeside"
PARTS = {"wl": WL, "bits": BESIDE}


def rows(n_graphs: int) -> np.ndarray:
    """Return random graphs of 2 to 8 nodes, with four bits beside each."""
    random, graphs = np.random.default_rng(0), []
    for size in random.integers(2, 9, n_graphs):
        edges = np.argwhere(np.triu(random.random((size, size)) < 0.4, 1))
        graphs.append(Graph(random.integers(3, size=size), edges))
    return np.hstack([graph_rows(graphs), random.integers(2, size=(n_graphs, 4))])


def averaged(depth: int = 2) -> AveragedKernels:
    model = AveragedKernels(PARTS)
    return model.set_params(parts__wl__depth=depth, parts__bits__n_beside=4)


def test_the_kernel_is_the_mean_of_centred_kernels_of_one_size():
    X = rows(30)
    fitted, new = X[:20], X[20:]
    expected = 0.0
    for part in (WeisfeilerLehman(2), NumbersBeside(4)):
        known = part.fit(fitted).transform(fitted)
        mean = known.mean(axis=0)
        own = (part.transform(new) - mean) @ (known - mean).T
        expected = expected + own / np.trace((known - mean) @ (known - mean).T) * 20 / 2
    model = averaged().fit(fitted)
    known = model.transform(fitted)
    assert known.shape == (20, model._n_features_out)
    np.testing.assert_allclose(model.transform(new) @ known.T, expected, atol=1e-12)
    np.testing.assert_allclose((known**2).sum(axis=1).mean(), 1.0)


def test_the_arguments_of_its_transformers_can_compete():
    X = rows(20)
    assert averaged(0).get_params()["parts__wl__depth"] == 0
    copy = clone(averaged(0)).fit(X)
    np.testing.assert_array_equal(copy.transform(X), averaged(0).fit(X).transform(X))
    assert not np.allclose(
        np.linalg.norm(copy.transform(X), axis=1),
        np.linalg.norm(averaged(3).fit(X).transform(X), axis=1),
    )
    keys = {"transformer": "workflow_lib.papers.blaschko.averaged_kernels.AveragedKernels"}
    learner = FeatureLearner(
        **keys, settings={"parts": PARTS}, grid={"parts__wl__depth": (0, 2)}
    ).named_class()
    assert not learner.faults()
    assert learner.library_modules() == [
        "papers.blaschko.averaged_kernels",
        "papers.blaschko.weisfeiler_lehman",
        "papers.blaschko.extra_features",
    ]
    ((key, found, *_),) = (
        FeatureLearner(**keys, settings={"parts": PARTS}, grid={"parts__wl__deep": (0, 2)})
        .named_class()
        .faults()
    )
    assert key.startswith("feature_learner.") and "deep" in found


def test_what_the_dataset_says_reaches_its_transformers():
    split = SimpleNamespace(dataset={"items": {"kind": "graphs", "n_beside": 4}})
    assert _facts_of_data(AveragedKernels(PARTS), split) == {"parts__bits__n_beside": 4}
    assert _facts_of_data(averaged(), split) == {}
    with pytest.raises(ValueError, match="no such numbers"):
        NumbersBeside().fit(rows(3))


def test_it_is_stored_without_pickle():
    X = np.random.default_rng(1).normal(size=(20, 3))
    parts = {"raw": "sklearn.preprocessing.MaxAbsScaler", "main": "sklearn.decomposition.PCA"}
    model = AveragedKernels(parts).set_params(parts__main__n_components=2).fit(X[:12])
    stored = estimator_from_bytes(estimator_bytes(model))
    np.testing.assert_array_equal(stored.transform(X), model.transform(X))


@pytest.mark.parametrize("path", NO_CLASSES)
def test_no_module_of_a_transformer_is_imported_for_what_is_no_class(own_modules, path):
    loaded = set(sys.modules)
    learner = FeatureLearner(transformer=KERNELS, settings={"parts": {"first": path}})
    ((_, found, *_),) = learner.named_class().faults()
    assert path in found
    assert not list(own_modules.rglob("it-ran"))
    assert not {name for name in set(sys.modules) - loaded if name.startswith(("own", "anti"))}


def test_transformers_leave_threads_to_the_workflow():
    found = faults(KERNELS, settings={"parts__a__n_jobs": 2})
    assert found and all(fault[0].startswith("settings.parts__a__n_jobs") for fault in found)
