"""Errors, measured times and costs of searches, and checks of equivalence to kernel ridge."""


rule scores:
    input:
        dataset=stages.dataset_file,
        splits=all_splits,
        predictions=prediction_files,
    output:
        scores=shown_result("results/{experiment}/scores.csv", "scores", "errors of all splits"),
        choices="results/{experiment}/choices.csv",
        coordinates=shown_result(
            "results/{experiment}/coordinates.csv", "coordinates", "errors of all coordinates"
        ),
    params:
        code=code("scores.py", "protocol.evaluation"),
        spreadsheet_safe=settings.run.spreadsheet_safe,
        methods=lambda wildcards: list(settings.methods_of(wildcards.experiment)),
        dataset=lambda wildcards: stages.experiment_of(wildcards).dataset,
        positive_class=lambda wildcards: settings.datasets[
            stages.experiment_of(wildcards).dataset
        ].positive_class,
    log:
        "logs/scores/{experiment}.log",
    benchmark:
        "results/timings/jobs/scores/{experiment}.tsv"
    resources:
        **resources_for("scores"),
    group:
        "{experiment}-results"
    conda:
        CONDA
    message:
        "scores {wildcards.experiment}"
    script:
        "../scripts/scores.py"


rule timings:
    input:
        splits=all_splits,
        predictions=prediction_files,
        timings=timing_files,
    output:
        shown_result("results/timings/{experiment}.csv", "timings", "seconds of all splits"),
    params:
        code=code("timings.py", "protocol.evaluation"),
        spreadsheet_safe=settings.run.spreadsheet_safe,
        methods=lambda wildcards: list(settings.methods_of(wildcards.experiment)),
        dataset=lambda wildcards: stages.experiment_of(wildcards).dataset,
    log:
        "logs/timings/{experiment}.log",
    benchmark:
        "results/timings/jobs/timings/{experiment}.tsv"
    resources:
        **resources_for("timings"),
    group:
        "{experiment}-results"
    conda:
        CONDA
    message:
        "timings {wildcards.experiment}"
    script:
        "../scripts/timings.py"


rule queue_costs:
    input:
        dataset=stages.dataset_file,
        splits=all_splits,
        regressions=lambda wildcards: stages.files_of_splits(
            SimpleNamespace(
                experiment=wildcards.experiment, method=box_method(wildcards.experiment)
            ),
            stages.regression_file,
        ),
    output:
        shown_result("results/{experiment}/queue-costs.csv", "queue_costs", "costs of queues"),
    params:
        code=code("queue_costs.py", stage_module("queue_costs")),
        spreadsheet_safe=settings.run.spreadsheet_safe,
        method=lambda wildcards: box_method(wildcards.experiment),
    log:
        "logs/queue_costs/{experiment}.log",
    benchmark:
        "results/timings/jobs/queue_costs/{experiment}.tsv"
    resources:
        **resources_for("queue_costs"),
    group:
        "{experiment}-results"
    conda:
        CONDA
    message:
        "costs of queues {wildcards.experiment}"
    script:
        "../scripts/queue_costs.py"


rule equivalence_checks:
    input:
        dataset=stages.dataset_file,
        split="results/{experiment}/split-0/split.h5",
        features="results/{experiment}/split-0/features.h5",
    output:
        shown_result(
            "results/{experiment}/equivalence-checks.json",
            "equivalence_checks",
            "equivalence checks",
        ),
    params:
        code=code("equivalence_checks.py", "protocol.equivalence_stage"),
        kernel=lambda wildcards: stages.experiment_of(wildcards).kernel,
        # The numbers depend on the name of the stream, which is therefore kept.
        seed=lambda wildcards: stages.seed_of_dataset(
            "identities", stages.experiment_of(wildcards).dataset
        ),
    log:
        "logs/equivalence_checks/{experiment}.log",
    benchmark:
        "results/timings/jobs/equivalence_checks/{experiment}.tsv"
    resources:
        **resources_for("equivalence_checks"),
    group:
        "{experiment}-results"
    conda:
        CONDA
    message:
        "equivalence checks {wildcards.experiment}"
    script:
        "../scripts/equivalence_checks.py"
