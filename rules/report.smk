"""Tables, figures, the record of the run and the report."""


rule table:
    input:
        results=lambda wildcards: (
            f"results/timings/{wildcards.experiment}.csv"
            if table_of(wildcards).kind == "time"
            else (
                f"results/{wildcards.experiment}/coordinates.csv"
                if table_of(wildcards).kind == "coordinates"
                else f"results/{wildcards.experiment}/scores.csv"
            )
        ),
        published=lambda wildcards: published_of(table_of(wildcards)),
        code=code("table.py", "report.table_text"),
    output:
        csv="results/tables/{experiment}-{table}.csv",
        tex="results/tables/{experiment}-{table}.tex",
    params:
        kind=lambda wildcards: table_of(wildcards).kind,
        errors=lambda wildcards: list(table_of(wildcards).errors),
        metric=lambda wildcards: experiment_of(wildcards).metric,
        caption=lambda wildcards: table_of(wildcards).caption,
        dataset_title=lambda wildcards: settings.dataset_of(wildcards.experiment).title,
        stand_in_for=lambda wildcards: stand_in(wildcards.experiment),
        methods=lambda wildcards: looks(
            settings.methods_of(wildcards.experiment), "label", "regressor"
        ),
    log:
        "logs/table/{experiment}-{table}.log",
    benchmark:
        "results/timings/jobs/table/{experiment}-{table}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    wildcard_constraints:
        table=alternatives(table_names()),
    conda:
        CONDA
    message:
        "table {wildcards.experiment} {wildcards.table}"
    script:
        "../scripts/table.py"


rule component_names:
    input:
        dataset=of_component_table(
            lambda experiment: f"results/datasets/{settings.experiments[experiment].dataset}.h5"
        ),
        models=of_component_table(mixture_models),
        code=code("component_names.py", "report.component_names"),
    output:
        csv="results/tables/{named}.csv",
        tex="results/tables/{named}.tex",
    params:
        caption=lambda wildcards: component_table_of(wildcards).caption,
        dataset_title=of_component_table(lambda experiment: settings.dataset_of(experiment).title),
        stand_in_for=of_component_table(stand_in),
    log:
        "logs/component_names/{named}.log",
    benchmark:
        "results/timings/jobs/component_names/{named}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    wildcard_constraints:
        named=alternatives(component_tables()),
    conda:
        CONDA
    message:
        "components {wildcards.named}"
    script:
        "../scripts/component_names.py"


rule learning_curve:
    input:
        scores=of_figure("results/{experiment}/scores.csv"),
        code=code("learning_curve.py", "report.figures.learning_curves"),
    output:
        svg="results/figures/{figure}.svg",
        png="results/figures/{figure}.png",
    params:
        dataset_title=lambda wildcards: settings.dataset_of(experiment_of_figure(wildcards)).title,
        stand_in_for=lambda wildcards: stand_in(experiment_of_figure(wildcards)),
        methods=lambda wildcards: looks(
            shown_methods(wildcards), "label", "color", "marker", "regressor"
        ),
        metric=lambda wildcards: settings.experiments[experiment_of_figure(wildcards)].metric,
    log:
        "logs/figure/{figure}.log",
    benchmark:
        "results/timings/jobs/figure/{figure}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    wildcard_constraints:
        figure=figures_of_kind("learning_curve"),
    conda:
        CONDA
    message:
        "figure {wildcards.figure}"
    script:
        "../scripts/learning_curve.py"


rule completion:
    input:
        dataset=of_figure("results/datasets/{dataset}.h5"),
        split=of_figure("results/{experiment}/split-0/split.h5"),
        predictions=completion_predictions,
        code=code("completion.py", "report.figures.completion"),
    output:
        svg="results/figures/{figure}.svg",
        png="results/figures/{figure}.png",
    params:
        dataset_title=lambda wildcards: settings.dataset_of(experiment_of_figure(wildcards)).title,
        stand_in_for=lambda wildcards: stand_in(experiment_of_figure(wildcards)),
        methods=lambda wildcards: looks(
            settings.methods_of(experiment_of_figure(wildcards)), "label"
        ),
        training_size=lambda wildcards: largest(
            settings.experiments[experiment_of_figure(wildcards)].training_sizes
        ),
        weak_size=lambda wildcards: largest(
            settings.experiments[experiment_of_figure(wildcards)].weak_sizes
        ),
    log:
        "logs/figure/{figure}.log",
    benchmark:
        "results/timings/jobs/figure/{figure}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    wildcard_constraints:
        figure=figures_of_kind("completion"),
    conda:
        CONDA
    message:
        "figure {wildcards.figure}"
    script:
        "../scripts/completion.py"


rule series_figure:
    input:
        dataset=of_figure("results/datasets/{dataset}.h5"),
        splits=lambda wildcards: all_splits(
            SimpleNamespace(experiment=experiment_of_figure(wildcards))
        ),
        predictions=lambda wildcards: prediction_files(
            SimpleNamespace(experiment=experiment_of_figure(wildcards))
        ),
        code=code("series_figure.py", "experiments.evaluation", "report.figures.series"),
    output:
        svg="results/figures/{figure}.svg",
        png="results/figures/{figure}.png",
    params:
        dataset_title=lambda wildcards: settings.dataset_of(experiment_of_figure(wildcards)).title,
        stand_in_for=lambda wildcards: stand_in(experiment_of_figure(wildcards)),
        methods=lambda wildcards: looks(
            settings.methods_of(experiment_of_figure(wildcards)), "label", "color", "marker"
        ),
    log:
        "logs/figure/{figure}.log",
    benchmark:
        "results/timings/jobs/figure/{figure}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    wildcard_constraints:
        figure=figures_of_kind("series"),
    conda:
        CONDA
    message:
        "figure {wildcards.figure}"
    script:
        "../scripts/series_figure.py"


rule coordinate_figure:
    input:
        coordinates=of_figure("results/{experiment}/coordinates.csv"),
        dataset=of_figure("results/datasets/{dataset}.h5"),
        code=code("coordinate_figure.py", "report.figures.coordinates"),
    output:
        svg="results/figures/{figure}.svg",
        png="results/figures/{figure}.png",
    params:
        dataset_title=lambda wildcards: settings.dataset_of(experiment_of_figure(wildcards)).title,
        stand_in_for=lambda wildcards: stand_in(experiment_of_figure(wildcards)),
        methods=lambda wildcards: looks(shown_methods(wildcards), "label", "color", "marker"),
        metric=lambda wildcards: settings.experiments[experiment_of_figure(wildcards)].metric,
    log:
        "logs/figure/{figure}.log",
    benchmark:
        "results/timings/jobs/figure/{figure}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    wildcard_constraints:
        figure=figures_of_kind("coordinates"),
    conda:
        CONDA
    message:
        "figure {wildcards.figure}"
    script:
        "../scripts/coordinate_figure.py"


rule confusion:
    input:
        dataset=of_figure("results/datasets/{dataset}.h5"),
        splits=lambda wildcards: all_splits(
            SimpleNamespace(experiment=experiment_of_figure(wildcards))
        ),
        predictions=lambda wildcards: prediction_files(
            SimpleNamespace(experiment=experiment_of_figure(wildcards))
        ),
        models=lambda wildcards: mixture_models(experiment_of_figure(wildcards)),
        code=code("confusion.py", "experiments.evaluation", "report.figures.confusion"),
    output:
        svg="results/figures/{figure}.svg",
        png="results/figures/{figure}.png",
    params:
        dataset_title=lambda wildcards: settings.dataset_of(experiment_of_figure(wildcards)).title,
        stand_in_for=lambda wildcards: stand_in(experiment_of_figure(wildcards)),
        methods=lambda wildcards: looks(
            settings.methods_of(experiment_of_figure(wildcards)), "label", "regressor"
        ),
    log:
        "logs/figure/{figure}.log",
    benchmark:
        "results/timings/jobs/figure/{figure}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    wildcard_constraints:
        figure=figures_of_kind("confusion"),
    conda:
        CONDA
    message:
        "figure {wildcards.figure}"
    script:
        "../scripts/confusion.py"


rule image_sheet:
    input:
        dataset=of_figure("results/datasets/{dataset}.h5"),
        splits=lambda wildcards: all_splits(
            SimpleNamespace(experiment=experiment_of_figure(wildcards))
        ),
        predictions=lambda wildcards: prediction_files(
            SimpleNamespace(experiment=experiment_of_figure(wildcards))
        ),
        regressions=lambda wildcards: [
            f"results/{experiment_of_figure(wildcards)}/split-0/{method}/regression.h5"
            for method in membership_methods(experiment_of_figure(wildcards))
        ],
        models=lambda wildcards: mixture_models(experiment_of_figure(wildcards)),
        code=code("image_sheet.py", "experiments.evaluation", "report.figures.image_sheet"),
    output:
        svg="results/figures/{figure}.svg",
        png="results/figures/{figure}.png",
    params:
        dataset_title=lambda wildcards: settings.dataset_of(experiment_of_figure(wildcards)).title,
        stand_in_for=lambda wildcards: stand_in(experiment_of_figure(wildcards)),
        methods=lambda wildcards: looks(
            settings.methods_of(experiment_of_figure(wildcards)), "label", "regressor"
        ),
        membership_methods=lambda wildcards: membership_methods(experiment_of_figure(wildcards)),
    log:
        "logs/figure/{figure}.log",
    benchmark:
        "results/timings/jobs/figure/{figure}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    wildcard_constraints:
        figure=figures_of_kind("image_sheet"),
    conda:
        CONDA
    message:
        "figure {wildcards.figure}"
    script:
        "../scripts/image_sheet.py"


rule weak_study:
    input:
        scores=of_figure("results/{experiment}/scores.csv"),
        code=code("weak_study.py", "report.figures.weak_studies"),
    output:
        svg="results/figures/{figure}.svg",
        png="results/figures/{figure}.png",
    params:
        kind=lambda wildcards: (
            "weak_weight"
            if re.fullmatch(figures_of_kind("weak_weight"), wildcards.figure)
            else "weak_noise"
        ),
        dataset_title=lambda wildcards: settings.dataset_of(experiment_of_figure(wildcards)).title,
        stand_in_for=lambda wildcards: stand_in(experiment_of_figure(wildcards)),
        methods=lambda wildcards: looks(
            settings.methods_of(experiment_of_figure(wildcards)), "label", "color", "marker"
        ),
        metric=lambda wildcards: settings.experiments[experiment_of_figure(wildcards)].metric,
    log:
        "logs/figure/{figure}.log",
    benchmark:
        "results/timings/jobs/figure/{figure}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    wildcard_constraints:
        figure=figures_of_kind("weak_weight", "weak_noise"),
    conda:
        CONDA
    message:
        "figure {wildcards.figure}"
    script:
        "../scripts/weak_study.py"


rule profiles:
    input:
        dataset=of_figure("results/datasets/{dataset}.h5"),
        split=of_figure("results/{experiment}/split-0/split.h5"),
        predictions=completion_predictions,
        code=code("profiles.py", "report.figures.profiles"),
    output:
        svg="results/figures/{figure}.svg",
        png="results/figures/{figure}.png",
    params:
        dataset_title=lambda wildcards: settings.dataset_of(experiment_of_figure(wildcards)).title,
        stand_in_for=lambda wildcards: stand_in(experiment_of_figure(wildcards)),
        methods=lambda wildcards: looks(
            settings.methods_of(experiment_of_figure(wildcards)), "label"
        ),
        output_scale=lambda wildcards: settings.dataset_of(
            experiment_of_figure(wildcards)
        ).outputs.scale,
    log:
        "logs/figure/{figure}.log",
    benchmark:
        "results/timings/jobs/figure/{figure}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    wildcard_constraints:
        figure=figures_of_kind("profiles"),
    conda:
        CONDA
    message:
        "figure {wildcards.figure}"
    script:
        "../scripts/profiles.py"


rule predicted_true:
    input:
        calibration=of_figure("results/{experiment}/calibration.h5"),
        dataset=of_figure("results/datasets/{dataset}.h5"),
        code=code("predicted_true.py", "report.figures.predicted_true"),
    output:
        svg="results/figures/{figure}.svg",
        png="results/figures/{figure}.png",
    params:
        dataset_title=lambda wildcards: settings.dataset_of(experiment_of_figure(wildcards)).title,
        stand_in_for=lambda wildcards: stand_in(experiment_of_figure(wildcards)),
        methods=lambda wildcards: looks(
            settings.methods_of(experiment_of_figure(wildcards)), "label"
        ),
    log:
        "logs/figure/{figure}.log",
    benchmark:
        "results/timings/jobs/figure/{figure}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    wildcard_constraints:
        figure=figures_of_kind("predicted_true"),
    conda:
        CONDA
    message:
        "figure {wildcards.figure}"
    script:
        "../scripts/predicted_true.py"


rule residuals_novelty:
    input:
        calibration=of_figure("results/{experiment}/calibration.h5"),
        code=code("residuals_novelty.py", "report.figures.residuals_novelty"),
    output:
        svg="results/figures/{figure}.svg",
        png="results/figures/{figure}.png",
    params:
        dataset_title=lambda wildcards: settings.dataset_of(experiment_of_figure(wildcards)).title,
        stand_in_for=lambda wildcards: stand_in(experiment_of_figure(wildcards)),
        methods=lambda wildcards: looks(
            settings.methods_of(experiment_of_figure(wildcards)), "label"
        ),
    log:
        "logs/figure/{figure}.log",
    benchmark:
        "results/timings/jobs/figure/{figure}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    wildcard_constraints:
        figure=figures_of_kind("residuals_novelty"),
    conda:
        CONDA
    message:
        "figure {wildcards.figure}"
    script:
        "../scripts/residuals_novelty.py"


rule typical_rows:
    input:
        dataset=lambda wildcards: (
            f"results/datasets/{settings.experiments[typical_row_tables()[wildcards.typical]].dataset}.h5"
        ),
        split=lambda wildcards: (
            f"results/{typical_row_tables()[wildcards.typical]}/split-{FINAL}/split.h5"
        ),
        first_look=lambda wildcards: (
            f"results/{typical_row_tables()[wildcards.typical]}/first-look.json"
        ),
        models=lambda wildcards: final_mixture(typical_row_tables()[wildcards.typical]),
        code=code("typical_rows.py", "report.typical_rows"),
    output:
        csv="results/tables/{typical}.csv",
        tex="results/tables/{typical}.tex",
    params:
        caption=lambda wildcards: typical_row_table_of(wildcards).caption,
        dataset_title=lambda wildcards: settings.dataset_of(
            typical_row_tables()[wildcards.typical]
        ).title,
        stand_in_for=lambda wildcards: stand_in(typical_row_tables()[wildcards.typical]),
    log:
        "logs/typical_rows/{typical}.log",
    benchmark:
        "results/timings/jobs/typical_rows/{typical}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    wildcard_constraints:
        typical=alternatives(typical_row_tables()),
    conda:
        CONDA
    message:
        "typical rows {wildcards.typical}"
    script:
        "../scripts/typical_rows.py"


rule geometry:
    input:
        code=code("geometry.py", "report.figures.geometry"),
    output:
        svg="results/figures/{figure}.svg",
        png="results/figures/{figure}.png",
    params:
        seed=derive_seed(settings.run.seed, "figure", "geometry"),
    log:
        "logs/figure/{figure}.log",
    benchmark:
        "results/timings/jobs/figure/{figure}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    wildcard_constraints:
        figure=figures_of_kind("geometry"),
    conda:
        CONDA
    message:
        "figure {wildcards.figure}"
    script:
        "../scripts/geometry.py"


rule manifest:
    input:
        scores=[f"results/{experiment}/scores.csv" for experiment in settings.experiments],
        code=code("manifest.py", "report.manifest"),
    output:
        f"{RUN_FOLDER}/run.json",
    params:
        configuration=settings.merged_dict(),
        seeds=seeds_by_name(),
    log:
        "logs/manifest.log",
    benchmark:
        "results/timings/jobs/manifest.tsv"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    conda:
        CONDA
    message:
        "manifest"
    script:
        "../scripts/manifest.py"


rule timeline:
    input:
        manifest=f"{RUN_FOLDER}/run.json",
        timings=timing_tables(),
        tables=all_tables(),
        figures=all_figures("svg"),
        code=code("timeline.py", "report.figures.timeline"),
    output:
        csv="results/timings/jobs/timeline.csv",
        svg="results/timings/jobs/timeline.svg",
        png="results/timings/jobs/timeline.png",
    log:
        "logs/timeline.log",
    benchmark:
        "results/timings/jobs/timeline.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    conda:
        CONDA
    message:
        "timeline"
    script:
        "../scripts/timeline.py"


rule report:
    input:
        manifest=f"{RUN_FOLDER}/run.json",
        scores=[f"results/{experiment}/scores.csv" for experiment in settings.experiments],
        coordinates=[f"results/{experiment}/coordinates.csv" for experiment in settings.experiments],
        timings=timing_tables(),
        figures=all_figures("svg"),
        datasets=[f"results/datasets/{name}.h5" for name in settings.datasets],
        models=[
            path for experiment in settings.experiments for path in named_components(experiment)
        ],
        own=[path for experiment in own_tables() for path in own_results(experiment)],
        published=list(PUBLISHED.values()),
        jobs="results/timings/jobs/timeline.csv",
        timeline="results/timings/jobs/timeline.svg",
        code=code("report.py", "report.assembly"),
    output:
        f"{RUN_FOLDER}/report.html",
    params:
        title=report_title(),
        author=settings.run.report.author,
        experiments=experiments_for_report(),
        datasets=datasets_for_report(),
        methods=looks(settings.methods, "label", "summary", "color", "marker", "regressor"),
        published=PUBLISHED,
        n_folds=settings.run.n_folds,
    log:
        "logs/report.log",
    benchmark:
        "results/timings/jobs/report.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    conda:
        CONDA
    message:
        "report"
    script:
        "../scripts/report.py"
