"""Texts of classes are found by their names, in every file format."""

import json
from functools import partial

import pytest
from reader_samples import refusal

from workflow_lib.data.class_texts import normalised_name, read_class_texts


def write_json(folder, content):
    path = folder / "texts.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def write_folder(folder, **texts):
    texts_folder = folder / "texts"
    texts_folder.mkdir()
    for name, text in texts.items():
        (texts_folder / f"{name}.txt").write_bytes(
            text if isinstance(text, bytes) else text.encode("utf-8")
        )
    return texts_folder


message_of = partial(refusal, read_class_texts)


def test_texts_of_a_folder_come_in_the_order_of_the_classes(tmp_path):
    folder = write_folder(tmp_path, ant="An ant is small.\n", Sea_Horse="Ein Pferd, größer.")
    (folder / "notes.md").write_text("not a text")
    (folder / "._ant.txt").write_bytes(b"\xff")
    texts = read_class_texts(folder, ["sea+horse", "bee", "ant"])
    assert list(texts.items()) == [("sea+horse", "Ein Pferd, größer."), ("ant", "An ant is small.")]


def test_texts_lists_of_sentences_and_kept_pages_are_all_read(tmp_path):
    path = write_json(
        tmp_path,
        {
            "sea horse": ["It swims.", "It is no horse."],
            "ANT": "It walks.",
            "bee": {"title": "Bee", "revision": 7, "text": "It flies."},
            "other": "It is not asked for.",
        },
    )
    assert read_class_texts(path, ["ant", "bee", "sea_horse"]) == {
        "ant": "It walks.",
        "bee": "It flies.",
        "sea_horse": "It swims. It is no horse.",
    }


def test_a_blank_text_is_a_missing_text(tmp_path):
    folder = write_folder(tmp_path, ant="", bee=" \n", cat="It purrs.")
    assert read_class_texts(folder, ["ant", "bee", "cat"]) == {"cat": "It purrs."}
    assert read_class_texts(write_json(tmp_path, {"ant": []}), ["ant"]) == {}


def test_an_alias_leads_to_a_text_of_another_name(tmp_path):
    path = write_json(tmp_path, {"side of a car": "It has two wheels.", "car": "It has four."})
    aliases = {"Car_Side": "side-of-a-car"}
    assert read_class_texts(path, ["car_side", "car"], aliases) == {
        "car_side": "It has two wheels.",
        "car": "It has four.",
    }
    assert "no class named 'boat'" in message_of(path, ["car"], aliases={"boat": "car"})
    aliases = {"car": "back of a car"}
    assert "no text named 'back of a car'" in message_of(path, ["car"], aliases=aliases)


@pytest.mark.parametrize("name", ["sea_horse", "Sea-Horse", "SEA+HORSE", " sea  horse_"])
def test_names_are_the_same_in_every_spelling(name):
    assert normalised_name(name) == "sea horse"


def test_two_texts_or_two_classes_of_one_name_are_refused(tmp_path):
    path = write_json(tmp_path, {"sea horse": "a", "Sea_Horse": "b"})
    message = message_of(path, ["ant"])
    assert "the texts 'sea horse' and 'Sea_Horse' have the same name" in message
    path = write_json(tmp_path, {"ant": "a"})
    assert "the classes 'ant' and 'Ant'" in message_of(path, ["ant", "Ant"])
    path = write_json(tmp_path, '{"ant": "a", "ant": "b"}')
    assert "'ant' is repeated" in message_of(path, ["ant"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"ant":\n1, }', "line 2"),
        ('["ant"]', "not hold an object"),
        ('{"ant": 3}', "entry 'ant'"),
        ('{"ant": ["a", 3]}', "entry 'ant'"),
        ('{"ant": {"title": "Ant"}}', "entry 'ant'"),
        ("{}", "there are no texts"),
        ("", "the file is empty"),
    ],
)
def test_a_fault_in_json_names_the_file_and_the_entry(tmp_path, content, words):
    message = message_of(write_json(tmp_path, content), ["ant"])
    assert "texts.json" in message
    assert words in message


def test_a_fault_in_a_folder_names_the_file(tmp_path):
    assert "no such file or folder" in message_of(tmp_path / "none", ["ant"])
    assert "there are no texts" in message_of(tmp_path, ["ant"])
    folder = write_folder(tmp_path, ant=b"one\ncaf\xe9")
    assert f"{folder / 'ant.txt'}, line 2" in message_of(folder, ["ant"])
