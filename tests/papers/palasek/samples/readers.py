"""Samples of the files of the readers of this paper, and options that they refuse."""

from pathlib import Path

import test_reader_image_bags
from reader_samples import Sample


def of_image_bags(folder: Path) -> Sample:
    path = test_reader_image_bags.write_images(folder)
    return Sample(test_reader_image_bags.OPTIONS, (path,), (path,), is_drawn=True)


SAMPLES = {"image_bags": of_image_bags}
OF_FILES = tuple(SAMPLES)
IMPOSSIBLE = {
    "image_bags": [
        *({"local_features": "sift"}, {"patches_per_image": 0}, {"patch": 1}, {"longer_side": 4})
    ]
}
