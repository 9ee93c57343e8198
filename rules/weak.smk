"""Weak labels: the component that an annotator names for each weak row."""

for splits in SPLITS:

    rule:
        name:
            splits.rule_name("annotate")
        input:
            **splits.each(
                split=stages.split_file,
                models="results/{experiment}/split-{split}/{model}/models.h5",
            ),
            dataset=stages.dataset_file,
        output:
            **splits.each(
                models=f"results/{{experiment}}/split-{{split}}/{{model}}{ANNOTATED}/models.h5",
                labels=f"results/{{experiment}}/split-{{split}}/{{model}}{ANNOTATED}/weak_labels.h5",
            ),
        params:
            **splits.each(
                seed=lambda wildcards: stages.seed_of(wildcards, "annotation", wildcards.model),
            ),
            code=code("annotate.py", "protocol.annotation"),
            label_kind=lambda wildcards: stages.experiment_of(wildcards).weak_labels,
        log:
            splits.path("logs/annotate/{experiment}-{split}-{model}.log"),
        benchmark:
            splits.path("results/timings/jobs/annotate/{experiment}-{split}-{model}.tsv")
        resources:
            **resources_for("annotate", splits),
        wildcard_constraints:
            experiment=alternatives(splits.experiments),
        group:
            splits.path("{experiment}-split-{split}")
        conda:
            CONDA
        message:
            splits.message("annotate {wildcards.model} {wildcards.experiment}")
        script:
            "../scripts/annotate.py"
