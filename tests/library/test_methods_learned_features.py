"""Features that are learned from inputs, as a step before a method."""

from pathlib import Path

import numpy as np
import pytest
from fit_methods import run_method
from sklearn.decomposition import NMF, PCA, FastICA
from small_data import regression_data
from small_pipeline import Stages

from workflow_lib.core.errors import UserError
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.inputs.tangent_space import TangentSpace
from workflow_lib.methods.contract.base import method_of
from workflow_lib.methods.contract.method_file import parameters_of
from workflow_lib.methods.input_steps.learned_features import (
    Features,
    OnLearnedFeatures,
    learned_features,
)
from workflow_lib.run import capabilities
from workflow_lib.run.named_settings import SettingsFolder

ROOT = Path(__file__).resolve().parents[2]
PCA_CLASS, NMF_CLASS = "sklearn.decomposition.PCA", "sklearn.decomposition.NMF"
ALPHAS = [1e-4, 1e-2]


def learner(transformer=PCA_CLASS, unlabelled=True, settings=None, **grid) -> dict:
    return {
        "transformer": transformer,
        "settings": settings or {},
        "grid": grid,
        "unlabelled": unlabelled,
        "seed": 0,
        "method_file": "config/methods/tried.yaml",
    }


def stages_of(folder, X, Y, **options) -> Stages:
    stages = Stages(folder, X, Y, kind=None, scale="standard", **options)
    stages.prepare()
    return stages


def ridge(stages: Stages, feature_learner: dict | None = None, kernel: str = "linear") -> dict:
    """Run kernel ridge regression per component of the outputs; return its artifact."""
    more = {"feature_learner": feature_learner} if feature_learner else {}
    settings = {"widths": [0.3, 1.0], "alphas": ALPHAS, "center": True, "metric": "arrmse"}
    return run_method("principal_component_ridge", stages.path, kernel=kernel, **settings, **more)


def test_all_principal_components_change_nothing(tmp_path):
    stages = stages_of(tmp_path, *regression_data(70, n_clusters=4, spread=2.0))
    plain = ridge(stages)
    rotated = ridge(stages, learner(n_components=[None]))
    for name, item in plain.items():
        for entry in ("test_targets", "training_targets", "heldout_outputs"):
            np.testing.assert_allclose(rotated[name][entry], item[entry], atol=1e-9)


def test_a_fold_learns_from_its_training_rows_and_unlabelled_ones_only(tmp_path):
    X, Y = regression_data(70, n_clusters=4, spread=2.0)
    stages = stages_of(tmp_path / "first", X, Y, weak_sizes=[15], sizes=[30])
    split = stages.tree("split")
    heldout = split["train"][:30][split["folds"]["n-30"] == 2]
    changed = X.copy()
    changed[heldout], changed[split["test"]] = 50.0, -50.0
    other = stages_of(tmp_path / "second", changed, Y, weak_sizes=[15], sizes=[30])
    weak = X.copy()
    weak[split["weak"][:15]] += np.random.default_rng(0).normal(size=(15, X.shape[1]))
    third = stages_of(tmp_path / "third", weak, Y, weak_sizes=[15], sizes=[30])

    def components(stages, fold, n_unlabelled=15):
        method = method_of(
            "training_mean", {"metric": "arrmse", "feature_learner": learner(n_components=[2])}
        )
        assert isinstance(method, OnLearnedFeatures)
        paths = {name: stages.path(name) for name in ("dataset", "split", "features")}
        data = FitData(SplitData(paths), FitSpec(30, n_unlabelled))
        inputs = method.data(data, {"n_components": 2}).inputs
        return inputs._preparation(fold).features.transformer.components_

    np.testing.assert_array_equal(components(stages, 2), components(other, 2))
    assert not np.allclose(components(stages, 1), components(other, 1))
    np.testing.assert_array_equal(components(stages, 2, 0), components(third, 2, 0))
    assert not np.allclose(components(stages, 2), components(third, 2))


def test_unlabelled_inputs_make_a_fit_for_each_number_of_weak_rows(tmp_path):
    data = regression_data(70, n_clusters=4, spread=2.0)
    stages = stages_of(tmp_path, *data, weak_sizes=[8, 15], sizes=[20])
    learned = ridge(stages, learner(n_components=[1, 2]))
    assert sorted(item["weak_size"] for item in learned.values()) == [0, 8, 15]
    labelled_only = ridge(stages, learner(unlabelled=False, n_components=[1, 2]))
    assert [item["weak_size"] for item in labelled_only.values()] == [0]
    assert all(item["feature_learner__n_components"] in (1, 2) for item in learned.values())


def test_grid_points_that_fail_do_not_compete(tmp_path, capsys):
    stages = stages_of(tmp_path, *regression_data(70, n_clusters=4, spread=2.0))
    learned = ridge(stages, learner(n_components=[1000, 2]))
    assert {item["feature_learner__n_components"] for item in learned.values()} == {2}
    assert "left out: sklearn.decomposition.PCA(n_components=1000)" in capsys.readouterr().out
    with pytest.raises(UserError, match="n_components=1000"):
        ridge(stages, learner(n_components=[1000]))


def test_inputs_of_non_negative_learners_are_scaled_but_not_centred():
    X = np.random.default_rng(0).gamma(1.0, size=(30, 5))
    X[3, 2] = np.nan
    preparation = fit_preparation(X, "standard")
    found = learned_features(NMF(2, init="nndsvda", max_iter=2000), X, preparation, 30)
    filled = np.where(np.isnan(X), preparation.fill, X) / preparation.scale
    assert (filled < 8.0).all()
    expected = NMF(2, init="nndsvda", max_iter=2000).fit(filled).transform(filled)
    expected = (expected - expected.mean(axis=0)) / np.sqrt(expected.var(axis=0).mean())
    np.testing.assert_allclose(found.of(preparation.apply(X)), expected, atol=1e-6)
    X[0, 0] = -3.0
    with pytest.raises(ValueError, match="[Nn]egative"):
        learned_features(NMF(2), X, fit_preparation(X, "standard"), 30)


def test_constant_columns_are_left_out_but_where_all_are_needed():
    X = np.random.default_rng(0).normal(size=(30, 4))
    X[:, [0, 2]] = 0.0
    preparation = fit_preparation(X, "none")
    independent = learned_features(FastICA(2, random_state=0), X, preparation, 30)
    np.testing.assert_array_equal(independent.kept, [1, 3])
    assert np.isfinite(independent.of(X)).all()
    series = TangentSpace(of_series=True, n_channels=2)
    assert len(learned_features(series, X, preparation, 30).kept) == 4


def test_features_have_mean_variance_one_and_are_stored():
    X = np.random.default_rng(0).normal(size=(40, 6)) * np.arange(1, 7)
    preparation = fit_preparation(X[:25], "none")
    found = learned_features(PCA(3), X, preparation, 25)
    values = found.of(preparation.apply(X[:25]))
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(values.var(axis=0).mean(), 1.0)
    again = Features.from_tree(found.tree()).of(preparation.apply(X))
    np.testing.assert_array_equal(again, found.of(preparation.apply(X)))


def parameters(**keys):
    return parameters_of(keys.get("regressor", "kernel_ridge"))(
        **SettingsFolder(ROOT / "config" / "methods").keys("m-krr") | keys
    )


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ({"transformer": "sklearn.decomposition.PCAA"}, "cannot be imported"),
        ({"transformer": "sklearn.linear_model.Ridge"}, "no scikit-learn estimator"),
        ({"transformer": PCA_CLASS, "grid": {"n_component": [2]}}, "no argument 'n_component'"),
        ({"transformer": PCA_CLASS, "grid": {"n_components": [-2]}}, "refuses n_components=-2"),
    ],
)
def test_wrong_classes_and_arguments_are_faults(keys, found):
    ((key, message, _, remedy),) = parameters(feature_learner=keys).faults()
    assert found in message and key.startswith("feature_learner") and remedy


def test_methods_without_inputs_have_no_learner():
    mean = {"regressor": "training_mean", "feature_learner": {"transformer": PCA_CLASS}}
    keys = {key: mean.get(key) for key in mean} | {"label": "m", "summary": "s"}
    keys |= {"color": "#123456", "marker": "o"}
    method = parameters_of("training_mean")(**keys)
    (reason,) = capabilities.check_method(method, None)
    assert "takes none" in reason
