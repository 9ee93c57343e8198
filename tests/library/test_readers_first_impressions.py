"""First Impressions, in a tiny synthetic copy of its form."""

import json
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from reader_samples import catalogue, change, excluded, refusal
from small_pipeline import assert_same_tree

from workflow_lib.core.errors import UserError
from workflow_lib.data.reading import checked_options, read_dataset

TRAITS = ["extraversion", "agreeableness", "conscientiousness", "neuroticism", "openness"]
SEED = 3

N_STRONG, N_MIDDLE, N_OTHERS = 12, 14, 20


def name(number: int) -> str:
    return f"clip{number:02d}.003.mp4"


def made_up_scores() -> dict[str, list[float]]:
    """Return five scores for each video: extreme in the first ones, then less, then hardly."""
    generator = np.random.default_rng(1)
    scores = {}
    for number in range(N_STRONG + N_MIDDLE + N_OTHERS):
        row = generator.uniform(0.3, 0.7, size=5).round(6)
        if number < N_STRONG + N_MIDDLE:
            extreme = 0.95 if number < N_STRONG else 0.8
            row[number % 5] = extreme if number % 2 else 1 - extreme
        scores[name(number)] = row.tolist()
    return scores


SCORES = made_up_scores()
STRONG = [name(number).removesuffix(".mp4") for number in range(N_STRONG)]
MIDDLE = [name(number).removesuffix(".mp4") for number in range(N_STRONG, N_STRONG + N_MIDDLE)]
FEATURES = {
    video: np.array([row[0], 2.0 * number, -1.0])
    for number, (video, row) in enumerate(SCORES.items())
}


def write_pickle(folder: Path, scores=SCORES, protocol: int = 2) -> Path:
    content = {
        trait: {video: row[index] for video, row in scores.items()}
        for index, trait in enumerate(TRAITS)
    }
    content["interview"] = dict.fromkeys(scores, 7.0)
    path = folder / "annotation_training.pkl"
    path.write_bytes(pickle.dumps(content, protocol))
    return path


def write_csv(path: Path, header: list[str], rows) -> Path:
    lines = [",".join(header), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_scores(folder: Path, scores=SCORES) -> Path:
    """Write the table in place of the pickle."""
    (folder / "annotation_training.pkl").unlink(missing_ok=True)
    rows = [[video, *row] for video, row in scores.items()]
    return write_csv(folder / "annotations.csv", ["video", *TRAITS], rows)


def write_array(folder: Path, rows, videos) -> Path:
    """Write the array of features in place of the table."""
    (folder / "features.csv").unlink(missing_ok=True)
    np.save(folder / "features.npy", np.asarray(rows))
    (folder / "features.txt").write_text("\n".join(videos) + "\n")
    return folder / "features.npy"


def write_features(folder: Path, features=FEATURES) -> Path:
    rows = [[video.removesuffix(".mp4"), *row] for video, row in features.items()]
    return write_csv(folder / "features.csv", ["video", "a", "b", "c"], rows)


def read(folder: Path, seed: int = SEED, **options) -> dict:
    return read_dataset("first_impressions", {"folder": str(folder), **options}, [], seed)


refused = partial(refusal, read)


def videos_of(tree: dict, *roles: int) -> list[str]:
    videos = tree["videos"].tobytes().decode().split("\n")
    return [video for video, role in zip(videos, tree["fixed"]["role"]) if role in roles]


@pytest.fixture
def folder(tmp_path) -> Path:
    folder = tmp_path / "first-impressions"
    folder.mkdir()
    write_pickle(folder)
    write_features(folder)
    return folder


# Rows


def test_rows_are_videos_with_their_scores_and_features(folder):
    tree = read(folder, agreement=0.75)
    videos = videos_of(tree, 0, 1, 2)
    assert videos == sorted(video.removesuffix(".mp4") for video in SCORES)
    np.testing.assert_array_equal(tree["outputs"], [SCORES[f"{video}.mp4"] for video in videos])
    np.testing.assert_array_equal(tree["inputs"], [FEATURES[f"{video}.mp4"] for video in videos])
    assert json.loads(tree["names"]["outputs"]) == TRAITS
    assert json.loads(tree["names"]["inputs"]) == ["a", "b", "c"]
    assert excluded(tree) == {}
    assert (tree["report"]["rows_read"], tree["report"]["rows_dropped"]) == (len(SCORES), 0)


def test_labelled_rows_are_those_with_an_extreme_score(folder):
    first, second = read(folder, agreement=0.9), read(folder, agreement=0.75)
    assert videos_of(first, 0) == STRONG
    assert videos_of(second, 0) == STRONG + MIDDLE
    assert first["fixed"]["role"].dtype == np.int64
    # Both tests have one test set; videos between the thresholds are not used in the first task.
    assert videos_of(first, 1) == videos_of(second, 1)
    assert videos_of(first, 2) == videos_of(second, 2)
    assert excluded(first) == {"an agreement between the two thresholds": N_MIDDLE}
    assert first["report"]["rows_dropped"] == N_MIDDLE
    roles = {"labelled": N_STRONG, "test": 10, "weak": 10}
    assert {key: first["report"][key] for key in roles} == roles


def test_a_threshold_is_reached_by_a_score_on_it(folder):
    scores = {**SCORES, name(0): [0.5, 0.5, 0.1, 0.5, 0.5], name(1): [0.9, 0.5, 0.5, 0.5, 0.5]}
    write_pickle(folder, scores)
    assert videos_of(read(folder), 0) == STRONG
    scores |= {name(0): [0.5, 0.5, 0.101, 0.5, 0.5], name(1): [0.899, 0.5, 0.5, 0.5, 0.5]}
    write_pickle(folder, scores)
    assert videos_of(read(folder), 0) == STRONG[2:]


def test_the_test_set_is_drawn_with_the_seed(folder):
    draws = {tuple(videos_of(read(folder, seed), 1)) for seed in range(8)}
    assert len(draws) == 8
    assert all(len(draw) == 10 for draw in draws)
    assert videos_of(read(folder, 4), 1) == videos_of(read(folder, 4), 1)
    others = {video.removesuffix(".mp4") for video in SCORES} - {*STRONG, *MIDDLE}
    assert set().union(*draws) == others
    for share, n_test in ((0.25, 5), (0.001, 1), (0.999, 19)):
        tree = read(folder, test_share=share)
        assert (len(videos_of(tree, 1)), len(videos_of(tree, 2))) == (n_test, 20 - n_test)


def test_frames_of_a_video_are_averaged(folder):
    expected = read(folder)
    rows = [(video, row + shift) for shift in (-1, 1) for video, row in FEATURES.items()]
    rows.append((name(5), FEATURES[name(5)]))
    write_csv(
        folder / "features.csv", ["a", "video", "b", "c"], ([r[0], v, r[1], r[2]] for v, r in rows)
    )
    tree = read(folder)
    np.testing.assert_allclose(tree["inputs"], expected["inputs"], rtol=0, atol=1e-12)
    assert json.loads(tree["names"]["inputs"]) == ["a", "b", "c"]
    assert tree["report"]["rows_of_features"] == len(rows)
    write_array(folder, [row for _, row in rows], [video for video, _ in rows])
    again = read(folder)
    np.testing.assert_array_equal(again["inputs"], tree["inputs"])
    assert json.loads(again["names"]["inputs"]) == ["feature_0", "feature_1", "feature_2"]


def test_an_uneven_mean(folder):
    rows = [*FEATURES.values(), [6.0, 0.0, 2.0], [0.0, 0.0, 2.0]]
    write_array(folder, np.array(rows, dtype=np.float16), [*FEATURES, name(0), name(0)])
    tree = read(folder)
    first = np.float64(np.float16(FEATURES[name(0)][0]))
    np.testing.assert_allclose(tree["inputs"][0], [(first + 6) / 3, 0, 1], rtol=1e-15)


def test_scores_may_be_a_table(folder):
    expected = read(folder)
    path = write_scores(folder)
    assert_same_tree(read(folder), expected)
    # The columns of the first round: other names, another order, more columns.
    header = ["ValueOpenness", "VideoName", "ValueNeurotisicm", "comment", "ValueAgreeableness"]
    header += ["ValueConscientiousness", "ValueExtraversion"]
    rows = (
        [row[4], video, row[3], "none", row[1], row[2], row[0]] for video, row in SCORES.items()
    )
    write_csv(path, header, rows)
    assert_same_tree(read(folder), expected)


def test_agreement_may_be_a_file(folder):
    agreement = {video: 0.5 for video in SCORES}
    agreement |= {name(30 + number): 1 for number in range(11)} | {name(0): 0.75, name(1): 0.9}
    del agreement[name(2)]
    agreement["unknown.mp4"] = 0
    write_csv(folder / "agreement.csv", ["video", "agreement"], agreement.items())
    tree = read(folder, agreement_from="file")
    assert videos_of(tree, 0) == ["clip01.003", *(f"clip{30 + n}.003" for n in range(11))]
    assert excluded(tree) == {
        "an agreement between the two thresholds": 1,
        "no agreement in the file agreement.csv": 1,
    }
    assert tree["report"]["agreements_without_scores"] == 1
    # The file counts only where it is asked for.
    assert videos_of(read(folder), 0) == STRONG


# Exclusions


def test_videos_in_one_file_only_are_counted(folder):
    features = {video: row for video, row in FEATURES.items() if video not in (name(0), name(45))}
    write_features(folder, {**features, "other": [1.0, 1.0, 1.0], "another": [1.0, 1.0, 1.0]})
    tree = read(folder, agreement=0.75)
    assert excluded(tree) == {"no features": 2}
    assert tree["report"]["features_without_scores"] == 2
    assert tree["report"]["rows_dropped"] == 2
    assert videos_of(tree, 0) == (STRONG + MIDDLE)[1:]
    # Rows are drawn from those that can be used.
    assert len(videos_of(tree, 1, 2)) == N_OTHERS - 1


def test_too_few_videos_of_a_role(folder):
    message = refused(folder, agreement=0.96)
    assert "option agreement: 0 of 46 videos with scores have an agreement of 0.96" in message
    assert "26 have an agreement between the two thresholds" in message
    message = refused(folder, lowest_agreement=0.5)
    assert "option lowest_agreement: 0 of 46" in message and "at least 2" in message
    write_features(folder, {video: FEATURES[video] for video in list(FEATURES)[3:]})
    message = refused(folder)
    assert "9 of 46" in message and "3 have no features" in message
    assert "at least 10" in message


# Missing and malformed files


def test_missing_files(folder, tmp_path):
    message = refused(tmp_path / "absent")
    assert "no annotation_training.pkl and no annotations.csv" in message
    assert f"the folder {tmp_path / 'absent'} (option folder)" in message
    assert "https://chalearnlap" in message
    (folder / "features.csv").unlink()
    assert "no features.npy and no features.csv" in refused(folder)
    np.save(folder / "features.npy", np.ones((2, 2)))
    assert "no features.txt" in refused(folder)


def test_two_forms_of_one_file(folder):
    (folder / "features.npy").touch()
    assert f"both {folder / 'features.npy'} and {folder / 'features.csv'} exist" in refused(folder)


def test_the_file_of_agreements_is_explained(folder):
    message = refused(folder, agreement_from="file")
    assert "there is no agreement.csv" in message and "agreement_from: scores" in message


@pytest.mark.parametrize("value", [-0.001, 1.001, float("nan"), float("inf")])
def test_scores_out_of_range(folder, value):
    scores = {video: list(row) for video, row in SCORES.items()}
    scores[name(7)][4] = value
    path = write_pickle(folder, scores)
    message = refused(folder)
    assert f"{path}, trait 'openness', video 'clip07.003.mp4': the value {value}" in message
    assert "from 0 to 1" in message
    path = write_scores(folder, scores)
    assert f"{path}, line 9, column 'openness': " in refused(folder)


def test_faults_of_the_pickle(folder):
    path = folder / "annotation_training.pkl"
    content = pickle.loads(path.read_bytes())
    cases = [
        ([1, 2], "no scores of extraversion, agreeableness"),
        ({**content, "openness": [0.5]}, "no scores of openness"),
        ({**content, "openness": {"x": "0.5"}}, "video 'x': a score of the type str"),
        ({**content, "openness": {"x": True}}, "a score of the type bool"),
        ({**content, "openness": {7: 0.5}}, "for a video of the type int"),
        ({**content, "openness": {"x": 0.5, "x.mp4": 0.5}}, "video 'x' is repeated"),
        (
            {**content, "openness": {**content["openness"], "x": 0.5}},
            "1 videos, the first of them 'x'",
        ),
        ({**content, "openness": np.float64(0.5)}, "it asks for numpy"),
        ({trait: content[trait] for trait in TRAITS if trait != "openness"}, "scores of openness"),
    ]
    for faulty, words in cases:
        path.write_bytes(pickle.dumps(faulty))
        message = refused(folder)
        assert str(path) in message and words in message


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("neuroticism", "nervousness", "line 1: there is no column named 'neuroticism'"),
        ("video", "clip", "line 1: there is no column named 'video'"),
        ("clip01.003.mp4", "clip00.003", "line 3: the video 'clip00.003' is repeated"),
        ("clip01.003.mp4", "", "line 3: no video"),
        ("clip01.003.mp4,", "clip01.003.mp4,?", "line 3, column 'extraversion'"),
        ("clip01.003.mp4,", "clip01.003.mp4,0.5,", "line 3: 7 cells"),
    ],
)
def test_faults_of_the_table(folder, old, new, words):
    path = write_scores(folder)
    change(path, old, new)
    assert f"{path}, {words}" in refused(folder)


@pytest.mark.parametrize(
    ("header", "line", "words"),
    [
        ("", "clip01.003,1.5", "line 3, column 'agreement': the value 1.5"),
        ("", "clip01.003,high", "line 3, column 'agreement': 'high'"),
        ("", "clip00.003.mp4,0.5", "line 3: the video 'clip00.003' is repeated"),
        (",Agreement", "", "line 1: there are 2 columns for 'agreement'"),
    ],
)
def test_faults_of_agreements(folder, header, line, words):
    path = folder / "agreement.csv"
    path.write_text(f"video,agreement{header}\nclip00.003,1{',1' * bool(header)}\n{line}\n")
    assert f"{path}, {words}" in refused(folder, agreement_from="file")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        *(
            (",-1.0", f",{text}", f"line 2, column 'c': '{text}' is not")
            for text in ("nan", "inf", "1_0")
        ),
        (",-1.0", ",", "line 2, column 'c': the value is missing"),
        ("clip01.003,", ",", "line 3: no video"),
        ("video", "clip", "line 1: the columns clip, a, b, c. Expected a column 'video'"),
    ],
)
def test_faults_of_the_table_of_features(folder, old, new, words):
    path = folder / "features.csv"
    change(path, old, new)
    assert f"{path}, {words}" in refused(folder)


def test_faults_of_the_array_of_features(folder):
    videos, rows = list(FEATURES), np.array(list(FEATURES.values()))
    path = write_array(folder, rows, videos)
    names = folder / "features.txt"
    rows[4, 1] = np.nan
    np.save(path, rows)
    message = refused(folder)
    assert f"{path}, row 4, column 1 (counted from 0), video 'clip04.003': the value nan" in message
    write_array(folder, rows, videos[:-1])
    assert f"{names} with {path}: 45 names of videos for 46 rows" in refused(folder)
    write_array(folder, rows, [*videos[:2], "", *videos[3:]])
    assert f"{names}, line 3: no video" in refused(folder)
    write_array(folder, rows, videos)
    for array in (rows[:, 0], rows.astype(str), rows[:, :0]):
        np.save(path, array)
        assert f"{path}: an array of the shape" in refused(folder)
    for content in (b"", b"video,a,b", b"PK\x03\x04", path.read_bytes()[:90]):
        path.write_bytes(content)
        assert f"{path}: the file is damaged, or not an array of numbers" in refused(folder)
    np.save(path, np.array([{"a": 1}, None], dtype=object))
    assert "not an array of numbers" in refused(folder)


def test_a_low_threshold_needs_a_low_one_for_the_others():
    with pytest.raises(UserError, match="lowest_agreement: a number that is not above agreement"):
        checked_options("first_impressions", {"agreement": 0.6})
    checked_options("first_impressions", {"agreement": 0.6, "lowest_agreement": 0.6})


# The catalogue


def test_both_tasks_of_the_catalogue_share_their_test_set(folder):
    first, second = (catalogue(f"first-impressions-s{number}") for number in (1, 2))
    assert (first["options"]["agreement"], second["options"]["agreement"]) == (0.9, 0.75)
    assert first["drawn_as"] == "first-impressions-s2"
    trees = [
        read_dataset("first_impressions", {**settings["options"], "folder": str(folder)}, [], SEED)
        for settings in (first, second)
    ]
    for role in (1, 2):
        assert videos_of(trees[0], role) == videos_of(trees[1], role)
