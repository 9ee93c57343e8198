"""Saved models that are changed at random, with the right digest: they end in one message."""

import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.table.saved_model import load_model

sys.path.append(str(Path(__file__).parents[1] / "library"))

from saved_model_samples import Final, small_table, table_dataset  # noqa: E402

SECONDS = 20
ROLES = {"numbers": ["dose, mg", "weight"], "categories": ["colour"]}
MODELS = {
    "ridge": lambda final: final.ridge("saved", combine="average", counts=[2, 3]),
    "forest": lambda final: final.forest("saved"),
    "estimator": lambda final: final.estimator(
        "saved", "sklearn.ensemble.ExtraTreesRegressor", n_estimators=2
    ),
    "density": lambda final: final.of_output_kernel("saved", "rbf", "mean_shift"),
}

plain = some.one_of(
    some.booleans(),
    some.integers(-(2**60), 2**60),
    some.floats(allow_nan=False, allow_infinity=False),
    some.text(some.characters(exclude_characters="\0", codec="utf-8"), max_size=8),
    some.sampled_from(["[]", "{}", "[" * 3000, '{"a": [null]}', "../loading", "loading", "rbf"]),
)
values = some.one_of(
    plain,
    some.just({}),
    some.builds(lambda value: {"a": value}, plain),
    some.builds(
        lambda shape, dtype, number: np.full(shape, number).astype(dtype),
        some.lists(some.integers(0, 4), max_size=3),
        some.sampled_from(["u1", "i8", "f8", "?"]),
        some.integers(-3, 100),
    ),
)


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    found = {}
    for name, add in MODELS.items():
        final = Final(tmp_path_factory.mktemp(name), table_dataset(small_table(), **ROLES))
        add(final)
        final.saved("saved")
        found[name] = read_artifact(final.path("model"), "predictor")
    return found


def paths(tree: dict, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the paths of all values and groups of a tree."""
    found = []
    for name, value in tree.items():
        found.append((*before, name))
        if isinstance(value, dict):
            found += paths(value, (*before, name))
    return found


def changed(tree: dict, path: tuple[str, ...], change) -> dict:
    """Return a tree of which one value is replaced; None leaves it out."""
    first, *rest = path
    copied = dict(tree)
    if rest:
        copied[first] = changed(tree[first], tuple(rest), change)
    elif (value := change(tree[first])) is None:
        del copied[first]
    else:
        copied[first] = value
    return copied


def test_a_changed_model_predicts_or_ends_in_one_message(trees, tmp_path_factory):
    path = tmp_path_factory.mktemp("foreign") / "model.h5"
    table = small_table(seed=1, n_rows=5)

    @settings(
        max_examples=400,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(some.data())
    def check(data) -> None:
        tree = trees[data.draw(some.sampled_from(sorted(trees)))]
        for _ in range(data.draw(some.integers(1, 2))):
            location = data.draw(some.sampled_from(paths(tree)))
            kind = data.draw(some.sampled_from(("replace", "remove", "bytes", "shape")))

            def change(value, kind=kind):
                if kind == "remove":
                    return None
                if kind == "shape" and isinstance(value, np.ndarray):
                    return value[: len(value) // 2] if value.ndim else value[None]
                if kind == "bytes" and isinstance(value, np.ndarray) and value.size:
                    flipped = bytearray(value.tobytes())
                    flipped[data.draw(some.integers(0, len(flipped) - 1))] ^= 4
                    return np.frombuffer(bytes(flipped), value.dtype).reshape(value.shape)
                return data.draw(values)

            tree = changed(tree, location, change)
            if not tree:
                return
        try:
            write_artifact(path, tree, "predictor", allow_nan=[p[-1] for p in paths(tree)])
        except ValueError:
            # No file of this kind can hold such a value.
            return
        begin = time.process_time()
        try:
            load_model(path).predict(table)
        except UserError as error:
            assert str(path) in str(error) or "given table" in str(error), error
        assert time.process_time() - begin < SECONDS

    check()


def test_texts_of_a_model_that_are_no_data_end_in_one_message(trees, tmp_path):
    path = tmp_path / "model.h5"
    tree = trees["ridge"]
    texts = [location for location in paths(tree) if isinstance(_at(tree, location), str)]
    for location in texts:
        for text in ("", "[" * 10_000, "null", json.dumps({"outputs": 3}), "a/../b"):
            foreign = changed(tree, location, lambda _, text=text: text)
            write_artifact(path, foreign, "predictor", allow_nan=[p[-1] for p in paths(tree)])
            try:
                load_model(path).predict(small_table(n_rows=3))
            except UserError as error:
                assert str(path) in str(error) or "given table" in str(error), error


def _at(tree, location):
    for name in location:
        tree = tree[name]
    return tree
