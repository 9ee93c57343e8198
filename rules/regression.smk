"""Nested selection and fit of every method, up to the predicted embeddings of the test rows."""


rule kernel_ridge:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        features="results/{experiment}/split-{split}/features.h5",
        models=model_file,
        embeddings=embedding_file,
        weak_labels=weak_label_file,
        code=code("kernel_ridge.py", "experiments.kernel_ridge_stage"),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
    params:
        components=components_of,
        component_counts=component_candidates,
        combine=lambda wildcards: method_of(wildcards).combine,
        kernel=lambda wildcards: experiment_of(wildcards).kernel,
        kernels=kernels_of,
        widths=grid_of("width"),
        penalties=grid_of("penalty"),
        penalty=lambda wildcards: method_of(wildcards).penalty,
        weak=lambda wildcards: method_of(wildcards).weak,
        weak_weights=grid_of("weak_weight"),
        weak_outputs=lambda wildcards: method_of(wildcards).weak_outputs,
        projections=lambda wildcards: settings.projections_of(
            wildcards.experiment, wildcards.method
        ),
        studies=lambda wildcards: settings.studies_of(wildcards.experiment, wildcards.method),
        center=lambda wildcards: method_of(wildcards).center,
        metric=lambda wildcards: settings.selection_metric_of(wildcards.experiment),
        one_example=lambda wildcards: settings.one_example_of(wildcards.method),
        landmarks=landmarks_of,
        precision=settings.run.selection_precision,
    log:
        "logs/kernel_ridge/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/kernel_ridge/{experiment}-{split}-{method}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("kernel_ridge"),
        runtime=minutes_for("kernel_ridge"),
    wildcard_constraints:
        method=alternatives(methods_with("kernel_ridge")),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "regression {wildcards.method} {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/kernel_ridge.py"


rule forest:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        features="results/{experiment}/split-{split}/features.h5",
        code=code("forest.py", "experiments.forest_stage", "experiments.output_predictions"),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        predictions="results/{experiment}/split-{split}/{method}/predictions.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
        preimages="results/timings/{experiment}/split-{split}/{method}-preimages.json",
    params:
        max_features=grid_of("max_features"),
        n_trees=lambda wildcards: method_of(wildcards).grid.n_trees,
        metric=lambda wildcards: experiment_of(wildcards).metric,
        seed=lambda wildcards: seed_of(wildcards, "training", wildcards.method),
        kind=lambda wildcards: method_of(wildcards).regressor,
    log:
        "logs/forest/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/forest/{experiment}-{split}-{method}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("forest"),
        runtime=minutes_for("forest"),
    wildcard_constraints:
        method=alternatives(methods_with("random_forest", "extra_trees")),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "forest {wildcards.method} {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/forest.py"


rule principal_components:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        features="results/{experiment}/split-{split}/features.h5",
        code=code(
            "principal_components.py",
            "experiments.principal_component_stage",
            "experiments.output_predictions",
        ),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        predictions="results/{experiment}/split-{split}/{method}/predictions.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
        preimages="results/timings/{experiment}/split-{split}/{method}-preimages.json",
    params:
        kernel=lambda wildcards: experiment_of(wildcards).kernel,
        kernels=kernels_of,
        widths=grid_of("width"),
        penalties=grid_of("penalty"),
        center=lambda wildcards: method_of(wildcards).center,
        metric=lambda wildcards: experiment_of(wildcards).metric,
    log:
        "logs/principal_components/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/principal_components/{experiment}-{split}-{method}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("principal_components"),
        runtime=minutes_for("principal_components"),
    wildcard_constraints:
        method=alternatives(methods_with("principal_component_ridge")),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "components {wildcards.method} {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/principal_components.py"


rule output_kernel:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        features="results/{experiment}/split-{split}/features.h5",
        alignments=alignment_file,
        code=code(
            "output_kernel.py", "experiments.output_kernel_stage", "experiments.output_predictions"
        ),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        predictions="results/{experiment}/split-{split}/{method}/predictions.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
        preimages="results/timings/{experiment}/split-{split}/{method}-preimages.json",
    params:
        kernel=lambda wildcards: experiment_of(wildcards).kernel,
        kernels=kernels_of,
        widths=grid_of("width"),
        penalties=grid_of("penalty"),
        output_kernel=lambda wildcards: method_of(wildcards).output_kernel,
        output_widths=grid_of("output_width"),
        preimage=lambda wildcards: method_of(wildcards).preimage,
        center=lambda wildcards: method_of(wildcards).center,
        metric=lambda wildcards: experiment_of(wildcards).metric,
    log:
        "logs/output_kernel/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/output_kernel/{experiment}-{split}-{method}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("output_kernel"),
        runtime=minutes_for("output_kernel"),
    wildcard_constraints:
        method=alternatives(methods_with("output_kernel_regression")),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "output kernel {wildcards.method} {wildcards.experiment} {wildcards.split}"
    script:
        "../scripts/output_kernel.py"


rule past:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        features="results/{experiment}/split-{split}/features.h5",
        code=code("past.py", "experiments.past_stage", "experiments.output_predictions"),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        predictions="results/{experiment}/split-{split}/{method}/predictions.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
        preimages="results/timings/{experiment}/split-{split}/{method}-preimages.json",
    params:
        metric=lambda wildcards: experiment_of(wildcards).metric,
    log:
        "logs/past/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/past/{experiment}-{split}-{method}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("past"),
        runtime=minutes_for("past"),
    wildcard_constraints:
        method=alternatives(methods_with("least_squares")),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "past {wildcards.method} {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/past.py"


rule reduced_rank:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        features="results/{experiment}/split-{split}/features.h5",
        code=code(
            "reduced_rank.py", "experiments.reduced_rank_stage", "experiments.output_predictions"
        ),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        predictions="results/{experiment}/split-{split}/{method}/predictions.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
        preimages="results/timings/{experiment}/split-{split}/{method}-preimages.json",
    params:
        kernel=lambda wildcards: experiment_of(wildcards).kernel,
        widths=grid_of("width"),
        penalties=grid_of("penalty"),
        ranks=grid_of("rank"),
        center=lambda wildcards: method_of(wildcards).center,
        metric=lambda wildcards: experiment_of(wildcards).metric,
    log:
        "logs/reduced_rank/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/reduced_rank/{experiment}-{split}-{method}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("reduced_rank"),
        runtime=minutes_for("reduced_rank"),
    wildcard_constraints:
        method=alternatives(methods_with("reduced_rank_ridge")),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "rank {wildcards.method} {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/reduced_rank.py"


rule laplacian:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        features="results/{experiment}/split-{split}/features.h5",
        code=code("laplacian.py", "experiments.laplacian_stage", "experiments.output_predictions"),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        predictions="results/{experiment}/split-{split}/{method}/predictions.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
        preimages="results/timings/{experiment}/split-{split}/{method}-preimages.json",
    params:
        kernel=lambda wildcards: experiment_of(wildcards).kernel,
        widths=grid_of("width"),
        penalties=grid_of("penalty"),
        laplacian_weights=grid_of("laplacian_weight"),
        neighbours=grid_of("neighbours"),
        center=lambda wildcards: method_of(wildcards).center,
        metric=lambda wildcards: experiment_of(wildcards).metric,
    log:
        "logs/laplacian/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/laplacian/{experiment}-{split}-{method}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("laplacian"),
        runtime=minutes_for("laplacian"),
    wildcard_constraints:
        method=alternatives(methods_with("laplacian_ridge")),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "laplacian {wildcards.method} {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/laplacian.py"


rule mean:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        code=code("mean.py", "experiments.mean_stage", "experiments.output_predictions"),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        predictions="results/{experiment}/split-{split}/{method}/predictions.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
        preimages="results/timings/{experiment}/split-{split}/{method}-preimages.json",
    params:
        metric=lambda wildcards: experiment_of(wildcards).metric,
    log:
        "logs/mean/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/mean/{experiment}-{split}-{method}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("mean"),
        runtime=minutes_for("mean"),
    wildcard_constraints:
        method=alternatives(methods_with("training_mean")),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "mean {wildcards.method} {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/mean.py"


rule stack:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        regressions=files_of_members("results/{experiment}/split-{split}/{member}/regression.h5"),
        predictions=files_of_members("results/{experiment}/split-{split}/{member}/predictions.h5"),
        timings=files_of_members(
            "results/timings/{experiment}/split-{split}/{member}-regression.json",
            "results/timings/{experiment}/split-{split}/{member}-preimages.json",
        ),
        code=code("stack.py", "experiments.stack_stage", "experiments.output_predictions"),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        predictions="results/{experiment}/split-{split}/{method}/predictions.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
        preimages="results/timings/{experiment}/split-{split}/{method}-preimages.json",
    params:
        members=lambda wildcards: list(settings.members_of(wildcards.experiment, wildcards.method)),
        member_sizes=lambda wildcards: dict(method_of(wildcards).member_sizes),
        metric=lambda wildcards: experiment_of(wildcards).metric,
        seed=lambda wildcards: seed_of(wildcards, "training", wildcards.method),
    log:
        "logs/stack/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/stack/{experiment}-{split}-{method}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("stack"),
        runtime=minutes_for("stack"),
    wildcard_constraints:
        method=alternatives(methods_with("stack")),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "stack {wildcards.method} {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/stack.py"
