"""Covariances of returns: inputs of the past, outputs of the days after, and exclusions."""

import numpy as np
import pytest
from reader_samples import acquired, catalogue, excluded, refusal
from small_archives import write_archive
from test_readers_earnings_calls import N_DAYS, price_file, price_name, prices_of

from workflow_lib.data.price_windows import log_volatility
from workflow_lib.data.reading import read_dataset

COMPANIES = ["AB", "CD.E", "F"]
OPTIONS = {"companies": COMPANIES, "days_before": 6, "days_after": 3}


def archive(tmp_path, **prices):
    files = {price_name(name): price_file(name, prices.get(name)) for name in COMPANIES}
    return write_archive(tmp_path / "prices.tar.gz", files)


def read(source, **options):
    return read_dataset("stock_covariances", OPTIONS | options, [source], 0)


def test_inputs_are_of_the_past_and_outputs_of_the_days_after(tmp_path):
    source = archive(tmp_path)
    tree = read(source)
    prices = np.array([prices_of(name) for name in COMPANIES]).T
    assert tree["inputs"].shape == ((N_DAYS - 9 - 1) // 3 + 1, 6)
    for row, middle in ((0, 6), (4, 18)):
        returns = 100.0 * np.diff(prices[middle - 6 : middle + 1], axis=0)
        returns /= prices[middle - 6 : middle]
        covariance = np.cov(returns.T, bias=True)
        np.testing.assert_allclose(tree["inputs"][row], covariance[np.tril_indices(3)])
        after = log_volatility(prices[middle : middle + 4].T)
        np.testing.assert_allclose(tree["outputs"][row], after)
    order = tree["order"]
    assert (order["begin"] < order["time"]).all() and (order["time"] < order["end"]).all()
    flat = read(source, inputs="returns")["inputs"]
    np.testing.assert_allclose(flat[4].reshape(6, 3), returns)
    past = log_volatility(prices[12:19].T)
    np.testing.assert_allclose(read(source, inputs="volatilities")["inputs"][4], past)


def test_rows_with_a_jump_or_without_a_change_are_left_out_and_counted(tmp_path):
    jumping, constant = prices_of("AB"), prices_of("CD.E")
    jumping[8] *= 3.0
    constant[-4:] = [constant[-4]] * 4
    tree = read(archive(tmp_path, AB=jumping, **{"CD.E": constant}))
    counts = excluded(tree)
    assert counts["a jump of a price, such as a split or a spin-off"] == 3
    assert counts["days without any change of a price"] == 1
    assert len(tree["inputs"]) == tree["report"]["rows_read"] - 4


def test_absent_companies_and_too_few_days_are_refused(tmp_path):
    source = archive(tmp_path)
    assert "no prices of ZZ" in refusal(read, source, companies=["AB", "ZZ"])
    assert "no row can be used" in refusal(read, source, days_before=60)


@pytest.mark.parametrize("version", ["", "-standard", "-volatilities"])
def test_the_real_prices_give_the_same_rows_in_every_version(version, mirror, tmp_path):
    settings = catalogue(f"stock-covariances{version}")
    sources = acquired("stock-covariances", mirror, tmp_path)
    tree = read_dataset(settings["reader"], settings["options"], sources, 0)
    assert tree["outputs"].shape == (247, 10) and not excluded(tree)
