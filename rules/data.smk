"""From public sources to one dataset file, and from there to seeded splits."""


rule acquire:
    output:
        "resources/{dataset}/{file}",
    params:
        source=source_of,
    log:
        "logs/acquire/{dataset}-{file}.log",
    benchmark:
        "results/timings/jobs/acquire/{dataset}-{file}.tsv"
    resources:
        mem_mb=500,
        runtime=60,
    retries: 0
    localrule: True
    conda:
        CONDA
    message:
        "acquire {wildcards.dataset} {wildcards.file}"
    script:
        "../scripts/acquire.py"


rule introductions:
    output:
        "resources/introductions/{dataset}.json",
    params:
        titles=lambda wildcards: wikipedia_titles(wildcards.dataset),
        cache=with_prefix("resources/introductions/{dataset}.part.json"),
    log:
        "logs/introductions/{dataset}.log",
    benchmark:
        "results/timings/jobs/introductions/{dataset}.tsv"
    resources:
        mem_mb=500,
        runtime=60,
    localrule: True
    conda:
        CONDA
    message:
        "introductions {wildcards.dataset}"
    script:
        "../scripts/introductions.py"


rule image_features:
    input:
        images=image_file,
    output:
        "results/images/{dataset}-{feature}.h5",
    params:
        code=code("image_features.py", "protocol.image_features_stage"),
        source=first_image_file,
        weights=network_weight_file,
        members=lambda wildcards: settings.datasets[wildcards.dataset].options.get("members", "*"),
        left_out_classes=lambda wildcards: image_option(wildcards, "left_out_classes"),
        codebook_classes=lambda wildcards: image_option(wildcards, "codebook_classes"),
        parts=with_prefix("results/images/parts/{dataset}-{feature}"),
        seed=lambda wildcards: stages.seed_of_dataset(
            "images", wildcards.dataset, wildcards.feature
        ),
    log:
        "logs/image_features/{dataset}-{feature}.log",
    benchmark:
        "results/timings/jobs/image_features/{dataset}-{feature}.tsv"
    resources:
        **resources_for("image_features"),
    wildcard_constraints:
        feature=alternatives(all_feature_kinds()),
    group:
        "{dataset}-data"
    conda:
        CONDA
    message:
        "image features {wildcards.feature} {wildcards.dataset}"
    script:
        "../scripts/image_features.py"


rule read:
    input:
        sources=sources_of,
        files=lambda wildcards: own_files(wildcards.dataset),
        features=described_files,
    output:
        "results/datasets/{dataset}.h5",
    params:
        code=code("read.py", "data.read_stage", module_of_reader),
        settings=reading,
        feature_kinds=lambda wildcards: description_kinds(wildcards.dataset),
    log:
        "logs/read/{dataset}.log",
    benchmark:
        "results/timings/jobs/read/{dataset}.tsv"
    resources:
        **resources_for("read"),
    group:
        "{dataset}-data"
    conda:
        CONDA
    message:
        "read {wildcards.dataset}"
    script:
        "../scripts/read.py"


rule alignments:
    input:
        dataset="results/datasets/{dataset}.h5",
    output:
        "results/datasets/alignments/{dataset}-{alignment}.h5",
    params:
        code=code("alignments.py", "protocol.alignments"),
        kernel=lambda wildcards: wildcards.alignment,
        output_widths=stages.alignment_widths,
    log:
        "logs/alignments/{dataset}-{alignment}.log",
    benchmark:
        "results/timings/jobs/alignments/{dataset}-{alignment}.tsv"
    resources:
        **resources_for("alignments"),
    group:
        "{dataset}-data"
    conda:
        CONDA
    message:
        "alignments {wildcards.dataset} {wildcards.alignment}"
    script:
        "../scripts/alignments.py"


for splits in SPLITS:

    rule:
        name:
            splits.rule_name("split")
        input:
            dataset=stages.dataset_file,
        output:
            **splits.each(split="results/{experiment}/split-{split}/split.h5"),
        params:
            **splits.each(
                numbered=stages.numbered_split,
            ),
            code=code("split.py", "protocol.splitting"),
            settings=stages.splitting,
        log:
            splits.path("logs/split/{experiment}-{split}.log"),
        benchmark:
            splits.path("results/timings/jobs/split/{experiment}-{split}.tsv")
        resources:
            **resources_for("split", splits),
        wildcard_constraints:
            experiment=alternatives(splits.experiments),
        group:
            splits.path("{experiment}-split-{split}")
        conda:
            CONDA
        message:
            splits.message("split {wildcards.experiment}")
        script:
            "../scripts/split.py"
