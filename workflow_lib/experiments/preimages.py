"""The pre-image stage: from the predicted embeddings of test rows back to outputs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact, write_artifact
from workflow_lib.embeddings.class_decoding import nearest_scores
from workflow_lib.embeddings.fisher import FisherEmbedding
from workflow_lib.embeddings.identity import IdentityEmbedding
from workflow_lib.experiments.items import (
    UNBOUNDED_ENTRIES,
    chosen_entries,
    components_group,
    fold_group,
    size_group,
)
from workflow_lib.experiments.stage_timings import write_timings
from workflow_lib.generative.output_scaling import OutputScaling
from workflow_lib.generative.storage import model_from_tree, scaling_from_tree


@dataclass(frozen=True)
class Decoder:
    """A fitted embedding, and the units of the outputs that it saw."""

    embedding: FisherEmbedding | IdentityEmbedding
    scaling: OutputScaling | None = None

    def outputs(self, member: Mapping, preimage: str | None, start: str | None) -> np.ndarray:
        """Return the outputs (n_test, d) of the predicted embeddings of an item or a member."""
        H = member["test_embedding"]
        # Where raw and projected memberships competed, the item says which was chosen.
        if preimage == "projected" and not member.get("projected", True):
            preimage = "closed_form"
        outputs = self.embedding.inverse_transform(H, preimage, start or "closed_form")
        outputs = outputs.reshape(len(H), -1)
        return outputs if self.scaling is None else self.scaling.undo(outputs)


def _decoder_of(fitted: Mapping, member: Mapping, form: str, block: str | None) -> Decoder:
    size, components = size_group(member["training_size"]), member["n_components"]
    stored = fitted[size][components_group(components)][fold_group(None)]
    embedding = FisherEmbedding(model_from_tree(stored), form, block)
    return Decoder(embedding, scaling_from_tree(stored))


def decoders_of(
    members: Sequence[Mapping], fitted: Mapping | None, form: str | None, block: str | None
) -> list[Decoder]:
    """Return the decoder of each member of an item (`members_of`).

    Parameters
    ----------
    members : sequence of mappings
    fitted : mapping or None
        Tree of a "models" artifact, of which the models of all training rows are used.
    form, block : str or None
        Of the embedding. Without them, or without models, embeddings are the outputs themselves.
    """
    if fitted is None or form is None:
        return [Decoder(IdentityEmbedding(member["test_embedding"].shape[1])) for member in members]
    return [_decoder_of(fitted, member, form, block) for member in members]


def members_of(item: Mapping) -> list[dict]:
    """Return what an item has for each component count that it averages over; itself for one."""
    return [{**item, **member} for member in item.get("members", {"": {}}).values()]


def mean_outputs(
    decoders: Sequence[Decoder],
    members: Sequence[Mapping],
    preimage: str | None,
    start: str | None,
) -> np.ndarray:
    """Return the mean (n_test, d) of the outputs that the members of an item predict."""
    decoded = [
        decoder.outputs(member, preimage, start)
        for decoder, member in zip(decoders, members, strict=True)
    ]
    return np.mean(decoded, axis=0)


def run(
    regression: Path,
    models: Path | None,
    output: Path,
    timings: Path,
    form: str | None,
    covariance_block: str | None,
    preimage: str | None,
    start: str | None,
    dataset: Path | None = None,
    distance: str | None = None,
) -> None:
    """Decode the test rows of every item and write the "predictions" artifact and its seconds.

    Every item holds the predicted outputs (n_test, d) and all that was chosen for it. Of classes it
    also holds the predicted ``classes`` (n_test,): a second pre-image, the class whose vector in
    `dataset` is nearest to the predicted one by `distance` (``euclidean`` or ``cosine``).
    """
    items = read_artifact(regression, "regression")
    fitted = read_artifact(models, "models") if models else None
    vectors = read_artifact(dataset, "dataset")["classes"]["vectors"] if dataset else None
    tree: dict = {}
    seconds: dict = {}
    for name, item in items.items():
        members = members_of(item)
        decoders = decoders_of(members, fitted, form, covariance_block)
        started = time.perf_counter()
        outputs = mean_outputs(decoders, members, preimage, start)
        classes = {}
        if vectors is not None:
            scores = nearest_scores(outputs, vectors, distance)
            classes = {"classes": scores.argmax(axis=1)}
        seconds[name] = {"preimage_seconds": time.perf_counter() - started}
        tree[name] = {"outputs": outputs} | classes | chosen_entries(item)
    sources = [path for path in (regression, models, dataset) if path]
    write_artifact(output, tree, "predictions", inputs=sources, allow_nan=UNBOUNDED_ENTRIES)
    write_timings(timings, seconds)
