"""Methods of this paper whose models are saved."""

from collections.abc import Callable

from saved_model_samples import Final

GRID = {"width": [0.3, 3.0]}
OF_KERNEL = {"kernel": "rbf", "one_example": {}}
OF_RIDGE = {"kernel": "rbf", "widths": GRID["width"], "alphas": [1e-4, 1e-2], "center": True}


def added(name: str, **settings) -> Callable[[Final], None]:
    """Return what adds a method; a metric of None is that of the data."""

    def add(final: Final) -> None:
        metric = {"metric": final.metric} if "metric" in settings else {}
        final._run("saved", name, **settings | metric)

    return add


def coupled(regressor: str, **grid) -> Callable[[Final], None]:
    settings = OF_RIDGE | {"regressor": regressor, "dependence": "hsic", "metric": None}
    return added(regressor, **settings, grid=grid)


def joint_support(preimage: str) -> Callable[[Final], None]:
    grid = GRID | {"nu": [0.4, 1.0], "output_width": [0.5, 2.0]}
    settings = OF_KERNEL | {"preimage": preimage, "row_errors": "mean", "metric": None}
    return added("joint_kernel_support", **settings, grid=grid)


ranking = added(
    "rank_candidates",
    **OF_KERNEL,
    grid=GRID | {"cost": [1, 10], "output_width": [0.5]},
    metric=None,
    preferences="bipartite",
    rescaling="slack",
    losses="dataset",
    n_preferred=1,
    candidates=8,
    across_rows=False,
)
structured = added(
    "structured_svm",
    **OF_KERNEL,
    grid=GRID | {"cost": [1, 10]},
    kernels=None,
    rescaling="margin",
    loss="zero_one",
    class_similarity="learned_tree",
)
CANONICAL = {
    "laplacian_weight": [0.1, 1.0],
    "neighbours": [3],
    "output_penalty": [0.1],
    "output_laplacian_weight": [0.0],
    "n_directions": [1, 2],
    "projection_penalty": [0.0, 1.0],
}
SAVED_NUMBERS = {
    "fitted_rank_ridge": coupled("fitted_rank_ridge", rank=[1, 2]),
    "joint_kernel_ridge": coupled("joint_kernel_ridge", coupling=[0.5, 1.0]),
    "canonical_correlation": added(
        "canonical_correlation", **OF_RIDGE, grid=CANONICAL, criterion="error", seed=0, metric=None
    ),
    "k_support": added(
        "k_support", norm="rows", grid={"k": [1, 3], "alpha": [0.01]}, center=True, metric=None
    ),
    "elastic_net_features": added(
        "elastic_net_features", grid={"alpha": [0.5, 0.1], "l1_ratio": [0.5]}, metric=None
    ),
    "joint_kernel_support": joint_support("mean_shift"),
    "rank_candidates": ranking,
    "joint_kernel_support, candidates": joint_support("candidates"),
}
SAVED_CLASSES = {
    "joint_kernel_support": joint_support("mean_shift"),
    "rank_candidates": ranking,
    "structured_svm": structured,
}
SAVED_ON_THEIR_OWN = (
    *("box_kernel_support", "box_machine", "box_proposals", "box_ranking", "box_support"),
)
"""Their data, images with boxes, are in separate tests."""
