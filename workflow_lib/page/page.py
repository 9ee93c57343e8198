"""The report: one HTML file that contains everything and opens without a network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from workflow_lib.report.dataset_records import dataset_facts
from workflow_lib.report.html_page import write_page
from workflow_lib.report.labels import count_of, join_words
from workflow_lib.report.render import Section, figure_part, section


def write_report(
    path: str | Path,
    title: str,
    sections: Sequence[Mapping],
    datasets: Sequence[Mapping],
    methods: Mapping[str, Mapping],
    manifest: Mapping,
    *,
    author: str = "",
    opening: Mapping | None = None,
    counts: Sequence[str] = (),
    leading: Sequence[Section] = (),
    following: Sequence[Section] = (),
) -> None:
    """Write the report, whole or not at all; the same values and figures give the same bytes.

    `sections` are those of the experiments
    (`workflow_lib.page.assembly.experiment_section`), `datasets` those of
    `workflow_lib.report.dataset_records.dataset_record`, and `methods` have ``label``, ``summary``
    and ``color`` of each method that ran, in order. `manifest` is that of
    `workflow_lib.report.manifest.run_manifest`, `opening` has the sentences and figures that open
    the page (`workflow_lib.page.cross_dataset.opening_figures`), and `counts` are sentences over
    all experiments. The sections `leading`, the answer on a user table, stand instead of the
    opening, and those `following`, on all experiments, after it. Without an `author` there is no
    line of it.
    """
    summary = section(
        "summary",
        "In brief",
        "opening.html",
        what_was_run=_what_was_run(sections, methods),
        **(opening or {"sentences": [], "findings": [], "figures": {}}),
        pictures=_pictures_of_predictions(sections),
        counts=counts,
        experiments=sections,
    )
    # A page that begins with the answer on one table needs no summary of several.
    across = [*(leading or [summary]), *following]
    experiments = [
        section(
            f"experiment-{experiment['name']}",
            # Titles of experiments may be equal, their names are not.
            f"{experiment['name']}: {experiment['title']}",
            "experiment.html",
            **experiment
            | {"tables": [{"csv": None, "tex": None, **table} for table in experiment["tables"]]}
            | {"figures": [figure_part(figure) for figure in experiment["figures"]]},
        )
        for experiment in sections
    ]
    shown = [{**dataset, "facts": dataset_facts(dataset)} for dataset in datasets]
    behind = [
        section("data", "Data", "data.html", datasets=shown),
        section("methods", "Methods", "methods.html", methods=methods),
        _provenance(manifest),
    ]
    write_page(
        path,
        title,
        {"": across, "Experiments": experiments, "Background": behind},
        author=author,
        names={
            part.anchor: experiment["name"]
            for part, experiment in zip(experiments, sections, strict=True)
        },
    )


def _what_was_run(sections: Sequence[Mapping], methods: Mapping[str, Mapping]) -> str:
    n_made = sum(section["is_made"] for section in sections)
    n_stand_ins = sum(bool(section["stand_in_for"]) for section in sections)
    kinds = {
        "simulated data": n_made,
        "real data": len(sections) - n_made - n_stand_ins,
        "data that stand in for those of the paper": n_stand_ins,
    }
    listed = join_words([f"{number} on {kind}" for kind, number in kinds.items() if number])
    return (
        f"What was run: {count_of(len(methods), 'method')} on "
        f"{count_of(len(sections), 'experiment')}, {listed}."
    )


def _pictures_of_predictions(sections: Sequence[Mapping]) -> list[dict]:
    """Return the first figure of predictions of each kind of outputs, with its experiment."""
    found: dict[str, dict] = {}
    for section_of in sections:
        for figure in section_of["figures"]:
            if figure.get("predicts"):
                part = {**figure_part(figure), "experiment": section_of["name"]}
                mark = " (a stand-in)" if section_of["stand_in_for"] else ""
                found.setdefault(figure["predicts"], part | {"data": section_of["dataset"] + mark})
    return list(found.values())


def _provenance(manifest: Mapping) -> Section:
    git, machine, versions = manifest["git"], manifest["machine"], manifest["versions"]
    commit = git["commit"] or "not known (no git repository)"
    if git["is_dirty"]:
        commit += ", with changes that are not committed"
    names = ["python", *sorted(name for name in versions if name != "python")]
    facts = [
        ("Commit", commit),
        *([("Host", machine["host"])] if "host" in machine else []),
        ("System", f"{machine['system']}, {machine['architecture']}"),
        ("Processors", str(machine["cpu_count"])),
        *((name, versions[name] or "not installed") for name in names),
    ]
    blocks = [
        (name, json.dumps(manifest[name.lower()], indent=2, sort_keys=True, ensure_ascii=False))
        for name in ("Seeds", "Configuration")
    ]
    return section("provenance", "Provenance", "provenance.html", facts=facts, blocks=blocks)
