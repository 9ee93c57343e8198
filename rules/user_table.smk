"""A user's table: a data profile, the answer, the saved model and predictions for new rows."""


rule new:
    params:
        code=code("new.py", "table.new_table"),
        request=table_request,
        folder=str(CONFIG),
    log:
        request_log(),
    resources:
        mem_mb=2000,
        runtime=10,
    localrule: True
    conda:
        CONDA
    message:
        "new"
    script:
        "../scripts/new.py"


rule data_profile:
    input:
        dataset=stages.dataset_file,
        files=lambda wildcards: own_files(stages.experiment_of(wildcards).dataset)[:1],
    output:
        shown_result("results/{experiment}/data-profile.json", "data_profile", "data profile"),
    params:
        code=code("data_profile.py", "table.data_profile_stage"),
        settings=stages.data_profile,
    log:
        "logs/data_profile/{experiment}.log",
    benchmark:
        "results/timings/jobs/data_profile/{experiment}.tsv"
    resources:
        **resources_for("data_profile"),
    wildcard_constraints:
        experiment=alternatives(user_tables()),
    group:
        "{experiment}-results"
    conda:
        CONDA
    message:
        "data profile {wildcards.experiment}"
    script:
        "../scripts/data_profile.py"


rule leaderboard:
    input:
        scores="results/{experiment}/scores.csv",
        choices="results/{experiment}/choices.csv",
        timings=time_records,
        data_profile="results/{experiment}/data-profile.json",
    output:
        answer=shown_result("results/{experiment}/answer.json", "leaderboard", "answer"),
        with_seconds="results/timings/{experiment}-answer.json",
    params:
        code=code("leaderboard.py", "table.leaderboard"),
        settings=stages.leaderboard,
    log:
        "logs/leaderboard/{experiment}.log",
    benchmark:
        "results/timings/jobs/leaderboard/{experiment}.tsv"
    resources:
        **resources_for("leaderboard"),
    wildcard_constraints:
        experiment=alternatives(user_tables()),
    group:
        "{experiment}-results"
    conda:
        CONDA
    message:
        "leaderboard {wildcards.experiment}"
    script:
        "../scripts/leaderboard.py"


rule calibration:
    input:
        answer="results/{experiment}/answer.json",
        dataset=stages.dataset_file,
        splits=all_splits,
        features=all_features,
        predictions=prediction_files,
    output:
        artifact="results/{experiment}/calibration.h5",
        table=shown_result(
            "results/{experiment}/outputs.csv", "calibration", "errors of each output"
        ),
    params:
        code=code("calibration.py", "table.calibration_stage", "protocol.evaluation"),
        spreadsheet_safe=settings.run.spreadsheet_safe,
        methods=lambda wildcards: list(settings.methods_of(wildcards.experiment)),
        settings=stages.calibration,
    log:
        "logs/calibration/{experiment}.log",
    benchmark:
        "results/timings/jobs/calibration/{experiment}.tsv"
    resources:
        **resources_for("calibration"),
    wildcard_constraints:
        experiment=alternatives(user_tables()),
    group:
        "{experiment}-results"
    conda:
        CONDA
    message:
        "calibration {wildcards.experiment}"
    script:
        "../scripts/calibration.py"


rule importance:
    input:
        answer="results/{experiment}/answer.json",
        dataset=stages.dataset_file,
        splits=all_splits,
        features=all_features,
        steps=numbered_steps,
    output:
        artifact="results/{experiment}/importance.h5",
        table=shown_result(
            "results/{experiment}/importance.csv", "importance", "importance of inputs"
        ),
    params:
        code=code("importance.py", "table.importance_stage", modules_of_saved_methods),
        spreadsheet_safe=settings.run.spreadsheet_safe,
        settings=stages.importance,
    log:
        "logs/importance/{experiment}.log",
    benchmark:
        "results/timings/jobs/importance/{experiment}.tsv"
    # Of few rows it takes less time than waiting for a second core.
    threads: lambda wildcards: 2 if gram_rows_of(wildcards.experiment) > 100 else 1
    resources:
        **resources_for("importance"),
    wildcard_constraints:
        experiment=alternatives(user_tables()),
    group:
        "{experiment}-results"
    conda:
        CONDA
    message:
        "importance of inputs {wildcards.experiment}"
    script:
        "../scripts/importance.py"


rule importance_figures:
    input:
        answer="results/{experiment}/answer.json",
        importance="results/{experiment}/importance.h5",
    output:
        **answer_figure("importance", "importance"),
        **answer_figure("effects", "effects"),
    params:
        code=code(
            "importance_figures.py", "report.run_figures.effects", "report.run_figures.importance"
        ),
        spreadsheet_safe=settings.run.spreadsheet_safe,
    log:
        "logs/importance_figures/{experiment}.log",
    benchmark:
        "results/timings/jobs/importance_figures/{experiment}.tsv"
    resources:
        **resources_for("importance_figures"),
    wildcard_constraints:
        experiment=alternatives(user_tables()),
    group:
        "{experiment}-results"
    conda:
        CONDA
    message:
        "figures of the importance of inputs {wildcards.experiment}"
    script:
        "../scripts/importance_figures.py"


rule answer_figures:
    input:
        scores="results/{experiment}/scores.csv",
        answer="results/{experiment}/answer.json",
        calibration="results/{experiment}/calibration.h5",
        dataset=stages.dataset_file,
    output:
        **answer_figure("methods"),
        **answer_figure("outputs"),
        **answer_figure("curve"),
        **answer_figure("calibration"),
    params:
        code=code("answer_figures.py", "report.run_figures.answer"),
        spreadsheet_safe=settings.run.spreadsheet_safe,
        methods=lambda wildcards: stages.method_fields(
            settings.methods_of(wildcards.experiment), "label", "color", "marker"
        ),
        metric=lambda wildcards: settings.shown_metric_of(wildcards.experiment),
    log:
        "logs/answer_figures/{experiment}.log",
    benchmark:
        "results/timings/jobs/answer_figures/{experiment}.tsv"
    resources:
        **resources_for("answer_figures"),
    wildcard_constraints:
        experiment=alternatives(user_tables()),
    group:
        "{experiment}-results"
    conda:
        CONDA
    message:
        "figures of the answer {wildcards.experiment}"
    script:
        "../scripts/answer_figures.py"


rule saved_model:
    input:
        answer="results/{experiment}/answer.json",
        calibration="results/{experiment}/calibration.h5",
        importance="results/{experiment}/importance.h5",
        dataset=stages.dataset_file,
        split="results/{experiment}/split-final/split.h5",
        features="results/{experiment}/split-final/features.h5",
        steps=final_steps,
    output:
        "results/{experiment}/model.h5",
    params:
        code=code("saved_model.py", "table.saved_model_stage", modules_of_saved_methods),
        settings=stages.saved_model,
    log:
        "logs/saved_model/{experiment}.log",
    benchmark:
        "results/timings/jobs/saved_model/{experiment}.tsv"
    resources:
        **resources_for("saved_model"),
    wildcard_constraints:
        experiment=alternatives(user_tables()),
    group:
        "{experiment}-results"
    conda:
        CONDA
    message:
        "model {wildcards.experiment}"
    script:
        "../scripts/saved_model.py"


rule predict_rows:
    input:
        model="results/{experiment}/model.h5",
        rows=new_rows,
    output:
        shown_result(
            f"results/{{experiment}}/predictions/{{rows}}.{settings.run.format}",
            "predict_rows",
            "predictions",
        ),
    params:
        code=code("predict_rows.py", "table.table_predictions_stage", modules_of_saved_methods),
        trusted=stages.trusted_classes,
        joint=settings.run.joint,
        keep=settings.run.keep,
        spreadsheet_safe=settings.run.spreadsheet_safe,
    log:
        "logs/predict_rows/{experiment}-{rows}.log",
    benchmark:
        "results/timings/jobs/predict_rows/{experiment}-{rows}.tsv"
    resources:
        **resources_for("predict_rows"),
    wildcard_constraints:
        experiment=alternatives(user_tables()),
        rows=alternatives(row_files()),
    group:
        "{experiment}-results"
    conda:
        CONDA
    message:
        "predictions {wildcards.experiment}"
    script:
        "../scripts/predict_rows.py"
