"""A table that is learned from in blocks of rows, by the workflow and by the command."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from small_run import copy_folder, jobs_to_run, snakemake

from workflow_lib.core.errors import UserError
from workflow_lib.table import many_rows
from workflow_lib.table.command_line import main
from workflow_lib.table.saved_model import load_model

N_ROWS, SEED = 700, 7
REQUEST = {"outputs": "y*", "exclude": "row", "landmarks": "25"}


def frame():
    generator = np.random.default_rng(5)
    X = generator.normal(size=(N_ROWS, 3))
    Y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 2] ** 2])
    Y += 0.1 * generator.normal(size=Y.shape)
    table = pd.DataFrame(np.hstack([X, Y]), columns=["a", "b", "c", "y1", "y2"])
    table.loc[8, "a"] = table.loc[11, "y1"] = np.nan
    return table.assign(row="r")


@pytest.fixture(scope="module")
def folder(project, tmp_path_factory):
    """Return a copy of the project with a table."""
    folder = copy_folder(project, tmp_path_factory.mktemp("rows") / "run")
    frame().to_parquet(folder / "big.parquet", row_group_size=150)
    return folder


def learn(**request):
    pairs = [f"{key}={value}" for key, value in ({"name": "big"} | REQUEST | request).items()]
    return ["learn", "--config", "data=big.parquet", *pairs]


@pytest.mark.parametrize("given", [{}, {"components": "2"}], ids=["outputs", "mixture"])
def test_blocks_that_are_jobs_give_the_model_of_one_process(folder, given):
    alone = folder / "alone.h5"
    expected = many_rows.learn(folder / "big.parquet", REQUEST | given, alone, seed=SEED)
    new = frame().drop(columns=["y1", "y2"])[:20]
    predicted = load_model(alone).predict(new)
    # The sums of more blocks than a job adds up are added in two steps.
    outcome = snakemake(folder, *learn(**given, blocks=2 if given else 9)).succeeded()
    found = json.loads((folder / "results/big/learned.json").read_text())
    assert found.keys() == expected.keys()
    assert found["relative_error"] == pytest.approx(expected["relative_error"], rel=1e-10)
    other = load_model(folder / "results/big/model.h5").predict(new)
    for name in ("outputs", "lower", "upper", "novelty"):
        ours, theirs = getattr(other, name), getattr(predicted, name)
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)
    assert f"{found['relative_error']:.3f} on the rows that were kept back" in outcome.text
    assert not list((folder / "results/big/rows").glob("sums-*.h5"))
    assert found["rows"] == N_ROWS - 1
    assert found["relative_error"] < 0.5
    assert 0.6 <= found["coverage"] <= 1.0


def test_a_lost_block_is_the_only_one_that_is_read_again(folder):
    options = ("--notemp", "--until", "row_sums")
    snakemake(folder, *learn(blocks=3, landmarks=20), *options).succeeded()
    (folder / "results/big/rows/sums-0-1.h5").unlink()
    jobs = jobs_to_run(folder, *learn(blocks=3, landmarks=20))
    assert {job for job in jobs if "block" in job} == {"sums of rows big block 1"}


def test_faults_are_told_in_one_message(folder, capsys):
    wrong = {
        "there is no column 'z'": learn(outputs="z"),
        "values of the type .*string": learn(exclude="c"),
        "key blocks: 'many'": learn(blocks="many"),
        "the key same_group. Expected .*weak rows": learn(same_group="row"),
        "no columns to predict": ["learn", "--config", "data=big.parquet", "name=big"],
        "there is no file 'bog.parquet'.*write 'big.parquet'": [
            *("learn", "--config", "data=bog.parquet", "name=big", "outputs=y1"),
        ],
    }
    for message, command in wrong.items():
        outcome = snakemake(folder, *command)
        assert outcome.status
        assert "Traceback" not in outcome.text
        assert re.search(message, " ".join(outcome.text.split())), outcome.text
    with pytest.raises(UserError, match="key components: 'few'"):
        many_rows.learn(folder / "big.parquet", REQUEST | {"components": "few"}, "unused", SEED)
    command = ["learn", str(folder / "big.parquet"), "--outputs", "y1", "--exclude", "row,y2"]
    assert main([*command, "--landmarks", "20", "--to", str(folder / "one.h5")]) == 0
    assert "ofer predict" in capsys.readouterr().out
