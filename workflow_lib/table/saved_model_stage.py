"""The stage that saves the winner of an experiment as one file that predicts new rows."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import artifact_digest, read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.json_text import from_json_bytes
from workflow_lib.core.seeds import derive_seed
from workflow_lib.data.table_encoding import EncodedRows
from workflow_lib.fitting.fit_data import STREAMED, FitData
from workflow_lib.fitting.fit_spec import FitSpec
from workflow_lib.fitting.fitted import ArraysOfFit
from workflow_lib.fitting.prepared_inputs import prepared_inputs
from workflow_lib.inputs.encoded_columns import EncodedColumns
from workflow_lib.items.group_names import SELECTED, components_group, fold_group, size_group
from workflow_lib.items.kinds.base import item_kinds, items_of, kind_of
from workflow_lib.items.sparse_inputs import inputs_of
from workflow_lib.methods.contract.base import method_of
from workflow_lib.methods.contract.saved_method import SavedMethod
from workflow_lib.methods.contract.saving import why_not_saved
from workflow_lib.protocol.regression import split_data
from workflow_lib.solvers.stored.estimator import trusting
from workflow_lib.table.calibration_stage import item_name as numbered_item
from workflow_lib.table.importance import MAY_BE_UNKNOWN
from workflow_lib.table.saved_inputs import UNKNOWN_INPUTS, saved_inputs_tree
from workflow_lib.table.saved_model import SCORES, SavedModel, with_codes
from workflow_lib.uncertainty.novelty import NoveltyScale, distances_of_training_rows

# Selected values that the decoding of a predicted embedding needs.
_CHOSEN = ("training_size", "n_components", "projected")

_PACKAGES = ("numpy", "scipy", "h5py", "scikit-learn")

READING = ("row_name", "missing_values", "delimiter", "sheet", "number_formats")

# Test rows whose predictions the saved model must reproduce: all of up to 4000 rows, because matrix
# products of the same shape are equal to the last bit; of more rows the first 200.
MAX_REPEATED, N_REPEATED = 4000, 200

# Largest allowed difference, in units of the spread of an output. It is zero where rounding is the
# same: linear algebra libraries add in another order for matrices of another shape and on another
# processor, to which a scheduler may have sent the job, and small penalties magnify the difference.
MAX_DIFFERENCE = 1e-6


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
    trusted: Sequence[str] = (),
    importance: Path | None = None,
) -> None:
    """Write the "predictor" artifact of the winner: all that is needed to predict new rows.

    On the leaderboard only methods that can be saved can win
    (`workflow_lib.methods.contract.saving.why_not_saved`). Before anything is written, the model
    must reproduce the predictions of the method for test rows of the split.

    Raises UserError if the winner cannot be saved, or the model does not reproduce the predictions
    of its method.

    Parameters
    ----------
    answer : path
        JSON with ``winner``, its ``label``, ``mean`` and ``metric``; and its ``weak_size`` and
        ``components`` where it was scored with several of these.
    dataset, split, features : paths
        Artifacts; the split is the one whose largest training size is all labelled rows.
    calibration : path or None
        The "calibration" artifact: ``method``, ``level``, ``half_widths``, ``intervals`` or, of
        classes, ``sets``, and ``novelty_limit``. None for a model without them.
    methods : mapping from the names of methods
        For each the ``module``, ``settings`` and ``artifacts`` of
        `workflow_lib.protocol.regression.run` on the split; its files ``regression`` and
        ``predictions``; and ``form``, ``covariance_block``, ``preimage``, ``start``, ``members``,
        ``decoder``, ``weak_outputs``, ``estimator``, ``seed`` and ``predicts_scores`` (whether it
        predicts scores of the classes), where it has them.
    title : str
        Title of the dataset.
    options : mapping or None, default=None
        Options of the reader: of a ``table`` ``row_name``, the column that names rows, and
        ``missing_values``, ``delimiter`` and ``sheet``, with which tables of new rows are read as
        well.
    trusted : sequence of str, default=()
        Classes that the configuration names
        (`workflow_lib.table.saved_model.load_model`).
    importance : path or None, default=None
        The "importance" artifact, which the model then holds, too.
    """
    answered = json.loads(Path(answer).read_text(encoding="utf-8"))
    source = Source(dataset, split, features, methods, answered)
    name = answered["winner"]
    reason = why_not_saved(name, methods)
    if reason:
        raise UserError(
            location=f"{answer}, winner",
            found=f"{name} cannot be saved: {reason}",
            expected="a method that predicts new rows from a file",
            remedy=f"rm {answer} and run the same snakemake command again",
        )
    with trusting(trusted):
        tree, n_weak = predictor_tree(source, name, answered)
    saved = tree["regressor"]
    tree |= {
        "title": title,
        "dataset_digest": artifact_digest(dataset),
        "versions": json.dumps(software_versions(), sort_keys=True),
        "reading": json.dumps(_reading(source.data, options or {})),
    }
    if answered.get("mean") is not None:
        tree["score"] = float(answered["mean"])
    tree |= _calibrated(calibration, name, source)
    # The user who predicts new rows may not have read the report.
    is_doubtful = answered.get("beats_mean") is False or answered.get("leak")
    if is_doubtful and answered.get("sentences"):
        tree["warning"] = str(answered["sentences"][0])
    if importance is not None:
        tree["importance"] = read_artifact(importance, "importance")
    with trusting(trusted):
        model = SavedModel(tree, str(output))
    difference = largest_difference(model, name, source, n_weak)
    how = f"with a relative difference of {difference:.1g}" if difference else "exactly"
    print(f"predictions of {name} reproduced {how}")
    if not difference <= MAX_DIFFERENCE:
        raise UserError(
            location=f"{output}, method {name}",
            found=f"the saved model differs by {difference:.2g} of the outputs' spread from the "
            f"predictions in {methods[name]['predictions']}",
            expected="the same predictions",
            remedy=f"rm {methods[name]['predictions']} {methods[name]['regression']} and run the "
            "same snakemake command again",
        )
    inputs = [answer, dataset, split, features, calibration, importance]
    members = [part["fitted"].get("members", {}) for part in saved["parts"].values()]
    for stored in (name, *(member for named in members for member in named)):
        inputs += [methods[stored][kind] for kind in ("regression", "predictions")]
        artifacts = methods[stored]["artifacts"]
        inputs += [artifacts.get(kind) for kind in ("models", "alignments")]
    write_artifact(
        output,
        tree,
        "predictor",
        inputs=[path for path in inputs if path],
        allow_nan=(*UNKNOWN_INPUTS, *MAY_BE_UNKNOWN, "half_widths", "factors", "limit", "limits"),
    )


def predictor_tree(source: Source, name: str, answered: Mapping) -> tuple[dict, int]:
    """Return the tree of a "predictor" artifact without calibration, and its number of weak rows.

    `source` holds the artifacts of a split, `name` is the method, and `answered` the answer.
    """
    saved, data = source.tree(name), source.data
    n_weak = _largest_weak_size(saved)
    tree: dict = {
        "title": "",
        "method": name,
        "label": str(answered.get("label", name)),
        "training_size": source.size,
        "row_counts": {"labelled": source.size, "weak": n_weak, "unpaired": source.n_unpaired},
        "metric": str(answered.get("metric", "")),
        "names": _names(source, n_weak),
        "dataset_digest": "",
        "versions": "{}",
        "regressor": saved,
        "inputs": saved_inputs_tree(data, source.partition, source.features, n_weak),
        "reading": json.dumps(_reading(data, {})),
        "half_widths": np.full(_n_predicted(source, name), np.inf),
        "novelty": {"unit": 1.0, "limit": np.inf},
    }
    if "encoding" in data:
        tree["encoding"] = data["encoding"]
    if "bag_columns" in data:
        tree["bag_columns"] = data["bag_columns"]
    if "learned_columns" in data:
        tree["encoders"] = source.encoders
    if source.of_classes:
        tree["classes"] = {
            "vectors": data["classes"]["vectors"],
            "decoder": _class_decoder(source.methods[name]),
        }
    return tree, n_weak


ItemName = Callable[[Mapping], str]
"""Returns the name of the item of a method, from its items by name."""


class Source:
    """The artifacts of a split, and the trees of the methods made from them.

    Parameters are those of `run`, and whether it is the split in which every labelled row trains,
    or a numbered one. `n_unpaired` is the largest number of outputs without inputs that a method of
    these trees learned from.
    """

    def __init__(
        self,
        dataset: Path,
        split: Path,
        features: Path,
        methods: Mapping[str, Mapping],
        answered: Mapping,
        is_final: bool = True,
    ) -> None:
        self._is_final = is_final
        # Only a few rows of the inputs are read; those of the training rows are in the features.
        self.data = read_artifact(dataset, "dataset", ("inputs", *STREAMED))
        self.partition = read_artifact(split, "split")
        self.features = read_artifact(features, "features")
        self.methods, self._answered, self.n_unpaired = methods, answered, 0
        self.of_classes = answered.get("metric") == "accuracy"
        self.size = int(max(self.partition["sizes"]))
        self.train = self.partition["train"][: self.size]

    @property
    def encoders(self) -> dict:
        """The tree of the encoders of names, fitted to all training rows."""
        return self.features[size_group(self.size)][fold_group(None)]["encoders"]

    def known_rows(self, n_weak: int) -> np.ndarray:
        """Return the training rows and the first weak rows, in the order of the dataset."""
        return np.sort(np.concatenate([self.train, self.partition["weak"][:n_weak]]))

    def item_of(self, name: str, item_name: ItemName | None = None) -> tuple[str, Mapping]:
        """Return the name and the entries of the item of a method that is saved.

        `item_name` chooses among the items of a member of a stack.
        """
        items = read_artifact(self.methods[name]["regression"], "regression")
        if item_name is None and self._is_final:
            return _final_item(items, self.size, self._answered)
        if item_name is not None:
            key = item_name(items)
        else:
            location = self.methods[name]["regression"]
            key = numbered_item(items, self.size, self._answered, self.partition, location)
        return key, items[key]

    def tree(self, name: str, item_name: ItemName | None = None) -> dict:
        """Return the tree of `workflow_lib.methods.contract.saved_method` for a method."""
        described, item = self.methods[name], self.item_of(name, item_name)[1]
        method = method_of(described["module"], described["settings"])
        n_unpaired = int(item.get("unpaired_size", 0))
        self.n_unpaired = max(self.n_unpaired, n_unpaired)
        spec = FitSpec(self.size, int(item["weak_size"]), unpaired_size=n_unpaired)
        members = None
        if described.get("members"):
            kept, members = described["members"], {}
            if "member_weights" in item:
                weights = zip(kept, item["member_weights"], strict=True)
                kept = [member for member, weight in weights if weight.any()]
            for member in kept:
                item_name = partial(method.member_item, member, spec=spec)
                members[member] = SavedMethod(self.tree(member, item_name))
        read = {"split": self.partition, "features": self.features}
        split = split_data(method, described["artifacts"], read)
        data = FitData(split, spec, members)
        tree: dict = {"module": described["module"], "parts": {}}
        for group, part in item.get("members", {"all": {}}).items():
            entries = {**item, **part}
            fit = method.restored(data, entries)
            # The arrays are what is saved of the last split, so that they have to predict there.
            is_kept = fit.is_faster and not self._is_final
            tree["parts"][group] = {
                "fitted": ArraysOfFit(fit) if is_kept else fit.to_arrays(),
                "chosen": {name: entries[name] for name in _CHOSEN if name in entries},
            }
        if described.get("form"):
            names = ("form", "covariance_block", "preimage", "start")
            tree |= {name: described[name] for name in names if described.get(name) is not None}
            tree.setdefault("covariance_block", "constrained")
            size, rows = size_group(self.size), fold_group(None)
            counts = [part["chosen"]["n_components"] for part in tree["parts"].values()]
            tree["models"] = {
                size: {
                    components_group(count): {rows: split.stored_model(self.size, count, None)}
                    for count in counts
                }
            }
        return tree

    def encoded(self, rows: np.ndarray, n_weak: int) -> EncodedRows:
        """Return rows of the dataset as if they were new."""
        inputs = inputs_of(self.data)
        lagged_values = (
            self.data["lagged_values"]["values"][rows] if "lagged_values" in self.features else None
        )
        is_products = "products" in self.features
        if self.features["kernel"] == "precomputed" or is_products:
            known = self.known_rows(n_weak)
            inputs = np.asarray(inputs)
            lengths = inputs[rows, rows][:, None] if is_products else np.empty((len(rows), 0))
            inputs = np.hstack([inputs[np.ix_(rows, known)], lengths])
        else:
            inputs = inputs[rows]
        names = [f"input {column}" for column in range(inputs.shape[1])]
        n_lagged = 0 if lagged_values is None else lagged_values.shape[1]
        lagged_names = [f"lagged {column}" for column in range(n_lagged)]
        is_apart = item_kinds()[kind_of(self.data)].entry is not None
        items = items_of(self.data, rows) if is_apart else None
        notes = [""] * len(rows)
        encoded = EncodedRows(inputs, names, lagged_values, lagged_names, notes, items=items)
        if "learned_columns" not in self.data:
            return encoded
        learned = self.data["learned_columns"]
        texts = {
            name: np.array(levels, dtype=object)[learned["codes"][rows, column]]
            for column, (name, _, levels) in enumerate(from_json_bytes(learned["described"]))
        }
        encoders = EncodedColumns.from_tree(self.encoders)
        return with_codes(replace(encoded, texts=texts), encoders)


def _final_item(items: Mapping[str, Mapping], size: int, answered: Mapping) -> tuple[str, Mapping]:
    """Return the item of one training size from which the model is made.

    It has the numbers of weak rows and of components in `answered`; by default the most weak rows,
    and components selected by cross-validation.
    """
    candidates = {
        name: item
        for name, item in items.items()
        if item["training_size"] == size and not item.get("setting")
    }
    weak_sizes = {int(item["weak_size"]) for item in candidates.values()}
    weak_size = answered.get("weak_size")
    # This split has all weak rows; each numbered split has only some of them.
    weak_size = weak_size if weak_size == 0 and 0 in weak_sizes else max(weak_sizes)
    candidates = {name: item for name, item in candidates.items() if item["weak_size"] == weak_size}
    wanted = {str(answered.get("components", SELECTED)), SELECTED}
    preferred = {name: item for name, item in candidates.items() if item["components"] in wanted}
    candidates = preferred or candidates
    name = min(candidates, key=lambda name: (candidates[name].get("score", np.inf), name))
    return name, candidates[name]


def _largest_weak_size(tree: Mapping) -> int:
    """Return the number of weak rows in the Gram matrices of a method."""
    fitted = [part["fitted"] for part in tree["parts"].values()]
    members = [member for arrays in fitted for member in arrays.get("members", {}).values()]
    sizes = [int(arrays.get("weak_size", 0)) for arrays in fitted]
    return max([*sizes, *map(_largest_weak_size, members)])


def _class_decoder(method: Mapping) -> str:
    return SCORES if method.get("predicts_scores") else method.get("decoder") or "euclidean"


def _names(source: Source, n_weak: int) -> dict[str, str]:
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


def _reading(data: Mapping, options: Mapping) -> dict:
    """Return how tables of new rows are read; bags are named by their column."""
    reading = {name: options.get(name) for name in READING}
    return reading | ({"row_name": data["bag_columns"]["bag"]} if "bag_columns" in data else {})


def software_versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def _calibrated(calibration: Path | None, name: str, source: Source) -> dict:
    """Return the intervals, or the sets of classes, and the scale of novelty."""
    seed = derive_seed(int(source.methods[name].get("seed") or 0), "novelty")
    folds = source.partition["folds"][size_group(source.size)]
    prepared = prepared_inputs(source.features, folds, source.size)
    distances = distances_of_training_rows(prepared, source.features["kernel"], seed)
    scale = NoveltyScale.fit(distances)
    novelty = {"unit": scale.unit, "limit": scale.limit}
    n_predicted = _n_predicted(source, name)
    tree: dict = {"half_widths": np.full(n_predicted, np.inf), "novelty": novelty}
    if calibration is None:
        return tree
    calibrated = read_artifact(calibration, "calibration")
    novelty["limit"] = float(calibrated.get("novelty_limit", scale.limit))
    if calibrated["method"] != name:
        raise UserError(
            location=str(calibration),
            found=f"intervals of the method {calibrated['method']}",
            expected=f"those of the winner, {name}",
            remedy=f"rm {calibration} and run the same snakemake command again",
        )
    level = float(calibrated["level"])
    if source.of_classes:
        sets = calibrated.get("sets")
        if sets is None or sets["decoder"] != _class_decoder(source.methods[name]):
            return tree
        kept = {"sets": sets, "level": level} | _measured(calibrated, "set_coverage", "coverage")
        return tree | kept | _measured(calibrated, "set_size", "set_size")
    kept = {key: calibrated[key] for key in ("half_widths", "intervals") if key in calibrated}
    if "joint" in calibrated:
        joint = calibrated["joint"]
        kept["joint"] = {key: joint[key] for key in ("factors", "shape")} | _measured(
            {"of_box": joint["coverage"][:, 0]}, "of_box", "coverage"
        )
    return tree | kept | {"level": level} | _measured(calibrated, "coverage", "coverage")


def _measured(calibrated: Mapping, name: str, entry: str) -> dict[str, float]:
    """Return the mean of a calibration entry over splits and outputs, if it was measured."""
    values = np.ravel(calibrated.get(name, np.empty(0)))
    known = values[~np.isnan(values)]
    return {entry: float(known.mean())} if len(known) else {}


def _n_predicted(source: Source, name: str) -> int:
    """Return the number of outputs that a method predicts, which may be scores of the classes."""
    if source.of_classes and _class_decoder(source.methods[name]) == SCORES:
        return len(source.data["classes"]["vectors"])
    return source.data["outputs"].shape[1]


def largest_difference(model: SavedModel, name: str, source: Source, n_weak: int) -> float:
    """Return the largest difference from the stored predictions, in spreads of the outputs."""
    item = source.item_of(name)[0]
    stored = read_artifact(source.methods[name]["predictions"], "predictions")[item]["outputs"]
    if not source.of_classes:
        stored = model.ranges.within(stored)
    n_rows = len(stored) if len(stored) <= MAX_REPEATED else N_REPEATED
    rows = source.partition["test"][:n_rows]
    repeated = model.predict_inputs(source.encoded(rows, n_weak)).outputs
    spread = np.nanstd(source.data["outputs"], axis=0)
    spread = np.ones(stored.shape[1]) if source.of_classes else np.where(spread > 0, spread, 1.0)
    return float((np.abs(repeated - stored[:n_rows]) / spread).max(initial=0.0))
