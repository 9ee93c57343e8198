"""Every figure has the same bytes, whatever the process that draws it."""

from __future__ import annotations

import pytest
from each_case import each_case
from test_figures_contract import KINDS, OF_A_RUN, draw_in_a_process, write_samples


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Return two folders with pictures of every kind, each drawn by a separate process."""
    samples = write_samples(tmp_path_factory.mktemp("samples"))
    folders = [tmp_path_factory.mktemp(f"drawn-{seed}") for seed in range(2)]
    for seed, folder in enumerate(folders):
        draw_in_a_process(samples, folder, seed)
    return folders


@each_case("kind", [*KINDS, *OF_A_RUN])
def test_a_figure_and_its_numbers_have_the_same_bytes_in_every_process(drawn, kind):
    written = [
        {path.suffix: path.read_bytes() for path in folder.glob(f"{kind}.*")} for folder in drawn
    ]
    assert {".svg", ".png"} <= written[0].keys()
    assert written[0] == written[1]
