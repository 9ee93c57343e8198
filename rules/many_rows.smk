"""A model of a table with more rows than memory holds: sums over blocks of rows, each a job."""


rule row_plan:
    input:
        data=learned_file,
    output:
        "results/{table}/rows/plan.h5",
    params:
        code=code("row_plan.py", "table.many_rows"),
        request=learned_settings,
        seed=settings.run.seed,
    log:
        "logs/row_plan/{table}.log",
    benchmark:
        "results/timings/jobs/row_plan/{table}.tsv"
    resources:
        **resources_for("row_plan"),
    wildcard_constraints:
        table=alternatives(learned_tables()),
    group:
        "{table}-plan"
    conda:
        CONDA
    message:
        "plan of the fit {wildcards.table}"
    script:
        "../scripts/row_plan.py"


rule row_sums:
    input:
        data=learned_file,
        plan="results/{table}/rows/plan.h5",
    output:
        temp("results/{table}/rows/sums-0-{block}.h5"),
    params:
        code=code("row_sums.py", "table.many_rows"),
        request=learned_settings,
        n_blocks=n_blocks,
    log:
        "logs/row_sums/{table}-{block}.log",
    benchmark:
        "results/timings/jobs/row_sums/{table}-{block}.tsv"
    resources:
        **resources_for("row_sums"),
    wildcard_constraints:
        table=alternatives(learned_tables()),
        block=r"\d+",
    group:
        "{table}-sums-{block}"
    conda:
        CONDA
    message:
        "sums of rows {wildcards.table} block {wildcards.block}"
    script:
        "../scripts/row_sums.py"


rule added_sums:
    input:
        parts_of_sums,
    output:
        temp("results/{table}/rows/sums-{level}-{number}.h5"),
    params:
        code=code("added_sums.py", "table.many_rows"),
    log:
        "logs/added_sums/{table}-{level}-{number}.log",
    benchmark:
        "results/timings/jobs/added_sums/{table}-{level}-{number}.tsv"
    resources:
        **resources_for("added_sums"),
    wildcard_constraints:
        table=alternatives(learned_tables()),
        level=r"[1-9]\d*",
        number=r"\d+",
    group:
        "{table}-added-{level}-{number}"
    conda:
        CONDA
    message:
        "added sums {wildcards.table} {wildcards.level}-{wildcards.number}"
    script:
        "../scripts/added_sums.py"


rule solved_sums:
    input:
        sums=sums_of_all_rows,
        plan="results/{table}/rows/plan.h5",
    output:
        "results/{table}/rows/solutions.h5",
    params:
        code=code("solved_sums.py", "table.many_rows"),
    log:
        "logs/solved_sums/{table}.log",
    benchmark:
        "results/timings/jobs/solved_sums/{table}.tsv"
    resources:
        **resources_for("solved_sums"),
    wildcard_constraints:
        table=alternatives(learned_tables()),
    group:
        "{table}-solved"
    conda:
        CONDA
    message:
        "solutions {wildcards.table}"
    script:
        "../scripts/solved_sums.py"


rule row_errors:
    input:
        data=learned_file,
        plan="results/{table}/rows/plan.h5",
        solutions="results/{table}/rows/solutions.h5",
    output:
        "results/{table}/rows/errors-{block}.h5",
    params:
        code=code("row_errors.py", "table.many_rows"),
        request=learned_settings,
        n_blocks=n_blocks,
    log:
        "logs/row_errors/{table}-{block}.log",
    benchmark:
        "results/timings/jobs/row_errors/{table}-{block}.tsv"
    resources:
        **resources_for("row_errors"),
    wildcard_constraints:
        table=alternatives(learned_tables()),
        block=r"\d+",
    group:
        "{table}-errors-{block}"
    conda:
        CONDA
    message:
        "errors of rows {wildcards.table} block {wildcards.block}"
    script:
        "../scripts/row_errors.py"


rule learned_model:
    input:
        data=learned_file,
        plan="results/{table}/rows/plan.h5",
        solutions="results/{table}/rows/solutions.h5",
        errors=errors_of_all_blocks,
    output:
        model="results/{table}/model.h5",
        summary="results/{table}/learned.json",
    params:
        code=code("learned_model.py", "table.many_rows"),
        request=learned_settings,
    log:
        "logs/learned_model/{table}.log",
    benchmark:
        "results/timings/jobs/learned_model/{table}.tsv"
    resources:
        **resources_for("learned_model"),
    wildcard_constraints:
        table=alternatives(learned_tables()),
    group:
        "{table}-model"
    conda:
        CONDA
    message:
        "model {wildcards.table}"
    script:
        "../scripts/learned_model.py"
