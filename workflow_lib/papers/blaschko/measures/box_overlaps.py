"""How well predicted boxes overlap the true ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workflow_lib.measures.base import Measure, Predictions

if TYPE_CHECKING:
    import numpy as np

RIGHT_OVERLAP = 0.5
"""The overlap with the true box from which on a predicted box is right (Everingham et al. 2010)."""

MEASURES = (
    Measure(
        "overlap",
        "overlap",
        "Overlap with the true box (mean over test rows)",
        "Of boxes: area of the intersection of the predicted and the true box, divided by that of "
        "their union, the mean over test rows; higher is better.",
        outputs="boxes",
        higher_is_better=True,
        is_share=True,
        selects_by="arrmse",
        as_metric="For boxes `overlap`: methods of boxes select by it, others minimise `arrmse`.",
        plain_name="overlap",
        scale="A box that does not overlap the true one counts 0; higher is better.",
    ),
    Measure(
        "recall_at_half",
        "recall",
        "Recall at an overlap of 0.5",
        "Of boxes: share of test rows whose predicted box overlaps the true one by 0.5 or more; "
        "higher is better.",
        outputs="boxes",
        higher_is_better=True,
        is_share=True,
    ),
    Measure(
        "detection_error_rate",
        "equal error rate",
        "Equal error rate of detections",
        "Of boxes: 1 minus the recall where precision and recall are equal, at as many detections "
        "as there are test rows, those of the highest scores in all images; right is the first "
        "detection in an image that overlaps its true box by 0.5 or more. Methods that find one "
        "box in each image have 1 minus `recall_at_half`.",
        outputs="boxes",
        is_share=True,
    ),
)


def values(rows: Predictions) -> dict[str, float]:
    """Return the measures of predicted boxes (n, 4), by name.

    The entry ``detections`` is that of `workflow_lib.items.group_names.DETECTIONS`; without it the
    predicted boxes are the detections, with equal scores.
    """
    import numpy as np

    from workflow_lib.items.box_overlap import overlaps

    found = overlaps(rows.truth, rows.predicted)
    detections = rows.entries.get("detections")
    if detections is None:
        detections = np.concatenate([rows.predicted, np.zeros((len(found), 1))], axis=1)[:, None]
    is_right, _ = ranked_detections(rows.truth, detections)
    return {
        "overlap": float(found.mean()),
        "recall_at_half": float((found >= RIGHT_OVERLAP).mean()),
        "detection_error_rate": 1.0 - float(is_right[: len(found)].mean()),
    }


def ranked_detections(boxes: np.ndarray, detections: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which detections (n, k, 5) are right, by falling score over all images, and their
    scores: two arrays (n k,).

    Right is the first detection in an image that overlaps its true box, of `boxes` (n, 4), by
    `RIGHT_OVERLAP` or more. Detections with equal scores keep their order, that of their ranks in
    their images.
    """
    import numpy as np

    from workflow_lib.items.box_overlap import overlaps

    overlapping = overlaps(boxes[:, None], detections[..., :4]) >= RIGHT_OVERLAP
    is_right = overlapping & (overlapping.cumsum(axis=1) == 1)
    is_right, scores = is_right.T.ravel(), detections[..., 4].T.ravel()
    order = np.argsort(-scores, kind="stable")
    return is_right[order], scores[order]
