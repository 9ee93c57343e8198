"""From predicted embeddings back to outputs, under the generative models of a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workflow_lib.items.group_names import components_group, fold_group, size_group
from workflow_lib.models.fisher import FisherEmbedding
from workflow_lib.models.identity import IdentityEmbedding
from workflow_lib.models.output_scaling import OutputScaling
from workflow_lib.models.storage import model_from_tree, scaling_from_tree


@dataclass(frozen=True)
class Decoder:
    """A fitted embedding, and the units of its outputs."""

    embedding: FisherEmbedding | IdentityEmbedding
    scaling: OutputScaling | None = None

    def outputs(
        self,
        member: Mapping,
        preimage: str | None,
        start: str | None,
        targets: str = "test_targets",
    ) -> np.ndarray:
        """Return the outputs (m, d) of the predicted embeddings of an item or a member.

        `targets` is the entry that holds them: those of the test rows, or `TRAINING_TARGETS`.
        """
        H = member[targets]
        # Where raw and projected memberships competed, the item says which was chosen.
        if preimage == "projected" and not member.get("projected", True):
            preimage = "closed_form"
        outputs = self.embedding.inverse_transform(H, preimage, start or "closed_form")
        outputs = outputs.reshape(len(H), -1)
        return outputs if self.scaling is None else self.scaling.inverse_transform(outputs)


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
        return [Decoder(IdentityEmbedding(member["test_targets"].shape[1])) for member in members]
    decoders = []
    for member in members:
        of_size = fitted[size_group(member["training_size"])]
        stored = of_size[components_group(member["n_components"])][fold_group(None)]
        embedding = FisherEmbedding(model_from_tree(stored), form, block)
        decoders.append(Decoder(embedding, scaling_from_tree(stored)))
    return decoders


def mean_outputs(
    decoders: Sequence[Decoder],
    members: Sequence[Mapping],
    preimage: str | None,
    start: str | None,
    targets: str = "test_targets",
) -> np.ndarray:
    """Return the mean (m, d) of the outputs that the members of an item predict."""
    decoded = [
        decoder.outputs(member, preimage, start, targets)
        for decoder, member in zip(decoders, members, strict=True)
    ]
    return np.mean(decoded, axis=0)
