"""Spectra are changed row by row, in a table of a user as in new rows, where they look like it."""

import numpy as np
import pytest
from small_assay import config_with_methods

from workflow_lib.core.errors import UserError
from workflow_lib.data.table_encoding import TableEncoding
from workflow_lib.inputs.spectra import FORMS, looks_like_spectrum, prepared_spectra, spectra_of
from workflow_lib.table.proposal_text import dataset_text
from workflow_lib.table.table_proposal import propose
from workflow_lib.tabular.table_file import Table

CHANNELS = [f"x{1100 + 2 * channel}" for channel in range(60)]


def smooth(n_rows=40, n_channels=60):
    """Return sums of three bands, shifted and stretched row by row."""
    generator = np.random.default_rng(3)
    positions = np.linspace(0, 1, n_channels)
    bands = np.exp(-((positions - np.array([[0.2], [0.5], [0.7]])) ** 2) / 0.02)
    rows = generator.random((n_rows, 3)) @ bands
    return generator.uniform(0.5, 2, (n_rows, 1)) * rows + generator.normal(size=(n_rows, 1))


def test_the_derivative_is_the_slope_of_a_local_parabola():
    values = smooth()
    found = prepared_spectra(values, [slice(0, 60)], "derivative")
    steps = np.arange(-5, 6)
    for row, channel in ((0, 5), (7, 30), (39, 54)):
        slope = np.polyfit(steps, values[row, channel + steps], 2)[1]
        assert found[row, channel] == pytest.approx(slope, rel=1e-9)
    shifted = prepared_spectra(values + np.arange(40)[:, None], [slice(0, 60)], "derivative")
    np.testing.assert_allclose(shifted, found, atol=1e-12)


def test_the_normal_variate_forgets_shift_and_scale_and_both_takes_its_slope():
    values, spectra = smooth(), [slice(0, 60)]
    found = prepared_spectra(values, spectra, "normal_variate")
    np.testing.assert_allclose(found.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(found.std(axis=1), 1)
    np.testing.assert_allclose(prepared_spectra(3 * values + 2, spectra, "normal_variate"), found)
    both = prepared_spectra(values, spectra, "both")
    np.testing.assert_array_equal(both, prepared_spectra(found, spectra, "derivative"))


def test_other_columns_missing_channels_and_flat_spectra():
    values = np.hstack([np.full((40, 1), 7.0), smooth()])
    values[0, 20], values[1, 1:] = np.nan, 5.0
    found = prepared_spectra(values, [slice(1, 61)], "normal_variate")
    np.testing.assert_array_equal(found[:, 0], 7.0)
    assert np.flatnonzero(np.isnan(found)).tolist() == [20]
    np.testing.assert_array_equal(found[1, 1:], 0.0)
    missing = np.isnan(prepared_spectra(values, [slice(1, 61)], "derivative")[0])
    assert np.flatnonzero(missing).tolist() == list(range(15, 26))


def test_spectra_are_long_runs_of_rising_or_falling_names():
    names = ["age", *CHANNELS, *CHANNELS[:10][::-1], *[f"y{k}" for k in range(20, 5, -1)]]
    assert spectra_of(names) == [slice(1, 61), slice(71, 86)]
    assert spectra_of([]) == spectra_of(["a", "b"]) == []


@pytest.mark.parametrize("form", FORMS)
def test_an_encoding_changes_later_rows_as_those_of_the_table(form):
    values = smooth()
    columns = {"age": list(range(40))} | dict(zip(CHANNELS, values.T.tolist()))
    table = Table.from_columns(columns, "here")
    encoding = TableEncoding.fit(table, ["age", *CHANNELS], spectra=form)
    expected = prepared_spectra(values, [slice(0, 60)], form)
    np.testing.assert_array_equal(encoding.encode(table).inputs[:, 1:], expected)
    again = TableEncoding.from_tree(encoding.tree())
    turned = {name: [columns[name][3]] for name in reversed(columns)}
    one = again.encode(Table.from_columns(turned, "there"))
    np.testing.assert_allclose(one.inputs, encoding.encode(table).inputs[3:4], rtol=1e-12)
    assert one.names == ["age", *CHANNELS]


@pytest.fixture(scope="module")
def proposed(tmp_path_factory):
    folder = config_with_methods(tmp_path_factory.mktemp("config"))

    def make(values, **request):
        columns = {"age": np.arange(40.0).tolist(), "y": values[:, :30].sum(axis=1).tolist()}
        columns |= dict(zip(CHANNELS, values.T.tolist()))
        table = Table.from_columns(columns, "nir.csv")
        return propose({"name": "nir", "data": "nir.csv", "outputs": "y", **request}, table, folder)

    return make


def test_the_derivative_is_proposed_where_inputs_look_like_a_spectrum(proposed):
    found = proposed(smooth())
    assert found.options["spectra"] == "derivative"
    assert "spectra: derivative" in dataset_text(found)
    (note,) = [note for note in found.notes if "look like spectra" in note]
    assert "'x1100' to 'x1218'" in note
    for form in FORMS:
        kept = proposed(smooth(), spectra=form).options
        assert kept.get("spectra", "none") == form
    noise = np.random.default_rng(0).normal(size=(40, 60))
    assert not looks_like_spectrum(noise) and "spectra" not in proposed(noise).options
    assert not looks_like_spectrum(smooth(n_channels=30))


def test_requests_that_mean_nothing_say_what_to_do(proposed):
    with pytest.raises(UserError, match="none, derivative, normal_variate or both"):
        proposed(smooth(), spectra="msc")
    with pytest.raises(UserError, match="leave out spectra"):
        proposed(smooth(), spectra="both", inputs="age")
