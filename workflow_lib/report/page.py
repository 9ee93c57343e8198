"""The report: one HTML file that holds everything and opens without a network."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template

from workflow_lib.report.answer_part import Section
from workflow_lib.report.labels import count_of, format_share, join_words
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
</body>
</html>
""")

_STYLE = """
:root { --ink: #1c1c1c; --quiet: #555555; --line: #d5d5d5; --band: #f4f6f8; --link: #005a9c; }
* { box-sizing: border-box; }
html { scroll-padding-top: 4.5rem; }
body { margin: 0; color: var(--ink); background: #ffffff;
  font: 16px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
header, main { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 1.5rem; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 0.25rem; }
h2 { font-size: 1.35rem; margin: 0 0 0.5rem; }
h3 { font-size: 1.08rem; margin: 1.6rem 0 0.4rem; }
p, ul { margin: 0.4rem 0 0.8rem; }
p, li { max-width: 52rem; }
li { margin: 0.25rem 0; }
a { color: var(--link); }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 0.5rem; top: 0.5rem; background: #ffffff; padding: 0.5rem; z-index: 2; }
nav { position: sticky; top: 0; z-index: 1; background: #ffffff;
  border-bottom: 1px solid var(--line); margin-top: 0.75rem; }
nav ul { max-width: 68rem; margin: 0 auto; padding: 0.45rem 1.25rem; list-style: none;
  display: flex; gap: 0.15rem 1.1rem; overflow-x: auto; white-space: nowrap; }
nav li { margin: 0; font-size: 0.9rem; }
nav a { text-decoration: none; }
nav a:hover, nav a:focus { text-decoration: underline; }
section { padding: 1.6rem 0 1rem; border-bottom: 1px solid var(--line); }
section:last-child { border-bottom: 0; }
.author, .notes, figcaption, .quiet { color: var(--quiet); }
.notes, figcaption { font-size: 0.88rem; }
.stand-in { border-left: 4px solid #b85c00; background: #fff6ec; padding: 0.5rem 0.8rem;
  max-width: 52rem; }
.protocol { border-left: 4px solid var(--link); background: var(--band); padding: 0.5rem 0.8rem;
  max-width: 52rem; }
.wide { overflow-x: auto; margin: 0.8rem 0 0.2rem; }
table { border-collapse: collapse; min-width: min(34rem, 100%);
  font-size: 0.9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 0 0 0.4rem; }
th, td { padding: 0.3rem 0.75rem; text-align: left; vertical-align: top; }
sup { line-height: 0; }
table.words td { max-width: 40rem; }
table.words th { max-width: 24rem; }
thead th { border-bottom: 2px solid var(--ink); vertical-align: bottom; }
tbody th { font-weight: 400; }
td { white-space: nowrap; }
table:not(.words) tbody th:not(.block) { white-space: nowrap; }
table.words td { white-space: normal; }
table.words td a { overflow-wrap: anywhere; }
tbody tr:nth-child(even) > * { background: var(--band); }
th.block { font-style: italic; background: #ffffff !important; padding-top: 0.7rem;
  border-bottom: 1px solid var(--line); }
.published { color: #3d3d3d; border-left: 1px solid var(--line); }
details { margin: 0.4rem 0 0.8rem; }
.swatch { display: inline-block; width: 0.8em; height: 0.8em; margin-right: 0.4em;
  border: 1px solid #777777; }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; }
pre { background: var(--band); padding: 0.8rem; overflow-x: auto; font-size: 0.8rem;
  line-height: 1.4; }
summary { cursor: pointer; color: var(--link); }
@media print {
  nav, .skip { display: none; }
  body { font-size: 10.5pt; }
  header, main { max-width: none; padding: 0; }
  section { border: 0; padding: 0.5rem 0; }
  section.experiment { break-before: page; }
  figure, tr { break-inside: avoid; }
  h2, h3, caption { break-after: avoid; }
  .wide { overflow: visible; }
  table { font-size: 8.5pt; }
  a { color: inherit; text-decoration: none; }
}
""".strip()


def write_report(
    path: str | Path,
    title: str,
    sections: Sequence[Mapping],
    datasets: Sequence[Mapping],
    methods: Mapping[str, Mapping],
    manifest: Mapping,
    *,
    author: str = "",
    findings: Sequence[str] = (),
    leading: Sequence[Section] = (),
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
        of a better row), ``tables`` (HTML fragments) and ``figures`` (mappings with ``svg``
        (path), ``alt`` and ``caption``).
    datasets : sequence of mappings
        As `workflow_lib.report.assembly.dataset_record` makes them.
    methods : mapping of method name to mapping
        ``label``, ``summary`` and ``color`` of each method that ran, in order.
    manifest : mapping
        As `workflow_lib.report.manifest.run_manifest` makes it.
    findings : sequence of str
        Sentences over all experiments, for the summary.
    leading : sequence of Section
        Sections before the summary: the answer on a user's own table.
    timeline : mapping, optional
        How the jobs ran, as `workflow_lib.report.timeline.timeline_part` makes it.
    """
    parts = [*(section.html for section in leading), _summary(sections, findings)]
    parts += [_experiment(section) for section in sections]
    parts += [_datasets(datasets), _methods(methods), _provenance(manifest, timeline)]
    entries = [(section.anchor, section.heading) for section in leading]
    entries += [("summary", "Summary")]
    entries += [(f"experiment-{section['name']}", section["name"]) for section in sections]
    entries += [("data", "Data"), ("methods", "Methods"), ("provenance", "Provenance")]
    page = _PAGE.substitute(
        title=escape(title),
        first=escape(entries[0][0]),
        first_name=escape(entries[0][1].lower().removeprefix("the ")),
        style=_STYLE,
        author=f'<p class="author">{escape(author)}</p>\n' if author else "",
        navigation="\n".join(
            f'<li><a href="#{escape(anchor)}">{escape(label)}</a></li>' for anchor, label in entries
        ),
        body="\n".join(parts),
    )
    write_text(path, page)


def _summary(sections: Sequence[Mapping], findings: Sequence[str]) -> str:
    """Return the opening: what was run, on what, and what came out."""
    made = [s["name"] for s in sections if s["is_made"]]
    stand_ins = [s["name"] for s in sections if s["stand_in_for"]]
    sentences = [f"This run holds {count_of(len(sections), 'experiment')}."]
    if made:
        sentences.append(f"Data made by a recipe: {join_words(made)}.")
    if stand_ins:
        sentences.append(f"Data that stand in for those of the paper: {join_words(stand_ins)}.")
    rows = []
    for section in sections:
        rows.append(
            f'<tr><th scope="row"><a href="#experiment-{escape(section["name"])}">'
            f"{escape(section['name'])}</a></th><td>{escape(section['dataset'])}</td>"
            f"<td>{_prose(section['best'])}</td></tr>"
        )
    table = (
        '<div class="wide"><table class="words">'
        "<caption>What each experiment found to be best</caption>"
        '<thead><tr><th scope="col">Experiment</th><th scope="col">Data</th>'
        '<th scope="col">Finding</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    parts = [f"<p>{escape(' '.join(sentences))}</p>"]
    if findings:
        parts += ["<h3>Against the reference method, over all experiments</h3>", _list(findings)]
        parts.append(
            '<p class="notes">Better and worse: by the corrected resampled t-test (Nadeau and '
            "Bengio, 2003) at 0.05, one test per comparison without a correction for their "
            "number. Not distinguishable does not mean equal.</p>"
        )
    parts += ["<h3>By experiment</h3>", table]
    return _section("summary", "Summary", parts)


def _experiment(section: Mapping) -> str:
    """Return the section of one experiment."""
    parts = [f'<p class="quiet">Experiment {escape(section["name"])}</p>']
    parts.append(f"<p>{escape(section['description'])}</p>")
    if section["stand_in_for"]:
        parts.append(
            f'<p class="stand-in"><strong>Stand-in:</strong> these data stand in for '
            f"{escape(section['stand_in_for'])}. Numbers are not comparable with those published "
            f"on the original.</p>"
        )
    parts.append(
        f'<p class="protocol"><strong>Protocol.</strong> {escape(section["protocol"])}</p>'
    )
    parts += ["<h3>Findings</h3>", _list([section["best"], *section["findings"]])]
    if section["comparisons"]:
        parts.append(_comparisons(section["comparisons"], section["difference"], section["better"]))
    if section["tables"]:
        parts += ["<h3>Tables</h3>", *section["tables"]]
    if section["figures"]:
        parts += ["<h3>Figures</h3>", *(_figure(figure) for figure in section["figures"])]
    anchor = f"experiment-{section['name']}"
    return _section(anchor, section["title"], parts, style="experiment")


def _comparisons(rows: Sequence[Sequence[str]], difference: str, better: str) -> str:
    """Return the folded table of differences from the reference method."""
    heads = (
        "Row",
        "n",
        f"Difference in {difference}",
        "In units of its spread",
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


def _figure(figure: Mapping) -> str:
    """Return a figure whose SVG file is embedded in the page."""
    content = base64.b64encode(Path(figure["svg"]).read_bytes()).decode("ascii")
    return (
        f'<figure><img src="data:image/svg+xml;base64,{content}" alt="{escape(figure["alt"])}">'
        f"<figcaption>{escape(figure['caption'])}</figcaption></figure>"
    )


def _datasets(datasets: Sequence[Mapping]) -> str:
    """Return the data page: what each dataset is, where it comes from and what was kept."""
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
        parts.append(f"<h3>{escape(dataset['title'])}</h3>")
        parts.append(f"<p>{escape(dataset['description'])}</p>")
        parts.append(
            f'<div class="wide"><table class="words"><caption>Dataset '
            f"{escape(dataset['name'])}</caption><tbody>{''.join(rows)}</tbody></table></div>"
        )
    return _section("data", "Data", parts)


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


def _methods(methods: Mapping[str, Mapping]) -> str:
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
    return _section("methods", "Methods", [table])


def _provenance(manifest: Mapping, timeline: Mapping | None) -> str:
    """Return the section that says what made this page, and when."""
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
        *_timeline(timeline),
        _details("Seeds", manifest["seeds"]),
        _details("Configuration", manifest["configuration"]),
    ]
    return _section("provenance", "Provenance", parts)


def _timeline(timeline: Mapping | None) -> list[str]:
    """Return the block that says when the jobs ran, the only one besides times that may differ."""
    if timeline is None:
        return []
    parts = ["<h3>How the jobs ran</h3>", _list(timeline["findings"]), _figure(timeline)]
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


def _prose(text: str) -> str:
    """Return escaped text in which no line breaks at ``=`` or ``±``."""
    return escape(text).replace(" = ", "&nbsp;=&nbsp;").replace(" \u00b1 ", "&nbsp;\u00b1&nbsp;")


def _list(sentences: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{_prose(sentence)}</li>' for sentence in sentences)}</ul>"


def _section(anchor: str, heading: str, parts: Sequence[str], style: str = "") -> str:
    """Return a section with its heading, which also names it for screen readers."""
    of_class = f' class="{style}"' if style else ""
    anchor = escape(anchor)
    return "\n".join(
        [
            f'<section id="{anchor}"{of_class} aria-labelledby="{anchor}-heading">',
            f'<h2 id="{anchor}-heading">{escape(heading)}</h2>',
            *parts,
            "</section>",
        ]
    )
