"""The features stage: the inputs of one split, and their preparation learned in each fold.

Inputs that are rows of numbers (or a Gram matrix) are kept unchanged, with the preparation of every
fold. For texts the inner products of the weighted terms are kept instead, one matrix per fold: they
are far smaller than the sparse rows, and every method of the split needs them. Columns of names
whose codes depend on the training rows (`workflow_lib.inputs.encoded_columns`) are encoded in
each fold, and their codes are kept; so are the counts of visual words of images
(`workflow_lib.inputs.images.visual_words`), of which each fold learns a codebook.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.row_features import known_rows, row_features, rows_by_role
from workflow_lib.fitting.wrong_labels import training_output_rows
from workflow_lib.inputs.column_origins import ColumnOrigins, column_origins
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.inputs.term_scores import fit_terms, inner_products
from workflow_lib.items.group_names import fold_group, size_group
from workflow_lib.items.scales import MARKOV_SCALE, PRODUCTS_SCALE, TEXT_SCALES
from workflow_lib.items.sparse_inputs import inputs_of


def run(
    dataset: Path,
    split: Path,
    output: Path,
    scale: str,
    kernel: str,
    lagged_values: str,
    seed: int = 0,
) -> None:
    """Fit the preparation of every training size and fold, and write the "features" artifact.

    It holds the raw inputs of the training, weak and test rows, and for each training size the
    preparation fitted to all its rows and to the training rows of each fold. Where the inputs are
    a Gram matrix (`kernel` is ``precomputed``), its columns are those of the training, then of the
    weak rows. Where they are texts (`scale` is one of TEXT_SCALES) it holds, instead of rows and
    preparations, the products of `_text_products` for each size and fold. Where they are inner
    products between all rows (`scale` is ``products``) it holds these once: those of the training,
    weak and test rows (the matrix rows) with the training and weak rows (the columns).

    `lagged_values` is the use of values known before the outputs: ``none``, ``separate`` (they are
    kept separately, in the group ``lagged_values``) or ``added`` (they are also added to the
    inputs).

    Where the dataset has ``learned_columns``, the group of each fold also holds ``codes``: those of
    all ``train`` (n, k) rows and the ``weak`` (w, k) rows that methods may use, as the encoders of
    the fold see them; for the refit also those of the ``test`` rows, and ``encoders``, the fitted
    encoders. The preparation is that of the inputs, followed by the codes. No code depends on the
    outputs of held-out, weak or test rows, nor that of a training row on its own outputs. `seed` is
    that of the encoders.

    Where the dataset has ``descriptors`` of images, the ``codes`` are the counts of visual words
    under the codebook that the fold learns from its training images; for the refit there are also
    its ``words`` (W, 128).

    Raises UserError if `kernel` is ``precomputed`` and the inputs are not a symmetric matrix, if
    `scale` is one of texts and the inputs are not texts or the reverse, if `scale` is ``markov``
    and the inputs are not counts of transitions, or if there are no lagged values.
    """
    # Only the inputs of the split's rows are kept in memory; all others stay in the file.
    tree = read_artifact(dataset, "dataset", ("inputs", "descriptors/values"))
    partition = read_artifact(split, "split")
    inputs = inputs_of(tree)
    check_kind(isinstance(tree["inputs"], Mapping), scale, dataset)
    states = tree.get("term_states")
    check_transitions(states is not None, scale, dataset)
    lagged = _lagged_values(tree, lagged_values, dataset)
    features: dict = {"scale": scale, "kernel": kernel}
    if lagged_values != "none":
        features["lagged_values"] = rows_by_role(lagged, partition)
    added = lagged if lagged_values == "added" else None
    origins = column_origins(tree)
    if scale in TEXT_SCALES:
        features |= _text_features(inputs, added, partition, origins, scale, states)
    elif scale == PRODUCTS_SCALE:
        inputs = np.asarray(inputs)
        check_gram_matrix(inputs, dataset)
        features |= _product_features(inputs, partition)
    else:
        if added is not None:
            inputs = np.hstack([inputs, added])
        if kernel == "precomputed":
            inputs = np.asarray(inputs)
            check_gram_matrix(inputs, dataset)
            inputs = inputs[:, np.concatenate([partition["train"], partition["weak"]])]
        learned = _learned_codes(tree, partition, seed)
        features |= row_features(inputs, partition, scale, origins, learned, tree)
        if "items" in tree:
            features["items"] = tree["items"]
    write_artifact(
        output, features, "features", inputs=[dataset, split], allow_nan=("train", "weak", "test")
    )


def check_kind(is_text: bool, scale: str, location: Path) -> None:
    """Raise UserError if the scale is one of texts and the inputs are not, or the reverse."""
    if is_text != (scale in TEXT_SCALES):
        kind = "counts of terms" if is_text else "rows of numbers"
        raise UserError(
            location=f"{location}, with inputs.scale: {scale}",
            found=f"inputs that are {kind}",
            expected=f"inputs.scale: {' or '.join(TEXT_SCALES)} for texts, and another scale for "
            "rows of numbers",
            remedy="fix inputs.scale in the configuration of the dataset",
        )


def check_transitions(has_states: bool, scale: str, location: Path) -> None:
    """Raise UserError if the scale is that of a Markov model and the states are not known."""
    if scale == MARKOV_SCALE and not has_states:
        raise UserError(
            location=f"{location}, with inputs.scale: {scale}",
            found="counts of terms that do not lead from one state to another",
            expected="counts of the transitions of trees, with their states",
            remedy="choose another inputs.scale, or a reader that gives trees, as drug_activity "
            "does with inputs: tree",
        )


def check_gram_matrix(inputs: np.ndarray, location: Path) -> None:
    """Raise UserError unless the inputs are the Gram matrix of all rows of the dataset."""
    square = inputs.shape[0] == inputs.shape[1]
    if not square or not np.allclose(inputs, inputs.T, rtol=1e-8, atol=1e-10):
        raise UserError(
            location=str(location),
            found=f"inputs of the shape {inputs.shape} that are not a symmetric matrix",
            expected="kernel values, or inner products, between all rows",
            remedy="choose another kernel, or give the Gram matrix as inputs",
        )


def _lagged_values(tree: Mapping, lagged_values: str, location: Path) -> np.ndarray | None:
    if lagged_values == "none":
        return None
    if "lagged_values" not in tree:
        raise UserError(
            location=f"{location}, with inputs.lagged_values: {lagged_values}",
            found="a dataset without lagged values",
            expected="a reader that gives them",
            remedy="set inputs.lagged_values: none in the configuration of the dataset",
        )
    return tree["lagged_values"]["values"]


def _learned_codes(
    data: Mapping, partition: Mapping, seed: int
) -> _LearnedColumns | _LearnedWords | None:
    """Return what learns columns in every fold of a dataset; None where nothing does."""
    for group, kind in {"learned_columns": _LearnedColumns, "descriptors": _LearnedWords}.items():
        if group in data:
            return kind(data, partition, seed)
    return None


class _LearnedColumns:
    """The columns of names of one split whose codes its folds learn."""

    def __init__(self, data: Mapping, partition: Mapping, seed: int) -> None:
        from workflow_lib.core.json_text import from_json_bytes

        learned = data["learned_columns"]
        self._columns = from_json_bytes(learned["described"])
        n_weak = max(partition["weak_sizes"], default=0)
        self._codes = rows_by_role(
            learned["codes"], {**partition, "weak": partition["weak"][:n_weak]}
        )
        # No other outputs are needed, or may be known.
        self._outputs = data["outputs"][training_output_rows(partition)]
        self._n_inputs, self._seed = data["inputs"].shape[1], seed

    def codes_and_origins(
        self, folds: np.ndarray, fold: int | None, origins: ColumnOrigins | None
    ) -> tuple[dict, ColumnOrigins]:
        """Return ``codes`` (and ``encoders``) of a fold, and the origins of inputs and codes."""
        from workflow_lib.core.seeds import derive_seed
        from workflow_lib.inputs.encoded_columns import EncodedColumns, TrainingColumn, inner_folds

        size, kept = len(folds), np.arange(len(folds))
        kept = kept if fold is None else kept[folds != fold]
        texts = [np.array(levels, dtype=object) for _, _, levels in self._columns]
        columns, seeds = {}, {}
        for index, (name, encoder, levels) in enumerate(self._columns):
            column = TrainingColumn(
                levels,
                self._codes["train"][kept, index],
                self._codes["weak"][:, index],
                self._outputs[kept],
                inner_folds(folds[kept]),
            )
            columns[name] = encoder, column
            seeds[name] = derive_seed(self._seed, "encoder", name, size, fold_group(fold))
        encoded = EncodedColumns.fit(columns, seeds)

        def codes_of(role, rows=slice(None)):
            codes = self._codes[role][rows]
            return encoded.apply(
                {name: texts[k][codes[:, k]] for k, (name, _, _) in enumerate(self._columns)}
            )

        train = codes_of("train", slice(size))
        train[kept] = encoded.training_codes()
        stored: dict = {"codes": {"train": train, "weak": codes_of("weak")}}
        if fold is None:
            stored["codes"]["test"] = codes_of("test")
            stored["encoders"] = encoded.tree()
        return stored, (origins or ColumnOrigins.of([(1, 0)] * self._n_inputs)).followed_by(
            encoded.widths
        )


class _LearnedWords:
    """The images of one split, whose folds learn the words that are counted."""

    def __init__(self, data: Mapping, partition: Mapping, seed: int) -> None:
        n_weak = max(partition["weak_sizes"], default=0)
        self._rows = {**partition, "weak": partition["weak"][:n_weak]}
        self._descriptors, self._seed = data["descriptors"], seed

    def codes_and_origins(
        self, folds: np.ndarray, fold: int | None, origins: None
    ) -> tuple[dict, None]:
        """Return ``codes`` (and ``words``) of a fold; columns have no weights."""
        from workflow_lib.core.seeds import derive_seed
        from workflow_lib.inputs.images.visual_words import Images

        train = self._rows["train"][: len(folds)]
        fitted = train if fold is None else train[folds != fold]
        seed = derive_seed(self._seed, "codebook", len(folds), fold_group(fold))
        words = Images(self._descriptors, fitted).codebook(seed)

        def counts(rows: np.ndarray) -> np.ndarray:
            return Images(self._descriptors, rows).counts(words)

        stored: dict = {"codes": {"train": counts(train), "weak": counts(self._rows["weak"])}}
        if fold is None:
            stored["codes"]["test"] = counts(self._rows["test"])
            stored["words"] = words
        return stored, None


def _text_features(
    counts,
    lagged_values: np.ndarray | None,
    partition: Mapping,
    origins: ColumnOrigins | None,
    scale: str,
    states: np.ndarray | None,
) -> dict:
    """Return the products of the weighted texts for every training size and fold."""
    n_weak = max(partition["weak_sizes"], default=0)
    tree: dict = {"n_parts": 1 if lagged_values is None else 2}
    for size in partition["sizes"]:
        folds = partition["folds"][size_group(size)]
        known = np.concatenate([partition["train"][:size], partition["weak"][:n_weak]])
        group = tree.setdefault(size_group(size), {"learns": True})
        for fold, rows in known_rows(folds):
            others = partition["test"] if fold is None else partition["test"][:0]
            fitted = partition["train"][:size][rows]
            group[fold_group(fold)] = _text_products(
                counts, lagged_values, fitted, known, others, origins, scale, states
            )
        print(f"{size} training rows: products of {len(known)} texts")
    return tree


def _text_products(counts, lagged_values, fitted, known, others, origins, scale, states) -> dict:
    """Return inner products of texts under the term weights of the rows `fitted`.

    `fitted`, `known` and `others` are row numbers of `counts` (and of `lagged_values`, unless that
    is None). ``products`` (rows, m) has a column for each of the m `known` rows, and a row for each
    of `known` and then `others`: z_i'z_j of the weighted texts, of unit length; lagged values add
    the mean product of their standardised values, so that both parts have the same weight.
    ``squared_lengths`` (rows,) are z_i'z_i.
    """
    weights = fit_terms(counts[fitted], scale, states)
    rows = np.concatenate([known, others])
    texts = weights.apply(counts[rows])
    products = inner_products(texts, texts[: len(known)])
    squared_lengths = np.asarray((texts**2).sum(axis=1)).ravel()
    if lagged_values is not None:
        values = fit_preparation(lagged_values[fitted], "standard", origins).apply(
            lagged_values[rows]
        )
        values /= np.sqrt(max(values.shape[1], 1))
        products += values @ values[: len(known)].T
        squared_lengths += (values**2).sum(axis=1)
    return {"products": products, "squared_lengths": squared_lengths}


def _product_features(products: np.ndarray, partition: Mapping) -> dict:
    """Return the products of known rows with all rows; no fold learns anything from them."""
    known = np.concatenate([partition["train"], partition["weak"]])
    rows = np.concatenate([known, partition["test"]])
    tree: dict = {
        "n_parts": 1,
        "n_pool": len(partition["train"]),
        "products": products[np.ix_(rows, known)],
        "squared_lengths": products[rows, rows],
    }
    return tree | {size_group(size): {"learns": False} for size in partition["sizes"]}
