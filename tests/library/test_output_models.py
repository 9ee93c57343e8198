"""Declarations and properties of every kind of generative model of outputs."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from each_case import each_case

from workflow_lib.core.errors import UserError
from workflow_lib.core.plugins import OUTPUT_MODELS
from workflow_lib.models.fisher import FisherEmbedding
from workflow_lib.models.kinds import found
from workflow_lib.models.kinds.base import ModelArguments
from workflow_lib.models.output_scaling import fit_output_scaling
from workflow_lib.models.storage import kind_of, model_from_tree, model_to_tree

KINDS = found.model_kinds()
CASES = [(kind, covariance) for kind in KINDS for covariance in KINDS[kind].covariances]


def fitted(kind: str, covariance: str, n_components: int = 2):
    """Return a fitted model and the outputs of fit, series of three steps."""
    Y = np.random.default_rng(0).normal(size=(40, 3)).cumsum(axis=1)
    arguments = ModelArguments(covariance, 0.05, n_components, n_init=2, random_state=3)
    return OUTPUT_MODELS.load(kind).new(arguments).fit(Y), Y


@each_case(("kind", "covariance"), CASES)
def test_a_fitted_model_is_stored_and_embeds_as_declared(kind, covariance):
    model, Y = fitted(kind, covariance)
    back = model_from_tree(model_to_tree(model, fit_output_scaling(Y, "none")))
    assert kind_of(back) == kind
    np.testing.assert_array_equal(back.score_samples(Y), model.score_samples(Y))
    for form, blocks in KINDS[kind].blocks.items():
        embedding = FisherEmbedding(back, form)
        assert tuple(embedding.blocks) == blocks
        H = embedding.transform(Y)
        np.testing.assert_array_equal(H, FisherEmbedding(model, form).transform(Y))
        for preimage in KINDS[kind].preimages:
            outputs = embedding.inverse_transform(H, preimage).reshape(Y.shape)
            np.testing.assert_allclose(outputs, Y, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_forms_and_pre_images_that_are_not_declared_are_refused(kind):
    model, Y = fitted(kind, KINDS[kind].covariances[0])
    if "full" not in KINDS[kind].blocks:
        with pytest.raises(ValueError, match="full form"):
            FisherEmbedding(model, "full")
    if "gradient" not in KINDS[kind].preimages:
        embedding = FisherEmbedding(model)
        with pytest.raises(ValueError, match="no gradient pre-image"):
            embedding.inverse_transform(embedding.transform(Y), "gradient")


def test_the_kinds_are_read_without_loading_them(tmp_path, monkeypatch):
    program = (
        "import sys\nfrom workflow_lib.models.kinds.found import model_kinds\n"
        "assert model_kinds()\nassert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])
    (tmp_path / "odd.py").write_text("BLOCKS = {}\n")
    monkeypatch.setattr(found, "OUTPUT_MODELS", replace(OUTPUT_MODELS, home=".", package=tmp_path))
    with pytest.raises(UserError, match=r"odd\.py: .* without PREIMAGES, COVARIANCES"):
        found.model_kinds.__wrapped__()


def test_a_model_of_no_kind_is_refused():
    with pytest.raises(TypeError, match="int is no generative model of outputs; the kinds are"):
        kind_of(3)
