"""The last sections of the page: the data, the methods, and the provenance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from workflow_lib.report.downloads import figure_with_downloads
from workflow_lib.report.labels import count_of, format_share
from workflow_lib.report.page_markup import bullets, heading, section


def datasets_section(datasets: Sequence[Mapping]) -> str:
    """Return the section of the data: what each dataset is, its origin and what was kept."""
    parts = []
    for dataset in datasets:
        facts = [("Kind", dataset["kind"])]
        if dataset["stand_in_for"]:
            facts.append(("Stands in for", dataset["stand_in_for"]))
        facts += [
            ("Rows", f"{dataset['rows_read']} read, {dataset['rows_dropped']} dropped"),
            ("Left out", _exclusions(dataset["exclusions"], dataset["excluded_names"])),
            ("Columns", f"{dataset['n_inputs']} inputs, {dataset['n_outputs']} outputs"),
            ("Classes", dataset["n_classes"]),
            ("Missing outputs", _missing_outputs(dataset)),
            ("Licence", dataset["licence"]),
            ("Citation", dataset["citation"]),
        ]
        rows = [
            f'<tr><th scope="row">{escape(name)}</th><td>{escape(str(value))}</td></tr>'
            for name, value in facts
            if value
        ]
        if dataset["sources"]:
            links = "<br>".join(
                f'<a href="{escape(address)}">{escape(address)}</a>'
                for address in dataset["sources"]
            )
            rows.append(f'<tr><th scope="row">Source</th><td>{links}</td></tr>')
        parts.append(heading(f"data-{dataset['name']}", dataset["title"]))
        parts.append(f"<p>{escape(dataset['description'])}</p>")
        parts.append(
            f'<div class="wide"><table class="words"><caption>Dataset '
            f"{escape(dataset['name'])}</caption><tbody>{''.join(rows)}</tbody></table></div>"
        )
    return section("data", "Data", parts)


def _exclusions(exclusions: Mapping[str, int], names: Mapping[str, str]) -> str:
    """Return the reasons why rows were left out with their counts and, where there are, names."""
    return "; ".join(
        f"{reason}: {count}" + (f" ({names[reason]})" if reason in names else "")
        for reason, count in exclusions.items()
        if count
    )


def _missing_outputs(dataset: Mapping) -> str:
    """Return how many output values are missing and their share, empty without any."""
    if not dataset["missing_outputs"]:
        return ""
    values = count_of(dataset["missing_outputs"], "value")
    return f"{values} ({format_share(dataset['missing_share'])})"


def methods_section(methods: Mapping[str, Mapping]) -> str:
    """Return the table of the methods that ran."""
    rows = []
    for name, method in methods.items():
        color = method.get("color") or "#ffffff"
        rows.append(
            f'<tr><th scope="row"><span class="swatch" style="background:{escape(color)}"></span>'
            f"{escape(method.get('label') or name)}</th><td>{escape(name)}</td>"
            f"<td>{escape(method.get('summary') or '')}</td></tr>"
        )
    table = (
        '<div class="wide"><table class="words"><caption>The methods of this run</caption><thead>'
        '<tr><th scope="col">Method</th><th scope="col">Name in the configuration</th>'
        '<th scope="col">What it does</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    return section("methods", "Methods", [table])


def provenance_section(manifest: Mapping, timeline: Mapping | None, folder: Path) -> str:
    """Return the section on the code, machine, seeds and configuration that made this page.

    `folder` is that of the page, for the links to other files.
    """
    git, machine = manifest["git"], manifest["machine"]
    commit = git["commit"] or "not known (no git repository)"
    if git["is_dirty"]:
        commit += ", with changes that are not committed"
    facts = [
        ("Commit", commit),
        ("Host", machine["host"]),
        ("System", f"{machine['system']}, {machine['architecture']}"),
        ("Processors", str(machine["cpu_count"])),
    ]
    facts += [(name, version or "not installed") for name, version in _versions(manifest)]
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in facts
    )
    parts = [
        '<div class="wide"><table class="words"><caption>Commit, machine and versions</caption>'
        f"<tbody>{rows}</tbody></table></div>",
        *_timeline(timeline, folder),
        _details("Seeds", manifest["seeds"]),
        _details("Configuration", manifest["configuration"]),
    ]
    return section("provenance", "Provenance", parts)


def _timeline(timeline: Mapping | None, folder: Path) -> list[str]:
    """Return the block on when the jobs ran, which may differ between runs, as other times may."""
    if timeline is None:
        return []
    parts = [
        heading("jobs", "How the jobs ran"),
        bullets(timeline["findings"]),
        figure_with_downloads(timeline, "figure-timeline", folder),
    ]
    return [f'<div id="timeline">{"".join(parts)}</div>']


def _versions(manifest: Mapping) -> list[tuple[str, str | None]]:
    """Return (name, version) pairs, Python first."""
    versions = manifest["versions"]
    names = ["python", *sorted(name for name in versions if name != "python")]
    return [(name, versions[name]) for name in names]


def _details(heading: str, values: object) -> str:
    """Return a folded block of JSON."""
    text = json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False)
    return f"<details><summary>{escape(heading)}</summary><pre>{escape(text)}</pre></details>"
