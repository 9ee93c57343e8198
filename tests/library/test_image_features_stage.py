"""The image features stage: its rows, its report, and how interrupted runs resume."""

import io
import json

import numpy as np
import pytest
from small_archives import write_archive

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.inputs.images.dense_sift import dense_sift
from workflow_lib.inputs.images.hog import hog_features
from workflow_lib.inputs.images.thumbnails import thumbnail
from workflow_lib.items.images import DAMAGED, NOT_AN_IMAGE
from workflow_lib.protocol import image_features_stage as stage

Image = pytest.importorskip("PIL.Image")

CLASSES = ("ant", "bee", "cat", "dog")
PER_CLASS = 5
CODEBOOK = ["cat", "dog"]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(stage, "PART_SIZE", 6)
    monkeypatch.setattr(stage, "PROGRESS_STEP", 4)
    monkeypatch.setattr(stage, "N_COMPONENTS", 3)
    monkeypatch.setattr(stage, "N_PROJECTED", 4)
    monkeypatch.setattr(stage, "N_CODEBOOK_IMAGES", 4)
    monkeypatch.setattr(stage, "N_CODEBOOK_DESCRIPTORS", 120)


def picture(seed):
    """Return stripes with a direction that depends on the class, and noise."""
    generator = np.random.default_rng(seed)
    row, column = np.indices((48, 60))
    angle = np.pi * (seed // 100) / len(CLASSES)
    stripes = np.sin((column * np.cos(angle) + row * np.sin(angle)) * 0.7)
    levels = 128 + 90 * stripes + 12 * generator.normal(size=row.shape)
    return np.repeat(np.clip(levels, 0, 255).astype(np.uint8)[:, :, None], 3, axis=2)


def encoded(pixels):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def contents():
    return {
        f"{name}/{number}.png": encoded(picture(100 * index + number))
        for index, name in enumerate(CLASSES)
        for number in range(PER_CLASS)
    }


def write(tmp_path, **further):
    named = {
        name.replace("__", "/").replace("_png", ".png"): value for name, value in further.items()
    }
    return write_archive(tmp_path / "images.tar", contents() | named, "w")


def run(source, kind="hog", output="out.h5", codebook=CODEBOOK, left_out=(), seed=1, **further):
    folder = source.parent
    stage.run(source, folder / output, kind, left_out, codebook, seed, folder / "parts", **further)
    return read_artifact(folder / output, "image_features")


def names(tree, key="rows"):
    return json.loads(tree["names"][key])


ROWS = [f"{name}/{number}.png" for name in CLASSES for number in range(PER_CLASS)]


@pytest.mark.parametrize("kind, function", [("hog", hog_features), ("thumbnails", thumbnail)])
def test_every_image_has_its_row(tmp_path, kind, function, capsys):
    tree = run(write(tmp_path), kind)
    assert names(tree) == ROWS
    assert names(tree, "classes") == [row.split("/")[0] for row in ROWS]
    seeds = [100 * index + number for index in range(4) for number in range(PER_CLASS)]
    expected = np.array([function(picture(seed)) for seed in seeds])
    np.testing.assert_array_equal(tree["features"], expected)
    assert tree["features"].dtype == expected.dtype
    assert tree["report"]["rows_read"] == 20
    assert set(tree["report"]["exclusions"].values()) == {0}
    assert tree["report"]["excluded_names"] == {}
    assert not (tmp_path / "parts").exists()
    log = capsys.readouterr().out
    assert "4 of 20 images, " in log and "20 images in all, " in log


def test_fisher_vectors_distinguish_the_classes(tmp_path, capsys):
    tree = run(write(tmp_path), "dense-sift-fisher")
    features = tree["features"]
    assert features.shape == (20, 2 * 3 * (4 + 2)) and features.dtype == np.float64
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0)
    products = features @ features.T
    np.fill_diagonal(products, -1)
    nearest = np.array(names(tree, "classes"))[products.argmax(axis=1)]
    assert (nearest == names(tree, "classes")).mean() >= 0.9
    assert "codebook of 3 Gaussians from 120 patches of 4 images of 2 classes" in (
        capsys.readouterr().out
    )


def test_a_codebook_may_be_learned_from_all_images(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(stage, "N_CODEBOOK_IMAGES", 1)
    few = run(write(tmp_path), "dense-sift-fisher")["features"]
    every = run(write(tmp_path), "dense-sift-fisher-all")["features"]
    assert every.shape == few.shape
    np.testing.assert_allclose(np.linalg.norm(every, axis=1), 1.0)
    log = capsys.readouterr().out
    assert "patches of 1 images" in log and "patches of 10 images of 2 classes" in log
    again = run(write(tmp_path), "dense-sift-fisher-all")["features"]
    np.testing.assert_array_equal(again, every)


def test_the_codebook_uses_no_other_classes(tmp_path):
    first = run(write(tmp_path), "dense-sift-fisher")["features"]
    other = {f"{name}__{number}_png": encoded(picture(7)) for name in ("ant",) for number in (0, 1)}
    second = run(write(tmp_path, **other), "dense-sift-fisher")["features"]
    np.testing.assert_array_equal(first[2:], second[2:])
    assert np.abs(first[:2] - second[:2]).max() > 0
    third = run(write(tmp_path), "dense-sift-fisher", codebook=["ant", "dog"])["features"]
    assert np.abs(first - third).max() > 0


def test_the_seed_decides_the_codebook_alone(tmp_path):
    source = write(tmp_path)
    first = run(source, "dense-sift-fisher")["features"]
    np.testing.assert_array_equal(run(source, "dense-sift-fisher")["features"], first)
    assert np.abs(run(source, "dense-sift-fisher", seed=2)["features"] - first).max() > 0
    np.testing.assert_array_equal(run(source, seed=1)["features"], run(source, seed=2)["features"])


def test_principal_components_are_those_of_the_singular_value_decomposition():
    sample = np.concatenate([dense_sift(picture(seed))[0] for seed in (0, 100)]).astype(float)
    found = stage._principal_components(sample)
    centred = sample - sample.mean(axis=0)
    _, _, right = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(np.abs(found["components"] @ right[:4].T), np.eye(4), atol=1e-6)
    projected = stage._projected(sample, np.full((len(sample), 2), 0.5), found)
    np.testing.assert_allclose(projected.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(projected[:, :4], centred @ found["components"].T)


def test_images_that_cannot_be_read_are_counted_and_no_rows(tmp_path):
    further = {
        "ant__0_png": b"text",
        "bee__1_png": encoded(picture(3))[:-40],
        "elk__1_png": b"text",
        "elk__0_png": b"text",
        "fox__notes.txt": b"",
    }
    source = write(tmp_path, **further)
    rows = [row for row in ROWS if row not in ("ant/0.png", "bee/1.png")]
    for kind in ("hog", "thumbnails", "dense-sift-fisher"):
        tree = run(source, kind)
        assert names(tree) == rows and len(tree["features"]) == len(rows)
        report = tree["report"]
        assert report["rows_read"] == 22
        assert {reason: n for reason, n in report["exclusions"].items() if n} == {
            NOT_AN_IMAGE: 3,
            DAMAGED: 1,
            stage.NO_IMAGE: 1,
        }
        assert report["excluded_names"] == {
            NOT_AN_IMAGE: "ant/0.png, elk/0.png, elk/1.png",
            DAMAGED: "bee/1.png",
            stage.NO_IMAGE: "elk",
        }


def test_classes_are_left_out(tmp_path):
    source = write(tmp_path, BACKGROUND_Google__1_png=encoded(picture(5)))
    tree = run(source, left_out=["ant", "dog"])
    assert names(tree) == [row for row in ROWS if row[:3] in ("bee", "cat")]
    with pytest.raises(UserError, match="no class to learn the codebook"):
        run(source, "dense-sift-fisher", left_out=["cat", "dog"])


def test_files_of_other_names_are_passed_over_in_the_codebook_too(tmp_path):
    smaller = run(write(tmp_path), "dense-sift-fisher")
    further = {f"{name}__z_png": encoded(picture(50)) for name in CLASSES}
    larger = run(write(tmp_path, **further), "dense-sift-fisher", members="[0-9].png")
    assert names(larger) == names(smaller) == ROWS
    assert larger["report"] == smaller["report"]
    np.testing.assert_array_equal(larger["features"], smaller["features"])
    with pytest.raises(UserError, match="no image whose name matches 'x\\*'"):
        run(tmp_path / "images.tar", members="x*")


def test_folders_are_collections_too(tmp_path):
    for name, content in contents().items():
        (tmp_path / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "images" / name).write_bytes(content)
    (tmp_path / "images" / "eel").mkdir()
    tree = run(tmp_path / "images")
    assert names(tree) == ROWS
    assert tree["report"]["excluded_names"] == {stage.NO_IMAGE: "eel"}


# Resuming


def interrupted(monkeypatch, source, kind, after):
    """Run until `after` parts are written and then fail."""
    write_part, seen = stage._write_part, []

    def failing(*arguments):
        if len(seen) == after:
            raise KeyboardInterrupt
        seen.append(arguments)
        return write_part(*arguments)

    with monkeypatch.context() as context:
        context.setattr(stage, "_write_part", failing)
        with pytest.raises(KeyboardInterrupt):
            run(source, kind)


def opened_images(monkeypatch):
    """Return the list to which every image that is opened from now on is added."""
    opened, original = [], stage.open_images

    def counted(path, entries):
        for image in original(path, entries):
            opened.append("/".join(image.entry))
            yield image

    monkeypatch.setattr(stage, "open_images", counted)
    return opened


@pytest.mark.parametrize("kind", ["hog", "dense-sift-fisher"])
def test_an_interrupted_run_is_resumed_with_the_same_result(tmp_path, kind, monkeypatch):
    source = write(tmp_path)
    run(source, kind, output="whole.h5")
    interrupted(monkeypatch, source, kind, after=2)
    assert not (tmp_path / "out.h5").exists()
    opened = opened_images(monkeypatch)
    run(source, kind)
    # The codebook was kept as well.
    assert opened == ROWS[12:]
    assert (tmp_path / "out.h5").read_bytes() == (tmp_path / "whole.h5").read_bytes()
    assert not (tmp_path / "parts").exists()


def test_a_resumed_run_computes_with_the_codebook_in_the_same_layout(tmp_path, monkeypatch):
    # The order of an array in memory changes the rounding of its products, in few images only.
    source, layouts, projected = write(tmp_path), [], stage._projected

    def seen(descriptors, positions, codebook):
        if "weights" in codebook:
            layouts.append(
                {name: array.strides for name, array in codebook.items() if name != "settings"}
            )
        return projected(descriptors, positions, codebook)

    monkeypatch.setattr(stage, "_projected", seen)
    interrupted(monkeypatch, source, "dense-sift-fisher", after=2)
    n_before = len(layouts)
    run(source, "dense-sift-fisher")
    assert (n_before, len(layouts)) == (12, 20)
    assert all(layout == layouts[-1] for layout in layouts)


def test_parts_of_other_settings_are_computed_again(tmp_path, monkeypatch):
    source = write(tmp_path)
    opened = opened_images(monkeypatch)

    def count(**options):
        interrupted(monkeypatch, source, "hog", after=2)
        opened.clear()
        run(source, **options)
        return len(opened)

    assert count() == 8
    assert count(kind="thumbnails") == 20
    assert count(left_out=["dog"]) == 15
    interrupted(monkeypatch, source, "hog", after=2)
    opened.clear()
    run(write(tmp_path, ant__0_png=encoded(picture(5))))
    assert len(opened) == 20


def test_other_code_and_damage_make_parts_be_computed_again(tmp_path, monkeypatch):
    source = write(tmp_path)
    interrupted(monkeypatch, source, "hog", after=2)
    part = tmp_path / "parts" / "part-00001.h5"
    part.write_bytes(part.read_bytes()[:-100])
    opened = opened_images(monkeypatch)
    run(source)
    assert opened == ROWS[6:]
    interrupted(monkeypatch, source, "hog", after=2)
    opened.clear()
    other = tmp_path / "other.py"
    other.write_text("changed = True\n")
    monkeypatch.setattr(stage, "import_closure", lambda root, modules: [str(other)])
    run(source)
    assert opened == ROWS


def test_a_source_with_another_date_is_the_same(tmp_path, monkeypatch):
    source = write(tmp_path)
    interrupted(monkeypatch, source, "hog", after=2)
    content = source.read_bytes()
    source.unlink()
    source.write_bytes(content)
    opened = opened_images(monkeypatch)
    run(source)
    assert opened == ROWS[12:]


def test_incomplete_files_of_a_killed_run_are_removed(tmp_path):
    source = write(tmp_path)
    (tmp_path / "parts").mkdir()
    for name in ("part-00001.h5", "codebook.h5"):
        (tmp_path / "parts" / f".{name}.1234.tmp").write_bytes(b"half")
    run(source)
    assert not (tmp_path / "parts").exists()


def test_other_files_in_the_folder_of_parts_are_kept(tmp_path):
    source = write(tmp_path)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "notes.txt").write_text("mine")
    run(source)
    assert [file.name for file in (tmp_path / "parts").iterdir()] == ["notes.txt"]


# Faults


def test_faults_of_the_codebook_are_reported(tmp_path):
    source = write(tmp_path, elk__1_png=encoded(np.full((40, 40, 3), 9, dtype=np.uint8)))
    with pytest.raises(UserError, match="no class to learn the codebook.*such as hog"):
        run(source, "dense-sift-fisher", codebook=[])
    with pytest.raises(UserError, match="no class named 'dgo'.*write 'dog'"):
        run(source, "dense-sift-fisher", codebook=["dgo"])
    with pytest.raises(UserError, match="without enough descriptors"):
        run(source, "dense-sift-fisher", codebook=["elk"])
    # The other kinds are not fitted.
    assert names(run(source, "hog", codebook=[]))[-1] == "elk/1.png"


def test_a_plain_image_has_features_of_zeros(tmp_path):
    source = write(tmp_path, elk__1_png=encoded(np.full((40, 40, 3), 9, dtype=np.uint8)))
    for kind in ("hog", "dense-sift-fisher"):
        features = run(source, kind)["features"]
        assert not features[-1].any() and features[:-1].any(axis=1).all()


def test_other_faults_are_reported(tmp_path):
    source = write_archive(tmp_path / "images.tar", {"ant/1.png": b"text"}, "w")
    with pytest.raises(
        UserError, match="none of its images can be read: .*1 for a file that is no"
    ):
        run(source)
    with pytest.raises(UserError, match="no weights of the network.*ends with .pth"):
        run(source, "vgg19-fc7")
    with pytest.raises(ValueError, match="kind must be one of"):
        run(source, "sift")


def test_network_features_follow_from_the_weights(tmp_path, monkeypatch):
    built = []

    class Network:
        def __init__(self, weights):
            built.append(weights)

        def transform(self, images):
            return np.array([[image.mean(), len(built)] for image in images]).reshape(-1, 2)

    monkeypatch.setattr(stage, "Vgg19Features", Network)
    source, weights = write(tmp_path), tmp_path / "vgg19.pth"
    weights.write_bytes(b"first")
    tree = run(source, "vgg19-fc7", weights=weights)
    assert names(tree) == ROWS and built == [weights]
    assert tree["features"][0, 0] == pytest.approx(picture(0).mean())
    before = stage._settings(source, "vgg19-fc7", [], [], 1, weights, "*")
    weights.write_bytes(b"second")
    assert stage._settings(source, "vgg19-fc7", [], [], 1, weights, "*") != before
