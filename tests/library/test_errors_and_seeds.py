"""Messages name location, fault and remedy; seeds depend on their axes and on nothing else."""

import os
import pickle
import subprocess
import sys

import pytest

from workflow_lib.core.errors import UserError, nearest_name, unknown_name
from workflow_lib.core.seeds import derive_seed


def test_message_joins_all_parts():
    error = UserError("config.yaml, key seed", "found 'x'", "a whole number", "write 2018")
    assert str(error) == (
        "config.yaml, key seed: found 'x'. Expected a whole number. To fix it: write 2018."
    )


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "here: this."),
        ({"expected": "that"}, "here: this. Expected that."),
        ({"remedy": "do so"}, "here: this. To fix it: do so."),
    ],
)
def test_message_leaves_out_empty_parts(parts, message):
    assert str(UserError("here", "this", **parts)) == message


def test_error_can_be_passed_between_processes():
    error = pickle.loads(pickle.dumps(UserError("here", "this", "that", "do so")))
    assert (error.location, error.found, error.expected, error.remedy) == (
        "here",
        "this",
        "that",
        "do so",
    )


@pytest.mark.parametrize(
    ("name", "nearest"), [("ofer-gnm", "ofer-gmm"), ("m_krr", "m-krr"), ("zzz", None)]
)
def test_nearest_name(name, nearest):
    assert nearest_name(name, ["m-krr", "ofer-gmm"]) == nearest


def test_unknown_name_lists_valid_names_and_proposes_the_nearest():
    message = str(unknown_name("config.yaml", "dataset", "emd", ["jura", "edm"]))
    assert "there is no dataset named 'emd'" in message
    assert "edm, jura" in message
    assert "write 'edm'" in message


def test_unknown_name_without_resemblance_or_choice():
    assert "choose one of the listed datasets" in str(unknown_name("x", "dataset", "q", ["edm"]))
    assert "(none defined)" in str(unknown_name("x", "dataset", "q", []))


def test_seed_is_fixed_for_ever():
    # Written down, because a changed rule would silently change every published result.
    assert derive_seed(2018, "split", "edm", 3) == 1996148131


def test_seed_does_not_depend_on_hash_randomisation():
    program = "from workflow_lib.core.seeds import derive_seed; print(derive_seed(1, 'a', 2))"
    seeds = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1")
    }
    assert seeds == {f"{derive_seed(1, 'a', 2)}\n"}


def test_seeds_differ_along_every_axis():
    seeds = [
        derive_seed(2018, "split", 1),
        derive_seed(2019, "split", 1),
        derive_seed(2018, "model", 1),
        derive_seed(2018, "split", 2),
        derive_seed(2018, "split1"),
        derive_seed(2018, "split", 1, ""),
        derive_seed(2018),
    ]
    assert len(set(seeds)) == len(seeds)


def test_seeds_fit_into_32_bits():
    assert all(0 <= derive_seed(0, axis) < 2**32 for axis in range(200))


def test_number_and_text_name_the_same_axis():
    # A wildcard of a file name arrives as text, a loop variable as a number.
    assert derive_seed(2018, "split", 3) == derive_seed(2018, "split", "3")
