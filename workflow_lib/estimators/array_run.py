"""Methods of the workflow on arrays: the rows of one fit, as the stages would hand them over.

The n rows are those of the split "final" of a table named "table", in which every row trains: with
the seed of `workflow_lib.compare` the folds, the models and the draws of each method are the same.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from workflow_lib.core.errors import ArgumentError, UserError, unknown_name
from workflow_lib.core.gram_limit import MAX_ROWS_OF_DENSITY, default_max_gram_rows
from workflow_lib.core.requirement import NEEDS_UNPAIRED_OUTPUTS
from workflow_lib.core.seeds import derive_seed
from workflow_lib.core.yaml_files import read_yaml
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec
from workflow_lib.fitting.output_embeddings import embedded_outputs
from workflow_lib.fitting.output_models import ModelSettings, aligned_models, fitted_models
from workflow_lib.fitting.row_features import row_features
from workflow_lib.fitting.training_folds import split_all_rows, unpaired_rows
from workflow_lib.items.group_names import SELECTED, components_group, fold_group, size_group
from workflow_lib.methods.contract.base import method_modules, method_of
from workflow_lib.methods.contract.file_settings import file_settings
from workflow_lib.methods.contract.method_file import MethodFile, parameters_of
from workflow_lib.methods.contract.saved_method import SavedMethod

SETTINGS = Path(__file__).parents[1] / "run" / "settings"
"""The folder of the files of methods and models."""

DRAWN_FOR = ("table", "final")
"""The dataset and the split from which seeds are derived, besides the main one."""

OUTPUT_SCALE = "standard"
"""The units in which models see the outputs, as on tables of users."""


def method_keys(name: str) -> dict[str, Any]:
    """Return the keys of the file of a method; ArgumentError for a name without a file."""
    known = [path.stem for path in (SETTINGS / "methods").glob("*.yaml")]
    if name not in known:
        raise _as_argument_error(unknown_name("argument members", "method", str(name), known))
    keys = read_yaml(SETTINGS / "methods" / f"{name}.yaml")
    keys.pop("variants", None)
    return keys


class FittedMethod(SavedMethod):
    """A fitted method, and what its selection found.

    Parameters
    ----------
    tree : mapping
        As of `SavedMethod`.
    heldout : array (n, d)
        What is predicted for each training row by a fit without its fold, in the order of the run.
    entries : dict
        What was chosen, and the error of `heldout`, by the names of the "regression" artifact.
    choices : list of dict
        The same for each number of components that is averaged over, or once.
    """

    def __init__(self, tree: Mapping, heldout: np.ndarray, entries: dict, choices: list) -> None:
        super().__init__(tree)
        self.heldout, self.entries, self.choices = heldout, entries, choices

    def __reduce__(self):
        # Fitted parts may hold functions, which cannot be pickled; the tree holds arrays.
        return FittedMethod, (self.tree, self.heldout, self.entries, self.choices)

    def heldout_outputs(self) -> np.ndarray:
        """Return `heldout`, as a stack asks for it."""
        return self.heldout

    def seconds(self) -> dict[str, float]:
        """Return none: nothing is timed here."""
        return {}


class ArrayRun:
    """The rows of one fit of an estimator, on which methods run.

    Parameters
    ----------
    X : array (n, q)
        NaN where missing.
    outputs : array (n, d)
        NaN where missing; class vectors of classes.
    seed : int
        The main seed.
    cv : int or array (n,)
        Number of folds, which are drawn, or the fold number of every row.
    scale : {"standard", "none"}
        Of the inputs, learned from the training rows of each fold.
    metric : {"arrmse", "rrmse"}
    labels : int array (n,) or None, default=None
        Classes, from 0.
    groups : int array (n,) or None, default=None
        Whose rows share a fold.
    X_weak, memberships : arrays (w, q) and (w, C), or None
        Weak rows, and their memberships of the components of the mixture.
    unpaired : array (m, d) or None, default=None
        Outputs without inputs.
    weights : array (n,) or None, default=None
        Positive weights of the rows, of mean 1, which kernel ridge regression heeds; None for 1.

    Attributes
    ----------
    order : int array (n,)
        The rows in the order of the run.
    n_rows : int
    memberships : array (w, C) or None
    unpaired : array (m, d) or None
    """

    def __init__(
        self,
        X: np.ndarray,
        outputs: np.ndarray,
        seed: int,
        cv: int | np.ndarray,
        scale: str,
        metric: str,
        labels: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        X_weak: np.ndarray | None = None,
        memberships: np.ndarray | None = None,
        unpaired: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> None:
        self._seed, self._metric, self.memberships = seed, metric, memberships
        n, n_weak = len(X), 0 if X_weak is None else len(X_weak)
        self.n_rows, self.unpaired, seed = n, unpaired, self.seed_of("split")
        if np.ndim(cv) == 0:
            split = split_all_rows(n, min(int(cv), n), seed, labels, groups)
        else:
            split = {"train": np.arange(n), "sizes": np.array([n]), "folds": {size_group(n): cv}}
            if labels is not None:
                split["examples"] = np.array([np.bincount(labels).max()])
        split |= {"test": np.arange(0), "weak": np.arange(n, n + n_weak)}
        split |= {"weak_sizes": [n_weak] if n_weak else []}
        if weights is not None:
            split["row_weights"] = weights[split["train"]]
        inputs = X if X_weak is None else np.concatenate([X, X_weak])
        hidden = np.full((n_weak, outputs.shape[1]), np.nan)
        dataset: dict[str, Any] = {"outputs": np.concatenate([outputs, hidden]), "names": {}}
        if labels is not None:
            dataset["classes"] = {"labels": labels, "vectors": np.eye(outputs.shape[1])}
        if unpaired is not None:
            dataset["unpaired"] = {"outputs": unpaired}
            split |= unpaired_rows(dataset["unpaired"], split["test"], [len(unpaired)], seed)
        features = {"scale": scale, "kernel": "rbf"}
        features |= row_features(inputs, split, scale, None, None, dataset)
        self._trees = {"dataset": dataset, "split": split, "features": features}
        self.order = split["train"]

    def seed_of(self, axis: str, *axes: str) -> int:
        """Return the seed of a random draw, as of the split of the workflow."""
        return derive_seed(self._seed, axis, *DRAWN_FOR, *axes)

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """What `new_rows` needs: the training and weak inputs, and their preparation."""
        features, size = self._trees["features"], size_group(self.n_rows)
        rows = {role: features["inputs"][role] for role in ("train", "weak")}
        of_all = {"learns": True, fold_group(None): features[size][fold_group(None)]}
        return {key: features[key] for key in ("scale", "kernel")} | {"inputs": rows, size: of_all}

    def fitted(
        self,
        name: str,
        keys: Mapping[str, Any],
        model: ModelSettings | None = None,
        members: Mapping[str, FittedMethod] | None = None,
        unpaired: np.ndarray | None = None,
    ) -> FittedMethod:
        """Select and fit a method; ArgumentError if it cannot be fitted to these rows.

        Parameters
        ----------
        name : str
            From which its seed is derived.
        keys : mapping
            Those of its file.
        model : ModelSettings or None, default=None
            Of its generative model; None for that of the file that the keys name.
        members : mapping from names to fitted methods, or None, default=None
            Those that a stack combines.
        unpaired : array (m, d) or None, default=None
            Outputs without inputs from which the generative model learns too.
        """
        file = parameters_of(keys.get("regressor", "kernel_ridge"))(**keys)
        module = method_modules()[file.regressor]
        trees, limit = dict(self._trees), default_max_gram_rows()
        if file.weak and self.n_rows + len(self.memberships) > limit:
            raise ArgumentError(
                "argument X_weak",
                f"{self.n_rows} labelled and {len(self.memberships)} weak rows",
                expected=f"at most {limit} rows, of which a Gram matrix fits in memory",
                remedy="pass fewer weak rows",
            )
        is_weighted = "row_weights" in trees["split"] and "landmarks" in module.settings
        if is_weighted and self.n_rows > limit:
            raise ArgumentError(
                "argument sample_weight",
                f"weights of {self.n_rows} rows",
                expected=f"at most {limit} rows, of which a Gram matrix fits in memory",
                remedy="leave out the weights, or pass fewer rows",
            )
        if file.model:
            trees |= self._models(file, model or _model_settings(file), unpaired)
        method = method_of(module.name, self._settings(name, file, module.settings))
        split = SplitData({}, trees=trees)
        try:
            # Methods print what the logs of a run hold.
            with redirect_stdout(io.StringIO()):
                specs = [spec for spec in method.specs(split) if not spec.setting]
                data = FitData(split, specs[-1], members)
                selection = method.select(data)
                parts = selection.parts or (selection,)
                arrays = [method.fit(data, part).to_arrays() for part in parts]
        except UserError as error:
            raise _as_argument_error(error) from error
        sizes = {"training_size": self.n_rows, "weak_size": data.spec.weak_size}
        choices = [{**sizes, **_without_none(part.entries)} for part in parts]
        tree: dict[str, Any] = {"module": module.name, "parts": {}}
        for chosen, fitted in zip(choices, arrays, strict=True):
            group = components_group(chosen["n_components"]) if selection.parts else "all"
            tree["parts"][group] = {"fitted": fitted, "chosen": chosen}
        # As an artifact holds them: the last bit of their mean depends on the order.
        tree["parts"] = dict(sorted(tree["parts"].items()))
        if file.form:
            tree |= {"form": file.form, "covariance_block": "constrained"}
            tree |= {"preimage": file.preimage, "models": trees["models"]}
        return FittedMethod(tree, selection.heldout, _without_none(selection.entries), choices)

    def fitted_stack(
        self, name: str, members: Sequence[str] | None, n_jobs: int | None
    ) -> tuple[FittedMethod, dict[str, FittedMethod]]:
        """Return a stack and its members by name, all fitted.

        Parameters
        ----------
        name : str
            Of the stack.
        members : sequence of str or None
            None for those of its file that can learn from these rows.
        n_jobs : int or None
            Members that are fitted at the same time.
        """
        keys = method_keys(name)
        task = method_modules()[keys["regressor"]].tasks[0]
        sizes = keys.pop("member_sizes", {})
        if members is None:
            # The density of the outputs is the only member that has a smallest size.
            left_out = [each for each, fewest in sizes.items() if self.n_rows < fewest]
            left_out = list(sizes) if self.n_rows > MAX_ROWS_OF_DENSITY else left_out
            members = [
                each
                for each in keys["members"]
                if each not in left_out and not self._reason_against(each, task)
            ]
        for each in members:
            if reason := self._reason_against(each, task):
                raise ArgumentError(
                    "argument members",
                    f"{each}, which {reason}",
                    expected="methods that can learn from these rows",
                    remedy=f"leave out {each}",
                )
        fitted = Parallel(n_jobs=n_jobs)(
            delayed(self.fitted)(each, method_keys(each)) for each in members
        )
        found = dict(zip(members, fitted, strict=True))
        return self.fitted(name, keys | {"members": tuple(members)}, members=found), found

    def _reason_against(self, name: str, task: str) -> str:
        """Return why a method cannot be a member on these rows, or an empty text."""
        keys = method_keys(name)
        file = parameters_of(keys.get("regressor", "kernel_ridge"))(**keys)
        if task not in method_modules()[file.regressor].tasks or file.members:
            return f"is no single method for {task}"
        if task == "classes" and file.decoder not in (None, "one_hot"):
            return "needs vectors of the classes"
        if self.unpaired is None and NEEDS_UNPAIRED_OUTPUTS in file.needs_of_data:
            return "learns from outputs without inputs, and there are none"
        if file.weak or file.feature_learner or file.score_space:
            return "learns from other rows or inputs than an estimator takes"
        return ""

    def _settings(self, name: str, file: MethodFile, names: Sequence[str]) -> dict[str, Any]:
        """Return the settings of the module of a method, as on a table of a user."""
        landmarks = {"max_gram_rows": default_max_gram_rows(), "n_landmarks": 1000}
        of_run = {
            "components": SELECTED,
            "kernel": "rbf",
            "kernels": list(file.kernel) or None,
            "landmarks": landmarks | {"seed": self.seed_of("landmarks")},
            "metric": self._metric,
            "method_file": f"the method {name}",
            "output_scale": OUTPUT_SCALE,
            "precision": "float64",
            "seed": self.seed_of("training", name),
            "studies": {},
        }
        return file_settings(file, names) | {key: of_run[key] for key in names if key in of_run}

    def _models(
        self, file: MethodFile, settings: ModelSettings, unpaired: np.ndarray | None
    ) -> dict[str, Any]:
        """Return the artifacts of a method with a generative model, as trees."""
        split = self._trees["split"]
        train = self._trees["dataset"]["outputs"][split["train"]]
        seed = self.seed_of("training", file.model)
        models = fitted_models(train, split, settings, seed, unpaired)
        found: dict[str, Any] = {"models": models}
        if file.weak:
            found["models"] = models = aligned_models(train, split, models)
            n_weak, (count,) = len(self.memberships), settings.component_counts
            labels = {
                "memberships": self.memberships,
                # No label is wrong.
                "draw": np.ones(n_weak),
                "mistake": np.zeros(n_weak, dtype=int),
            }
            found["weak_labels"] = {size_group(self.n_rows): {components_group(count): labels}}
        if file.form:
            found["embeddings"] = embedded_outputs(train, split, models, file.form, "constrained")
        return found


def new_rows(inputs: Mapping[str, Any], n_rows: int, X: np.ndarray) -> Any:
    """Return rows (m, q) as a fitted method sees those for which it predicts.

    `inputs` are those of `ArrayRun`, of `n_rows` training rows.
    """
    features = {**inputs, "inputs": {**inputs["inputs"], "test": X}}
    size = size_group(n_rows)
    split = {"sizes": [n_rows], "weak_sizes": [], "test": np.arange(len(X))}
    split["folds"] = {size: np.zeros(n_rows, dtype=int)}
    trees = {"split": split, "features": features}
    return FitData(SplitData({}, trees=trees), FitSpec(n_rows)).test


def _model_settings(file: MethodFile) -> ModelSettings:
    """Return the settings of the model that the file of a method names."""
    keys = read_yaml(SETTINGS / "models" / f"{file.model}.yaml")
    counts = file_settings(file, ["component_counts"])["component_counts"]
    return ModelSettings(**keys, component_counts=counts, output_scale=OUTPUT_SCALE)


def _without_none(entries: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entries.items() if value is not None}


def _as_argument_error(error: UserError) -> ArgumentError:
    return ArgumentError(error.location, error.found, error.expected, error.remedy)
