"""Requests on the command line for a user's table, and their effect on a run."""

import pytest
from configuration_example import RUN, write_example

from workflow_lib.core.errors import UserError
from workflow_lib.run.loading import load_configuration

REQUEST = {"name": "assay", "data": "assay.csv", "outputs": "y1,y2"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_example(tmp_path / "config")


def message_of(folder, **request) -> str:
    with pytest.raises(UserError) as caught:
        load_configuration(folder, RUN | request)
    return str(caught.value)


def test_a_request_does_not_change_the_run(folder):
    configuration = load_configuration(folder, RUN | REQUEST)
    assert configuration.request.model_dump(exclude_none=True) == REQUEST
    assert configuration.run.name is None
    assert configuration.merged_dict() == load_configuration(folder, dict(RUN)).merged_dict()


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, "3"), (2.5, "2.5"), (True, "true"), (["y1", "y2"], "y1,y2"), ("y*", "y*")],
)
def test_values_that_snakemake_has_read_are_texts_again(folder, value, expected):
    request = load_configuration(folder, RUN | REQUEST | {"outputs": value}).request
    assert request.outputs == expected


def test_a_name_alone_runs_this_experiment_only(folder):
    configuration = load_configuration(folder, RUN | {"experiments": ["absent"], "name": "first"})
    assert list(configuration.experiments) == ["first"]
    assert configuration.run.name == "first"
    assert configuration.request is None


def test_a_name_of_no_table_says_how_to_make_one(folder):
    message = message_of(folder, name="essay")
    assert (
        "there is no table named 'essay' (there is no file config/tables/datasets/essay.yaml)"
        in message
    )
    assert "snakemake --cores 1 new --config name=essay data=FILE outputs=COLUMNS" in message


def test_keys_of_a_table_need_its_file(folder):
    message = message_of(folder, name="assay", outputs="y1")
    assert "the key outputs without the key data" in message


def test_a_wrong_name_is_reported(folder):
    message = message_of(folder, **(REQUEST | {"name": "My assay"}))
    assert "key name: found 'My assay'. Expected a name of lower-case letters" in message


def test_an_unknown_key_of_a_request_is_reported(folder):
    assert "To fix it: write 'outputs'" in message_of(folder, **REQUEST, output="y1")


def test_a_wrong_name_of_a_run_is_reported_once_with_a_valid_name(folder):
    message = message_of(folder, name="My assay")
    assert "key name: found 'My assay'" in message and "write 'my-assay'" in message
    assert "experiments" not in message


def test_a_name_may_be_a_number(folder):
    assert load_configuration(folder, RUN | REQUEST | {"name": 2024}).request.name == "2024"


def test_a_null_name_is_ignored(folder):
    configuration = load_configuration(folder, RUN | {"name": None})
    assert configuration.run.name is None and configuration.experiments
