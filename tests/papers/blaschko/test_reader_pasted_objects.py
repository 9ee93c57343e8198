"""Objects pasted into scenes: their boxes, their words, and what is left out or refused."""

import json

import numpy as np
from reader_samples import refusal
from small_archives import write_archive
from test_images import encoded, picture

from workflow_lib.data.reading import kind_of_inputs, read_dataset
from workflow_lib.papers.blaschko.item_kinds.points import unpack

OPTIONS = {
    "scene_members": "s/*/*.png",
    "scene_classes": ["coast"],
    "object_members": "o/*/*.png",
    "object_class": "car",
    "codebook_classes": ["ant"],
    "codebook_images": 2,
    "n_words": 4,
    "patches": [8],
    "step": 4,
}


def write_images(folder, n_scenes=7, n_cars=4):
    """Write dark scenes and cars, none like another, and images of a further class."""
    scenes, objects = {}, {}
    for number in range(n_scenes):
        scenes[f"s/coast/{number}.png"] = encoded(picture(48, 64, number) // 8)
    for number in range(n_cars):
        objects[f"o/car/{number}.png"] = encoded(picture(20, 40, 50 + number))
    for number in range(3):
        objects[f"o/ant/{number}.png"] = encoded(picture(30, 30, 80 + number))
    return (
        write_archive(folder / "scenes.tar", scenes, "w"),
        write_archive(folder / "objects.tar", objects, "w"),
    )


def read(sources, seed=0, **options):
    return read_dataset("pasted_objects", OPTIONS | options, sources, seed)


def test_boxes_lie_in_their_scenes_and_have_the_drawn_widths(tmp_path):
    tree = read(write_images(tmp_path))
    assert kind_of_inputs("pasted_objects", OPTIONS) == "points"
    boxes = tree["outputs"]
    assert boxes.shape == (4, 4) and (tree["boxes"]["sizes"] == [64, 48]).all()
    widths, heights = (boxes[:, 2:] - boxes[:, :2]).T
    assert (widths >= 0.4 * 64 - 0.5).all() and (widths <= 0.75 * 64 + 0.5).all()
    np.testing.assert_allclose(heights, widths / 2, atol=0.51)
    assert (boxes >= 0).all() and (boxes <= [64, 48, 64, 48]).all()


def test_words_inside_boxes_are_not_those_outside(tmp_path):
    # Scenes of one grey have the one word of flat patches; only the objects have others.
    scenes, objects = write_images(tmp_path)
    flat = {
        f"s/coast/{number}.png": encoded(np.full((48, 64, 3), 20 + number, dtype=np.uint8))
        for number in range(7)
    }
    scenes = write_archive(tmp_path / "flat.tar", flat, "w")
    tree = read([scenes, objects])
    for points, box in zip(unpack(tree), tree["outputs"], strict=True):
        positions = points.positions * points.size
        # Patches of 8 pixels, whose words see half of it beyond their centres.
        is_apart = ((positions < box[:2] - 5) | (positions > box[2:] + 5)).any(axis=1)
        inside = ((positions > box[:2]) & (positions < box[2:])).all(axis=1)
        (word,) = set(points.words[is_apart])
        assert (points.words[inside] != word).mean() > 0.9
    np.testing.assert_allclose(tree["inputs"].sum(axis=1), 1.0)


def test_no_image_is_in_two_rows_or_in_the_codebook(tmp_path, monkeypatch):
    from workflow_lib.inputs.images import visual_words

    sizes = []
    original = visual_words.Images.codebook
    monkeypatch.setattr(
        visual_words.Images,
        "codebook",
        lambda self, seed: (sizes.append(self._n_rows), original(self, seed))[1],
    )
    tree = read(write_images(tmp_path))
    names = [name.split(" in ") for name in json.loads(tree["names"]["rows"])]
    assert len({car for car, _ in names}) == len({scene for _, scene in names}) == 4
    assert sizes == [4]
    # Four scenes are in rows, two in the codebook.
    assert "6 or more" in refusal(read, write_images(tmp_path, n_scenes=5))
    sources = write_images(tmp_path, n_scenes=9)
    assert "3 different images of codebook_classes" in refusal(read, sources, codebook_images=4)


def test_an_object_that_is_too_high_is_refused(tmp_path):
    sources = write_images(tmp_path)
    assert "fits into its scene" in refusal(read, sources, crop=[0.0, 0.0, 0.1, 1.0])
