"""What the datasets are read from: the sources, the user's own files, features of images, texts of classes."""

from workflow_lib.core.plugins import READERS


def source_file(dataset, source):
    return f"resources/{dataset}/{Path(source.path).name}"


def sources_of(wildcards):
    return [
        source_file(wildcards.dataset, source)
        for source in settings.datasets[wildcards.dataset].sources
    ]


def source_of(wildcards):
    for source in settings.datasets[wildcards.dataset].sources:
        if Path(source.path).name == wildcards.file:
            return source.model_dump(exclude_none=True)
    raise ValueError(f"{wildcards.dataset} has no source {wildcards.file}")


def all_sources():
    """Return all that is fetched."""
    files = [
        source_file(name, source)
        for name, dataset in settings.datasets.items()
        for source in dataset.sources
    ]
    return files + [path for name in settings.datasets for path in introduction_files(name)]


def module_of_reader(wildcards):
    return [READERS.modules[settings.datasets[wildcards.dataset].reader]]


def feature_kinds(dataset):
    """Return the kinds of image features that a dataset is read from; most have none."""
    kinds = settings.datasets[dataset].options.get("features", [])
    return [*kinds, "thumbnails"] if kinds else []


def all_feature_kinds():
    return {kind for dataset in settings.datasets for kind in feature_kinds(dataset)}


def feature_files(wildcards):
    return [
        f"results/images/{wildcards.dataset}-{kind}.h5" for kind in feature_kinds(wildcards.dataset)
    ]


def image_file(wildcards):
    """Return the first source, which holds the images; none where the user supplies the file."""
    return sources_of(wildcards)[:1]


def user_supplied_files(wildcards):
    return list(
        map(external_path, settings.datasets[wildcards.dataset].options.get("user_supplied", []))
    )


def first_image_file(wildcards):
    """Return the file with the images of a dataset, fetched or user-supplied."""
    return str([*map(with_prefix, sources_of(wildcards)), *user_supplied_files(wildcards)][0])


def image_option(wildcards, key):
    return list(settings.datasets[wildcards.dataset].options.get(key) or [])


def network_weight_file(wildcards):
    """Return the source with the weights of a network, where one of its layers is the feature."""
    if not wildcards.feature.startswith("vgg19"):
        return []
    paths = [*map(with_prefix, sources_of(wildcards)), *user_supplied_files(wildcards)]
    return [str(path) for path in paths if path.endswith(".pth")]


def wikipedia_titles(dataset):
    return dict(settings.datasets[dataset].options.get("wikipedia", {}))


def introduction_files(dataset):
    """Return the fetched introductions of the pages of a dataset's classes, if it names any."""
    return [f"resources/introductions/{dataset}.json"] if wikipedia_titles(dataset) else []


def description_kinds(dataset):
    """Return what a dataset is read from besides its sources: image features, introductions."""
    return [*feature_kinds(dataset), *(["introductions"] if wikipedia_titles(dataset) else [])]


def described_files(wildcards):
    return [*feature_files(wildcards), *introduction_files(wildcards.dataset)]
