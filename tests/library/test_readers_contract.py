"""Properties of every reader of datasets, on a small sample of its files.

A new reader needs a sample in `SAMPLES`, that of a paper in ``samples/readers.py`` of its tests.
"""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_reader_awa
import test_reader_bag_table
import test_reader_image_classes
import test_reader_image_words
import test_reader_table
import test_readers
import test_readers_drug_activity
import test_readers_drug_activity_gram
import test_readers_earnings_calls
import test_readers_first_impressions
import test_readers_kogan10k
import test_readers_stock_covariances
from each_case import each_case
from paper_folders import paper_modules
from reader_samples import Sample, stored_terms
from small_archives import write_archive
from small_pipeline import assert_same_tree

from workflow_lib.core import plugins
from workflow_lib.core.artifacts import artifact_digest, read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.data.reading import checked_options, options_model, read_dataset
from workflow_lib.items.sparse_inputs import inputs_of


def in_folder(folder: Path, **options: Any) -> Sample:
    """Return the sample of a reader that finds its files in a folder."""
    files = tuple(sorted(path for path in folder.rglob("*") if path.is_file()))
    return Sample({"folder": str(folder), **options}, files=files)


def of_table(text: str, **options: Any) -> Callable[[Path], Sample]:
    def sample(folder: Path) -> Sample:
        path = test_readers.table(folder, text)
        return Sample(options, (path,), (path,))

    return sample


def of_awa(folder: Path) -> Sample:
    test_reader_awa.write_files(folder, test_reader_awa.BASE)
    features = test_reader_awa.AWA.items()
    members = {f"Features/vgg19/{name}": text for name, text in features}
    write_archive(folder / "AwA-features-vgg19.tar.bz2", members, "w:bz2")
    return in_folder(folder, dimension=3)


def of_awa2(folder: Path) -> Sample:
    test_reader_awa.write_files(folder, test_reader_awa.BASE | test_reader_awa.AWA2)
    return in_folder(folder, dimension=3)


def of_drug_activity(folder: Path) -> Sample:
    pytest.importorskip("rdkit")
    paths = folder / "activities.csv", folder / "structures.csv"
    paths[0].write_text(test_readers_drug_activity.ACTIVITIES)
    paths[1].write_text(test_readers_drug_activity.STRUCTURES)
    return Sample(test_readers_drug_activity.SMALL, paths, paths)


def of_drug_activity_gram(folder: Path) -> Sample:
    test_readers_drug_activity_gram.write_matrix(folder)
    test_readers_drug_activity_gram.write_labels(folder)
    return in_folder(folder)


def of_earnings_calls(folder: Path) -> Sample:
    paths = tuple(test_readers_earnings_calls.archives(folder))
    return Sample(test_readers_earnings_calls.OPTIONS, paths, paths)


def of_stock_covariances(folder: Path) -> Sample:
    path = test_readers_stock_covariances.archive(folder)
    return Sample(test_readers_stock_covariances.OPTIONS, (path,), (path,))


def of_first_impressions(folder: Path) -> Sample:
    test_readers_first_impressions.write_pickle(folder)
    test_readers_first_impressions.write_features(folder)
    return in_folder(folder)._replace(is_drawn=True)


def of_image_classes(folder: Path) -> Sample:
    features = test_reader_image_classes.write_all_features(folder)
    files = test_reader_image_classes.write_words_and_texts(folder)
    sources = tuple(test_reader_image_classes.sources_of(files, "texts"))
    # The images themselves are never opened.
    read = (*sources[1:], *features.values())
    return Sample({"vectors": "texts"}, sources, read, features)


def of_bag_table(folder: Path) -> Sample:
    path = test_reader_bag_table.write_table(folder, test_reader_bag_table.THREE_BAGS)
    return Sample(test_reader_bag_table.OPTIONS, (path,), (path,))


def of_image_words(folder: Path) -> Sample:
    path = test_reader_image_words.write_images(folder)
    options = test_reader_image_words.OPTIONS | {"images_per_class": 4}
    return Sample(options, (path,), (path,), is_drawn=True)


def of_kogan10k(folder: Path) -> Sample:
    test_readers_kogan10k.corpus(folder)
    years = test_readers_kogan10k.YEARS
    for year in years[1:]:
        (folder / f"{year}.logvol.-12.txt").unlink()
    return in_folder(folder, years=years, companies=2)._replace(is_drawn=True)


def of_user_table(folder: Path) -> Sample:
    path = Path(test_reader_table.written(folder))
    columns = {"numbers": ["x*"], "categories": ["colour"], "strings": ["product"]}
    columns |= {"group": "plate", "time": "day", "same_group": "patient", "row_name": "id"}
    return Sample({"file": str(path), "outputs": ["y*"], **columns}, files=(path,))


def of_zipped_table(folder: Path) -> Sample:
    table = of_user_table(folder)
    path = folder / "tables.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(table.files[0], "tables/first.csv")
    options = {**table.options, "file": "tables/first.csv"}
    return Sample(options, (path,), (path,))


def made(is_drawn: bool, **options: Any) -> Callable[[Path], Sample]:
    return lambda folder: Sample(options, is_drawn=is_drawn)


OF_PAPERS = paper_modules("samples/readers.py")
SAMPLES: dict[str, Callable[[Path], Sample]] = {
    "arff": of_table(test_readers.ARFF, targets=2),
    "awa": of_awa,
    "awa2": of_awa2,
    "bag_table": of_bag_table,
    "csv": of_table(test_readers.CSV, outputs=["strength"], inputs=["width", "colour"]),
    "digits_halves": made(False),
    "digits_segments": made(False),
    "drug_activity": of_drug_activity,
    "drug_activity_gram": of_drug_activity_gram,
    "earnings_calls": of_earnings_calls,
    "first_impressions": of_first_impressions,
    "image_classes": of_image_classes,
    "image_words": of_image_words,
    "kogan10k": of_kogan10k,
    "linnerud": made(False),
    "monthly_stocks": made(False),
    "series_synthetic": made(True, n_rows=9, length=9, channels=3),
    "stock_covariances": of_stock_covariances,
    "synthetic_mixture": made(True, n_rows=30),
    "synthetic_names": made(True, n_rows=20, n_names=3),
    "synthetic_rows": made(True, n_rows=9),
    "table": of_user_table,
    "zipped_table": of_zipped_table,
    **{name: sample for module in OF_PAPERS for name, sample in module.SAMPLES.items()},
}
READERS = sorted(plugins.READERS.paths)
OF_FILES = (
    "arff",
    "bag_table",
    "csv",
    "drug_activity",
    "earnings_calls",
    "image_classes",
    "image_words",
    "stock_covariances",
    "zipped_table",
    *(name for module in OF_PAPERS for name in module.OF_FILES),
)
OF_FOLDERS = [name for name in READERS if "folder" in options_model(name).model_fields]


def read(reader: str, sample: Sample, seed: int = 0, **changes: Any) -> dict:
    sample = sample._replace(**changes)
    return read_dataset(reader, sample.options, sample.sources, seed, sample.features)


def stored(path: Path, tree: dict) -> str:
    """Store a tree as the workflow does; return its digest."""
    write_artifact(path, tree, "dataset", allow_nan=("inputs", "outputs", "lagged_values/values"))
    return artifact_digest(path)


def assert_is_dataset(tree: dict) -> None:
    """Assert the properties on which the later stages rely."""
    inputs, outputs = inputs_of(tree), tree["outputs"]
    n_rows, n_outputs = outputs.shape
    assert n_rows >= 2 and inputs.shape[0] == n_rows
    assert inputs.shape[1] >= 1 or "descriptors" in tree
    assert inputs.dtype == outputs.dtype == np.float64
    names = {
        key: json.loads(tree["names"][key]) for key in ("inputs", "outputs") if key in tree["names"]
    }
    names.setdefault("inputs", stored_terms(tree) if "terms" in tree else None)
    for values, key in ((inputs, "inputs"), (outputs, "outputs")):
        assert len(set(names[key])) == len(names[key]) == values.shape[1]
        numbers = values.data if "terms" in tree and key == "inputs" else values
        assert not np.isinf(numbers).any()
        if numbers is values:
            assert not np.isnan(values).all(axis=0).any()
    report = tree["report"]
    assert report["rows_dropped"] == report["rows_read"] - n_rows >= 0
    assert report["missing_inputs"] == (0 if "terms" in tree else np.isnan(inputs).sum())
    for group in ("lagged_values", "order", "groups", "rows"):
        for key, values in tree.get(group, {}).items():
            assert key == "name" or len(values) == n_rows
    if "series_length" in tree["names"]:
        assert tree["names"]["series_length"] * tree["names"]["series_channels"] == n_outputs
    if "classes" in tree:
        labels, vectors = tree["classes"]["labels"], tree["classes"]["vectors"]
        known = labels >= 0
        assert set(labels[known]) == set(range(len(vectors)))
        assert np.isnan(outputs[~known]).all()
        assert len(vectors) == len(json.loads(tree["names"]["classes"]))
        np.testing.assert_array_equal(outputs[known], vectors[labels[known]])
        assert len(np.unique(vectors, axis=0)) == len(vectors)


@each_case("reader", READERS)
def test_every_reader_has_options_and_read_and_a_sample(reader):
    assert sorted(SAMPLES) == READERS
    assert options_model(reader) is plugins.READERS.load(reader).Options
    assert callable(plugins.READERS.load(reader).read)
    for field in options_model(reader).model_fields.values():
        assert field.description


@each_case("reader", READERS)
def test_options_are_typed_and_no_others_are_taken(reader, tmp_path):
    options = SAMPLES[reader](tmp_path).options
    checked_options(reader, options)
    for name in (*options_model(reader).model_fields, "no_such_option"):
        with pytest.raises(UserError, match=rf"'{reader}': (.*; )?{name}(\.\S+)?: ") as caught:
            checked_options(reader, {**options, name: object()})
        assert caught.value.expected and caught.value.remedy


IMPOSSIBLE = {
    "arff": [{"targets": 0}, {"targets": True}],
    "bag_table": [{"numbers": []}, {"bag": ""}, {"classes": None}],
    "csv": [{"outputs": []}, {"outputs": ["y"], "delimiter": "ab"}],
    "digits_segments": [{"inputs": "columns"}],
    "drug_activity": [
        {"least_lines": 0},
        {"radius": -1},
        {"n_bits": 0},
        {"inputs": "trees"},
        {"order": 0},
    ],
    "drug_activity_gram": [{"folder": ""}, {"clip_spectrum": "yes"}],
    "earnings_calls": [
        *({name: 0} for name in ("weeks", "least_words", "longest_gap")),
        *({name: 1} for name in ("days_per_week", "lagged_days")),
        *({"largest_jump": value} for value in (0.0, np.inf)),
    ],
    "first_impressions": [
        *({"agreement": value} for value in (0, 1.1, "high")),
        *({"lowest_agreement": value} for value in (0.0, 0.95)),
        *({"agreement_from": "viewers"}, {"test_share": 1.0}, {"folder": ""}),
    ],
    "image_classes": [
        *({"features": kinds} for kinds in ([], ["thumbnails"])),
        *({"vectors": "attributes"}, {"left_out_classes": ["ant", "ant"]}),
        *({"codebook_classes": [""]}, {"lsa_dimension": 0}, {"dimension": 3}),
    ],
    "image_words": [
        *({"classes": ["ant", "ant"]}, {"images_per_class": 1}, {"members": ""}),
        *({"patch": size} for size in (4, 18)),
        *({"step": 0}, {"n_words": 1}, {"parts": 0}, {"longer_side": 8}),
    ],
    "kogan10k": [
        *({"years": years} for years in ([], [2001], [2002, 2001], [2001, 2001])),
        *({"terms_per_year": 0}, {"companies": 0}, {"folder": ""}),
    ],
    "series_synthetic": [{"spectral_radius": 1.0}],
    "stock_covariances": [
        *({"companies": names} for names in ([], ["AB"], ["AB", "AB"])),
        *({name: 1} for name in ("days_before", "days_after")),
        *({"inputs": "correlations"}, {"largest_jump": 0.0}),
    ],
    "synthetic_mixture": [
        *({"n_components": 2**31}, {"n_rows": 1}, {"spread": -1}),
        {"kernel_pca_gamma": np.inf},
    ],
    "synthetic_names": [{"n_rows": 19}, {"n_names": 1}, {"share": 0.9}, {"encoder": ""}],
    "synthetic_rows": [
        *({"n_rows": 1}, {"n_inputs": 2**31}, {"latent_dimension": 0}),
        *({"noise": 1.0}, {"input_noise": -0.1}),
    ],
    **{name: cases for module in OF_PAPERS for name, cases in module.IMPOSSIBLE.items()},
}
"""Options of which the last is impossible."""


@each_case(
    ("reader", "options"), [(name, case) for name, cases in IMPOSSIBLE.items() for case in cases]
)
def test_impossible_options_are_named(reader, options):
    with pytest.raises(UserError, match=rf"'{reader}': (.*; )?{list(options)[-1]}(\.\S+)?: "):
        checked_options(reader, options)


@each_case("reader", READERS)
def test_the_tree_is_a_dataset_with_the_same_bytes_when_read_again(reader, tmp_path):
    sample = SAMPLES[reader](tmp_path)
    tree = read(reader, sample)
    assert_is_dataset(tree)
    digest = stored(tmp_path / "first.h5", tree)
    back = read_artifact(tmp_path / "first.h5", "dataset")
    assert_is_dataset(back)
    assert_same_tree(back, tree)
    assert stored(tmp_path / "second.h5", read(reader, sample)) == digest
    others = (stored(tmp_path / "other.h5", read(reader, sample, seed)) for seed in range(1, 9))
    assert any(other != digest for other in others) == sample.is_drawn


@pytest.mark.parametrize("reader", OF_FOLDERS)
def test_files_may_be_sources_in_any_order(reader, tmp_path):
    (tmp_path / "files").mkdir()
    sample = SAMPLES[reader](tmp_path / "files")
    expected = stored(tmp_path / "folder.h5", read(reader, sample))
    options = {**sample.options, "folder": str(tmp_path / "absent")}
    for sources in (sample.files, sample.files[::-1]):
        tree = read(reader, sample, options=options, sources=sources)
        assert stored(tmp_path / "sources.h5", tree) == expected


@each_case("reader", OF_FILES)
def test_another_number_of_sources_is_refused(reader, tmp_path):
    sample = SAMPLES[reader](tmp_path)
    for sources in ((), sample.sources[:-1], (*sample.sources, tmp_path / "further")):
        with pytest.raises(UserError, match=f"'{reader}': {len(sources)} source files"):
            read(reader, sample, sources=sources)


def replaced_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def in_latin_1(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] + b"\xe9" + content[len(content) // 2 :])


DAMAGES = {
    "missing": Path.unlink,
    "a folder": replaced_by_a_folder,
    "empty": lambda path: path.write_bytes(b""),
    "blank": lambda path: path.write_bytes(b"\n \n"),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "noise": lambda path: path.write_bytes(np.random.default_rng(0).bytes(999)),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "another encoding": in_latin_1,
}
MAY_DO = ("cut", "another encoding")
"""Damages that leave something readable in some files."""
MAY_BE_MISSING = "2001.logvol.-12.txt"


@each_case("reader", READERS)
def test_a_damaged_file_is_refused_by_its_name(reader, subtests, tmp_path):
    sample = SAMPLES[reader](tmp_path)
    for path in sample.files:
        kept = path.read_bytes()
        for name, damage in DAMAGES.items():
            with subtests.test(reader, file=path.name, damage=name):
                damage(path)
                assert_refused_or_read(reader, sample, name, path)
            if path.is_dir():
                path.rmdir()
            path.write_bytes(kept)


def assert_refused_or_read(reader: str, sample: Sample, damage: str, path: Path) -> None:
    """Assert that a damaged file is refused by its name, or that some may be read."""
    try:
        tree = read(reader, sample)
    except UserError as error:
        assert path.name in str(error)
        assert error.found and error.expected and error.remedy
    else:
        assert damage in MAY_DO or (path.name == MAY_BE_MISSING and not path.is_file()), path
        assert_is_dataset(tree)
