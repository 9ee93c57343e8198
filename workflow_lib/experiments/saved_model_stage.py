"""The stage that saves the winner of an experiment as one file that predicts new rows."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import artifact_digest, read_artifact, write_artifact
from workflow_lib.baselines.classifiers import (
    fit_forest_classifier,
    fit_support_vector_machines,
)
from workflow_lib.baselines.forest import fitted_forest
from workflow_lib.baselines.stored_forest import forest_tree
from workflow_lib.datasets.sparse_inputs import inputs_of
from workflow_lib.datasets.table_encoding import EncodedRows
from workflow_lib.errors import UserError
from workflow_lib.experiments.class_selection import one_hot
from workflow_lib.experiments.items import (
    SELECTED,
    components_group,
    fold_group,
    item_group,
    size_group,
)
from workflow_lib.experiments.missing_outputs import filled
from workflow_lib.experiments.novelty import novelty_scale
from workflow_lib.experiments.preimages import members_of
from workflow_lib.experiments.prepared_inputs import PreparedInputs, PreparedTexts, prepared_inputs
from workflow_lib.experiments.saved_inputs import UNKNOWN_INPUTS, saved_inputs_tree
from workflow_lib.experiments.saved_model import SCORES, SavedModel
from workflow_lib.features.principal_coordinates import principal_coordinates
from workflow_lib.metrics import means_of_observed
from workflow_lib.regression.ridge import fit_dual_coefficients, labelled_ridge
from workflow_lib.seeds import derive_seed

RIDGE_REGRESSORS = (
    "kernel_ridge",
    "principal_component_ridge",
    "reduced_rank_ridge",
    "laplacian_ridge",
)
"""Regressors whose predictions are dual coefficients times kernel values."""

SCORE_REGRESSORS = ("class_ridge", "support_vector_machine", "random_forest_classifier")
"""Regressors that predict scores of the classes, one for each."""

# What a prediction needs of an item of a "regression" artifact.
_RIDGE_ENTRIES = (
    "training_size",
    "weak_size",
    "n_components",
    "width",
    "projected",
    "dual_coefficients",
    "weights",
    "landmarks",
    "projection",
    "intercept",
)

_PACKAGES = ("numpy", "scipy", "h5py", "scikit-learn")

_READING = ("row_name", "missing_values", "delimiter")

# Rows of which the saved model must repeat the predictions, and the largest difference in units of
# the spread of an output: far above rounding, far below anything that matters.
N_REPEATED = 200
LARGEST_DIFFERENCE = 1e-6


def run(
    answer: Path,
    dataset: Path,
    split: Path,
    features: Path,
    calibration: Path | None,
    methods: Mapping[str, Mapping],
    output: Path,
    title: str,
    options: Mapping | None = None,
) -> None:
    """Write the "predictor" artifact of the winner: all that predicts new rows, in one file.

    Where the winner is of a kind that cannot be saved, the best method of the leaderboard that can
    takes its place; the log and the entry ``instead_of`` say so. Before anything is written, the
    model must repeat what the method predicted for test rows of the split.

    Parameters
    ----------
    answer : path
        JSON with ``winner``, ``metric`` and ``leaderboard``: ``method``, ``label`` and ``mean``
        of each method, the best first; and ``weak_size`` and ``components`` of the winner where it
        was scored with several of these.
    dataset, split, features : paths
        Artifacts; the split is the one of which the largest training size is all labelled rows.
    calibration : path or None
        The "calibration" artifact: ``method``, ``level``, ``half_widths`` and ``novelty_limit``.
        Half-widths count for their own method only. None for a model without intervals.
    methods : mapping from the names of methods
        For each ``regressor``, ``form``, ``covariance_block``, ``preimage``, ``start``,
        ``center``, ``members``, ``decoder``, ``n_trees``, ``seed``, as far as it has them, the
        ``kernel`` of the experiment, and the paths of its artifacts on the split: ``regression``,
        ``predictions`` and ``models`` (or None).
    output : path
    title : str
        Of the dataset.
    options : mapping or None, default=None
        Options of the reader ``table``: ``row_name``, the column that names rows, and
        ``missing_values`` and ``delimiter``, with which tables of new rows are read as well.

    Raises
    ------
    UserError
        If no method can be saved, or the model does not repeat the predictions of its method.
    """
    told = json.loads(Path(answer).read_text(encoding="utf-8"))
    source = _Source(dataset, split, features, methods, told)
    name, regressor = _best_saved(told, source)
    data, entry = source.data, _entry_of(told, name)
    n_weak = _largest_weak_size(regressor)
    tree: dict = {
        "title": title,
        "method": name,
        "label": str(entry.get("label", name)),
        "training_size": source.size,
        "metric": str(told.get("metric", "")),
        "names": _names(source, n_weak),
        "dataset_digest": artifact_digest(dataset),
        "versions": json.dumps(_versions(), sort_keys=True),
        "regressor": regressor,
        "inputs": saved_inputs_tree(data, source.partition, source.features, n_weak),
        "reading": json.dumps({name: (options or {}).get(name) for name in _READING}),
    }
    if name != told["winner"]:
        tree["instead_of"] = told["winner"]
    if entry.get("mean") is not None:
        tree["score"] = float(entry["mean"])
    if "encoding" in data:
        tree["encoding"] = data["encoding"]
    if source.of_classes:
        tree["classes"] = {
            "vectors": data["classes"]["vectors"],
            "decoder": _class_decoder(methods[name]),
        }
    tree |= _calibrated(calibration, name, source)
    difference = _difference(SavedModel(tree, str(output)), name, source, n_weak)
    print(f"predictions of {name} repeated with a relative difference of {difference:.1g}")
    if not difference <= LARGEST_DIFFERENCE:
        raise UserError(
            place=f"{output}, method {name}",
            found=f"the saved model differs by {difference:.2g} of the outputs' spread from the "
            f"predictions in {methods[name]['predictions']}",
            expected="the same predictions",
            remedy=f"rm {methods[name]['predictions']} {methods[name]['regression']} and run the "
            "same snakemake command again",
        )
    inputs = [answer, dataset, split, features, calibration]
    for stored in _kept_methods(name, regressor):
        inputs += [methods[stored].get(kind) for kind in ("regression", "predictions", "models")]
    write_artifact(
        output,
        tree,
        "predictor",
        inputs=[path for path in inputs if path],
        allow_nan=(*UNKNOWN_INPUTS, "half_widths", "limit"),
    )


class _NotSaved(Exception):
    """A method cannot be saved; the message says why."""


class _Source:
    """What the stage has read, and the trees of the methods made from it."""

    def __init__(
        self,
        dataset: Path,
        split: Path,
        features: Path,
        methods: Mapping[str, Mapping],
        told: Mapping,
    ) -> None:
        # Inputs are looked at in a few rows only; those that train are in the features too.
        self.data = read_artifact(dataset, "dataset", ("inputs",))
        self.partition = read_artifact(split, "split")
        self.features = read_artifact(features, "features")
        self.methods, self._told = methods, told
        self.of_classes = told.get("metric") == "accuracy"
        self.size = int(max(self.partition["sizes"]))
        self.train = self.partition["train"][: self.size]

    @property
    def prepared(self) -> PreparedInputs:
        """The inputs of all training rows."""
        folds = self.partition["folds"][size_group(self.size)]
        return prepared_inputs(self.features, folds, self.size)

    def known_rows(self, n_weak: int) -> np.ndarray:
        """Return the training rows and the first weak rows, in the order of the dataset."""
        return np.sort(np.concatenate([self.train, self.partition["weak"][:n_weak]]))

    def item_of(self, name: str, is_member: bool) -> tuple[str, Mapping]:
        """Return the name and the entries of the item of a method that is saved."""
        items = read_artifact(self.methods[name]["regression"], "regression")
        if is_member:
            key = item_group(self.size, 0, SELECTED)
            return key, items[key]
        is_winner = name == self._told["winner"]
        return _final_item(items, self.size, self._told if is_winner else {})

    def regressor(self, name: str, is_member: bool = False) -> dict:
        """Return the tree of `workflow_lib.experiments.saved_method` for a method.

        `is_member` is whether it is that of a member of a stack, which has no weak rows.
        """
        method = self.methods[name]
        kind, decoder = method["regressor"], method.get("decoder")
        if kind == "class_ridge" and decoder != "one_hot":
            raise _NotSaved(f"{name} decodes classes by {decoder}")
        if kind == "training_mean":
            Y = self.data["outputs"][self.train]
            return {"kind": "mean", "mean": means_of_observed(Y)}
        makers = {
            "stack": self._stack,
            "random_forest": self._forest,
            "least_squares": self._past,
            "class_ridge": self._class_ridge,
            "support_vector_machine": self._machines,
            "random_forest_classifier": self._class_forest,
        } | dict.fromkeys(RIDGE_REGRESSORS, self._ridge)
        if kind not in makers:
            raise _NotSaved(f"{name} is a method of the kind {kind}")
        if self.of_classes and kind not in (*SCORE_REGRESSORS, "kernel_ridge"):
            raise _NotSaved(f"{name} predicts no classes")
        return makers[kind](method, self.item_of(name, is_member)[1])

    def _ridge(self, method: Mapping, item: Mapping) -> dict:
        kept = {name: item[name] for name in _RIDGE_ENTRIES if name in item}
        if "members" in item:
            kept["members"] = {
                group: {name: member[name] for name in _RIDGE_ENTRIES if name in member}
                for group, member in item["members"].items()
            }
        # Weak rows count where they stand in the Gram matrix: not all items with a weak size do.
        for part in members_of(kept):
            if "dual_coefficients" in part:
                kept["weak_size"] = len(part["dual_coefficients"]) - self.size
        tree: dict = {"kind": "ridge", "item": kept}
        names = ("form", "covariance_block", "preimage", "start")
        tree |= {name: method[name] for name in names if method.get(name) is not None}
        tree.setdefault("covariance_block", "constrained")
        if method.get("models") and method.get("form"):
            fitted = read_artifact(method["models"], "models")[size_group(self.size)]
            groups = [components_group(member["n_components"]) for member in members_of(kept)]
            rows = fold_group(None)
            tree["models"] = {
                size_group(self.size): {group: {rows: fitted[group][rows]} for group in groups}
            }
        return tree

    def _class_ridge(self, method: Mapping, item: Mapping) -> dict:
        """Fit again what the item says was chosen; the artifact holds its scores alone."""
        K = self.prepared.training_gram(self.features["kernel"], item.get("width"))
        targets = one_hot(*self._labels())
        ridge = labelled_ridge(self.size, item["penalty_mu"])
        dual, intercept = fit_dual_coefficients(K, targets, ridge, method["center"])
        kept = {name: item[name] for name in ("training_size", "width") if name in item}
        kept |= {"weak_size": 0, "dual_coefficients": dual, "intercept": intercept}
        return {"kind": "ridge", "item": kept}

    def _machines(self, method: Mapping, item: Mapping) -> dict:
        """Fit the chosen machines again: the artifact holds their scores alone."""
        K = self.prepared.training_gram(self.features["kernel"], item.get("width"))
        machines = fit_support_vector_machines(K, *self._labels(), item["cost"])
        known = machines.known
        tree: dict = {"kind": "machines", "known": known, "intercept": machines.intercept[known]}
        tree["dual_coefficients"] = machines.dual[:, known]
        return tree | {name: item[name] for name in ("width",) if name in item}

    def _class_forest(self, method: Mapping, item: Mapping) -> dict:
        """As `_forest`, of the classes."""
        labels, n_classes = self._labels()
        X = self.prepared.refit_rows()[0]
        choice = float(item["max_features"])
        forest = fit_forest_classifier(X, labels, int(method["n_trees"]), choice, method["seed"])
        known = np.isin(np.arange(n_classes), forest.classes_)
        return self._forest_tree(forest) | {"known": known}

    def _labels(self) -> tuple[np.ndarray, int]:
        """Return the classes of the training rows, and how many classes there are."""
        classes = self.data["classes"]
        return classes["labels"][self.train], len(classes["vectors"])

    def _forest(self, method: Mapping, item: Mapping) -> dict:
        """Fit the chosen forest again: seed and rows are the same, so are its trees."""
        X = self.prepared.refit_rows()[0]
        Y = filled(self.data["outputs"][self.train])
        choice = float(item["max_features"])
        forest = fitted_forest(X, Y, int(method["n_trees"]), choice, method["seed"])
        return self._forest_tree(forest)

    def _forest_tree(self, forest) -> dict:
        tree: dict = {"kind": "forest", "forest": forest_tree(forest)}
        inputs = self.prepared
        if isinstance(inputs, PreparedTexts):
            # The map from kernel values to coordinates: another linear algebra library may turn
            # the coordinates, and the trees were grown in these.
            products = inputs.training_gram("linear", None)
            tree["basis"] = principal_coordinates(products, np.eye(len(products)))[1]
        return tree

    def _past(self, method: Mapping, item: Mapping) -> dict:
        return {"kind": "past"} | {name: item[name] for name in ("coefficients", "intercept")}

    def _stack(self, method: Mapping, item: Mapping) -> dict:
        weights = {name: float(item[f"weight_{name}"]) for name in method["members"]}
        kept = {name: weight for name, weight in weights.items() if weight > 0}
        members = {name: self.regressor(name, is_member=True) for name in kept}
        return {"kind": "stack", "weights": kept, "members": members}

    def encoded(self, rows: np.ndarray, n_weak: int) -> EncodedRows:
        """Return rows of the dataset as if they were new."""
        inputs = inputs_of(self.data)
        past = self.data["past"]["values"][rows] if "past" in self.features else None
        is_products = "products" in self.features
        if self.features["kernel"] == "precomputed" or is_products:
            known = self.known_rows(n_weak)
            inputs = np.asarray(inputs)
            lengths = inputs[rows, rows][:, None] if is_products else np.empty((len(rows), 0))
            inputs = np.hstack([inputs[np.ix_(rows, known)], lengths])
        else:
            inputs = inputs[rows]
        names = [f"input {column}" for column in range(inputs.shape[1])]
        n_past = 0 if past is None else past.shape[1]
        past_names = [f"past {column}" for column in range(n_past)]
        return EncodedRows(inputs, names, past, past_names, [""] * len(rows))


def _best_saved(told: Mapping, source: _Source) -> tuple[str, dict]:
    """Return the winner, or the best method that can be saved, and its tree."""
    others = [entry["method"] for entry in told["leaderboard"]]
    others = [name for name in others if name != told["winner"]]
    reasons = []
    for name in [told["winner"], *others]:
        if name not in source.methods:
            continue
        try:
            regressor = source.regressor(name)
        except _NotSaved as reason:
            reasons.append(str(reason))
            continue
        if name != told["winner"]:
            print(f"{told['winner']} cannot be saved ({reasons[0]}); {name} is, instead of it")
        return name, regressor
    raise UserError(
        place="the methods of the experiment",
        found=f"none of them can be saved: {'; '.join(reasons)}",
        expected="one method of the kinds kernel_ridge, random_forest, training_mean or stack",
        remedy="add m-krr to the methods of the experiment",
    )


def _final_item(items: Mapping[str, Mapping], size: int, told: Mapping) -> tuple[str, Mapping]:
    """Return the item that the model is made from, of those of one training size.

    That with the number of weak rows and of components that is `told`; else with the most weak
    rows, and components by cross-validation.
    """
    able = {
        name: item
        for name, item in items.items()
        if item["training_size"] == size and not item.get("setting")
    }
    weak_sizes = {int(item["weak_size"]) for item in able.values()}
    weak_size = told.get("weak_size")
    # All weak rows are in this split; of the numbered ones each has a part.
    weak_size = weak_size if weak_size == 0 and 0 in weak_sizes else max(weak_sizes)
    able = {name: item for name, item in able.items() if item["weak_size"] == weak_size}
    wanted = {str(told.get("components", SELECTED)), SELECTED}
    preferred = {name: item for name, item in able.items() if item["components"] in wanted}
    able = preferred or able
    name = min(able, key=lambda name: (able[name].get("score", np.inf), name))
    return name, able[name]


def _largest_weak_size(regressor: Mapping) -> int:
    """Return the number of weak rows that stand in the Gram matrices of a method."""
    if regressor["kind"] == "stack":
        return max(map(_largest_weak_size, regressor["members"].values()))
    if regressor["kind"] == "ridge":
        return int(regressor["item"]["weak_size"])
    return 0


def _kept_methods(name: str, regressor: Mapping) -> Sequence[str]:
    return [name, *regressor.get("members", ())] if regressor["kind"] == "stack" else [name]


def _class_decoder(method: Mapping) -> str:
    if method["regressor"] in SCORE_REGRESSORS:
        return SCORES
    return method.get("decoder") or "euclidean"


def _entry_of(told: Mapping, name: str) -> Mapping:
    return next((entry for entry in told["leaderboard"] if entry["method"] == name), {})


def _names(source: _Source, n_weak: int) -> dict[str, str]:
    """Return the names of outputs, inputs, classes and known rows, each a list as JSON."""
    data = source.data
    d = data["outputs"].shape[1]
    default = json.dumps([f"output {column}" for column in range(1, d + 1)])
    names = {"outputs": default} | {
        name: data["names"][name]
        for name in ("outputs", "inputs", "classes")
        if isinstance(data.get("names", {}).get(name), str)
    }
    is_gram = source.features["kernel"] == "precomputed" or "products" in source.features
    if is_gram and "rows" in data:
        all_rows = json.loads(data["rows"]["name"].tobytes())
        known = [str(all_rows[row]) for row in source.known_rows(n_weak)]
        if len(set(known)) == len(known):
            names["known_rows"] = json.dumps(known, ensure_ascii=False)
    return names


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def _calibrated(calibration: Path | None, name: str, source: _Source) -> dict:
    """Return the half-widths and the scale of novelty."""
    seed = derive_seed(int(source.methods[name].get("seed") or 0), "novelty")
    scale = novelty_scale(source.prepared, source.features["kernel"], seed)
    novelty = {"unit": scale.unit, "limit": scale.limit}
    n_predicted = _n_predicted(source, name)
    tree: dict = {"half_widths": np.full(n_predicted, np.inf), "novelty": novelty}
    if calibration is None:
        return tree
    told = read_artifact(calibration, "calibration")
    novelty["limit"] = float(told.get("novelty_limit", scale.limit))
    if source.of_classes:
        return tree
    if told["method"] != name:
        print(f"no intervals: they were calibrated for {told['method']}, not for {name}")
        return tree
    return tree | {"half_widths": told["half_widths"], "level": float(told["level"])}


def _n_predicted(source: _Source, name: str) -> int:
    """Return the number of outputs of a method: of classes it may be that of their scores."""
    if source.of_classes and _class_decoder(source.methods[name]) == SCORES:
        return len(source.data["classes"]["vectors"])
    return source.data["outputs"].shape[1]


def _difference(model: SavedModel, name: str, source: _Source, n_weak: int) -> float:
    """Return how far the model is from the predictions of its method, in spreads of the outputs."""
    item = source.item_of(name, is_member=False)[0]
    stored = read_artifact(source.methods[name]["predictions"], "predictions")[item]["outputs"]
    n_rows = min(N_REPEATED, len(stored))
    rows = source.partition["test"][:n_rows]
    repeated = model.predict_inputs(source.encoded(rows, n_weak)).outputs
    spread = np.nanstd(source.data["outputs"], axis=0)
    spread = np.ones(stored.shape[1]) if source.of_classes else np.where(spread > 0, spread, 1.0)
    return float((np.abs(repeated - stored[:n_rows]) / spread).max(initial=0.0))
