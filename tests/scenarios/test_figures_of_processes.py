"""Every figure can be read and has the same bytes, whatever the process that draws it."""

import re
from xml.etree import ElementTree

import pytest
from each_case import each_case
from matplotlib.image import imread
from test_figures_contract import DRAWINGS, KINDS, OF_A_RUN, draw_in_a_process, write_samples

from workflow_lib.report.figure_words import words_of


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


@each_case("kind", KINDS)
def test_a_figure_is_described_with_its_numbers(drawn, kind):
    words = words_of(drawn[0] / f"{kind}.svg")
    assert bool(re.search(r"\d", words)) == (kind not in DRAWINGS)
    assert "nan" not in words.lower().split()


@each_case("kind", KINDS)
def test_the_numbers_of_a_figure_are_written(drawn, kind):
    numbers = (drawn[0] / f"{kind}.csv").read_bytes()
    assert (numbers.count(b"\n") > 1) == (kind not in DRAWINGS)


@each_case("kind", [*KINDS, *OF_A_RUN])
def test_a_figure_can_be_read_and_names_no_date_and_no_folder(drawn, kind):
    content = (drawn[0] / f"{kind}.svg").read_bytes()
    assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
    height, width, _ = imread(drawn[0] / f"{kind}.png").shape
    assert min(height, width) > 200
    assert b"<dc:date>" not in content
    assert str(drawn[0]).encode() not in content
