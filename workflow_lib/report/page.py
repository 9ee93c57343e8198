"""The report: one HTML file that contains everything and opens without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import chain
from pathlib import Path
from string import Template

from workflow_lib.report.answer_part import Section
from workflow_lib.report.downloads import figure_with_downloads, table_with_downloads
from workflow_lib.report.labels import count_of, join_words
from workflow_lib.report.page_markup import bullets, heading, prose, section, with_permalinks
from workflow_lib.report.page_records import (
    datasets_section,
    methods_section,
    provenance_section,
)
from workflow_lib.report.page_script import SCRIPT
from workflow_lib.report.page_style import STYLE
from workflow_lib.whole_files import write_text

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
$style
</style>
</head>
<body>
<a class="skip" href="#$first">Skip to the $first_name</a>
<header>
<h1>$title</h1>
$author</header>
<nav aria-label="Sections">
<ul>
$navigation
</ul>
</nav>
<main>
$body
</main>
<script>
$script
</script>
</body>
</html>
""")


def write_report(
    path: str | Path,
    title: str,
    sections: Sequence[Mapping],
    datasets: Sequence[Mapping],
    methods: Mapping[str, Mapping],
    manifest: Mapping,
    *,
    author: str = "",
    brief: Sequence[str] = (),
    counts: Sequence[str] = (),
    leading: Sequence[Section] = (),
    following: Sequence[Section] = (),
    timeline: Mapping | None = None,
) -> None:
    """Write the report, whole or not at all; the same values and figures give the same bytes.

    Parameters
    ----------
    path : path
        The HTML file to write.
    title, author : str
        Heading of the page; no author line when empty.
    sections : sequence of mappings
        One per experiment, as `workflow_lib.report.assembly.experiment_section` makes them:
        ``name``, ``title``, ``description``, ``dataset`` (its title), ``stand_in_for`` (None or
        text), ``is_made``, ``protocol``, ``best``, ``findings`` (sentences), ``comparisons``
        (rows of texts), ``difference`` and ``better`` (what they are differences in, and the sign
        of a better row), ``tables`` (mappings with ``name`` and ``html``, and with ``csv`` and
        ``tex``, paths, where they can be saved) and ``figures`` (mappings with ``name``, ``svg``
        (path), ``alt`` and ``caption``, and with ``png``, a path, where it can be saved).
    datasets : sequence of mappings
        As `workflow_lib.report.dataset_records.dataset_record` makes them.
    methods : mapping of method name to mapping
        ``label``, ``summary`` and ``color`` of each method that ran, in order.
    manifest : mapping
        As `workflow_lib.report.manifest.run_manifest` makes it.
    brief : sequence of str
        The findings that open the page (`workflow_lib.report.findings.three_findings`).
    counts : sequence of str
        Sentences over all experiments (`workflow_lib.report.verdict.count_sentences`).
    leading, following : sequence of Section
        Sections before and after the opening: the answer on a user table comes before, sections
        on all experiments after.
    timeline : mapping, optional
        How the jobs ran, as `workflow_lib.report.timeline.timeline_part` makes it, with ``png``
        (path) where it can be saved.
    """
    folder = Path(path).parent
    parts = [*(entry.html for entry in leading), _opening(sections, brief, counts)]
    parts += [entry.html for entry in following]
    parts += [_experiment(entry, folder) for entry in sections]
    parts += [datasets_section(datasets), methods_section(methods)]
    parts.append(provenance_section(manifest, timeline, folder))
    cross_dataset = [(entry.anchor, entry.heading) for entry in leading]
    cross_dataset += [("summary", "In brief")]
    cross_dataset += [(entry.anchor, entry.heading) for entry in following]
    groups = {
        "": cross_dataset,
        "Experiments": [(f"experiment-{entry['name']}", entry["name"]) for entry in sections],
        "Background": [
            ("data", "Data"),
            ("methods", "Methods"),
            ("provenance", "Provenance"),
        ],
    }
    page = _PAGE.substitute(
        title=escape(title),
        first=escape(cross_dataset[0][0]),
        first_name=escape(cross_dataset[0][1].lower().removeprefix("the ")),
        style=STYLE,
        script=SCRIPT,
        author=f'<p class="author">{escape(author)}</p>\n' if author else "",
        navigation="\n".join(chain(*(_entries(group, groups[group]) for group in groups))),
        body=with_permalinks("\n".join(parts)),
    )
    write_text(path, page)


def _entries(group: str, entries: Sequence[tuple[str, str]]) -> list[str]:
    """Return the lines of the navigation for a group of (anchor, label)."""
    lines = [f'<li class="group">{escape(group)}</li>'] if group and entries else []
    lines += [
        f'<li><a href="#{escape(anchor)}">{escape(label)}</a></li>' for anchor, label in entries
    ]
    return lines


def _opening(sections: Sequence[Mapping], brief: Sequence[str], counts: Sequence[str]) -> str:
    """Return the opening: what was run, on which data, and the findings."""
    rows = []
    for entry in sections:
        rows.append(
            f'<tr><th scope="row"><a href="#experiment-{escape(entry["name"])}">'
            f"{escape(entry['name'])}</a></th><td>{escape(entry['dataset'])}</td>"
            f"<td>{prose(entry['best'])}</td></tr>"
        )
    table = (
        '<div class="wide"><table class="words">'
        "<caption>What each experiment found to be best</caption>"
        '<thead><tr><th scope="col">Experiment</th><th scope="col">Data</th>'
        '<th scope="col">Finding</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    parts = [f"<p>{escape(' '.join(_what_was_run(sections)))}</p>"]
    if brief:
        parts.append(f'<div class="brief">{bullets(brief)}</div>')
    parts += [heading("by-experiment", "By experiment"), table]
    if counts:
        parts += [
            "<details><summary>Against the reference method, over all experiments</summary>",
            bullets(counts),
            '<p class="notes">Better and worse: by the corrected resampled t-test (Nadeau and '
            "Bengio, 2003) at 0.05, one test per comparison without a correction for multiple "
            "testing. Not distinguishable does not mean equal.</p></details>",
        ]
    return section("summary", "In brief", parts)


def _what_was_run(sections: Sequence[Mapping]) -> list[str]:
    """Return how many experiments there are, and on which kinds of data."""
    made = [section["name"] for section in sections if section["is_made"]]
    stand_ins = [section["name"] for section in sections if section["stand_in_for"]]
    others = [
        section["name"]
        for section in sections
        if not section["is_made"] and not section["stand_in_for"]
    ]
    sentences = [f"This run has {count_of(len(sections), 'experiment')}."]
    if made:
        sentences.append(f"Data made by a recipe: {join_words(made)}.")
    if others:
        sentences.append(f"Real data: {join_words(others)}.")
    if stand_ins:
        sentences.append(f"Data that stand in for those of the paper: {join_words(stand_ins)}.")
    return sentences


def _experiment(experiment: Mapping, folder: Path) -> str:
    """Return the section of one experiment."""
    parts = [f'<p class="quiet">Experiment {escape(experiment["name"])}</p>']
    parts.append(f"<p>{escape(experiment['description'])}</p>")
    if experiment["stand_in_for"]:
        parts.append(
            f'<p class="stand-in"><strong>Stand-in:</strong> these data stand in for '
            f"{escape(experiment['stand_in_for'])}. Numbers are not comparable with those "
            f"published on the original.</p>"
        )
    parts.append(
        f'<p class="protocol"><strong>Protocol.</strong> {escape(experiment["protocol"])}</p>'
    )
    anchor = f"experiment-{experiment['name']}"
    parts.append(heading(f"findings-{experiment['name']}", "Findings"))
    parts.append(bullets([experiment["best"], *experiment["findings"]]))
    if experiment["comparisons"]:
        parts.append(
            _comparisons(experiment["comparisons"], experiment["difference"], experiment["better"])
        )
    if experiment["tables"]:
        parts.append(heading(f"tables-{experiment['name']}", "Tables"))
    for table in experiment["tables"]:
        name = f"table-{experiment['name']}-{table['name']}"
        parts.append(table_with_downloads(table, name))
    if experiment["figures"]:
        parts.append(heading(f"figures-{experiment['name']}", "Figures"))
    for figure in experiment["figures"]:
        name = f"figure-{experiment['name']}-{figure['name']}"
        parts.append(figure_with_downloads(figure, name, folder))
    return section(anchor, experiment["title"], parts, style="experiment")


def _comparisons(rows: Sequence[Sequence[str]], difference: str, better: str) -> str:
    """Return the folded table of differences from the reference method."""
    heads = (
        "Row",
        "n",
        f"Difference in {difference}",
        "In units of its spread",
        "In units of the scores' spread (Hedges' g)",
        "Student",
        "Corrected",
        "Splits that differ",
    )
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        f"{''.join(f'<td>{escape(text)}</td>' for text in row[1:])}</tr>"
        for row in rows
    )
    return (
        "<details><summary>Differences from the reference method, with their tests</summary>"
        '<div class="wide"><table><caption>'
        f"Row minus reference; {better} is better</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></details>"
    )
