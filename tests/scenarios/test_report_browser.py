"""In a browser the report has no errors, its tables sort and filter, and its files can be saved."""

import base64
import csv
import html
import json
import re
import struct
from html.parser import HTMLParser

import pytest
from browser import needs_browser, page_in_browser
from report_samples import METHODS

from workflow_lib.page.page import write_report
from workflow_lib.report.render import html_markup, packed, section
from workflow_lib.report.table_markup import LOWER_MARK, Block, Entry, Layout

pytestmark = needs_browser

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"></svg>'

NUMBERS = ["0.97 ± 0.02", "−0.003", "1e-04", "–", "12 %", "1,250", "0.5", "equal", "7 of 9"]
TIMES = ["2.1 s", "300 ms", "90 ± 5 µs", "–", "1.00 ms", "57.1 ± 14.7 s", "2.0 s", "11 s", "9 s"]
NAMES = ["C = 10", "C = 2", "C = 4", "e", "d", "c", "Ba", "b", "a"]

MANIFEST = {
    "versions": {"python": "3.11.9"},
    "git": {"commit": "a" * 40, "is_dirty": False},
    "machine": {"host": "node", "system": "Linux", "architecture": "x86_64", "cpu_count": 2},
    "configuration": {"seed": 1},
    "seeds": {"main": 1},
}

ACTIONS = """
found.open = document.querySelector("#experiment-toy details").open;
var table = document.querySelector("#table-toy-error table");
function rows(body) {
  return Array.from(table.tBodies[body].rows).map(function (row) {
    return row.cells[0].textContent;
  });
}
function shown() {
  return Array.from(table.querySelectorAll("tbody tr")).filter(function (row) {
    return row.getClientRects().length > 0;
  }).map(function (row) { return row.cells[0].textContent; });
}
found.heights = {};
document.querySelectorAll("main > section").forEach(function (part) {
  found.heights[part.id] = part.getBoundingClientRect().height;
});
found.links = Array.from(document.querySelectorAll("nav a")).map(function (link) {
  return link.getAttribute("href").slice(1);
});
found.permalinks = Array.from(document.querySelectorAll("h2, h3")).map(function (one) {
  var link = one.querySelector("a.permalink");
  return Boolean(link && document.getElementById(link.getAttribute("href").slice(1)));
});
found.sorts = [];
[1, 2, 0].forEach(function (column) {
  for (var press = 0; press < 3; press++) {
    var button = table.querySelectorAll("thead tr:last-child th, thead th[rowspan]")[column]
      .querySelector("button");
    button.focus();
    var focused = document.activeElement === button;
    button.click();
    found.sorts.push({rows: rows(0), second: rows(1), focused: focused,
      states: Array.from(table.querySelectorAll("thead th")).map(function (head) {
        return head.getAttribute("aria-sort");
      })});
  }
});
var field = document.querySelector("#table-toy-error input");
found.label = document.querySelector("#table-toy-error label[for=" + field.id + "]").textContent;
found.filters = ["", "ms", "C = 4", "second", "nowhere", ""].map(function (words) {
  field.value = words;
  field.dispatchEvent(new Event("input"));
  var status = document.querySelector("#table-toy-error [role=status]");
  return {rows: shown(), found: status.textContent};
});
found.fields = document.querySelectorAll("#table-toy-small input").length;
found.made = decodeURIComponent(document.querySelector("#methods .downloads a").href);
found.svg = document.querySelector("#figure-toy-curve a.svg").href;
found.image = document.querySelector("#figure-toy-curve img").src;
var png = document.querySelector("#figure-toy-curve a.png");
png.addEventListener("click", function (event) { event.preventDefault(); });
png.click();
found.png = png.href;
var result = document.createElement("pre");
result.id = "found";
result.textContent = JSON.stringify(found);
document.body.appendChild(result);
"""
"""Actions of a reader on the page, and their visible results."""

AT_THE_FIGURE = """
var found = {closed: !document.querySelector("#experiment-toy details").open};
location.hash = "#figure-toy-curve";
Promise.all([
  new Promise(function (done) { window.addEventListener("hashchange", done); }),
  new Promise(function (done) {
    document.querySelector("#figure-toy-curve img").addEventListener("load", done);
  }),
]).then(function () { ACTIONS });
"""
"""They begin once a link has led to the figure, and its picture is unpacked."""

POLICY = '<meta http-equiv="Content-Security-Policy"[^>]*>'

FOREIGN = (
    "<script>document.title = 'foreign'</script>",
    "<img src='x' onerror=\"document.title = 'foreign'\">",
    "<svg onload=\"document.title = 'foreign'\"></svg>",
    "<script src=\"data:text/javascript,document.title = 'foreign'\"></script>",
    "<iframe srcdoc=\"<script>parent.document.title = 'foreign'</script>\"></iframe>",
    "<style>body { display: none }</style>",
)


class Links(HTMLParser):
    """The links that save something: name of the file -> address."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "download" in values:
            self.found[values["download"]] = values.get("href")


def big_table() -> str:
    """Return a table with two blocks, marks and published columns."""
    first = [
        (name, [Entry(number, mark=LOWER_MARK if number == "0.5" else "")], [Entry(time)])
        for name, number, time in zip(NAMES, NUMBERS, TIMES, strict=True)
    ]
    second = [("z", [Entry("2")], [Entry("1 s")]), ("y", [Entry("1")], [Entry("2 s")])]
    blocks = [Block("First block", first), Block("Second block", second)]
    layout = Layout("Big", "Method", ["n = 20"], blocks, ["Notes."], ["n = 20"], "Published")
    return html_markup(layout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a page and the files that it holds."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "figures").mkdir()
    (folder / "figures" / "toy-curve.svg").write_text(SVG)
    (folder / "figures" / "toy-curve.png").write_bytes(b"not read")
    (folder / "toy-error.csv").write_text("method,mean\nm-krr,0.97 ± 0.02\n")
    (folder / "toy-error.tex").write_text("\\begin{table}\n\\end{table}\n")
    small = Layout("Small", "Method", ["n"], [Block("", [("a", [Entry("1")], [])])], [])
    experiment = {
        "name": "toy",
        "title": "Toy",
        "description": "Numbers.",
        "dataset": "Toy data",
        "stand_in_for": None,
        "is_made": False,
        "protocol": "None.",
        "best": "Nothing.",
        "findings": [],
        "comparisons": [["a", "20", "+0.1", "+1.0", "p = 0.5", "p = 0.6", "5 of 5"]],
        "difference": "error",
        "better": "negative",
        "tables": [
            {
                "name": "error",
                "html": big_table(),
                "csv": folder / "toy-error.csv",
                "tex": folder / "toy-error.tex",
            },
            {"name": "small", "html": html_markup(small)},
        ],
        "figures": [
            {
                "name": "curve",
                "svg": folder / "figures" / "toy-curve.svg",
                "png": folder / "figures" / "toy-curve.png",
                "alt": "A curve",
                "caption": "Curve.",
            }
        ],
    }
    words = {"sentences": ["Words."], "figure": None, "table": "", "folded": ""}
    more = section("more", "More", "sentences_and_table.html", **words)
    write_report(
        folder / "report.html",
        "A report",
        [experiment],
        [],
        METHODS,
        MANIFEST,
        counts=["One finding."],
        following=[more],
    )
    return folder


@pytest.fixture(scope="module")
def seen(folder):
    """Return the visible results of these actions."""
    path = folder / "used.html"
    # The policy of the page lets no other script run.
    text = re.sub(POLICY, "", (folder / "report.html").read_text())
    actions = AT_THE_FIGURE.replace("ACTIONS", ACTIONS)
    path.write_text(text.replace("</body>", f"<script>{actions}</script></body>"))
    dom, console = page_in_browser(path, folder, "--virtual-time-budget=5000")
    assert console == []
    found = re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
    return json.loads(html.unescape(found[1])) | {"dom": dom}


def test_every_section_is_shown_and_in_the_navigation(seen):
    assert list(seen["heights"]) == seen["links"]
    assert seen["links"] == ["summary", "more", "experiment-toy", "data", "methods", "provenance"]
    assert all(height > 20 for height in seen["heights"].values())


def test_an_experiment_opens_where_a_link_leads_into_it(seen):
    assert seen["closed"] and seen["open"]


def test_every_heading_links_to_itself(seen):
    assert len(seen["permalinks"]) >= 8 and all(seen["permalinks"])


def test_a_press_on_a_head_sorts_by_value_within_each_block(seen):
    up, down, back = seen["sorts"][:3]
    by_number = ["−0.003", "1e-04", "0.5", "0.97 ± 0.02", "7 of 9", "12 %", "1,250"]
    names = [NAMES[NUMBERS.index(number)] for number in by_number]
    # Words follow the numbers, and missing values come last in both directions.
    last = [NAMES[NUMBERS.index("equal")], NAMES[NUMBERS.index("–")]]
    assert up["rows"] == ["First block", *names, *last]
    assert down["rows"] == ["First block", *reversed(names), *last]
    assert back["rows"] == ["First block", *NAMES]
    assert [state["second"] for state in (up, down, back)] == [
        ["Second block", "y", "z"],
        ["Second block", "z", "y"],
        ["Second block", "z", "y"],
    ]


def test_seconds_are_sorted_with_their_units(seen):
    order = ["90 ± 5 µs", "1.00 ms", "300 ms", "2.0 s", "2.1 s", "9 s", "11 s", "57.1 ± 14.7 s"]
    names = [NAMES[TIMES.index(time)] for time in [*order, "–"]]
    assert seen["sorts"][3]["rows"] == ["First block", *names]


def test_names_are_sorted_with_the_numbers_in_them(seen):
    # Names such as C = 10 are sorted by their number, and other names follow as words.
    order = ["C = 2", "C = 4", "C = 10", "a", "b", "Ba", "c", "d", "e"]
    assert seen["sorts"][6]["rows"] == ["First block", *order]


def test_the_sorted_head_says_so_and_takes_the_focus(seen):
    states = [[state for state in one["states"] if state] for one in seen["sorts"]]
    assert states == [["ascending"], ["descending"], []] * 3
    assert all(one["focused"] for one in seen["sorts"])


def test_the_filter_hides_rows_and_counts_the_others(seen):
    nothing, one, two_words, block, none, again = seen["filters"]
    everything = ["First block", *NAMES, "Second block", "z", "y"]
    assert nothing == again == {"rows": everything, "found": ""}
    names = [NAMES[TIMES.index(time)] for time in ("300 ms", "1.00 ms")]
    assert one == {"rows": ["First block", *names], "found": "2 of 11 rows"}
    assert two_words == {"rows": ["First block", "C = 4"], "found": "1 of 11 rows"}
    assert block == {"rows": ["Second block", "z", "y"], "found": "2 of 11 rows"}
    assert none == {"rows": [], "found": "0 of 11 rows"}
    assert seen["label"].strip() == "Show rows with"


def test_small_tables_have_no_filter(seen):
    assert seen["fields"] == 0


def test_the_bytes_that_links_save_are_those_of_the_files(seen, folder):
    links = Links(seen["dom"]).found
    names = ["toy-error.csv", "toy-error.tex", "toy-curve.svg"]
    for name, address in ((name, links[name]) for name in names):
        (path,) = folder.rglob(name)
        assert base64.b64decode(address.partition(";base64,")[2]) == path.read_bytes()
    assert seen["svg"] == seen["image"]
    kind, _, content = seen["png"].partition(",")
    assert kind == "data:image/png;base64"
    # Twice the size of the SVG in each direction.
    assert struct.unpack(">II", base64.b64decode(content)[16:24]) == (80, 60)


def test_tables_without_a_file_are_saved_as_they_stand(seen):
    kind, _, text = seen["made"].partition(",")
    assert kind == "data:text/csv;charset=utf-8"
    rows = list(csv.reader(text.splitlines()))
    assert rows[0] == ["Method", "Name in the configuration", "What it does"]
    assert rows[1:] == [
        [method["label"], name, method["summary"]] for name, method in METHODS.items()
    ]


def test_the_page_holds_a_figure_once(folder):
    page = (folder / "report.html").read_text()
    assert page.count(packed(folder / "figures" / "toy-curve.svg")) == 1


def test_without_a_script_everything_is_there(folder):
    page = re.sub(POLICY, "", (folder / "report.html").read_text())
    page = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    path = folder / "plain.html"
    path.write_text(
        page + '<script>document.title = document.querySelector("main").textContent;</script>'
    )
    dom, console = page_in_browser(path, folder)
    assert console == []
    assert "<button" not in dom and "<input" not in dom
    text = html.unescape(re.search(r"<title>(.*?)</title>", dom, re.DOTALL)[1])
    assert all(name in text for name in NAMES + NUMBERS + TIMES)
    assert 'alt="A curve"' in dom and "<noscript>" in dom
    # A link that saves nothing yet leads nowhere.
    assert set(Links(dom).found.values()) == {None}


NARROW = """<script>
var wide = Array.from(document.querySelectorAll(".wide"));
document.querySelectorAll("details").forEach(function (block) { block.open = true; });
parent.postMessage(JSON.stringify({
  page: [document.documentElement.scrollWidth, document.documentElement.clientWidth],
  first: wide.filter(function (box) { return box.querySelector("table:not(.words)"); }).map(
    function (box) {
      box.scrollLeft = 1000;
      var cell = box.querySelector("tbody tr:last-child th");
      return [box.scrollLeft, cell.getBoundingClientRect().left - box.getBoundingClientRect().left];
    }),
  words: Array.from(document.querySelectorAll("table.words")).map(function (table) {
    return [table.scrollWidth, table.closest(".wide").clientWidth];
  }),
}), "*");
</script>"""
IN_A_FRAME = """<iframe src="narrow.html" style="width: 400px; height: 800px"></iframe><script>
window.addEventListener("message", function (event) { document.title = event.data; });
</script>"""
"""The window of a browser is not as narrow as that of a telephone."""


def test_a_telephone_shows_the_page_without_scrolling_it_sideways(folder):
    heads = [f"n = {number}00000" for number in range(20)]
    rows = [("a method", [Entry("0.97 \u00b1 0.02")] * 20, [])]
    broad = html_markup(Layout("Broad", "Method", heads, [Block("", rows)], []))
    page = re.sub(POLICY, "", (folder / "report.html").read_text())
    page = page.replace("</main>", f"{broad}</main>").replace("</body>", f"{NARROW}</body>")
    (folder / "narrow.html").write_text(page)
    (folder / "frame.html").write_text(IN_A_FRAME)
    dom, _ = page_in_browser(folder / "frame.html", folder, "--virtual-time-budget=5000")
    found = json.loads(html.unescape(re.search(r"<title>(.*?)</title>", dom, re.DOTALL)[1]))
    assert found["page"][0] == found["page"][1] <= 400
    # Numbers that need more room are scrolled below their first column, and sentences need none.
    assert max(scrolled for scrolled, _ in found["first"]) > 100
    assert all(abs(left) < 1 for _, left in found["first"])
    assert found["words"] and all(table <= box for table, box in found["words"])


def test_only_the_script_and_styles_of_the_page_are_run(folder):
    dom, console = page_in_browser(folder / "report.html", folder)
    assert console == [] and "<button" in dom and 'class="permalink"' in dom
    text = (folder / "report.html").read_text()
    for number, foreign in enumerate(FOREIGN):
        path = folder / f"foreign-{number}.html"
        path.write_text(text.replace("<main>", f"<main>{foreign}"))
        dom, console = page_in_browser(path, folder)
        assert "<title>A report</title>" in dom and "<button" in dom, foreign
        assert any("Content Security Policy" in line for line in console), foreign
