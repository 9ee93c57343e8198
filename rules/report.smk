"""Tables, figures, the record of the run and the report."""


rule table:
    input:
        unpack(lambda wildcards: files_of_table(wildcards.experiment, table_of(wildcards))),
        published=lambda wildcards: published_of(table_of(wildcards)),
    output:
        csv=shown_result("results/tables/{experiment}-{table}.csv", "table"),
        tex=shown_result("results/tables/{experiment}-{table}.tex", "table"),
    params:
        code=code(
            "table.py",
            "report.table_files",
            lambda wildcards: [TABLE_KINDS.modules[table_of(wildcards).kind]],
        ),
        spreadsheet_safe=settings.run.spreadsheet_safe,
        kind=lambda wildcards: table_of(wildcards).kind,
        caption=lambda wildcards: table_of(wildcards).caption,
        shows=lambda wildcards: table_kinds()[table_of(wildcards).kind].shows,
        options=options_of_table,
    log:
        "logs/table/{experiment}-{table}.log",
    benchmark:
        "results/timings/jobs/table/{experiment}-{table}.tsv"
    resources:
        **resources_for("table"),
    wildcard_constraints:
        table=alternatives(table_names()),
    group:
        "{experiment}-results"
    conda:
        CONDA
    message:
        "table {wildcards.experiment} {wildcards.table}"
    script:
        "../scripts/table.py"


rule figure:
    input:
        unpack(files_of_figure),
    output:
        **shown_figure("results/figures/{figure}", "figure"),
    params:
        code=code(
            "figure.py",
            "report.figures.base",
            "report.style",
            lambda wildcards: [FIGURE_KINDS.modules[kind_of(wildcards).name]],
        ),
        spreadsheet_safe=settings.run.spreadsheet_safe,
        kind=lambda wildcards: kind_of(wildcards).name,
        caption=lambda wildcards: kind_of(wildcards).caption,
        settings=settings_of_figure,
    log:
        "logs/figure/{figure}.log",
    benchmark:
        "results/timings/jobs/figure/{figure}.tsv"
    resources:
        **resources_for("figure"),
    wildcard_constraints:
        figure=alternatives(FIGURES),
    group:
        lambda wildcards: f"{experiment_of_figure(wildcards)}-results"
    conda:
        CONDA
    message:
        "figure {wildcards.figure}"
    script:
        "../scripts/figure.py"


rule critical_difference:
    input:
        scores=[f"results/{experiment}/scores.csv" for experiment in settings.experiments],
    output:
        svg=shown_result(f"{RUN_FOLDER}/figures/ranks.svg", "critical_difference", "ranks"),
        png=f"{RUN_FOLDER}/figures/ranks.png",
        csv=shown_result(f"{RUN_FOLDER}/tables/ranks.csv", "critical_difference", "ranks"),
        tex=shown_result(f"{RUN_FOLDER}/tables/ranks.tex", "critical_difference", "ranks"),
    params:
        code=code("critical_difference.py", "report.run_figures.critical_difference"),
        spreadsheet_safe=settings.run.spreadsheet_safe,
        experiments=lambda wildcards: ranked_experiments(),
        methods=lambda wildcards: stages.method_fields(settings.methods, "label", "color", "marker"),
    log:
        "logs/critical_difference.log",
    benchmark:
        "results/timings/jobs/critical_difference.tsv"
    resources:
        **resources_for("critical_difference"),
    group:
        "report"
    conda:
        CONDA
    message:
        "critical difference"
    script:
        "../scripts/critical_difference.py"


rule overview:
    input:
        scores=[f"results/{experiment}/scores.csv" for experiment in settings.experiments],
    output:
        **shown_figure(f"{RUN_FOLDER}/figures/headline", "overview", "headline"),
        **shown_figure(f"{RUN_FOLDER}/figures/best", "overview", "best methods", "best_"),
        **shown_figure(f"{RUN_FOLDER}/figures/curves", "overview", "curves", "curves_"),
    params:
        code=code("overview.py", "report.run_figures.overview"),
        spreadsheet_safe=settings.run.spreadsheet_safe,
        experiments=lambda wildcards: ranked_experiments(),
        methods=lambda wildcards: stages.method_fields(
            settings.methods, "label", "color", "marker", "weak_outputs"
        ),
    log:
        "logs/overview.log",
    benchmark:
        "results/timings/jobs/overview.tsv"
    resources:
        **resources_for("overview"),
    group:
        "report"
    conda:
        CONDA
    message:
        "overview"
    script:
        "../scripts/overview.py"


rule embedding_or_raw:
    input:
        scores=[f"results/{experiment}/scores.csv" for experiment in settings.experiments],
    output:
        **shown_figure(
            f"{RUN_FOLDER}/figures/embedding-or-raw", "embedding_or_raw", "embedding or raw"
        ),
    params:
        code=code("embedding_or_raw.py", "report.run_figures.embedding_or_raw"),
        spreadsheet_safe=settings.run.spreadsheet_safe,
        experiments=lambda wildcards: ranked_experiments(),
        pairs=lambda wildcards: embedding_pairs(),
        methods=lambda wildcards: stages.method_fields(settings.methods, "label"),
    log:
        "logs/embedding_or_raw.log",
    benchmark:
        "results/timings/jobs/embedding_or_raw.tsv"
    resources:
        **resources_for("embedding_or_raw"),
    group:
        "report"
    conda:
        CONDA
    message:
        "embedding or raw outputs"
    script:
        "../scripts/embedding_or_raw.py"


rule protocol:
    input:
        scores=[f"results/{experiment}/scores.csv" for experiment in settings.experiments],
    output:
        svg=shown_result(f"{RUN_FOLDER}/figures/protocol.svg", "protocol", "protocol"),
        png=f"{RUN_FOLDER}/figures/protocol.png",
    params:
        code=code("protocol.py", "report.run_figures.protocol"),
        experiments=lambda wildcards: protocol_experiments(),
        n_folds=settings.run.n_folds,
    log:
        "logs/protocol.log",
    benchmark:
        "results/timings/jobs/protocol.tsv"
    resources:
        **resources_for("protocol"),
    group:
        "report"
    conda:
        CONDA
    message:
        "protocol"
    script:
        "../scripts/protocol.py"


rule manifest:
    input:
        scores=[f"results/{experiment}/scores.csv" for experiment in settings.experiments],
    output:
        shown_result(f"{RUN_FOLDER}/run.json", "manifest", "versions, seeds and configuration"),
    params:
        code=code("manifest.py", "report.manifest"),
        configuration=lambda wildcards: settings.merged_dict(),
        seeds=lambda wildcards: seeds_by_name(),
        host=settings.run.report.host,
    log:
        "logs/manifest.log",
    benchmark:
        "results/timings/jobs/manifest.tsv"
    resources:
        **resources_for("manifest"),
    group:
        "report"
    conda:
        CONDA
    message:
        "manifest"
    script:
        "../scripts/manifest.py"


rule resource_usage:
    input:
        manifest=f"{RUN_FOLDER}/run.json",
        results=last_results(),
    output:
        shown_result("results/timings/jobs/resource-usage.csv", "resource_usage", "resource usage"),
    params:
        code=code("resource_usage.py", "report.resource_usage"),
        spreadsheet_safe=settings.run.spreadsheet_safe,
        datasets=with_prefix("results/datasets"),
    log:
        "logs/resource_usage.log",
    benchmark:
        "results/timings/jobs/resource_usage.tsv"
    resources:
        **resources_for("resource_usage"),
    group:
        "report"
    conda:
        CONDA
    message:
        "resource usage"
    script:
        "../scripts/resource_usage.py"


rule report:
    input:
        manifest=f"{RUN_FOLDER}/run.json",
        scores=[f"results/{experiment}/scores.csv" for experiment in settings.experiments],
        choices=[f"results/{experiment}/choices.csv" for experiment in settings.experiments],
        table_results=[
            path for experiment in settings.experiments for path in read_by_tables(experiment)
        ],
        equivalence_checks=all_equivalence_checks(),
        tables=all_tables(),
        figures=all_figures("svg"),
        pictures=all_figures("png"),
        figure_data=all_figures("csv"),
        cross_dataset=files_cross_dataset(),
        datasets=[f"results/datasets/{name}.h5" for name in settings.datasets],
        own=all_own_results(),
        published=[external_path(path) for path in PUBLISHED.values()],
        contents=CONTENTS,
    output:
        shown_result(f"{RUN_FOLDER}/report.html", "report", "the report"),
    params:
        code=code("report.py", "page.assembly", *table_modules()),
        title=lambda wildcards: report_title(),
        author=lambda wildcards: settings.run.report.author,
        experiments=lambda wildcards: experiments_for_report(),
        datasets=lambda wildcards: datasets_for_report(),
        methods=lambda wildcards: stages.method_fields(
            settings.methods, "label", "summary", "color", "marker", "regressor", "weak_outputs"
        ),
        published=PUBLISHED,
        n_folds=settings.run.n_folds,
        runs=lambda wildcards: runs_of_papers(),
        ranked=lambda wildcards: ranked_experiments(),
        protocol=lambda wildcards: protocol_experiments(),
        pairs=lambda wildcards: embedding_pairs(),
        cross_dataset=with_prefix(parts_cross_dataset()),
    log:
        "logs/report.log",
    benchmark:
        "results/timings/jobs/report.tsv"
    resources:
        **resources_for("report"),
    group:
        "report"
    conda:
        CONDA
    message:
        "report"
    script:
        "../scripts/report.py"
