"""Stored estimators: they come back equal, and foreign bytes neither run code nor take long."""

import copy
import io
import json
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from each_case import each_case
from sklearn.base import is_classifier
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor

import workflow_lib
from workflow_lib.core.errors import UserError
from workflow_lib.core.named_class import imported_class
from workflow_lib.run.named_settings import SettingsFolder
from workflow_lib.solvers.pretrained import PretrainedRegressor
from workflow_lib.solvers.stored.classes import is_allowed_object
from workflow_lib.solvers.stored.estimator import estimator_bytes, estimator_from_bytes, trusting
from workflow_lib.solvers.stored.structure import check_structure

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "sklearn.utils._testing.assert_run_python_script_without_output"
WRITER = "workflow_lib.core.whole_files.write_text"
SECONDS = 5


def rows(n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n, 3))
    return X, X[:, 0] + 0.1 * generator.normal(size=n), (X[:, 1] > 0).astype(int)


def fitted(estimator):
    X, y, labels = rows()
    return estimator.fit(X, labels if is_classifier(estimator) else y)


def content_of(data: bytes) -> tuple[dict, dict[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(files.pop("schema.json")), files


def packed(schema, files: dict[str, bytes]) -> np.ndarray:
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**files, "schema.json": text}.items():
            archive.writestr(name, content)
    return np.frombuffer(output.getvalue(), dtype=np.uint8)


def ridge() -> tuple[dict, dict[str, bytes]]:
    return content_of(estimator_bytes(fitted(Ridge())).tobytes())


def refused(stored: np.ndarray, match: str = "not loaded, because it holds") -> str:
    """Require that bytes are refused soon, with a message for the user."""
    begin = time.process_time()
    with pytest.raises(UserError, match=match) as caught:
        estimator_from_bytes(stored)
    assert time.process_time() - begin < SECONDS
    return str(caught.value)


@each_case(
    "estimator",
    [
        Ridge(),
        make_pipeline(SelectKBest(k=2), SVR()),
        SVC(),
        KNeighborsClassifier(algorithm="brute"),
        KNeighborsRegressor(algorithm="kd_tree"),
        ExtraTreesRegressor(4, random_state=0),
        RandomForestClassifier(4, random_state=0),
        GradientBoostingClassifier(n_estimators=3),
        HistGradientBoostingRegressor(max_iter=3),
        GaussianProcessRegressor(),
        MLPRegressor(max_iter=1),
        workflow_lib.OutputFisherRegressor(workflow_lib.GaussianMixtureModel(2)),
        workflow_lib.IOKRegressor(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_estimators_predict_the_same_after_reading(estimator):
    X = rows()[0]
    again = estimator_from_bytes(estimator_bytes(fitted(estimator)))
    np.testing.assert_array_equal(again.predict(X), estimator.predict(X))


def test_all_classes_that_method_files_name_can_be_read():
    named = set()

    def search(value) -> None:
        if isinstance(value, dict):
            named.update(str(value[key]) for key in ("estimator", "transformer") if key in value)
            list(map(search, value.values()))

    methods = SettingsFolder(ROOT / "config" / "methods")
    list(map(search, map(methods.keys, methods.names)))
    libraries = ("sklearn.", "workflow_lib.")
    found = [imported_class(path) for path in sorted(named) if path.startswith(libraries)]
    assert len(found) > 15
    refused = [c for c in found if not is_allowed_object(c.__module__, c.__qualname__, ())]
    # Its objects name a file that is then read.
    assert refused == [PretrainedRegressor]


def gadgets(marker: Path) -> dict[str, dict]:
    """Return nodes that would run code, or lead to some, by what they are."""

    def node(loader: str, path: str, **parts) -> dict:
        module, _, name = path.rpartition(".")
        return {"__class__": name, "__module__": module, "__loader__": loader, **parts}

    def plain(value) -> dict:
        return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)

    def sequence(*items, loader="TupleNode", path="builtins.tuple") -> dict:
        return node(loader, path, content=list(items))

    code = plain(f"open({str(marker)!r}, 'w').close()")
    empty = node("DictNode", "builtins.dict", content={}, key_types=sequence())
    script, writer = sequence(code), sequence(plain(str(marker)), plain("x"))
    found = {
        "loss": node("LossNode", SCRIPT, content=empty, __reduce__={"args": script}),
        "own loss": node("LossNode", WRITER, content=empty, __reduce__={"args": writer}),
        "tree": node("TreeNode", SCRIPT, content=empty, __reduce__={"args": script}),
        "reduce": node("ConstructorFromReduceNode", SCRIPT, content=script),
        "list": sequence(code, loader="ListNode", path=SCRIPT),
        "set": sequence(code, loader="SetNode", path=SCRIPT),
        "tuple": sequence(code, path=SCRIPT),
        "dict": node("DictNode", "os.abort", content={}, key_types=sequence()),
        "keys": node(
            "DictNode",
            "builtins.dict",
            content={f"open({str(marker)!r}, 'w').close()": plain(1)},
            key_types=sequence(node("TypeNode", SCRIPT)),
        ),
        "random state": node("RandomStateNode", "os.abort", content=empty),
        "reference": node("CachedNode", "builtins.str", __id__=0),
        "partial": node(
            "PartialNode",
            "functools.partial",
            content={
                "func": node("FunctionNode", SCRIPT),
                **{"args": script, "kwds": empty, "namespace": empty},
            },
        ),
        "method": node("MethodNode", "builtins.str", content={"func": "upper", "obj": code}),
        "operator": node("OperatorFuncNode", "operator.methodcaller", attrs=script),
    }
    for path in (SCRIPT, WRITER, "os.system", "builtins.eval", "sklearn.utils._testing.os"):
        found[f"function {path}"] = node("FunctionNode", path)
        found[f"type {path}"] = node("TypeNode", path)
    for path in (
        *(
            SCRIPT,
            WRITER,
            "workflow_lib.core.artifacts.UserError",
            "pathlib.Path",
            "sklearn.base.clone",
        ),
        *(
            "workflow_lib.core.errors.Iterable",
            "sklearn.linear_model.Ridge",
            "workflow_lib..os.system",
        ),
        *(
            "lightgbm.basic.Booster",
            "sklearn.pipeline.np",
            "workflow_lib.estimators.output_fisher.RegressorMixin",
        ),
    ):
        found[f"object {path}"] = node("ObjectNode", path, content=empty)
    return found


@each_case("name", gadgets(Path("marker")))
def test_no_node_runs_code(tmp_path, name):
    marker = tmp_path / "marker"
    schema, files = ridge()
    schema["content"]["content"]["alpha"] = gadgets(marker)[name]
    refused(packed(schema, files))
    refused(packed({**gadgets(marker)[name], "protocol": schema["protocol"]}, files))
    assert not marker.exists()


def damaged() -> dict[str, np.ndarray]:
    """Return bytes that are no estimator, or would take much memory or time."""
    schema, files = ridge()
    (name,) = [name for name in files if b"'shape': (3,)" in files[name]]
    number = copy.deepcopy(schema)
    number["content"]["content"]["alpha"]["__id__"] = schema["__id__"]
    deep, many = {}, {**schema, "more": [0] * 3_000_000}
    for _ in range(400):
        deep = {"content": deep}
    large = files[name].replace(b"(3,)", b"(3000000000000,)").replace(b" " * 14, b"", 1)
    larger = {name: large for name in files}
    found = {
        "no archive": np.arange(20, dtype=np.uint8),
        "no description": packed(b"", files),
        "a list": packed([], files),
        "spaces": packed(b" " * (1 << 27), files),
        "nested lists": packed(b"[" * 100_000, files),
        "nested nodes": packed({**schema, "more": deep}, files),
        "many values": packed(many, files),
        "another version": packed({**schema, "protocol": 0}, files),
        "no files": packed(schema, {}),
        "a large array": packed(schema, larger),
        "a short array": packed(schema, {**files, name: files[name][:-1]}),
        "zeros": packed(schema, {**files, "more": bytes(1 << 29)}),
        "one number for two": packed(number, files),
    }
    for key in ("__class__", "__module__", "__loader__"):
        found[f"no {key}"] = packed({k: v for k, v in schema.items() if k != key}, files)
    return found


def test_damaged_bytes_end_soon_in_one_message(subtests):
    for name, stored in damaged().items():
        with subtests.test(name):
            assert "To fix it" in refused(stored)


def test_arrays_that_lead_out_of_each_other_are_refused():
    def tree(estimator) -> None:
        estimator.tree_.children_left[0] = 10**6

    def cycle(estimator) -> None:
        estimator.tree_.children_right[0] = 0

    def feature(estimator) -> None:
        estimator.tree_.feature[0] = 3

    def width(estimator) -> None:
        estimator.n_features_in_ = 2

    def members(estimator) -> None:
        estimator.estimators_[1] = fitted(Ridge())

    def nodes(estimator) -> None:
        estimator._predictors[1][0].nodes["left"][0] = 10**6

    def support(estimator) -> None:
        estimator._n_support = estimator._n_support * 10

    def labels(estimator) -> None:
        estimator._y = estimator._y * 1000

    def parallel(estimator) -> None:
        estimator.n_trees_per_iteration_ = 0

    cases = [
        *((DecisionTreeRegressor(), change) for change in (tree, cycle, feature, width)),
        *((RandomForestClassifier(2), change) for change in (width, members)),
        *((GradientBoostingClassifier(n_estimators=2), change) for change in (width, parallel)),
        (HistGradientBoostingRegressor(max_iter=2), nodes),
        *((machine, support) for machine in (SVC(), SVR())),
        (KNeighborsClassifier(), labels),
    ]
    for estimator, change in cases:
        check_structure(fitted(estimator))
        change(estimator)
        with pytest.raises(ValueError, match="do not fit each other"):
            check_structure(estimator)


def test_arguments_of_a_tree_fit_its_arrays():
    schema, files = content_of(estimator_bytes(fitted(DecisionTreeRegressor())).tobytes())
    arguments = schema["content"]["content"]["tree_"]["__reduce__"]["args"]["content"]
    arguments[2]["content"] = "1000000"
    refused(packed(schema, files), "numbers of classes")


def test_neighbours_are_searched_in_a_tree_that_was_built_here():
    X, y, _ = rows(200)
    estimator = KNeighborsRegressor(algorithm="ball_tree", metric="manhattan").fit(X, y)
    stored = estimator_bytes(estimator)
    expected = estimator.predict(X)
    estimator._tree = KNeighborsRegressor(algorithm="ball_tree").fit(X[:5], y[:5])._tree
    for data in (stored, estimator_bytes(estimator)):
        np.testing.assert_array_equal(estimator_from_bytes(data).predict(X), expected)
    with pytest.raises(ValueError, match="search tree"):
        check_structure({"tree": estimator._tree})


class OfTheUser(Ridge):
    """A class of a package that the library does not know."""


def test_a_class_is_trusted_by_the_user_and_never_by_the_file():
    stored = estimator_bytes(fitted(OfTheUser()))
    path = f"{OfTheUser.__module__}.OfTheUser"
    assert "trusted" in refused(stored, path)
    with trusting([path]):
        assert isinstance(estimator_from_bytes(stored), OfTheUser)
    refused(stored, path)
    with pytest.raises(ImportError), trusting(["no_such_package.Ridge"]):
        pass


def test_a_stored_estimator_uses_one_thread():
    forest = fitted(RandomForestClassifier(3, n_jobs=2, random_state=0))
    assert estimator_from_bytes(estimator_bytes(forest)).n_jobs == 1


def test_every_kind_of_node_of_a_class_is_checked():
    schema, files = ridge()
    node = {"__module__": "builtins", "__class__": "list", "content": []}
    plain = {**node, "__loader__": "ListNode", "__id__": -1}
    schema["content"]["content"]["others"] = [plain, {**node, "__loader__": "ObjectNode"}]
    refused(packed(schema, files), r"builtins\.list \(ObjectNode\)")


def test_objects_of_modules_that_were_renamed_are_loaded():
    model = fitted(workflow_lib.KernelRidgeRegressor())
    schema, files = content_of(estimator_bytes(model).tobytes())
    assert schema["__module__"] == "workflow_lib.solvers.kernel_ridge"
    schema["__module__"] = "workflow_lib.regression.kernel_ridge"
    loaded = estimator_from_bytes(packed(schema, files))
    np.testing.assert_array_equal(loaded.predict(rows()[0]), model.predict(rows()[0]))
    former = imported_class("workflow_lib.regression.kernel_ridge.KernelRidgeRegressor")
    assert former is workflow_lib.KernelRidgeRegressor
