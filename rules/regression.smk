"""Nested selection and fit of every method, up to the predicted embeddings of the test rows."""


rule regression:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        features=features_taken,
        code=lambda wildcards: code(
            "regression.py",
            "experiments.output_predictions",
            "methods.registry",
            f"methods.{module_of(wildcards).name}",
        ),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        predictions="results/{experiment}/split-{split}/{method}/predictions.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
        preimages="results/timings/{experiment}/split-{split}/{method}-preimages.json",
    params:
        module=lambda wildcards: module_of(wildcards).name,
        settings=settings_taken,
    log:
        "logs/regression/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/regression/{experiment}-{split}-{method}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("regression"),
        runtime=minutes_for("regression"),
    wildcard_constraints:
        method=alternatives(methods_with(*method_modules())),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "regression {wildcards.method} {wildcards.experiment} split {wildcards.split}"
    script:
        "../scripts/regression.py"


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
