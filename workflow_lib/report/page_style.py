"""The style of the page, on screens of all widths and on paper."""

STYLE = r"""
:root { color-scheme: light;
  --ink: #1c1c1c; --quiet: #555555; --line: #d5d5d5; --band: #f4f6f8; --link: #005a9c; }
* { box-sizing: border-box; }
html { scroll-padding-top: 4.5rem; }
body { margin: 0; color: var(--ink); background: #ffffff;
  font: 16px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
header, main { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 1.5rem; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
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
nav a[aria-current] { font-weight: 600; color: var(--ink); }
nav .group { display: none; }
@media (min-width: 72rem) {
  html { scroll-padding-top: 1rem; }
  body { display: grid; grid-template-columns: 13.5rem minmax(0, 1fr); align-items: start; }
  header, main { grid-column: 2; width: 100%; margin: 0; padding: 0 1.25rem; }
  header { padding-top: 1.5rem; }
  nav { grid-column: 1; grid-row: 1 / span 2; height: 100vh; overflow-y: auto; margin: 0;
    border-bottom: 0; border-right: 1px solid var(--line); background: var(--band); }
  nav ul { display: block; padding: 1.5rem 1rem; white-space: normal; overflow: visible; }
  nav li { margin: 0 0 0.35rem; line-height: 1.35; overflow-wrap: anywhere; }
  nav .group { display: list-item; margin: 1rem 0 0.35rem; color: var(--quiet);
    font-size: 0.8rem; }
}
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
.permalink { margin-left: 0.4em; font-weight: 400; text-decoration: none; }
.permalink::before { content: "#"; }
.permalink { opacity: 0; }
h2:hover .permalink, h3:hover .permalink, .permalink:focus { opacity: 1; }
@media (hover: none) { .permalink { opacity: 1; } }
.brief { font-size: 1.05rem; }
.brief li { margin: 0.5rem 0; }
.downloads { font-size: 0.85rem; color: var(--quiet); margin: 0.2rem 0 1.2rem; }
.downloads a { margin-left: 0.5rem; }
.filter { font-size: 0.88rem; margin: 0.8rem 0 0; }
.filter input { font: inherit; padding: 0.15rem 0.4rem; border: 1px solid #767676;
  border-radius: 3px; margin-right: 0.5rem; max-width: 100%; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; margin: 0;
  text-align: inherit; cursor: pointer; }
th button:hover { text-decoration: underline; }
th[aria-sort] button::after { content: " \2191"; }
th[aria-sort="descending"] button::after { content: " \2193"; }
section { padding: 1.6rem 0 1rem; border-bottom: 1px solid var(--line); }
main > section:last-of-type { border-bottom: 0; }
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
th, td { padding: 0.3rem 0.6rem; text-align: left; vertical-align: top; }
sup { line-height: 0; }
table.words th, table.words td { padding: 0.3rem 0.5rem; }
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
.published, .difference { color: #3d3d3d; border-left: 1px solid var(--line); }
.difference { padding: 0.3rem 0.4rem; }
details { margin: 0.4rem 0 0.8rem; }
.swatch { display: inline-block; width: 0.8em; height: 0.8em; margin-right: 0.4em;
  border: 1px solid #777777; }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; }
pre { background: var(--band); padding: 0.8rem; overflow-x: auto; font-size: 0.8rem;
  line-height: 1.4; }
summary { cursor: pointer; color: var(--link); }
@media print {
  nav, .skip, .filter, .downloads, .permalink { display: none !important; }
  html { font-size: 10pt; }
  body { display: block; font-size: 10pt; }
  header, main { max-width: none; padding: 0; }
  section { border: 0; padding: 0.5rem 0; }
  section.experiment { break-before: page; }
  figure, tr { break-inside: avoid; }
  figure img { max-height: 23cm; }
  h2, h3, caption { break-after: avoid; }
  thead { display: table-header-group; }
  tbody[hidden] { display: table-row-group; }
  tr[hidden] { display: table-row; }
  th button { display: contents; }
  th button::after { content: "" !important; }
  .wide { overflow: visible; }
  table { font-size: 8.5pt; min-width: 0; max-width: 100%; }
  th, td, .difference, table.words th, table.words td { padding: 0.15rem 0.35rem; }
  th, td, table:not(.words) tbody th:not(.block) { white-space: normal; }
  table:has(thead tr > :nth-child(8)) { font-size: 7pt; }
  table:has(thead tr > :nth-child(12)) { font-size: 5.5pt; }
  table.words th[style] { min-width: 0 !important; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  a { color: inherit; text-decoration: none; }
}
""".strip()
"""CSS; every colour of text has a contrast of 4.5 or more with its background.

In print the buttons in the heads of tables have no box: Chromium does not repeat a head that
contains boxes on the next page.
"""
