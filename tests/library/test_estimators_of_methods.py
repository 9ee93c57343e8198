"""Estimators that run methods of the workflow: the same choices and predictions as its stages."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import numpy as np
import pandas
import pytest
from each_case import each_case
from joblib import parallel_config
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit, cross_validate
from small_data import regression_data, write_dataset
from threadpoolctl import threadpool_limits

from workflow_lib import (
    GaussianMixtureModel,
    KernelRidgeClassifierCV,
    KernelRidgeRegressor,
    KernelRidgeRegressorCV,
    OutputFisherRegressorCV,
    StackClassifier,
    StackRegressor,
)
from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import ArgumentError
from workflow_lib.core.seeds import derive_seed
from workflow_lib.core.yaml_files import read_yaml
from workflow_lib.estimators import array_run
from workflow_lib.estimators.array_run import ArrayRun
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.protocol import (
    annotation,
    embedding,
    features_stage,
    generative_models,
    preimages,
    regression,
    splitting,
)
from workflow_lib.run.loading import load_configuration
from workflow_lib.run.stages import FINAL
from workflow_lib.table.comparison import proposed, settings_folder
from workflow_lib.table.in_process import TableRun

MEMBERS = ["m-krr", "m-krr-bagged", "ofer-gmm", "ridge", "m-rf", "extra-trees", "ofer-density"]
CONFIG = Path(__file__).resolve().parents[2] / "config"
X, Y = regression_data(40)
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.3, 0.6]))]
QUICK = {"kernels": ["rbf"], "widths": [0.1, 1.0], "alphas": [1e-4, 1e-2]}
ALL = [
    KernelRidgeRegressorCV(**QUICK),
    KernelRidgeRegressorCV(**QUICK, combine="bootstrap"),
    KernelRidgeClassifierCV(**QUICK),
    OutputFisherRegressorCV([2, 3], n_init=1, **QUICK),
    StackRegressor(["m-krr", "ridge"]),
    StackClassifier(["class-krr", "m-svm"]),
]


def targets_of(estimator):
    return LABELS if hasattr(estimator, "classes_") or "Classifier" in repr(estimator) else Y


def final_split(
    folder: Path, frame: pandas.DataFrame, methods: list[str], config: Path = CONFIG, **request
) -> TableRun:
    """Run methods on the split of a table in which every row trains."""
    folder = folder / "run"
    folder.mkdir()
    frame.to_csv(folder / "table.csv", index=False)
    settings = settings_folder(folder, config)
    request |= {"name": "table", "data": str(folder / "table.csv"), "methods": methods}
    proposed(request, settings)
    run = TableRun(load_configuration(settings, {"name": "table", "seed": 1}), "table", folder)
    run.read()
    run.learn(FINAL, methods)
    return run


def item_of(path: Path, kind: str) -> dict:
    """Return what an artifact holds of the fit that is no study."""
    items = read_artifact(path, kind)
    (name,) = [name for name in items if not name.endswith("unpaired_size=0")][:1]
    return items[name]


def assert_same_as_stages(run: TableRun, method: str, estimator, X, y, **more) -> None:
    """Assert that an estimator chose, and predicts, what the stages did, bit for bit."""
    folder = run.file("results/table/split-final")
    split = read_artifact(folder / "split.h5", "split")
    item = item_of(folder / method / "regression.h5", "regression")
    predicted = item_of(folder / method / "predictions.h5", "predictions")
    estimator.fit(X, y, **more)
    found = estimator.heldout_predictions_[split["train"]]
    np.testing.assert_array_equal(found, item["heldout_outputs"])
    assert estimator.cv_error_ == item["score"]
    chosen = estimator._method.entries
    for name in ("kernel", "width", "alpha_rest", "alpha_leading", "n_components"):
        assert chosen.get(name) == item.get(name)
    found = estimator._predicted(X[split["test"]])
    np.testing.assert_array_equal(found, predicted.get("class_scores", predicted["outputs"]))


def test_regressors_are_what_the_stages_run(tmp_path, monkeypatch):
    """The whole stack of the workflow, with fewer trees and widths, so that it takes seconds."""
    config, members = shutil.copytree(CONFIG, tmp_path / "config"), MEMBERS
    for name in members:
        file = config / "methods" / f"{name}.yaml"
        text = file.read_text().replace("n_trees: 200", "n_trees: 5")
        file.write_text(text.replace("output_width: [0.3, 0.6, 1, 1.7, 3, 6]", "output_width: [1]"))
    monkeypatch.setattr(array_run, "SETTINGS", config)
    X, Y = regression_data(101)
    X[3, 1] = X[40, 2] = np.nan
    frame = pandas.DataFrame(np.hstack([X, Y]), columns=[*"abcd", "y0", "y1", "y2"])
    with threadpool_limits(1):
        run = final_split(tmp_path, frame, [*members, "ofer-stack"], config, outputs="y*")
        for method, estimator in {
            "m-krr": KernelRidgeRegressorCV(),
            "m-krr-bagged": KernelRidgeRegressorCV(combine="bootstrap"),
            "ofer-gmm": OutputFisherRegressorCV(),
            "ofer-stack": StackRegressor(),
        }.items():
            assert_same_as_stages(run, method, estimator, X, Y)
            restored = pickle.loads(pickle.dumps(estimator))
            np.testing.assert_array_equal(restored.predict(X), estimator.predict(X))
    assert estimator.members_ == members


def test_classifiers_are_what_the_stages_run(tmp_path):
    frame = pandas.DataFrame(X, columns=[*"abcd"]).assign(level=LABELS)
    members = ["class-krr", "m-svm", "logistic-regression"]
    with threadpool_limits(1):
        run = final_split(tmp_path, frame, [*members, "class-stack"], classes="level")
        for method, estimator in {
            "class-krr": KernelRidgeClassifierCV(),
            "class-stack": StackClassifier(members),
        }.items():
            assert_same_as_stages(run, method, estimator, X, LABELS)


def test_outputs_without_inputs_join_as_in_the_stages(tmp_path):
    more = regression_data(60)[1][40:]
    frame = pandas.DataFrame(np.hstack([X, Y]), columns=[*"abcd", "y0", "y1", "y2"])
    unpaired = pandas.DataFrame(more, columns=["y0", "y1", "y2"])
    frame = pandas.concat([frame, unpaired], ignore_index=True)
    members = ["m-krr", "ofer-gmm", "ofer-unpaired", "back-translation"]
    with threadpool_limits(1):
        run = final_split(tmp_path, frame, [*members, "ofer-stack"], outputs="y*")
        stack = StackRegressor(members)
        assert_same_as_stages(run, "ofer-stack", stack, X, Y, Y_unpaired=more)
    assert stack.weights_.shape == (4, 3)


def test_weak_rows_join_a_numbered_split_as_in_the_stages(tmp_path):
    """Folds of a splitter are those of the split; the weak labels those of its annotator."""
    X, Y = regression_data(70)
    path = {name: tmp_path / f"{name}.h5" for name in ("dataset", "split", "features", "models")}
    write_dataset(path["dataset"], X, Y)
    splitting.run(path["dataset"], path["split"], [30], [12], 10, 4, seed=5, experiment="small")
    source = path["dataset"], path["split"]
    features_stage.run(*source, path["features"], "standard", "rbf", "none")
    seed = derive_seed(1, "training", "table", "final", "mixture-tied")
    mixture = ("gaussian_mixture", "tied_spherical", 0.05, 5, [3], "standard", seed)
    generative_models.run(*source, path["models"], *mixture)
    annotated = tmp_path / "annotated.h5", tmp_path / "weak_labels.h5"
    annotation.run(*source, path["models"], *annotated, "soft", 0)
    embedding.run(*source, annotated[0], tmp_path / "embeddings.h5", "reduced", "constrained")
    grid = {"alphas": [1e-4, 1e-2], "widths": [0.1, 1.0], "weak_weights": [0.3, 1.0]}
    settings = {"components": "selected", "component_counts": [3], "combine": "best"}
    settings |= {"kernel": "rbf", "kernels": ["rbf"], "penalty": "per_block", "weak": True}
    settings |= {"weak_outputs": None, "projections": [False, True], "studies": {}}
    artifacts = dict(zip(("models", "weak_labels"), annotated, strict=True)) | path
    artifacts |= {"models": annotated[0], "embeddings": tmp_path / "embeddings.h5"}
    written = tmp_path / "regression.h5", tmp_path / "predictions.h5"
    common = {"center": True, "metric": "arrmse"}
    seconds = tmp_path / "seconds.json"
    regression.run("kernel_ridge", artifacts, settings | grid | common, written[0], seconds)
    preimages.run(
        written[0], annotated[0], written[1], seconds, "reduced", "constrained", "projected", None
    )
    items = read_artifact(written[0], "regression"), read_artifact(written[1], "predictions")
    (name,) = [name for name, item in items[0].items() if item["weak_size"] == 12]
    split = read_artifact(path["split"], "split")
    labels = read_artifact(annotated[1], "weak_labels")["n-30"]["C-3"]["memberships"][:12]
    estimator = OutputFisherRegressorCV(
        combine="best", kernels=["rbf"], cv=PredefinedSplit(split["folds"]["n-30"]), **grid
    ).fit(X[split["train"]], Y[split["train"]], X[split["weak"][:12]], labels)
    expected, chosen = items[0][name], estimator.best_params_[3]
    assert chosen == {key: expected[key] for key in chosen}
    assert estimator.alpha_ == {3: {"pi": expected["alpha_leading"], "mu": expected["alpha_rest"]}}
    np.testing.assert_allclose(
        estimator.heldout_predictions_, expected["heldout_outputs"], rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(
        estimator.predict(X[split["test"]]), items[1][name]["outputs"], rtol=1e-12, atol=1e-12
    )


def test_defaults_are_those_of_the_files_of_the_workflow():
    mixture = read_yaml(CONFIG / "models" / "mixture-tied.yaml")
    found = OutputFisherRegressorCV().get_params()
    assert mixture.pop("kind") == "gaussian_mixture"
    assert {name: found[name] for name in mixture} == mixture
    method = read_yaml(CONFIG / "methods" / "ofer-gmm.yaml")
    for name in ("combine", "penalty", "preimage"):
        assert found[name] == method[name]


def test_members_are_those_of_the_workflow_that_can_learn(monkeypatch):
    stack = read_yaml(CONFIG / "methods" / "ofer-stack.yaml")
    run = []
    monkeypatch.setattr(ArrayRun, "fitted", lambda self, name, *_, **__: run.append(name))
    outputs = np.zeros((150, 1))
    settings = {"seed": 1, "cv": 5, "scale": "none", "metric": "arrmse"}

    def members(n, **others):
        run.clear()
        ArrayRun(outputs[:n], outputs[:n], **settings, **others).fitted_stack("ofer-stack", None, 1)
        return run[:-1]

    assert members(150, unpaired=outputs) == stack["members"]
    assert members(150) == MEMBERS and members(99) == MEMBERS[:-1]
    labels = np.arange(40) % 2
    run.clear()
    ArrayRun(X, np.eye(2)[labels], **settings, labels=labels).fitted_stack("class-stack", None, 1)
    of_classes = read_yaml(CONFIG / "methods" / "class-stack.yaml")["members"]
    assert run[:-1] == [each for each in of_classes if each not in ("sem-iokr", "ofer-candidates")]


def test_the_choice_is_that_of_the_plain_estimator():
    model = KernelRidgeRegressorCV(**QUICK).fit(X, Y)
    prepared = fit_preparation(X, "standard").apply(X)
    plain = KernelRidgeRegressor("rbf", model.gamma_, model.alpha_).fit(prepared, Y)
    np.testing.assert_allclose(model.predict(X), plain.predict(prepared), rtol=1e-9, atol=1e-9)
    assert model.best_params_ == {"kernel": "rbf", "alpha": model.alpha_, "width": model.width_}
    assert set(model.cv_curves_["rbf"]) == {"alpha_rest", "width"}
    assert model.cv_curves_["rbf"]["width"][:, 1].min() == pytest.approx(model.cv_error_)


@each_case("estimator", ALL, ids=range(len(ALL)))
def test_missing_inputs_shapes_and_frames(estimator):
    gaps, y = X.copy(), targets_of(estimator)
    gaps[::7, 0] = np.nan
    model = clone(estimator).fit(pandas.DataFrame(gaps, columns=[*"abcd"]), y)
    assert list(model.feature_names_in_) == [*"abcd"] and model.n_features_in_ == 4
    assert model.predict(pandas.DataFrame(gaps[:3], columns=[*"abcd"])).shape == y[:3].shape
    assert len(model.heldout_predictions_) == len(X) and model.cv_error_ > 0
    if y.ndim == 2:
        vector, column = clone(model).fit(X, Y[:, 0]), clone(model).fit(X, Y[:, :1])
        np.testing.assert_array_equal(vector.predict(X)[:, None], column.predict(X))
        assert vector.heldout_predictions_.shape == (40,)
        unknown = Y.copy()
        unknown[::5, 1] = np.nan
        assert np.isfinite(clone(model).fit(X, unknown).predict(X)).all()


@each_case("estimator", ALL, ids=range(len(ALL)))
def test_folds_keep_groups_together(estimator, monkeypatch):
    groups, found = np.array([*"abcdefgh"])[np.arange(40) // 5], []
    original = ArrayRun.fitted

    def fitted(self, *arguments, **named):
        split = self._trees["split"]
        (folds,) = split["folds"].values()
        found.append(dict(zip(split["train"].tolist(), folds.tolist())))
        return original(self, *arguments, **named)

    monkeypatch.setattr(ArrayRun, "fitted", fitted)
    for cv in (3, GroupKFold(4)):
        clone(estimator).set_params(cv=cv).fit(X, targets_of(estimator), groups=groups)
        by_group = {(groups[row], fold) for row, fold in found[-1].items()}
        assert len(by_group) == 8 and len({fold for _, fold in by_group}) in (3, 4)


def test_groups_are_routed():
    from sklearn import config_context

    groups = np.arange(40) // 4
    with config_context(enable_metadata_routing=True):
        model = KernelRidgeRegressorCV(**QUICK, cv=GroupKFold(3)).set_fit_request(groups=True)
        cross_validate(
            model, X, Y, cv=GroupKFold(2), params={"groups": groups}, error_score="raise"
        )


def test_a_stack_transforms_rows_to_what_its_members_predict():
    model = StackRegressor(["m-krr", "ridge"]).fit(X, Y)
    assert model.weights_.shape == (2, 3) and model.members_ == ["m-krr", "ridge"]
    frame = model.set_output(transform="pandas").transform(X)
    assert list(frame)[::3] == ["m-krr_0", "ridge_0"]
    weighted = sum(
        weight * frame.to_numpy()[:, 3 * k : 3 * k + 3] for k, weight in enumerate(model.weights_)
    )
    np.testing.assert_allclose(weighted, model.predict(X), rtol=1e-12)
    with parallel_config("threading"):
        parallel = StackRegressor(["m-krr", "ridge"], n_jobs=2).fit(X, Y)
    np.testing.assert_allclose(parallel.predict(X), model.predict(X), rtol=1e-9)


def test_probabilities_and_scores_of_classes():
    stack = StackClassifier(["class-krr", "m-svm"]).fit(X, LABELS)
    probabilities = stack.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (stack.classes_[probabilities.argmax(axis=1)] == stack.predict(X)).all()
    two = LABELS == "low"
    model = KernelRidgeClassifierCV(**QUICK).fit(X, two)
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X))
    assert model.score(X, two) > 0.7


def test_mixtures_learn_from_outputs_without_inputs():
    model = OutputFisherRegressorCV([2], n_init=1, **QUICK)
    without = clone(model).fit(X, Y)
    more = regression_data(80)[1]
    with_more = clone(model).fit(X, Y, Y_unpaired=more)
    known = np.concatenate([Y, more])
    units = known.mean(axis=0), known.std(axis=0)
    expected = GaussianMixtureModel(2, "tied_spherical", n_init=1).fit(
        (known - units[0]) / units[1]
    )
    found = with_more.models_[2]
    np.testing.assert_allclose(np.sort(found.weights_), np.sort(expected.weights_), atol=1e-3)
    assert np.abs(without.models_[2].weights_ - found.weights_).max() > 1e-6
    assert OutputFisherRegressorCV(2, n_init=1, **QUICK).fit(X, Y[:, 0], Y_unpaired=more[:, 0])


WEAK = X[:3], np.eye(2)[[0, 1, 1]]
OFER = OutputFisherRegressorCV([2], n_init=1, **QUICK)
FAULTS = {
    "one row": (KernelRidgeRegressorCV(), (X[:1], Y[:1]), "argument X: 1 sample"),
    "row without output": (
        KernelRidgeRegressorCV(),
        (X, np.where(np.arange(40)[:, None] == 3, np.nan, Y)),
        "argument y: no known output in 1 rows",
    ),
    "one class": (KernelRidgeClassifierCV(), (X, ["a"] * 40), "argument y: one class"),
    "folds": (
        KernelRidgeRegressorCV(cv=PredefinedSplit(np.arange(40) % 3 - 1)),
        (X, Y),
        "parameter cv: folds of PredefinedSplit that do not hold out every row once",
    ),
    "unknown member": (StackRegressor(["m-kr"]), (X, Y), "no method named 'm-kr'.*write 'm-krr'"),
    "member of classes": (StackRegressor(["m-svm"]), (X, Y), "m-svm, which is no single method"),
    "unpaired": (StackRegressor(["ofer-unpaired"]), (X, Y), "from outputs without inputs"),
    "weak member": (StackRegressor(["wofer-gmm"]), (X, Y), "wofer-gmm, which learns from other"),
    "no memberships": (OFER, (X, Y, WEAK[0]), "one of them without the other"),
    "no probabilities": (OFER, (X, Y, WEAK[0], 2 * WEAK[1]), "rows that are no probabilities"),
    "other components": (
        OFER,
        (X, Y, WEAK[0], np.eye(3)),
        r"3 columns, for n_components=\[2\].*n_components=3",
    ),
    "other outputs": (OFER, (X, Y, None, None, Y[:, :2]), "argument Y_unpaired: the shape"),
}


@each_case("fault", FAULTS)
def test_faults_name_the_argument(fault):
    estimator, arguments, message = FAULTS[fault]
    with pytest.raises(ArgumentError, match=message) as error:
        clone(estimator).fit(*arguments)
    assert isinstance(error.value, ValueError) and "To fix it" in str(error.value)


def test_a_splitter_may_make_the_folds():
    folds = KFold(4, shuffle=True, random_state=3)
    model = KernelRidgeRegressorCV(**QUICK, cv=folds).fit(X, Y)
    for train, test in folds.split(X):
        prepared = fit_preparation(X[train], "standard")
        plain = KernelRidgeRegressor("rbf", model.gamma_, model.alpha_)
        plain.fit(prepared.apply(X[train]), Y[train])
        expected = plain.predict(prepared.apply(X[test]))
        np.testing.assert_allclose(model.heldout_predictions_[test], expected, atol=1e-6)


def test_of_many_rows_landmarks_stand_for_the_gram_matrix(monkeypatch):
    monkeypatch.setattr(array_run, "default_max_gram_rows", lambda: 30)
    model = KernelRidgeRegressorCV(**QUICK).fit(X, Y)
    assert model._method.choices[0]["n_landmarks"] > 0 and model.score(X, Y) > 0.5
    with pytest.raises(ArgumentError, match="40 labelled and 3 weak rows.*at most 30 rows"):
        OFER.fit(X, Y, *WEAK)
