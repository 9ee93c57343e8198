"""The figures of the slides, which draw their own rows, show what the slides say."""

import numpy as np
import pytest
from scipy.stats import binom
from test_report_paper_comparison import CONFIG, contents_of, listed_of, without_minutes

from workflow_lib.page.paper_comparison import paper_comparison_section
from workflow_lib.papers.varoquaux.figures import accuracy_law, image_factors, polynomial_fits
from workflow_lib.run.paper_runs import paper_runs


def test_the_law_of_an_accuracy_is_binomial():
    (axis,) = accuracy_law.draw().axes
    line = axis.lines[-1]
    assert line.get_label() == "1000 test rows, 95 %: \u22122.5 to +2.4"
    errors, chances = line.get_data()
    right = np.rint(1000 * (0.8 + errors / 100))
    law = binom(1000, 0.8).pmf(right)
    np.testing.assert_allclose(chances, law / law.max(), rtol=1e-6)
    area = axis.collections[-1].get_paths()[0].vertices[:, 0]
    low, high = (np.rint(1000 * (0.8 + end / 100)) for end in (area.min(), area.max()))
    law = binom(1000, 0.8)
    assert law.cdf(low - 1) < 0.025 <= law.cdf(low) and law.cdf(high - 1) < 0.975 <= law.cdf(high)


def test_simple_polynomials_underfit_and_complex_ones_overfit(monkeypatch):
    monkeypatch.setattr(polynomial_fits, "DRAWS", 20)
    random, noise = np.random.default_rng(0), polynomial_fits.NOISE**2
    for degree, overfits in ((1, False), (9, True)):
        training, other = polynomial_fits.errors(random, 15, degree)
        assert (other > 10 * training) == overfits
        training, other = polynomial_fits.errors(random, 2000, degree)
        assert other == pytest.approx(training, rel=0.15)
        assert (other > 2 * noise) == (not overfits)
    fits, learning, validation = polynomial_fits.draw(0).axes
    labels = ["true", "rows", "degree 1", "degree 3", "degree 9"]
    assert [line.get_label() for line in fits.lines] == labels
    for axis in (learning, validation):
        assert [line.get_label() for line in axis.lines[:2]] == ["training", "other rows"]
    training, other = (line.get_ydata() for line in validation.lines[:2])
    assert (training < other).all() and (np.diff(training) < 0.05).all()
    assert 0 < other.argmin() < len(other) - 1


def test_patches_are_centred_and_in_random_order():
    rows = image_factors.patches(8, 100, 0)
    np.testing.assert_allclose(rows.sum(axis=1), 0, atol=1e-9)
    lengths = np.linalg.norm(rows, axis=1)
    assert rows.shape == (100, 64) and lengths.max() == pytest.approx(1) and lengths.min() < 1


def test_subsampled_steps_reach_an_objective_with_fewer_multiplications(monkeypatch):
    for name, value in {"PATCHES": 1000, "STREAMED": 1600, "TEST": 50, "LARGE": 16}.items():
        monkeypatch.setattr(image_factors, name, value)
    components, atoms, objectives = image_factors.draw(0).axes
    for axis in (components, atoms):
        (image,) = axis.images
        cells = np.asarray(image.get_array())
        assert cells.shape == (91, 91) and np.isnan(cells[12::13]).all()
    p, k, b = 16**2, 49, 10
    full = 2 * b * k * p + 2.5 * k**2 * p
    parts = [2 * b * k * p + 3.5 * k**2 * p / r for r in (4, 12)]
    for line, of_a_step in zip(objectives.lines, (full, *parts), strict=True):
        multiplications, values = line.get_data()
        np.testing.assert_allclose(multiplications, of_a_step * np.array([5, 10, 20, 40, 80, 160]))
        assert values[-1] < values[0]


def test_every_item_has_a_command_or_the_reason_that_it_has_none():
    contents = contents_of("Varoquaux (2019)")
    section = paper_comparison_section(contents, [], {}, paper_runs(CONFIG))
    listed = listed_of(section)
    absent = {name: texts[0] for name, texts in listed.items() if "snakemake" not in texts[-1]}
    assert absent == {
        "Table 1.1": "needs data (health records)",
        "Figure 1.4": "needs data (sea levels)",
        "Figure 1.5": "without numbers, not drawn",
        "Figure 2.3": "needs data (ratings)",
    }
    commands = {name: without_minutes(listed[name][-1]) for name in listed.keys() - absent.keys()}
    line = "snakemake --cores 2 --config study="
    own = f"On the paper's own data: {line}latent-categories."
    assert commands.pop("Figure 2.4") == own
    assert set(commands.values()) == {f"By its recipe: {line}representations."}
