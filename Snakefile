"""Entry of the workflow: loads and checks the configuration, then includes the rules."""

from snakemake.utils import min_version

min_version("9.19")


configfile: "config/config.yaml"


include: "rules/common.smk"
include: "rules/data.smk"
include: "rules/features.smk"
include: "rules/models.smk"
include: "rules/embeddings.smk"
include: "rules/weak.smk"
include: "rules/regression.smk"
include: "rules/classes.smk"
include: "rules/preimages.smk"
include: "rules/evaluation.smk"
include: "rules/own_table.smk"
include: "rules/report.smk"


rule all:
    input:
        f"{RUN_FOLDER}/report.html",
        f"{RUN_FOLDER}/run.json",
        all_sources(),
        all_steps(),
        timing_tables(),
        all_tables(),
        all_figures("svg"),
        all_figures("png"),
        "results/timings/jobs/timeline.csv",
        "results/timings/jobs/timeline.svg",
        "results/timings/jobs/timeline.png",
        brought_tables,
    default_target: True
    localrule: True
    message:
        "all"


rule prepare:
    input:
        all_sources(),
    localrule: True
    message:
        "prepare"


rule answer:
    input:
        answer_asked_for,
        rules.all.input,
    localrule: True
    message:
        "answer"


rule predict:
    input:
        predictions_asked_for,
    localrule: True
    message:
        "predict"
