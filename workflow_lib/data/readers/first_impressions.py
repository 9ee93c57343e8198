"""Reader of First Impressions: from features of a short video to five scores of personality.

The development set of the first ChaLearn challenge on first impressions (Ponce-López et al. 2016),
as Djerrab et al. (2018) use it in section 6.4.1 (Tables 7 and 8). The user downloads or makes the
files; they are in the folder of the option ``folder``:

``annotation_training.pkl`` or ``annotations.csv``
    the scores. The pickle is the published file: a dictionary of five traits and ``interview``,
    which is ignored, each a dictionary of scores by name of video; nothing in it is run (see
    `workflow_lib.core.plain_pickle`). The table has a column ``video`` and one per trait, in
    any order; the names of the first round (``VideoName``, ``ValueOpenness``, ...) are accepted
    too.
``features.npy`` with ``features.txt``, or ``features.csv``
    the inputs, precomputed. The array has a row per video or a row per frame, and the text file the
    name of the video of each row, one per line. The table has a column ``video``; all its other
    columns are features. Several rows of a video, in any order, are averaged.
``agreement.csv``
    only with ``agreement_from: file``: columns ``video`` and ``agreement``.

An ``.mp4`` at the end of the name of a video is ignored.

In the paper, 6000 videos of 15 seconds have five scores in [0, 1] each, obtained from preferences
between pairs of videos. The agreement of the annotators is not published; a score far from the mean
is interpreted as agreement. Videos without any score in [0, t] ∪ [1 - t, 1] are rejected: t = 0.9
leaves 100 videos (S1, task 1), t = 0.75 leaves 1000 (S2, task 2), S1 ⊂ S2. "The remaining set of
5000 examples is split in two", a common test set and a set from which 644, 1288 and 2500 weakly
labelled videos are drawn. Inputs are the layer fc8 of CaffeNet on the first frame.

Where the paper is not explicit, this reader makes the following choices:

- As printed, the two intervals overlap for t above 1/2 and no video is rejected. They are read as
  [0, 1 - t] ∪ [t, 1]: the agreement of a video is the largest of all y and 1 - y over its five
  scores y, and the labelled videos are those where it is t or more. S1 ⊂ S2 then holds. Another
  measure of agreement can be given in ``agreement.csv``.
- The remaining 5000 videos are those outside S2. The 900 videos of S2 outside S1 are not used in
  task 1: they are left out of its dataset, and counted.
- The paper does not say how the 5000 are split; Table 18 counts 3000 test videos, which leaves too
  few for 2500 weakly labelled videos. They are drawn at random, half for each (option
  ``test_share``). Datasets with the same seed draw the same videos for every threshold; for a
  common test set, one of them must be ``drawn_as`` the other.
- Several videos can be cut from the same recording. Neither the paper nor this reader keeps them
  together in the split, so errors may be optimistic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, Strict, ValidationInfo
from pydantic_core import PydanticCustomError

from workflow_lib.core.errors import UserError, unknown_name
from workflow_lib.core.plain_pickle import read_plain_pickle
from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import (
    dataset_tree,
    listed,
    one_of,
    read_text,
    source_files,
    wrong_source,
)

if TYPE_CHECKING:
    import numpy as np

ADDRESS = "https://chalearnlap.cvc.uab.cat/dataset/20/description/"

SCORES = ("annotation_training.pkl", "annotations.csv")
FEATURES = ("features.npy", "features.csv")
FILES = (*SCORES, *FEATURES, "features.txt", "agreement.csv")
TRAITS = ("extraversion", "agreeableness", "conscientiousness", "neuroticism", "openness")

LABELLED, TEST, WEAK = 0, 1, 2
"""Roles of the rows in the group ``fixed``."""

MIN_LABELLED = 10
"""Smallest number of labelled videos: two in each of five folds."""

NO_FEATURES = "no features"
NO_AGREEMENT = "no agreement in the file agreement.csv"
BETWEEN = "an agreement between the two thresholds"

Level = Annotated[float, Strict(), Field(gt=0, le=1)]


def not_above_agreement(value: float, info: ValidationInfo) -> float:
    """Return `value`; raise when it is above the option ``agreement``."""
    if value > info.data.get("agreement", 1):
        raise PydanticCustomError("setting", "a number that is not above agreement")
    return value


class Options(Settings):
    """Options of the reader ``first_impressions``."""

    agreement: Level = 0.9
    """Smallest agreement of a labelled video. The default is that of the paper's task 1; its task 2
    has 0.75."""

    lowest_agreement: Annotated[
        Level, AfterValidator(not_above_agreement), Field(validate_default=True)
    ] = 0.75
    """Agreement below which a video is a test row or may be weakly labelled, not above `agreement`.
    The default is the lower of the paper's two thresholds, so that both tasks share these rows."""

    agreement_from: Literal["scores", "file"] = "scores"
    """Source of the agreement of a video: `scores` (the default, as in the paper: how near its most
    extreme score is to 0 or 1) or `file` (the file `agreement.csv`)."""

    test_share: Annotated[float, Strict(), Field(gt=0, lt=1)] = 0.5
    """Share of the videos below `lowest_agreement` that are test rows; the others may be weakly
    labelled. The default leaves the 2500 weak rows of the paper."""

    folder: Annotated[str, Field(min_length=1)] = "resources/first-impressions"
    """Folder of the files that are not among the sources, relative to the folder of the run."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per video, sorted by name; `seed` is for drawing the test rows.

    ``inputs``: the features, averaged over the rows of a video. ``outputs``: its five scores.
    ``fixed``: ``role`` (n,) int64, 0 for labelled videos, 1 for the test set, 2 for those that may
    be weakly labelled. ``videos``: the names of the videos, as bytes (UTF-8, separated by
    newlines).

    ``report`` counts the videos left out by reason in ``exclusions``, the rows of each role, the
    rows of features that were averaged, and the videos of the other files that have no scores.

    Files are searched by name among `sources`, then in ``folder`` of `options`.

    Raises UserError for files that are missing or exist in two forms; naming the file, the line and
    the video that cannot be read, is out of range or repeated; for too few videos of a role.
    """
    import numpy as np

    folder = Path(options.folder)
    files = source_files(FILES, folder, sources)
    path = one_of(files, SCORES, folder, f"ask for the data at {ADDRESS}")
    scores = _scores_of_pickle(path) if path.suffix == ".pkl" else _table(path, TRAITS)
    features, feature_names, n_rows_averaged = _features(files, folder)
    if options.agreement_from == "file":
        remedy = (
            "write it, with the columns video and agreement; it is not among the published files, "
            "and agreement_from: scores, as in the paper, needs none"
        )
        path = one_of(files, ["agreement.csv"], folder, remedy)
        agreement = {video: value for video, (value,) in _table(path, ["agreement"]).items()}
    else:
        agreement = {
            video: max(max(score, 1 - score) for score in row) for video, row in scores.items()
        }

    excluded = Counter(dict.fromkeys((NO_FEATURES, NO_AGREEMENT, BETWEEN), 0))
    labelled, others = [], []
    for video in sorted(scores):
        if video not in features:
            excluded[NO_FEATURES] += 1
        elif video not in agreement:
            excluded[NO_AGREEMENT] += 1
        elif agreement[video] >= options.agreement:
            labelled.append(video)
        elif agreement[video] < options.lowest_agreement:
            others.append(video)
        else:
            excluded[BETWEEN] += 1
    location = ", ".join(map(str, files.values()))
    reasons = "".join(f"; {count} have {reason}" for reason, count in excluded.items() if count)
    of_scores = f"of {len(scores)} videos with scores have an agreement"
    if len(labelled) < MIN_LABELLED:
        raise UserError(
            location=f"{location}, option agreement",
            found=f"{len(labelled)} {of_scores} of {options.agreement} or more{reasons}",
            expected=f"at least {MIN_LABELLED} labelled videos",
            remedy="lower the option agreement, or check that the files belong together",
        )
    if len(others) < 2:
        raise UserError(
            location=f"{location}, option lowest_agreement",
            found=f"{len(others)} {of_scores} below {options.lowest_agreement}{reasons}",
            expected="at least 2: one for testing, and one that may be weakly labelled",
            remedy="raise the option lowest_agreement, or check that the files belong together",
        )
    drawn = np.random.default_rng(seed).permutation(len(others))
    n_test = min(max(1, round(options.test_share * len(others))), len(others) - 1)
    role_of = dict.fromkeys(labelled, LABELLED) | dict.fromkeys(others, WEAK)
    role_of |= {others[index]: TEST for index in drawn[:n_test]}
    videos = sorted(role_of)
    return dataset_tree(
        np.array([features[video] for video in videos]),
        np.array([scores[video] for video in videos]),
        feature_names,
        list(TRAITS),
        location=str(folder),
        rows_read=len(scores),
        fixed={"role": np.array([role_of[video] for video in videos], dtype=np.int64)},
        videos=np.frombuffer("\n".join(videos).encode(), dtype=np.uint8),
        report={
            "exclusions": dict(excluded),
            "labelled": len(labelled),
            "test": n_test,
            "weak": len(others) - n_test,
            "rows_of_features": n_rows_averaged,
            "features_without_scores": len(features.keys() - scores.keys()),
            "agreements_without_scores": len(agreement.keys() - scores.keys()),
        },
    )


# Scores and agreements by video


def _scores_of_pickle(path: Path) -> dict[str, list[float]]:
    """Return the scores of each video in the order of `TRAITS`."""
    content = read_plain_pickle(path)
    missing = [
        trait
        for trait in TRAITS
        if not (isinstance(content, dict) and isinstance(content.get(trait), dict))
    ]
    if missing:
        raise wrong_source(
            str(path),
            f"there are no scores of {', '.join(missing)}",
            "a dictionary of traits, each a dictionary of scores by name of video",
        )
    by_trait = {}
    for trait in TRAITS:
        by_trait[trait] = values = {}
        for key, score in content[trait].items():
            location = f"{path}, trait '{trait}', video {key!r}"
            if not isinstance(key, str) or type(score) not in (int, float):
                raise wrong_source(
                    location,
                    f"a score of the type {type(score).__name__} for a video of the type "
                    f"{type(key).__name__}",
                    "a number for a name",
                )
            video = _unique_name(key, values, location)
            values[video] = float(_in_range(score, location))
    for trait in TRAITS[1:]:
        different = sorted(by_trait[TRAITS[0]].keys() ^ by_trait[trait].keys())
        if different:
            raise wrong_source(
                f"{path}, trait '{trait}'",
                f"{len(different)} videos, the first of them '{different[0]}', have a score "
                f"in only one of '{TRAITS[0]}' and '{trait}'",
                "the same videos in every trait",
            )
    return {video: [by_trait[trait][video] for trait in TRAITS] for video in by_trait[TRAITS[0]]}


def _table(path: Path, wanted: Sequence[str]) -> dict[str, list[float]]:
    """Return the numbers in [0, 1] in the columns `wanted` by video."""
    from workflow_lib.tabular.table_file import read_source

    table = read_source(path)
    names = [_plain_name(name) for name in table.names]
    columns = []
    for name in ("video", *wanted):
        if name not in names:
            raise unknown_name(f"{path}, line 1", "column", name, names)
        if names.count(name) > 1:
            raise UserError(
                location=f"{path}, line 1",
                found=f"there are {names.count(name)} columns for '{name}'",
                expected="one",
                remedy="remove the others",
            )
        columns.append(table.names[names.index(name)])
    numbers: dict[str, list[float]] = {}
    levels = table.matrix(columns[1:], complete=True).tolist()
    for row, text in enumerate(table.strings(columns[0])):
        video = _unique_name(text, numbers, table.where(row))
        numbers[video] = [
            _in_range(level, table.where(row, name))
            for level, name in zip(levels[row], columns[1:])
        ]
    return numbers


def _plain_name(name: str) -> str:
    """Return the name of a column in lower case, with names of the first round translated."""
    plain = name.lower().removeprefix("value")
    return {"videoname": "video", "neurotisicm": "neuroticism"}.get(plain, plain)


def _unique_name(text: str, known: Mapping[str, Any], location: str) -> str:
    """Return the normalised name of a video; refuse an empty name and a `known` name."""
    video = _video(text, location)
    if video in known:
        raise UserError(
            location=location,
            found=f"the video '{video}' is repeated",
            expected="the name of another video",
            remedy="remove the second entry; .mp4 at the end of a name is ignored",
        )
    return video


def _video(text: str, location: str) -> str:
    """Return the normalised name of a video; refuse an empty name."""
    video = text.strip().removesuffix(".mp4")
    if not video:
        raise UserError(
            location=location,
            found="no video",
            expected="the name of a video",
            remedy="write the name of the video",
        )
    return video


def _in_range(value: float, location: str) -> float:
    if not 0 <= value <= 1:
        raise UserError(
            location=location,
            found=f"the value {value}",
            expected="a number from 0 to 1",
            remedy="fix the value, or leave out the video",
        )
    return value


# Features by video


def _features(
    files: Mapping[str, Path], folder: Path
) -> tuple[dict[str, np.ndarray], list[str], int]:
    """Return the mean features (q,) of each video, their names, and the number of rows averaged."""
    import numpy as np

    remedy = "compute them from the videos; the reader first_impressions describes the two forms"
    path = one_of(files, FEATURES, folder, remedy)
    if path.suffix == ".csv":
        names, videos, values = _features_of_table(path)
    else:
        remedy = "write the name of the video of each row of features.npy there, one per line"
        names_path = one_of(files, ["features.txt"], folder, remedy)
        names, videos, values = _features_of_array(path, names_path)
    indices: dict[str, list[int]] = {}
    for index, video in enumerate(videos):
        indices.setdefault(video, []).append(index)
    means = {}
    for video, rows in indices.items():
        # One video at a time, so that an array of frames is never in memory as a whole.
        chosen = values[rows].astype(np.float64)
        for at, column in np.argwhere(~np.isfinite(chosen)):
            raise UserError(
                location=f"{path}, row {rows[at]}, column {column} (counted from 0), "
                f"video '{video}'",
                found=f"the value {chosen[at, column]}",
                expected="a finite number",
                remedy="compute the features again, or leave out the row in both files",
            )
        means[video] = chosen.mean(axis=0)
    return means, names, len(videos)


def _features_of_table(path: Path) -> tuple[list[str], list[str], np.ndarray]:
    """Return the names of the features, the video of each row, and the features of the rows."""
    from workflow_lib.tabular.table_file import read_source

    table = read_source(path)
    names = {_plain_name(name): name for name in table.names}
    if "video" not in names or len(table.names) < 2:
        raise wrong_source(
            f"{path}, line 1",
            f"the columns {listed(table.names, 5)}",
            "a column 'video' and at least one column of features",
        )
    features = [name for name in table.names if name != names["video"]]
    texts = table.strings(names["video"])
    videos = [_video(text, table.where(row)) for row, text in enumerate(texts)]
    return features, videos, table.matrix(features, complete=True)


def _features_of_array(path: Path, names_path: Path) -> tuple[list[str], list[str], np.ndarray]:
    """Return the same as `_features_of_table`."""
    from workflow_lib.tabular.number_array import open_number_array

    lines = read_text(names_path).rstrip().split("\n")
    videos = [_video(text, f"{names_path}, line {line}") for line, text in enumerate(lines, 1)]
    values = open_number_array(path)
    if len(videos) != len(values):
        raise UserError(
            location=f"{names_path} with {path}",
            found=f"{len(videos)} names of videos for {len(values)} rows",
            expected="the name of the video of each row, one per line",
            remedy="write both files again",
        )
    return [f"feature_{column}" for column in range(values.shape[1])], videos, values
