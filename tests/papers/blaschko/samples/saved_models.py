"""Methods of this paper whose models are saved."""

from collections.abc import Callable

from saved_model_samples import Final

GRID = {"width": [0.3, 3.0]}


def of_outputs(name: str, **settings) -> Callable[[Final], None]:
    """Return what adds a method that predicts outputs from a kernel between inputs."""

    def add(final: Final) -> None:
        common = {"kernel": final.kernel, "widths": GRID["width"], "alphas": [1e-4, 1e-2]}
        final._run("saved", name, metric=final.metric, **common, center=True, **settings)

    return add


def coupled(regressor: str, **grid) -> Callable[[Final], None]:
    return of_outputs(regressor, regressor=regressor, dependence="hsic", grid=grid)


def k_support(final: Final) -> None:
    settings = {"norm": "rows", "grid": {"k": [1, 3], "alpha": [0.01]}, "center": True}
    final._run("saved", "k_support", metric=final.metric, **settings)


def elastic_net(final: Final) -> None:
    grid = {"alpha": [0.5, 0.1], "l1_ratio": [0.5]}
    final._run("saved", "elastic_net_features", metric=final.metric, grid=grid)


def joint_support(preimage: str) -> Callable[[Final], None]:
    """Return what adds a method of the regressor joint_kernel_support."""

    def add(final: Final) -> None:
        final._run(
            "saved",
            "joint_kernel_support",
            kernel=final.kernel,
            grid=GRID | {"nu": [0.4, 1.0], "output_width": [0.5, 2.0]},
            one_example={},
            preimage=preimage,
            row_errors="mean",
            metric=final.metric,
        )

    return add


def ranking(final: Final) -> None:
    final._run(
        "saved",
        "rank_candidates",
        kernel=final.kernel,
        grid=GRID | {"cost": [1, 10], "output_width": [0.5]},
        one_example={},
        metric=final.metric,
        preferences="bipartite",
        rescaling="slack",
        losses="dataset",
        n_preferred=1,
        candidates=8,
        across_rows=False,
    )


def structured(final: Final) -> None:
    final._run(
        "saved",
        "structured_svm",
        kernel=final.kernel,
        grid=GRID | {"cost": [1, 10]},
        one_example={},
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
    "canonical_correlation": of_outputs(
        "canonical_correlation", grid=CANONICAL, criterion="error", seed=0
    ),
    "k_support": k_support,
    "elastic_net_features": elastic_net,
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
