"""The report that Snakemake makes: every result in it, with a caption, a category and labels."""

import html
import json
import re
from pathlib import Path

import pytest
from browser import needs_browser, page_in_browser
from small_run import EXPERIMENTS, ROOT, files_below, snakemake

CAPTIONS = ROOT / "rules" / "captions"
OF_THE_RUN = "All experiments of the run"

# Snakemake's page gives this warning about itself.
OWN_WARNING = "cdn.tailwindcss.com should not be used in production"

ACTIONS = """
setTimeout(function () {
  var found = {categories: Object.keys(categories), seen: {}, text: document.body.innerText};
  var left = Object.keys(results);
  function next() {
    if (left.length === 0) {
      var element = document.createElement("pre");
      element.id = "found";
      element.textContent = JSON.stringify(found);
      document.body.appendChild(element);
      return;
    }
    var path = left.pop();
    app.showResultInfo(path);
    setTimeout(function () { found.seen[path] = document.body.innerText; next(); }, 20);
  }
  next();
}, 1000);
"""


@pytest.fixture(scope="module")
def report(first_folder, tmp_path_factory):
    """Return the path of Snakemake's report on the finished run."""
    path = tmp_path_factory.mktemp("report") / "snakemake.html"
    outcome = snakemake(first_folder, "--report", str(path), cores=None).succeeded()
    assert "WARNING" not in outcome.text and "Traceback" not in outcome.text
    return path


def list_of(report: Path, name: str) -> dict:
    """Return one of the lists that the page is made from."""
    text = report.read_text()
    start = text.index(f"var {name} = ", text.index(f'<script id="{name}">'))
    start += len(f"var {name} = ")
    return json.JSONDecoder().raw_decode(text, start)[0]


@pytest.fixture(scope="module")
def results(report):
    return list_of(report, "results")


def test_every_caption_is_of_a_result():
    texts = "".join(path.read_text() for path in sorted((ROOT / "rules").rglob("*.smk")))
    captions = {path.stem for path in CAPTIONS.glob("*.rst")} - {"run"}
    assert [kind for kind in sorted(captions) if f'"{kind}"' not in texts] == []


def test_it_holds_every_table_and_figure_and_what_they_are_made_from(results, first_folder):
    made = files_below(first_folder, "results")
    expected = {
        name
        for name in made
        if re.fullmatch(r"results/(tables|figures)/.+\.(csv|tex|svg)", name)
        or re.fullmatch(r"results/[a-z]+/(scores|coordinates|importance|outputs)\.csv", name)
        or re.fullmatch(r"results/[a-z]+/(equivalence-checks|answer|data-profile)\.json", name)
        or re.fullmatch(r"results/timings/[a-z]+\.csv", name)
        or name == "results/timings/jobs/resource-usage.csv"
    }
    assert set(results) == expected | {"results/report.html", "results/run.json"}
    assert len(expected) > 50


def test_each_has_a_caption_and_labels(results):
    for path, result in results.items():
        assert len(re.sub("<[^>]*>", "", result["caption"]).split()) > 8, path
        assert "system-message" not in result["caption"], path
        assert list(result["labels"]) == ["result", "file", "data"]
        assert all(result["labels"].values()), path
        assert result["labels"]["file"].lower() == Path(path).suffix[1:]
    labels = [tuple(result["labels"].values()) for result in results.values()]
    categories = {
        (category, label)
        for category, parts in results_by_category(results).items()
        for label in parts
    }
    assert len(categories) == len(labels)


def results_by_category(results: dict) -> dict[str, set]:
    """Return the labels of the results of each experiment, by the first part of their names."""
    found: dict[str, set] = {}
    for path, result in results.items():
        experiment = next(
            (name for name in EXPERIMENTS if re.search(rf"/{name}[-/.]", path)), OF_THE_RUN
        )
        found.setdefault(experiment, set()).add(tuple(result["labels"].values()))
    return found


def test_the_caption_of_a_table_is_that_of_its_file(results):
    for experiment, settings in EXPERIMENTS.items():
        for table in settings["tables"]:
            for ending in ("csv", "tex"):
                path = f"results/tables/{experiment}-{table['name']}.{ending}"
                assert table["caption"] in html.unescape(results[path]["caption"])


def test_a_stand_in_is_labelled_as_such(results):
    of_data = [result for path, result in results.items() if "measurements" in path]
    assert len(of_data) > 4
    assert {result["labels"]["data"] for result in of_data} == {
        "Measurements (a stand-in for another table)"
    }


@needs_browser
def test_a_browser_shows_all_of_it_without_errors(report, results, tmp_path):
    text = report.read_text()
    end = text.rindex("</body>")
    path = tmp_path / "used.html"
    path.write_text(f"{text[:end]}<script>{ACTIONS}</script>{text[end:]}")
    page, console = page_in_browser(path, tmp_path, "--virtual-time-budget=60000")
    assert [line for line in console if OWN_WARNING not in line] == []
    found = json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', page, re.S)[1]))
    titles = {settings["title"] for settings in EXPERIMENTS.values()}
    assert set(found["categories"]) == titles | {OF_THE_RUN}
    assert "Fisher" in found["text"] and "closed-form pre-image" in found["text"]
    assert set(found["seen"]) == set(results)
    for name, seen in found["seen"].items():
        words = html.unescape(re.sub("<[^>]*>", " ", results[name]["caption"])).split()
        assert " ".join(words[:6]) in " ".join(seen.split()), name
