"""What `snakemake --report` shows of a result: its caption, its category and its labels."""


def shown_result(path, kind, result=None):
    """Mark a result for `snakemake --report`: its caption, its category, and its labels.

    The caption is `captions/KIND.rst`. A result of an experiment is listed in the category of its
    title, under its own name; a result without wildcards is listed under the name `result`.
    """
    return report(
        path,
        caption=f"captions/{kind}.rst",
        category=category_of_result,
        labels=lambda wildcards: labels_of_result(wildcards, result, Path(path).suffix),
    )


def shown_figure(path, kind, result=None, name=""):
    """Return the files of a figure, of this path without its ending, as outputs of a rule.

    The picture and its numbers are marked as `shown_result`. `name` is before the ending, by which
    the rule names each file, where it makes several figures.
    """
    shown = {suffix: shown_result(f"{path}.{suffix}", kind, result) for suffix in ("svg", "csv")}
    svg, png, csv = (f"{name}{suffix}" for suffix in ("svg", "png", "csv"))
    return {svg: shown["svg"], png: f"{path}.png", csv: shown["csv"]}


def experiment_of_result(wildcards):
    """Return the experiment of a result, by the wildcards of its rule; None for a whole run."""
    wildcards = dict(wildcards.items())
    if "figure" in wildcards:
        return experiment_of_figure(SimpleNamespace(**wildcards))
    return wildcards.get("experiment")


def category_of_result(wildcards):
    """Return the title of the experiment, reduced to characters that Snakemake's report can show."""
    experiment = experiment_of_result(wildcards)
    if experiment is None:
        return "All experiments of the run"
    return " ".join(re.sub(r"[^\w .,()-]", " ", settings.experiments[experiment].title).split())


def labels_of_result(wildcards, result, suffix):
    """Return the columns of the list of results: the data, what is shown, and the kind of file."""
    experiment = experiment_of_result(wildcards)
    if experiment is None:
        return {"result": result, "file": suffix[1:].upper(), "data": "all of the run"}
    known = dict(wildcards.items())
    name = known.get("table") or result
    if "figure" in known:
        name = known["figure"].removeprefix(f"{experiment}-")
        # A table may have the name of a figure.
        name += " (numbers of the figure)" * (suffix == ".csv")
    data, replaced = settings.dataset_of(experiment).title, stand_in(experiment)
    if replaced:
        data = f"{data} (a stand-in for {replaced})"
    # Snakemake takes braces in a label for a wildcard.
    return {
        "result": name.replace("-", " "),
        "file": suffix[1:].upper(),
        "data": data.translate({ord("{"): "(", ord("}"): ")"}),
    }
