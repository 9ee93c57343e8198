"""The embeddings stage gives every row its embedding, however many rows there are."""

import numpy as np
from each_case import each_case
from small_data import clustered_outputs, fitted_model

from workflow_lib.fitting import output_embeddings as stage
from workflow_lib.models.forward import ForwardEmbedding
from workflow_lib.models.output_scaling import fit_output_scaling


@each_case("form", ["reduced", "full"])
@each_case("n_components", [None, 3])
@each_case("block_rows", [1, 7, 60, 100])
def test_blocks_of_rows_change_no_embedding(monkeypatch, form, n_components, block_rows):
    monkeypatch.setattr(stage, "BLOCK_ROWS", block_rows)
    outputs = 5.0 + clustered_outputs()
    scaling = fit_output_scaling(outputs, "standard")
    model = fitted_model("tied_spherical" if n_components else "spherical", n_components)
    embedding = ForwardEmbedding(model, form)
    np.testing.assert_allclose(
        stage.embedded(embedding, scaling, outputs),
        embedding.transform(scaling.apply(outputs)),
        rtol=1e-12,
        atol=1e-12,
    )


def test_a_single_block_is_the_embedding_bit_for_bit():
    outputs = clustered_outputs()
    scaling = fit_output_scaling(outputs, "none")
    embedding = ForwardEmbedding(fitted_model("diag"))
    np.testing.assert_array_equal(
        stage.embedded(embedding, scaling, outputs), embedding.transform(outputs)
    )
