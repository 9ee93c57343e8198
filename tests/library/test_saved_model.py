"""A saved model predicts what the workflow predicted, from the same rows given as a table."""

import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pandas
import pytest
from each_case import each_case, in_turn
from paper_folders import paper_modules
from saved_model_samples import N_ROWS, Final, small_table, table_dataset
from small_assay import write_table
from small_pipeline import assert_same_tree

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.data.readers.table import Options, read
from workflow_lib.data.table_encoding import EncodedRows
from workflow_lib.methods.contract.base import method_modules
from workflow_lib.methods.contract.saving import why_not_saved
from workflow_lib.protocol import alignments, output_predictions
from workflow_lib.table import table_predictions_stage
from workflow_lib.table.saved_model import SavedModel, load_model
from workflow_lib.uncertainty.joint_regions import JointRegions
from workflow_lib.uncertainty.output_ranges import OutputRanges
from workflow_lib.uncertainty.row_intervals import HeldOutRows, RowIntervals

ROOT = Path(__file__).resolve().parents[2]
ROLES = {"numbers": ["dose, mg", "weight"], "categories": ["colour"]}


def table_final(tmp_path, **options):
    return Final(tmp_path, table_dataset(small_table(), **ROLES), **options)


@pytest.fixture
def final(tmp_path):
    """Return a split of a small table with a ridge."""
    made = table_final(tmp_path)
    made.ridge("ridge", kind=None)
    return made


@pytest.fixture
def of_mean(tmp_path):
    """Return a split of a small table with the training mean."""
    made = table_final(tmp_path)
    made.of_outputs("mean", "training_mean")
    return made


RIDGES = {
    "outputs": {"kind": None},
    "average": {"combine": "average", "counts": [2, 3], "penalty": "per_block"},
    "best": {"counts": [1, 3], "alphas": [1e-3]},
    "gaussian, full": {"kind": "gaussian", "form": "full", "preimage": "gradient"},
    "units": {"output_scale": "standard", "counts": [2]},
    "landmarks": {"kind": None, "landmarks": {"max_gram_rows": 20, "n_landmarks": 12, "seed": 3}},
    "random features": {
        "kind": None,
        "landmarks": {"max_gram_rows": 20, "n_landmarks": 12, "seed": 3},
        "approximation": "random_features",
    },
    "landmarks, mixture": {
        "combine": "average",
        "counts": [2, 3],
        "landmarks": {"max_gram_rows": 20, "n_landmarks": 12, "seed": 3},
    },
}


def stored_fit(final):
    """Return the arrays of the method in the file of the model."""
    return read_artifact(final.path("model"), "predictor")["regressor"]["parts"]["all"]["fitted"]


PLS = "sklearn.cross_decomposition.PLSRegression"
TREES = "sklearn.ensemble.ExtraTreesRegressor"
BOOSTING = "sklearn.ensemble.HistGradientBoostingRegressor"
PROCESS = "workflow_lib.solvers.gaussian_process.WidthPerInputGaussianProcess"
LOGISTIC = "sklearn.linear_model.LogisticRegression"


def add_stacked_features(final, columns="inputs"):
    """Add trees on the predictions of a forest and a ridge."""
    final.forest("forest")
    final.ridge("ridge", kind=None)
    final.stacked_features("saved", ["forest", "ridge"], columns)


def add_class_stack(final):
    """Add a stack of a forest and a support vector machine."""
    final.classifier("forest", "random_forest_classifier")
    final.classifier("machine", "support_vector_machine")
    final.class_stack("saved", ["forest", "machine"])


def add_stack(final, **ridge):
    """Add a stack in which a density, a forest and a ridge have a weight."""
    final.of_output_kernel("density", "rbf", "mean_shift")
    final.forest("forest")
    final.ridge("ridge", **(ridge or {"kind": None}))
    weak_members = ["ridge"] if ridge else []
    final.stack("saved", ["density", "forest", "ridge"], weak_members)
    path = final.methods["saved"]["regression"]
    ((key, item),) = read_artifact(path, "regression").items()
    weights = {"density": 0.3, "forest": 0.3, "ridge": 0.4}
    predicted = [weight * final.stored(name) for name, weight in weights.items()]
    n_outputs = predicted[0].shape[1]
    item["member_weights"] = np.repeat([[weight] for weight in weights.values()], n_outputs, axis=1)
    item["test_targets"] = (predicted[0] + predicted[1]) + predicted[2]
    write_artifact(path, {key: item}, "regression", allow_nan=("score",))
    target = final.methods["saved"]["predictions"]
    output_predictions.run(path, target, final.folder / "preimages.json")


PCA = {
    "transformer": "sklearn.decomposition.PCA",
    "settings": {},
    "grid": {"n_components": [2, 4]},
    "unlabelled": True,
    "seed": 0,
    "method_file": "config/methods/saved.yaml",
}

OF_PAPERS = paper_modules("samples/saved_models.py")
SAVED_NUMBERS = {
    "kernel_ridge": lambda final: final.ridge("saved", kind=None),
    "kernel_ridge, weak": lambda final: final.ridge("saved", weak=True, counts=[2, 3]),
    "kernel_ridge, imputed": lambda final: final.ridge(
        "saved", weak=True, counts=[2], weak_outputs="component_mean"
    ),
    "principal_component_ridge": lambda final: final.of_outputs(
        "saved", "principal_component_ridge"
    ),
    "reduced_rank_ridge": lambda final: final.of_outputs("saved", "reduced_rank_ridge"),
    "laplacian_ridge": lambda final: final.of_outputs("saved", "laplacian_ridge"),
    "back_translation": lambda final: final.of_outputs("saved", "back_translation"),
    "posterior_ridge": lambda final: final.of_outputs("saved", "posterior_ridge"),
    "joint_ridge": lambda final: final.joint("saved"),
    "joint_ridge, weak": lambda final: final.joint("saved", "best", weak=True),
    "random_forest": lambda final: final.forest("saved"),
    "extra_trees": lambda final: final.forest("saved", kind="extra_trees"),
    "training_mean": lambda final: final.of_outputs("saved", "training_mean"),
    "output_kernel_regression": lambda final: final.of_output_kernel("saved", "rbf", "mean_shift"),
    "output_kernel_regression, mean": lambda final: final.of_output_kernel(
        "saved", "linear", "mean"
    ),
    "output_kernel_regression, minimiser": lambda final: final.of_output_kernel(
        "saved", "rbf", "minimiser"
    ),
    "output_kernel_regression, candidates": lambda final: final.of_output_kernel(
        "saved", "linear", "candidates"
    ),
    "principal_component_ridge, learned features": lambda final: final.of_outputs(
        "saved", "principal_component_ridge", feature_learner=PCA
    ),
    "stack": add_stack,
    "stacked_features": add_stacked_features,
    "stacked_features, alone": lambda final: add_stacked_features(final, "none"),
    "stack, weak rows": lambda final: add_stack(final, weak=True, counts=[2]),
    "estimator": lambda final: final.estimator("saved", PLS, n_components=2),
    "estimator, single outputs": lambda final: final.estimator("saved", BOOSTING, max_iter=5),
    "estimator, weak": lambda final: final.estimator("saved", TREES, weak=True, n_estimators=3),
    "estimator, single outputs, weak": lambda final: final.estimator(
        "saved", BOOSTING, weak=True, max_iter=5
    ),
    "estimator, of this library": lambda final: final.estimator("saved", PROCESS),
    **{name: add for module in OF_PAPERS for name, add in module.SAVED_NUMBERS.items()},
}
SAVED_CLASSES = {
    "class_ridge": lambda final: final.class_ridge("saved"),
    "class_ridge, output_kernel": lambda final: final.class_ridge("saved", "output_kernel"),
    "class_ridge, candidates": lambda final: final.class_ridge("saved", "candidates"),
    "class_ridge, class_block": lambda final: final.class_ridge("saved", "class_block"),
    "class_ridge, class_block, weak": lambda final: final.class_ridge(
        "saved", "class_block", weak=True
    ),
    "class_ridge, component first, weak": lambda final: final.class_ridge(
        "saved", "class_block_component_first", weak=True
    ),
    "class_ridge, class_block, laplacian": lambda final: final.class_ridge(
        "saved", "class_block", weak=True, kernels=["laplacian"]
    ),
    "class_ridge, kernels": lambda final: final.class_ridge(
        "saved", kernels=["linear", "rbf", "laplacian"]
    ),
    "self_training, linear": lambda final: final.self_training("saved", "soft", ["linear"]),
    "self_training, hard": lambda final: final.self_training("saved", "hard"),
    "self_training, soft": lambda final: final.self_training("saved", "soft"),
    "support_vector_machine": lambda final: final.classifier("saved", "support_vector_machine"),
    "perceptron": lambda final: final.classifier("saved", "perceptron"),
    "random_forest_classifier": lambda final: final.classifier("saved", "random_forest_classifier"),
    "estimator, classifier": lambda final: final.estimator("saved", LOGISTIC, C=0.1),
    "class_stack": add_class_stack,
    **{name: add for module in OF_PAPERS for name, add in module.SAVED_CLASSES.items()},
}
SAVED_ON_THEIR_OWN = {
    "least_squares",
    *(name for module in OF_PAPERS for name in module.SAVED_ON_THEIR_OWN),
}
"""Regressors whose data are in separate tests, such as texts with lagged values."""


def test_every_regressor_is_saved():
    tested = {name.partition(",")[0] for name in (*SAVED_NUMBERS, *SAVED_CLASSES)}
    assert tested | SAVED_ON_THEIR_OWN == set(method_modules())
    ceiling = {"regressor": "kernel_ridge", "weak_outputs": "true"}
    assert "hidden in use" in why_not_saved("ceiling", {"ceiling": ceiling})
    # A new method without settings can be saved.
    assert why_not_saved("new", {}) == ""


@each_case("name", SAVED_NUMBERS)
def test_methods_of_numbers_are_repeated_bit_by_bit(tmp_path, capsys, name):
    final = table_final(tmp_path, n_weak=8)
    SAVED_NUMBERS[name](final)
    np.testing.assert_array_equal(final.repeated("saved"), final.stored("saved"))
    assert "predictions of saved reproduced exactly" in capsys.readouterr().out


@each_case(("name", "n_classes"), in_turn(SAVED_CLASSES, [4, 6]))
def test_methods_of_classes_are_repeated_bit_by_bit(tmp_path, capsys, name, n_classes):
    final, labels = class_final(tmp_path, n_classes, n_weak=8)
    SAVED_CLASSES[name](final)
    np.testing.assert_array_equal(final.repeated("saved"), final.stored("saved"))
    assert "predictions of saved reproduced exactly" in capsys.readouterr().out
    # The named class is the class that was scored.
    found = final.saved("saved").predict(small_table())
    test = final.split["test"]
    np.testing.assert_allclose(found.outputs[test], final.stored("saved"), rtol=0, atol=1e-10)
    (item,) = read_artifact(final.methods["saved"]["predictions"], "predictions").values()
    named = [found.classes[row] for row in test]
    assert named == [CLASS_NAMES[label] for label in item["classes"]]


@pytest.mark.parametrize("n_classes", [1, 2])
def test_a_perceptron_of_few_known_classes_is_repeated(tmp_path, n_classes):
    final, labels = class_final(tmp_path, labels=lambda labels: labels % n_classes)
    final.classifier("saved", "perceptron")
    scores = final.repeated("saved")
    np.testing.assert_array_equal(scores, final.stored("saved"))
    assert scores.shape == (N_ROWS, 4) and (scores[:, n_classes:] == 0).all()
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)


def test_a_state_space_model_of_series_is_kept(tmp_path):
    columns = small_table()
    dataset = table_dataset(columns, **ROLES)
    steps = np.arange(5)
    dataset["outputs"] = np.sin(np.array(columns["weight"])[:, None] + steps) + 0.1 * steps
    dataset["names"] |= {"outputs": json.dumps([f"step {step}" for step in steps])}
    dataset["names"] |= {"series_length": len(steps), "series_channels": 1}
    final = Final(tmp_path, dataset)
    final.ridge("saved", kind="state_space", covariance_type="spherical", counts=[1, 2])
    np.testing.assert_array_equal(final.repeated("saved"), final.stored("saved"))


@pytest.mark.parametrize("output_kernel", ["dtw", "gak"])
def test_kernels_between_output_series_are_kept(tmp_path, output_kernel):
    pytest.importorskip("tslearn")
    dataset = table_dataset(small_table(), **ROLES)
    dataset["names"] |= {"series_length": 2, "series_channels": 1}
    final = Final(tmp_path, dataset)
    cached = tmp_path / "alignments.h5"
    alignments.run(final.path("dataset"), cached, output_kernel, [0.3, 1.0])
    final.of_output_kernel("saved", output_kernel, "candidates", cached)
    np.testing.assert_array_equal(final.repeated("saved"), final.stored("saved"))
    with pytest.raises(UserError, match=f"expected those of {output_kernel}|alignments of the"):
        final.methods["saved"]["settings"]["output_kernel"] = "other"
        final.saved("saved")


def test_a_kernel_chosen_for_the_item_is_that_of_the_model(tmp_path):
    final = table_final(tmp_path, kernel="linear")
    for add in (
        lambda: final.ridge("ridge", kind=None),
        lambda: final.of_output_kernel("density", "rbf", "mean_shift"),
    ):
        add()
    # The features are those of the rbf kernel, and the items say that a linear one was chosen.
    for name in ("ridge", "density"):
        path = final.methods[name]["regression"]
        items = read_artifact(path, "regression")
        for item in items.values():
            item["kernel"] = "linear"
        write_artifact(path, items, "regression", allow_nan=("score",))
    features = read_artifact(final.path("features"), "features")
    unknown = ("train", "weak", "test")
    write_artifact(
        final.path("features"), features | {"kernel": "rbf"}, "features", allow_nan=unknown
    )
    final.kernel = "rbf"
    for name in ("ridge", "density"):
        np.testing.assert_array_equal(final.repeated(name), final.stored(name))


@each_case("name", RIDGES)
def test_kernel_ridge_repeats_its_predictions(tmp_path, name):
    final = table_final(tmp_path)
    final.ridge("ridge", **RIDGES[name])
    found = final.saved("ridge").predict(small_table())
    np.testing.assert_allclose(found.outputs, final.predictions("ridge"), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "tanimoto"])
def test_other_kernels_repeat_their_predictions(tmp_path, kernel):
    columns = small_table()
    columns["weight"] = [abs(value) for value in columns["weight"]]
    roles = {"numbers": ["weight"], "categories": ["colour"]}
    final = Final(tmp_path, table_dataset(columns, **roles), scale="none", kernel=kernel)
    final.ridge("ridge", kind=None)
    final.ridge("few", kind=None, landmarks={"max_gram_rows": 20, "n_landmarks": 20, "seed": 3})
    for name in ("ridge", "few"):
        found = final.saved(name).predict(columns)
        np.testing.assert_allclose(found.outputs, final.predictions(name), rtol=0, atol=1e-12)


def test_a_stack_repeats_its_predictions_and_keeps_members_with_a_weight_only(of_mean):
    of_mean.ridge("ridge", kind=None)
    of_mean.ridge("mixture", combine="average", counts=[2, 3])
    of_mean.forest("forest")
    # Of members that predict the same the earlier has the weight of both.
    of_mean.ridge("again", kind=None)
    names = ["mean", "ridge", "mixture", "forest", "again"]
    of_mean.stack("stack", names)
    found = of_mean.saved("stack").predict(small_table())
    np.testing.assert_allclose(found.outputs, of_mean.predictions("stack"), rtol=0, atol=1e-12)
    (item,) = read_artifact(of_mean.methods["stack"]["regression"], "regression").values()
    weights = dict(zip(names, item["member_weights"], strict=True))
    assert not weights["again"].any()
    stored = stored_fit(of_mean)
    assert_same_tree(stored["weights"], {k: v for k, v in weights.items() if v.any()})
    assert stored["members"].keys() == stored["weights"].keys()


def test_one_row_is_predicted_as_among_all(tmp_path):
    final = table_final(tmp_path)
    final.ridge("ridge", combine="average", counts=[2, 3])
    model, columns = final.saved("ridge"), small_table(seed=9)
    together = model.predict(columns)
    for row in (0, 17):
        alone = model.predict({name: [values[row]] for name, values in columns.items()})
        np.testing.assert_allclose(alone.outputs[0], together.outputs[row], atol=1e-12)
        np.testing.assert_allclose(alone.novelty[0], together.novelty[row])


@pytest.mark.parametrize("combine", ["best", "average"])
def test_weak_rows_among_the_training_rows_are_kept(tmp_path, combine):
    final = table_final(tmp_path, n_weak=10)
    final.ridge("weak", weak=True, counts=[2, 3], combine=combine, penalty="per_block")
    found = final.saved("weak").predict(small_table())
    known = final.split["train"]
    expected = final.predictions("weak")[known]
    np.testing.assert_allclose(found.outputs[known], expected, rtol=0, atol=1e-12)


def test_only_the_weak_rows_that_a_method_used_are_kept(tmp_path):
    final = table_final(tmp_path, n_weak=10)
    final.ridge("weak", weak=True, counts=[2])
    final.ridge("plain", counts=[2])
    for name, n_weak in (("weak", 10), ("plain", 0)):
        final.saved(name)
        stored = read_artifact(final.path("model"), "predictor")["inputs"]
        assert stored["weak"].shape == (n_weak, 5)


WORDS = "apple banana cherry damson elder fig grape hazel iris juniper".split()


def text_table(n_rows=N_ROWS):
    """Return a table with a text of words that tell the output, and two numbers."""
    generator = np.random.default_rng(4)
    codes = generator.integers(0, len(WORDS), size=(n_rows, 4))
    price = generator.normal(size=n_rows)
    price[[5, 9]] = np.nan
    return {
        "review": [" ".join(WORDS[code] for code in row) for row in codes],
        "price": price.tolist(),
        "weeks": generator.integers(1, 9, size=n_rows).tolist(),
        "y1": (codes.sum(axis=1) + generator.normal(size=n_rows)).tolist(),
        "y2": (codes[:, 0] - 0.1 * codes[:, 1] + generator.normal(size=n_rows)).tolist(),
    }


@pytest.mark.parametrize(
    ("lagged_values", "scale"),
    [
        ("none", "tf-idf"),
        ("separate", "tf-idf"),
        ("added", "multinomial"),
        ("none", "dirichlet-multinomial"),
        ("none", "markov"),
    ],
)
def test_texts_repeat_their_predictions(tmp_path, lagged_values, scale):
    columns = text_table()
    numbers = [] if lagged_values == "none" else ["price", "weeks"]
    if lagged_values == "separate":
        columns["price"] = np.nan_to_num(columns["price"]).tolist()
    dataset = table_dataset(columns, text="review", numbers=numbers)
    if scale == "markov":
        dataset["term_states"] = np.arange(dataset["inputs"]["n_columns"]) % 3
    final = Final(tmp_path, dataset, scale=scale, lagged_values=lagged_values)
    final.ridge("ridge", kind=None)
    final.ridge("mixture", combine="average", counts=[2, 3])
    final.forest("forest")
    final.stack("stack", ["ridge", "mixture", "forest"])
    names = ["ridge", "mixture", "stack"]
    if lagged_values != "none":
        final.stacked_features("trees", ["ridge"], "lagged_values")
        names.append("trees")
    if lagged_values == "separate":
        final.of_outputs("lagged_values", "least_squares")
        names.append("lagged_values")
    for name in names:
        found = final.saved(name).predict(columns)
        np.testing.assert_allclose(found.outputs, final.predictions(name), rtol=0, atol=1e-12)
        assert (found.novelty < 1e-5).all()
        np.testing.assert_array_equal(final.repeated(name), final.stored(name))


def kernel_final(tmp_path, kernel, scale):
    """Return the artifacts of a dataset of kernel values, and the values between all rows."""
    X = np.array([small_table()[name] for name in ("weight", "y1")]).T
    products = X @ X.T
    gram = products if scale == "products" else np.exp(-0.2 * np.square(X[:, None] - X).sum(2))
    dataset = table_dataset(small_table(), **ROLES)
    del dataset["encoding"], dataset["names"]["inputs"]
    dataset["inputs"] = gram
    dataset["rows"] = {
        "name": np.frombuffer(
            ("[" + ", ".join(f'"r{row}"' for row in range(N_ROWS)) + "]").encode(), dtype=np.uint8
        )
    }
    return Final(tmp_path, dataset, scale=scale, kernel=kernel, n_weak=4), gram


@pytest.mark.parametrize(
    ("kernel", "scale"), [("precomputed", "none"), ("rbf", "products"), ("linear", "products")]
)
@pytest.mark.parametrize("named", [True, False])
def test_kernel_values_come_in_the_order_of_the_table_or_by_name(tmp_path, kernel, scale, named):
    final, gram = kernel_final(tmp_path, kernel, scale)
    final.ridge("ridge", kind=None, alphas=[1e-1])
    train = np.sort(final.split["train"])
    final.of_output_kernel("density", "rbf", "mean_shift")
    for name in ("ridge", "density"):
        np.testing.assert_array_equal(final.repeated(name), final.stored(name))
    model = final.saved("ridge")
    columns = {f"r{row}" if named else f"value {row}": gram[:, row] for row in train}
    if named:
        columns = dict(reversed(columns.items())) | {"other": gram[:, 0]}
    if scale == "products":
        columns["squared_length"] = np.diag(gram)
    found = model.predict(columns)
    expected = final.predictions("ridge")[train]
    np.testing.assert_allclose(found.outputs[train], expected, rtol=0, atol=1e-12)
    assert (found.novelty[train] < 1e-5).all()
    assert (found.novelty[final.split["weak"]] > 0).all()
    columns.pop(f"r{train[3]}" if named else f"value {train[3]}")
    lacking = f"are missing: r{train[3]}" if named else "one for every row that the model was made"
    with pytest.raises(UserError, match=lacking):
        model.predict(columns)


CLASS_NAMES = ("ant", "bee", "cat", "dog", "eel", "fox")


def class_final(tmp_path, n_classes=4, labels=lambda labels: labels, **options):
    """Return a dataset of classes, of which the first four have rows, and their labels."""
    generator = np.random.default_rng(2)
    columns = small_table()
    labels = labels((np.array(columns["weight"]) > 0) + 2 * (np.array(columns["y2"]) > 3))
    dataset = table_dataset(columns, **ROLES)
    vectors = generator.normal(size=(n_classes, 2))
    dataset["outputs"] = vectors[labels]
    dataset["classes"] = {"labels": labels, "vectors": vectors}
    dataset["names"]["classes"] = json.dumps(CLASS_NAMES[:n_classes])
    return Final(tmp_path, dataset, metric="accuracy", **options), labels


def test_a_missing_kernel_value_is_refused(tmp_path):
    final, gram = kernel_final(tmp_path, "precomputed", "none")
    final.ridge("ridge", kind=None)
    columns = {f"r{row}": gram[:, row].tolist() for row in np.sort(final.split["train"])}
    name = list(columns)[7]
    columns[name][2] = None
    with pytest.raises(UserError, match=f"row 3, column '{name}': no kernel value"):
        final.saved("ridge").predict(columns)


def test_classes_are_predicted_from_their_scores(tmp_path):
    final, labels = class_final(tmp_path)
    final.class_ridge("one hot")
    found = final.saved("one hot").predict(small_table())
    np.testing.assert_allclose(found.class_scores, final.predictions("one hot"), atol=1e-12)
    # The class vectors have other names, and their number is another one.
    assert found.output_names == ["ant", "bee", "cat", "dog"]
    assert found.outputs.shape == found.lower.shape == (N_ROWS, 4)
    (item,) = read_artifact(final.methods["one hot"]["predictions"], "predictions").values()
    classes = np.empty(N_ROWS, dtype=int)
    classes[final.split["test"]] = item["classes"]
    assert found.classes == [("ant", "bee", "cat", "dog")[label] for label in classes]
    assert (classes == labels).mean() > 0.8


CLASSIFIERS = ("support_vector_machine", "perceptron", "random_forest_classifier")


@pytest.mark.parametrize("regressor", CLASSIFIERS)
def test_a_saved_classifier_predicts_without_scikit_learn(tmp_path, regressor):
    final, _ = class_final(tmp_path)
    final.classifier("chosen", regressor)
    columns = small_table(seed=8, n_rows=12)
    expected = final.saved("chosen").predict(columns).class_scores
    program = (
        "import json, sys\n"
        "sys.modules['sklearn'] = None\n"
        "from workflow_lib import load_model\n"
        "found = load_model(sys.argv[1]).predict(json.loads(sys.argv[2])).class_scores\n"
        "print(json.dumps(found.tolist()))\n"
    )
    arguments = [sys.executable, "-c", program, str(final.path("model")), json.dumps(columns)]
    result = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT, check=False)
    assert result.returncode == 0, result.stderr
    np.testing.assert_array_equal(json.loads(result.stdout), expected)


@pytest.mark.parametrize("regressor", CLASSIFIERS)
def test_classifiers_of_texts_repeat_their_predictions(tmp_path, regressor):
    columns = text_table()
    dataset = table_dataset(columns, text="review", numbers=[])
    # Words that came first tell the class.
    labels = np.digitize(dataset["outputs"][:, 1], [2.0, 5.0])
    dataset["outputs"] = np.eye(3)[labels]
    dataset["classes"] = {"labels": labels, "vectors": np.eye(3)}
    dataset["names"] |= {"classes": '["a", "b", "c"]', "outputs": '["a", "b", "c"]'}
    final = Final(tmp_path, dataset, scale="tf-idf", metric="accuracy")
    final.classifier("chosen", regressor)
    np.testing.assert_array_equal(final.repeated("chosen"), final.stored("chosen"))
    found = final.saved("chosen").predict(columns)
    np.testing.assert_allclose(found.class_scores, final.predictions("chosen"), rtol=0, atol=1e-10)


def test_machines_of_kernel_values_repeat_their_predictions(tmp_path):
    _, gram = kernel_final(tmp_path, "precomputed", "none")
    labels = (gram.sum(axis=1) > np.median(gram.sum(axis=1))).astype(int)
    folder = tmp_path / "classes"
    folder.mkdir()
    dataset = {"inputs": gram, "outputs": np.eye(2)[labels], "names": {"classes": '["a", "b"]'}}
    dataset["classes"] = {"labels": labels, "vectors": np.eye(2)}
    final = Final(folder, dataset, scale="none", kernel="precomputed", metric="accuracy")
    final.classifier("machines", "support_vector_machine")
    columns = {f"r{row}": gram[:, row].tolist() for row in range(len(gram))}
    found = final.saved("machines").predict(columns)
    np.testing.assert_allclose(found.class_scores, final.predictions("machines"), atol=1e-12)


@pytest.mark.parametrize("decoder", ["euclidean", "cosine"])
def test_classes_are_predicted_from_their_vectors(tmp_path, decoder):
    final, labels = class_final(tmp_path)
    final.ridge("vectors", kind=None, metric="arrmse")
    final.methods["vectors"]["decoder"] = decoder
    found = final.saved("vectors").predict(small_table())
    np.testing.assert_allclose(found.outputs, final.predictions("vectors"), atol=1e-12)
    vectors = final.dataset["classes"]["vectors"]
    centre = 0.0 if decoder == "euclidean" else vectors.mean(axis=0)
    near, far = found.outputs - centre, vectors - centre
    if decoder == "euclidean":
        nearest = np.square(near[:, None] - far).sum(axis=2).argmin(axis=1)
    else:
        nearest = (near @ far.T / np.linalg.norm(far, axis=1)).argmax(axis=1)
    assert found.classes == [("ant", "bee", "cat", "dog")[index] for index in nearest]
    assert len(found.output_names) == found.outputs.shape[1] == vectors.shape[1]
    assert found.level is None


@pytest.mark.parametrize("indicators", [[], ["dose, mg"]])
def test_a_row_without_known_inputs_is_unlike_the_training_rows(tmp_path, indicators):
    roles = ROLES | {"missing_indicators": indicators}
    final = Final(tmp_path, table_dataset(small_table(), **roles))
    final.of_outputs("mean", "training_mean")
    columns = {name: values[:3] for name, values in small_table().items()}
    columns["dose, mg"], columns["weight"] = [None, None, None], [None, None, 0.0]
    columns["colour"] = ["mauve", "red", None]
    # No distance is beyond this limit.
    calibration = final.calibration("mean", [1.0, 1.0], novelty_limit=1e9)
    found = final.saved("mean", calibration=calibration).predict(columns)
    assert found.is_novel.tolist() == [True, False, False]


def test_notes_of_the_answer_on_the_predictions_are_kept_with_the_model(of_mean):
    calibration = of_mean.calibration("mean", [1.0, 1.0])
    tree = dict(read_artifact(calibration, "calibration"))
    tree["coverage"] = np.array([[0.9, 0.8], [0.7, np.nan]])
    write_artifact(calibration, tree, "calibration", allow_nan=("coverage",))
    assert of_mean.saved("mean", calibration=calibration).coverage == pytest.approx(0.8)
    assert of_mean.saved("mean").warning is None
    answered = {"beats_mean": False, "sentences": ["No method beats it.", "More."]}
    assert of_mean.saved("mean", **answered).warning == "No method beats it."
    leaks = {"beats_mean": True, "leak": "Rows leak.", "sentences": ["Use it."]}
    assert of_mean.saved("mean", **leaks).warning == "Use it."


def test_a_winner_that_cannot_be_saved_is_refused(final):
    final.ridge("odd", counts=[2])
    final.stack("stack", ["ridge", "odd"])
    final.methods["odd"]["estimator"] = "crystal.Ball"
    with pytest.raises(UserError, match="odd cannot be saved: an estimator of the package crystal"):
        final.saved("odd", "ridge")
    with pytest.raises(UserError, match="stack cannot be saved: its member odd cannot be saved"):
        final.saved("stack", "ridge")
    assert not final.path("model").exists()


def test_intervals_of_another_method_are_refused(final):
    with pytest.raises(UserError, match="intervals of the method other"):
        final.saved("ridge", calibration=final.calibration("other", [1.0, 2.0]))


def test_intervals_and_novelty_are_those_of_the_calibration(final):
    calibration = final.calibration("ridge", [0.5, np.inf], level=0.8, novelty_limit=3.0)
    model = final.saved("ridge", calibration=calibration)
    assert model.level == 0.8
    assert model.novelty_scale.limit == 3.0
    columns = small_table()
    columns["weight"][4] = 40.0
    found = model.predict(columns)
    np.testing.assert_allclose(found.outputs[:, 0] - found.lower[:, 0], 0.5)
    np.testing.assert_allclose(found.upper[:, 0] - found.outputs[:, 0], 0.5)
    assert (found.lower[:, 1] == -np.inf).all()
    assert np.flatnonzero(found.is_novel).tolist() == [4]
    assert (np.delete(found.novelty, 4) == 0).all()


def test_intervals_follow_the_row_and_end_at_the_range(final, tmp_path):
    generator = np.random.default_rng(0)
    predicted = 4.0 * generator.normal(size=(80, 2))
    noise = generator.normal(size=(80, 2)) * np.exp(0.2 * predicted)
    tested = HeldOutRows(predicted, predicted + noise, generator.gamma(2.0, size=80), np.arange(80))
    ranges = OutputRanges.of([{"least": 0.0}, {"whole": True}])
    intervals, relative = RowIntervals.fit(tested, 0.9, ranges, 0)
    assert intervals.follow_rows.all()
    coverage = np.array([[0.9, 0.8], [0.95, np.nan]])
    regions = JointRegions.fit(intervals, relative, tested)
    calibration = final.calibration(
        "ridge",
        [1.0, 1.0],
        intervals=intervals.tree(),
        coverage=coverage,
        joint=regions.tree() | {"coverage": coverage},
    )
    model = final.saved("ridge", calibration=calibration)
    assert model.coverage == pytest.approx(np.mean([0.9, 0.8, 0.95]))
    columns = small_table(seed=1)
    found = model.predict(columns)
    lower, upper = intervals.ends(found.outputs, found.novelty)
    np.testing.assert_array_equal(found.lower, lower)
    np.testing.assert_array_equal(found.upper, upper)
    assert found.lower[:, 0].min() == 0.0 and np.ptp(found.upper[:, 0] - found.outputs[:, 0]) > 1.0
    is_whole = found.upper[:, 1] == np.rint(found.upper[:, 1])
    assert (is_whole | (found.upper[:, 1] == found.outputs[:, 1])).all()
    assert ((found.lower <= found.outputs) & (found.outputs <= found.upper)).all()
    assert found.outputs[:, 0].min() == 0.0
    assert found.joint is None and not [name for name in found.columns() if "joint" in name]
    jointly = model.predict(columns, joint=True)
    ends = regions.box.ends(found.outputs, found.novelty)
    np.testing.assert_array_equal((jointly.joint.lower, jointly.joint.upper), ends)
    shapes = regions.shapes(found.outputs, found.novelty)
    np.testing.assert_array_equal(jointly.joint.shapes, shapes)
    assert (jointly.joint.lower <= found.lower).all() and (jointly.joint.upper >= found.upper).all()
    assert model.joint_coverage == pytest.approx(np.mean([0.9, 0.95]))
    frame = jointly.to_frame()
    for position, name in enumerate(model.output_names):
        np.testing.assert_array_equal(frame[f"{name} joint upper"], ends[1][:, position])
    rows = tmp_path / "rows.csv"
    pandas.DataFrame(columns).to_csv(rows, index=False)
    table_predictions_stage.run(tmp_path / "model.h5", rows, tmp_path / "joint.csv", joint=True)
    written = pandas.read_csv(tmp_path / "joint.csv")
    named = f"{model.output_names[0]} joint lower"
    sides = table_predictions_stage.rounded(jointly).joint.lower
    np.testing.assert_array_equal(written[named], sides[:, 0])
    with pytest.raises(UserError, match="joint"):
        final.saved("ridge").predict(columns, joint=True)


def test_novelty_is_the_distance_of_prepared_rows_in_units_of_the_usual_distance(final):
    model, new = final.saved("ridge"), small_table(seed=3, n_rows=6)
    new["dose, mg"] = [0.0] * 6
    raw = final.dataset["inputs"]
    filled = np.where(np.isnan(raw), np.nanmean(raw, axis=0), raw)
    mean, deviation = filled.mean(axis=0), filled.std(axis=0)
    levels = ("blue", "green", "red")
    rows = np.column_stack(
        [new["dose, mg"], new["weight"], [[c == level for level in levels] for c in new["colour"]]]
    )
    old, rows = (filled - mean) / deviation, (rows - mean) / deviation
    own = np.linalg.norm(old[:, None] - old, axis=2) + np.diag(np.full(N_ROWS, np.inf))
    unit = np.median(own.min(axis=1))
    expected = np.linalg.norm(rows[:, None] - old, axis=2).min(axis=1) / unit
    np.testing.assert_allclose(model.predict(new).novelty, expected)


def test_the_order_of_columns_and_other_columns_do_not_matter(final):
    model, columns = final.saved("ridge"), small_table()
    shuffled = {name: columns[name] for name in ("colour", "weight", "dose, mg")}
    shuffled["remark"] = ["?"] * N_ROWS
    np.testing.assert_array_equal(model.predict(shuffled).outputs, model.predict(columns).outputs)


def test_missing_columns_are_named_with_the_nearest_one(final):
    model, columns = final.saved("ridge"), small_table()
    columns["dose mg"] = columns.pop("dose, mg")
    del columns["colour"]
    with pytest.raises(UserError) as caught:
        model.predict(columns)
    message = str(caught.value)
    assert "2 of 3 inputs are missing: dose, mg, colour" in message
    assert "'dose mg' is 'dose, mg'" in message


def test_what_is_missing_or_was_never_seen_is_noted(final):
    model, columns = final.saved("ridge"), small_table(n_rows=3)
    columns |= {"dose, mg": [None, 0.2, None], "colour": ["red", "mauve", "mauve"]}
    notes = model.predict(columns).notes
    assert notes[0] == "missing, replaced by the training mean: dose, mg"
    assert "'mauve' was never seen" in notes[1] and "missing" not in notes[1]
    assert "'mauve' was never seen" in notes[2] and notes[2].endswith("training mean: dose, mg")


def test_a_missing_number_is_taken_as_the_training_mean(final):
    model, columns = final.saved("ridge"), small_table(n_rows=4)
    mean = float(np.nanmean(final.dataset["inputs"][:, 0]))
    found, expected = (
        model.predict(columns | {"dose, mg": [value] * 4}).outputs for value in (None, mean)
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_columns_of_a_dataset_without_an_encoding_are_its_inputs(tmp_path):
    dataset = table_dataset(small_table(), numbers=["dose, mg", "weight"])
    del dataset["encoding"]
    final = Final(tmp_path, dataset)
    final.ridge("ridge", kind=None)
    found = final.saved("ridge").predict(small_table())
    np.testing.assert_allclose(found.outputs, final.predictions("ridge"), rtol=0, atol=1e-12)


def test_inputs_that_are_no_columns_of_a_table_are_predicted_as_arrays_only(tmp_path):
    dataset = table_dataset(small_table(), numbers=["dose, mg", "weight"])
    del dataset["encoding"], dataset["names"]["inputs"]
    final = Final(tmp_path, dataset)
    final.ridge("ridge", kind=None)
    model = final.saved("ridge")
    with pytest.raises(UserError, match="do not come from the columns of a table"):
        model.predict(small_table())
    encoded = EncodedRows(dataset["inputs"], ["a", "b"], None, [], [""] * N_ROWS)
    found = model.predict_inputs(encoded)
    np.testing.assert_allclose(found.outputs, final.predictions("ridge"), rtol=0, atol=1e-12)


def test_blocks_of_rows_are_predicted_as_all_rows_at_once(tmp_path, monkeypatch):
    final = table_final(tmp_path)
    final.ridge("ridge", combine="average", counts=[2, 3])
    model = final.saved("ridge")
    table = small_table(seed=1, n_rows=600)
    whole = model.predict(table)
    monkeypatch.setattr("workflow_lib.table.saved_model.BLOCK_NUMBERS", 1)
    parts = model.predict(table)
    np.testing.assert_allclose(parts.outputs, whole.outputs, rtol=0, atol=1e-11)
    np.testing.assert_allclose(parts.novelty, whole.novelty)


def test_the_same_artifacts_give_the_same_bytes(tmp_path):
    final = table_final(tmp_path)
    final.forest("forest")
    final.saved("forest")
    first = final.path("model").read_bytes()
    final.saved("forest")
    assert final.path("model").read_bytes() == first


def test_a_damaged_model_is_refused(of_mean):
    of_mean.saved("mean")
    content = bytearray(of_mean.path("model").read_bytes())
    mean = stored_fit(of_mean)["mean"].tobytes()
    content[content.index(mean)] ^= 1
    of_mean.path("model").write_bytes(content)
    with pytest.raises(UserError, match="do not match their digest"):
        load_model(of_mean.path("model"))
    with pytest.raises(UserError, match="'dataset' artifact"):
        SavedModel.load(of_mean.path("dataset"))


def test_a_model_of_an_earlier_version_is_refused(of_mean):
    of_mean.saved("mean")
    with h5py.File(of_mean.path("model"), "r+") as file:
        file.attrs["schema_version"] = 1
    with pytest.raises(UserError, match="another version.*--forceall"):
        load_model(of_mean.path("model"))


def test_a_model_that_does_not_repeat_its_method_is_not_written(final):
    path = final.methods["ridge"]["predictions"]
    stored = read_artifact(path, "predictions")
    (item,) = stored.values()
    item["outputs"][3, 1] += 0.01
    write_artifact(path, stored, "predictions", allow_nan=("score", "alpha_rest"))
    with pytest.raises(UserError, match="the saved model differs by"):
        final.saved("ridge")
    assert not final.path("model").exists()


def test_what_the_model_was_made_from_is_reported(of_mean):
    model = of_mean.saved("mean")
    assert (model.title, model.method, model.training_size) == ("A small table", "mean", N_ROWS)
    assert (model.metric, model.score, model.output_names) == ("arrmse", 0.5, ["y1", "y2"])
    assert {"python", "numpy", "h5py"} <= model.versions.keys()
    assert len(model.dataset_digest) == 64


@pytest.mark.parametrize(
    ("answered", "item"),
    [
        ({}, "n-38_w-10_C-3"),
        ({"weak_size": 6, "components": "2"}, "n-38_w-10_C-2"),
        ({"weak_size": 0, "components": 3}, "n-38_w-0_C-3"),
    ],
)
def test_the_item_is_that_of_the_answer_with_all_weak_rows(tmp_path, answered, item):
    final = table_final(tmp_path, n_weak=10)
    final.ridge("weak", weak=True, counts=[2, 3], components=[2, 3])
    path = final.methods["weak"]["regression"]
    items = read_artifact(path, "regression")
    for name in items:
        items[name]["score"] = 0.4 if name == "n-38_w-10_C-3" else 0.5
    # Between a study and an item, the item is taken.
    items["n-38_w-10_C-3_study"] = items["n-38_w-10_C-3"] | {"setting": "study", "score": 0.1}
    items["n-38_w-0_C-3"] = items["n-38_w-10_C-3"] | {"weak_size": 0}
    write_artifact(path, items, "regression", allow_nan=("alpha_rest", "alpha_leading"))
    predictions = read_artifact(final.methods["weak"]["predictions"], "predictions")
    stored = predictions["n-38_w-10_C-3"]
    predictions |= {name: stored for name in items if name not in predictions}
    write_artifact(
        final.methods["weak"]["predictions"], predictions, "predictions", allow_nan=("score",)
    )
    final.saved("weak", **answered)
    kept = stored_fit(final)
    dual = items[item]["dual_coefficients"]
    np.testing.assert_array_equal(kept["dual_coefficients"], dual)


def test_a_frame_is_a_table(final):
    model, columns = final.saved("ridge"), small_table()
    found, expected = model.predict(pandas.DataFrame(columns)), model.predict(columns)
    np.testing.assert_array_equal(found.outputs, expected.outputs)
    assert found.notes == expected.notes and any(found.notes)


def test_a_table_goes_through_all_stages_to_a_model(tmp_path):
    columns = small_table() | {"batch": [f"b{row % 4}" for row in range(N_ROWS)]}
    for row in (1, 6, 7, 20):
        columns["y1"][row] = columns["y2"][row] = ""
    columns["y2"][9] = ""
    columns["batch"][20] = ""
    columns["dose, mg"] = ["" if value is None else value for value in columns["dose, mg"]]
    path = write_table(tmp_path / "small.csv", columns)
    options = Options(file=str(path), outputs=("y*",), same_group="batch", **ROLES)
    final = Final(tmp_path, read(options, [], 0), kind="all", n_weak=3)
    assert len(final.split["train"]) == 44 and len(final.split["weak"]) == 3
    final.ridge("ridge", kind=None)
    final.ridge("weak", weak=True, counts=[2, 3])
    final.forest("forest")
    lines = final.dataset["rows"]["line"]
    train = np.sort(final.split["train"])
    for name, n_weak in (("ridge", 0), ("weak", 3), ("forest", 0)):
        found = final.saved(name).predict(path)
        expected = final.predictions(name)[train]
        np.testing.assert_allclose(found.outputs[lines[train] - 2], expected, rtol=0, atol=1e-12)
        stored = read_artifact(final.path("model"), "predictor")["inputs"]
        assert len(stored["weak"]) == n_weak
