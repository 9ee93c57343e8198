"""Readers of series: the synthetic state-space recipe and the monthly stock prices."""

import csv
import json

import matplotlib.cbook
import numpy as np
import pytest

from workflow_lib.data.reading import read_dataset


def synthetic(seed=0, **options):
    return read_dataset("series_synthetic", options, [], seed)


def test_synthetic_series_are_cut_in_two_halves():
    tree = synthetic(n_rows=50, length=9, channels=3)
    assert tree["inputs"].shape == (50, 4 * 3)
    assert tree["outputs"].shape == (50, 5 * 3)
    assert (tree["names"]["series_length"], tree["names"]["series_channels"]) == (5, 3)
    assert json.loads(tree["names"]["inputs"])[:4] == ["z1_1", "z2_1", "z3_1", "z1_2"]
    assert json.loads(tree["names"]["outputs"])[0] == "y1_5"


def test_synthetic_series_follow_their_state_space_model():
    tree = synthetic(n_rows=40_000, length=4, channels=2, target="states", observation_noise=0.7)
    transition, observation = tree["truth"]["transition"], tree["truth"]["observation"]
    assert np.abs(np.linalg.eigvals(transition)).max() == pytest.approx(0.9)
    states = tree["outputs"].reshape(-1, 2, 2)
    first, second = states[:, 0], states[:, 1]
    # Stationary: the covariance does not change, and the next one follows from it.
    covariance = np.cov(first.T)
    np.testing.assert_allclose(np.cov(second.T), covariance, rtol=0.1, atol=0.1)
    expected = transition @ covariance @ transition.T + np.eye(2)
    np.testing.assert_allclose(covariance, expected, rtol=0.1, atol=0.1)
    cross = (second.T @ first) / len(first)
    np.testing.assert_allclose(cross, transition @ covariance, rtol=0.1, atol=0.1)
    inputs = tree["inputs"].reshape(-1, 2, 2)
    observed = observation @ covariance @ observation.T + 0.49 * np.eye(2)
    np.testing.assert_allclose(np.cov(inputs[:, 1].T), observed, rtol=0.1, atol=0.1)


def test_observations_and_states_of_one_seed_belong_together():
    observations, states = synthetic(3), synthetic(3, target="states")
    np.testing.assert_array_equal(observations["inputs"], states["inputs"])
    predicted = states["outputs"].reshape(2000, 5, 2) @ observations["truth"]["observation"].T
    noise = observations["outputs"].reshape(2000, 5, 2) - predicted
    assert noise.std() == pytest.approx(0.5, rel=0.05)


def test_stock_prices_are_relative_to_the_december_before():
    tree = read_dataset("monthly_stocks", {}, [], 0)
    assert tree["inputs"].shape[1] == tree["outputs"].shape[1] == 6
    path = matplotlib.cbook.get_sample_data("Stocks.csv", asfileobj=False)
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        prices = {row["Date"]: row["IBM"] for row in rows}
    months = [float(prices[f"1995-{month:02d}-01"]) for month in range(1, 13)]
    series = np.log(months) - np.log(float(prices["1994-12-01"]))
    found = np.abs(np.hstack([tree["inputs"], tree["outputs"]]) - series).max(axis=1)
    assert (found < 1e-12).sum() == 1
    # Years without all months are counted.
    report = tree["report"]
    assert report["rows_dropped"] > 0
    assert report["rows_read"] - report["rows_dropped"] > 200
