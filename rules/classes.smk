"""Methods that predict classes, up to their scores of the classes for the test rows."""

CLASSIFIERS = {
    "support_vector_machine": "svm",
    "perceptron": "perceptron",
    "random_forest_classifier": "forest",
}
CLASSIFIER_GRID = ("width", "cost", "l2_penalty", "max_features", "n_trees")


rule class_ridge:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        features="results/{experiment}/split-{split}/features.h5",
        models=model_file,
        weak_labels=weak_label_file,
        code=code(
            "class_ridge.py", "experiments.class_ridge_stage", "experiments.output_predictions"
        ),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        predictions="results/{experiment}/split-{split}/{method}/predictions.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
        preimages="results/timings/{experiment}/split-{split}/{method}-preimages.json",
    params:
        decoder=lambda wildcards: method_of(wildcards).decoder,
        components=components_of,
        component_counts=component_candidates,
        kernel=lambda wildcards: experiment_of(wildcards).kernel,
        kernels=kernels_of,
        widths=grid_of("width"),
        penalties=grid_of("penalty"),
        output_widths=grid_of("output_width"),
        block_weights=grid_of("block_weight"),
        weak=lambda wildcards: method_of(wildcards).weak,
        weak_weights=grid_of("weak_weight"),
        center=lambda wildcards: method_of(wildcards).center,
        fixed=lambda wildcards: settings.one_example_of(wildcards.method),
    log:
        "logs/class_ridge/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/class_ridge/{experiment}-{split}-{method}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("class_ridge"),
        runtime=minutes_for("class_ridge"),
    wildcard_constraints:
        method=alternatives(methods_with("class_ridge")),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "class ridge {wildcards.method} {wildcards.experiment} {wildcards.split}"
    script:
        "../scripts/class_ridge.py"


rule self_training:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        features="results/{experiment}/split-{split}/features.h5",
        models=model_file,
        weak_labels=weak_label_file,
        code=code(
            "self_training.py", "experiments.self_training_stage", "experiments.output_predictions"
        ),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        predictions="results/{experiment}/split-{split}/{method}/predictions.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
        preimages="results/timings/{experiment}/split-{split}/{method}-preimages.json",
    params:
        kind=lambda wildcards: method_of(wildcards).pseudo_classes,
        components=components_of,
        component_counts=component_candidates,
        kernel=lambda wildcards: experiment_of(wildcards).kernel,
        kernels=kernels_of,
        widths=grid_of("width"),
        penalties=grid_of("penalty"),
        center=lambda wildcards: method_of(wildcards).center,
        fixed=lambda wildcards: settings.one_example_of(wildcards.method),
    log:
        "logs/self_training/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/self_training/{experiment}-{split}-{method}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("self_training"),
        runtime=minutes_for("self_training"),
    wildcard_constraints:
        method=alternatives(methods_with("self_training")),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "training {wildcards.method} {wildcards.experiment} {wildcards.split}"
    script:
        "../scripts/self_training.py"


rule classifier:
    input:
        dataset=dataset_of,
        split="results/{experiment}/split-{split}/split.h5",
        features="results/{experiment}/split-{split}/features.h5",
        code=code("classifier.py", "experiments.classifier_stage", "experiments.output_predictions"),
    output:
        regression="results/{experiment}/split-{split}/{method}/regression.h5",
        predictions="results/{experiment}/split-{split}/{method}/predictions.h5",
        timings="results/timings/{experiment}/split-{split}/{method}-regression.json",
        preimages="results/timings/{experiment}/split-{split}/{method}-preimages.json",
    params:
        classifier=lambda wildcards: CLASSIFIERS[method_of(wildcards).regressor],
        kernel=lambda wildcards: experiment_of(wildcards).kernel,
        grid=lambda wildcards: plain(method_of(wildcards).grid, *CLASSIFIER_GRID),
        fixed=lambda wildcards: settings.one_example_of(wildcards.method),
        seed=lambda wildcards: seed_of(wildcards, "training", wildcards.method),
    log:
        "logs/classifier/{experiment}-{split}-{method}.log",
    benchmark:
        "results/timings/jobs/classifier/{experiment}-{split}-{method}.tsv"
    threads: 1
    resources:
        mem_mb=memory_for("classifier"),
        runtime=minutes_for("classifier"),
    wildcard_constraints:
        method=alternatives(methods_with(*CLASSIFIERS)),
    group:
        "{experiment}-split-{split}"
    conda:
        CONDA
    message:
        "classifier {wildcards.method} {wildcards.experiment} {wildcards.split}"
    script:
        "../scripts/classifier.py"
