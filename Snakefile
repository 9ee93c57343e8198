"""Entry of the workflow: loads and checks the configuration, then includes the rules."""

import logging

from snakemake.utils import min_version

# When the disk is full, Snakemake cannot write its own log either, and logging would print a
# traceback for each of its lines.
logging.raiseExceptions = False

min_version("9.19")


include: "rules/paths.smk"
include: "rules/start.smk"


configfile: "config/config.yaml"


report: "rules/captions/run.rst"


include: "rules/common.smk"
include: "rules/splits.smk"
include: "rules/inputs/sources.smk"
include: "rules/inputs/steps.smk"
include: "rules/inputs/user_tables.smk"
include: "rules/inputs/many_rows.smk"
include: "rules/inputs/tables_and_figures.smk"
include: "rules/inputs/report.smk"
include: "rules/inputs/snakemake_report.smk"
include: "rules/data.smk"
include: "rules/features.smk"
include: "rules/models.smk"
include: "rules/embeddings.smk"
include: "rules/weak.smk"
include: "rules/score_spaces.smk"
include: "rules/regression.smk"
include: "rules/preimages.smk"
include: "rules/evaluation.smk"
include: "rules/user_table.smk"
include: "rules/many_rows.smk"
include: "rules/report.smk"
include: "rules/stored_digests.smk"


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
        all_figures("csv"),
        files_cross_dataset(),
        "results/timings/jobs/resource-usage.csv",
        user_supplied_tables,
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


rule learn:
    input:
        learned_model,
    localrule: True
    message:
        "learn"


rule predict:
    input:
        predictions_asked_for,
    localrule: True
    message:
        "predict"
