"""Pretrained networks: a prediction per output, weights of the user, stored without the network."""

from __future__ import annotations

import inspect
import socket
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import yaml
from saved_model_samples import Final, small_table, table_dataset

from workflow_lib.core.errors import UserError
from workflow_lib.methods.keys.estimator import Parameters
from workflow_lib.solvers.pretrained import PretrainedRegressor
from workflow_lib.solvers.stored.estimator import estimator_bytes, estimator_from_bytes, trusting
from workflow_lib.table.saved_model import load_model

METHODS = Path(__file__).parents[2] / "config" / "methods"
CLASS = "workflow_lib.solvers.pretrained.PretrainedRegressor"


class NetworkDouble:
    """The mean of the outputs plus the sum of the inputs times the weight in the checkpoint."""

    made: list[NetworkDouble] = []

    def fit(self, X, y):
        assert X.dtype == y.dtype == np.float64 and np.isfinite(y).all() and len(X) == len(y)
        self.weight, self.mean = float(Path(self.model_path).read_text()), y.mean()
        self.made.append(self)
        return self

    def predict(self, X):
        return (self.mean + self.weight * X.sum(axis=1)).astype(np.float32)


class TabICLDouble(NetworkDouble):
    """The arguments of TabICLRegressor that are used here."""

    def __init__(
        self,
        n_estimators=8,
        model_path=None,
        allow_auto_download=True,
        device=None,
        random_state=42,
        n_jobs=None,
    ):
        assert not allow_auto_download and n_jobs == 1
        self.model_path, self.settings = model_path, (n_estimators, device, random_state)


class TabPFNDouble(NetworkDouble):
    """The arguments of TabPFNRegressor that are used here."""

    def __init__(self, *, n_estimators="auto", model_path="auto", device="auto", random_state=0):
        self.model_path, self.settings = model_path, (n_estimators, device, random_state)


NETWORKS = {"tabicl": "TabICLRegressor", "tabpfn": "TabPFNRegressor"}

DOUBLES = {"tabicl": TabICLDouble, "tabpfn": TabPFNDouble}


@pytest.fixture(params=DOUBLES)
def package(request, monkeypatch, tmp_path):
    """Replace a package, and work in a folder with a checkpoint for its double."""
    double = ModuleType(request.param)
    double.__spec__ = ModuleSpec(request.param, None)
    setattr(double, NETWORKS[request.param], DOUBLES[request.param])
    monkeypatch.setitem(sys.modules, request.param, double)
    monkeypatch.setattr(NetworkDouble, "made", [])
    monkeypatch.chdir(tmp_path)
    Path("weights.ckpt").write_text("0.5")
    return request.param


def some_rows() -> tuple[np.ndarray, np.ndarray]:
    """Return inputs, and outputs of which one is constant and one has a gap."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20, 3))
    Y = X @ generator.normal(size=(3, 3))
    Y[:, 1], Y[4, 2] = 7.0, np.nan
    return X, Y


def test_each_output_is_predicted_from_the_rows_that_have_it(package):
    X, Y = some_rows()
    regressor = PretrainedRegressor(package, "weights.ckpt", n_estimators=2, random_state=3)
    predicted = regressor.fit(X, Y).predict(X[:6])
    expected = np.nanmean(Y, axis=0) + 0.5 * X[:6].sum(axis=1, keepdims=True)
    expected[:, 1] = 7.0
    np.testing.assert_allclose(predicted, expected, rtol=1e-6)
    assert predicted.dtype == np.float64
    # Nothing is computed for a constant, and a bare name would be looked for elsewhere, too.
    assert [each.settings for each in NetworkDouble.made] == [(2, "cpu", 3)] * 2
    assert {each.model_path for each in NetworkDouble.made} == {str(Path("weights.ckpt").resolve())}
    alone = regressor.fit(X, Y[:, 0]).predict(X[:6])
    np.testing.assert_array_equal(alone, predicted[:, 0])
    Y[:, 2] = np.nan
    with pytest.raises(ValueError, match="Output 2 of y has no value"):
        regressor.fit(X, Y)


@pytest.mark.parametrize("name", ["tabicl", "tabpfn", "ofer-tabicl", "ofer-tabpfn"])
def test_a_run_is_refused_without_the_package_or_the_weights(monkeypatch, tmp_path, name):
    monkeypatch.chdir(tmp_path)
    keys = yaml.safe_load((METHODS / f"{name}.yaml").read_text(encoding="utf-8"))
    package, checkpoint = keys["settings"]["package"], Path(keys["settings"]["checkpoint"])
    installed: list[str] = []
    monkeypatch.setattr("workflow_lib.solvers.pretrained.is_installed", installed.__contains__)
    for words in (f"the package {package} is not installed", "there is no file"):
        ((key, *message),) = Parameters(**keys).faults()
        assert key == "settings" and words in " ".join(message)
        with pytest.raises(UserError, match=words):
            PretrainedRegressor(package, str(checkpoint)).fit(*some_rows())
        installed.append(package)
    assert "pip install" not in " ".join(message) and str(checkpoint) in " ".join(message)
    checkpoint.parent.mkdir()
    checkpoint.touch()
    assert Parameters(**keys).faults() == []
    keys["settings"]["package"] = "tabnet"
    assert "'package' parameter" in str(Parameters(**keys).faults())


def test_a_stored_regressor_needs_trust_and_the_same_weights(package):
    X, Y = some_rows()
    fitted = PretrainedRegressor(package, "weights.ckpt").fit(X, Y)
    stored, expected = estimator_bytes(fitted), fitted.predict(X)
    NetworkDouble.made.clear()
    with pytest.raises(UserError, match=f"{CLASS}.*trusted"):
        estimator_from_bytes(stored)
    with trusting([CLASS]):
        again = estimator_from_bytes(stored)
        np.testing.assert_array_equal(again.predict(X), expected)
        NetworkDouble.made.clear()
        Path("weights.ckpt").write_text("0.25")
        for words in ("the file has the SHA-256", "there is no file weights.ckpt"):
            with pytest.raises(UserError, match=words) as caught:
                estimator_from_bytes(stored)
            assert "the checkpoint weights.ckpt" in str(caught.value)
            with pytest.raises(UserError, match=words):
                again.predict(X)
            Path("weights.ckpt").unlink(missing_ok=True)
    # Weights with another digest are never given to the package.
    assert NetworkDouble.made == []


@pytest.mark.parametrize("package", ["tabicl"], indirect=True)
def test_the_saved_model_repeats_the_predictions(package, tmp_path, capsys):
    final = Final(tmp_path, table_dataset(small_table(), numbers=["dose, mg", "weight"]))
    final.estimator("saved", CLASS, package=package, checkpoint="weights.ckpt")
    with trusting([CLASS]):
        np.testing.assert_array_equal(final.repeated("saved"), final.stored("saved"))
    assert "predictions of saved reproduced exactly" in capsys.readouterr().out
    with pytest.raises(UserError, match="trusted"):
        load_model(final.path("model"))
    Path("weights.ckpt").unlink()
    with pytest.raises(UserError, match="there is no file weights.ckpt"):
        load_model(final.path("model"), trusted=[CLASS])


# --- the packages themselves, where they are installed --------------------------------------------


def tabicl_checkpoint(torch) -> dict:
    """Return a small network of random weights as TabICL stores it."""
    network = import_module("tabicl._model.tabicl").TabICL
    config = {"max_classes": 0, "num_quantiles": 9, "embed_dim": 8}
    for part in ("col", "row", "icl"):
        config |= {f"{part}_num_blocks": 1, f"{part}_nhead": 2}
    config |= {"col_num_inds": 4, "row_num_cls": 2}
    return {"config": config, "state_dict": network(**config).state_dict()}


def tabpfn_checkpoint(torch) -> dict:
    """Return a small network of random weights as TabPFN stores it."""
    architecture = import_module("tabpfn.architectures.tabpfn_v2")
    config = {"max_num_classes": 0, "num_buckets": 20, "emsize": 16, "nlayers": 1, "nhead": 2}
    state = architecture.get_architecture(architecture.parse_config(config)[0]).state_dict()
    state["criterion.borders"] = torch.linspace(-4, 4, 21)
    state["criterion.losses_per_bucket"] = torch.zeros(20)
    return {"config": config, "state_dict": state}


CHECKPOINTS = {"tabicl": tabicl_checkpoint, "tabpfn": tabpfn_checkpoint}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_the_package_predicts_with_a_small_checkpoint_and_no_network(name, tmp_path, monkeypatch):
    torch, found = pytest.importorskip("torch"), pytest.importorskip(name)
    arguments = inspect.signature(getattr(found, NETWORKS[name])).parameters
    assert set(inspect.signature(DOUBLES[name]).parameters) <= set(arguments)

    def connect(*_):
        raise OSError("a test has no network")

    monkeypatch.setattr(socket.socket, "connect", connect)
    torch.manual_seed(0)
    path = tmp_path / "weights.ckpt"
    torch.save(CHECKPOINTS[name](torch), path)
    X, Y = some_rows()
    fitted = PretrainedRegressor(name, str(path), n_estimators=2, random_state=1).fit(X, Y)
    predicted = fitted.predict(X[:6])
    assert predicted.shape == (6, 3) and np.isfinite(predicted).all()
    with trusting([CLASS]):
        again = estimator_from_bytes(estimator_bytes(fitted))
    np.testing.assert_array_equal(again.predict(X[:6]), predicted)
