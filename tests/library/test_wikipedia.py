"""Introductions are fetched once and kept complete, and every failure names a remedy."""

import http.client
import io
import json
import urllib.error
import urllib.parse
from unittest import mock

import pytest
from reader_samples import refusal
from web_server import Handler, served

from workflow_lib.data import wikipedia
from workflow_lib.data.class_texts import read_class_texts
from workflow_lib.data.wikipedia import (
    DISAMBIGUATION,
    MAX_TITLES,
    NO_INTRODUCTION,
    NO_PAGE,
    TIMEOUT,
    fetch_introductions,
    write_introductions,
)


def page(title, extract="", revision=1, **changes):
    return {"title": title, "extract": extract, "revisions": [{"revid": revision}], **changes}


class Encyclopedia:
    """Answers as the API does; `faults` come before the answers, one for each request.

    A fault is an error to raise, or the content of an answer.
    """

    def __init__(self, *pages, redirects=None, faults=(), parts=1):
        self.pages = {content["title"]: content for content in pages}
        self.redirects = redirects or {}
        self.faults = list(faults)
        self.parts = parts
        self.questions = []
        self.requests = []

    def __call__(self, request, timeout):
        query = urllib.parse.urlsplit(request.full_url).query
        question = dict(urllib.parse.parse_qsl(query))
        self.questions.append(question)
        self.requests.append((request, timeout))
        if self.faults:
            fault = self.faults.pop(0)
            if isinstance(fault, BaseException):
                raise fault
            return io.BytesIO(fault)
        return io.BytesIO(json.dumps(self.answer(question)).encode())

    def answer(self, question):
        query = {"normalized": [], "redirects": [], "pages": []}
        titles = question["titles"].split("|")
        assert len(titles) <= int(question["exlimit"])
        part = int(question.get("excontinue", 0))
        for row, title in enumerate(titles):
            plain = title.replace("_", " ")
            if plain != title:
                query["normalized"].append({"from": title, "to": plain})
            end = self.redirects.get(plain, plain)
            if end != plain:
                query["redirects"].append({"from": plain, "to": end})
            content = dict(self.pages.get(end, {"title": end, "missing": True}))
            if row % self.parts != part:
                # The API repeats the page in every part, and gives its text in one of them.
                content.pop("extract", None)
            if content not in query["pages"]:
                query["pages"].append(content)
        answer = {"batchcomplete": True, "query": query}
        if part + 1 < self.parts:
            answer["continue"] = {"excontinue": str(part + 1), "continue": "||"}
        return answer

    @property
    def requested(self):
        return [question["titles"].split("|") for question in self.questions]


def refused(code, retry_after=None):
    headers = http.client.HTTPMessage()
    if retry_after:
        headers["Retry-After"] = retry_after
    return urllib.error.HTTPError("https://here", code, "reason", headers, io.BytesIO())


ANT = page("Ant", "Ants are insects.", 11)
BEE = page("Bee", "Bees fly.", 12)
TITLES = {"ant": "Ant", "bee": "Bee"}


@pytest.fixture
def output(tmp_path):
    return tmp_path / "texts" / "pages.json"


@pytest.fixture
def sleeps(monkeypatch):
    """Record the pauses instead of waiting."""
    seconds = []
    monkeypatch.setattr(wikipedia.time, "sleep", seconds.append)
    return seconds


def kept(output):
    return json.loads(output.read_text(encoding="utf-8"))


def fetched(titles, output, opener):
    with mock.patch.object(wikipedia, "open_address", opener):
        return fetch_introductions(titles, output)


def message_of(titles, output, opener) -> str:
    return refusal(fetched, titles, output, opener)


def test_pages_are_kept_with_title_and_revision_and_read_as_class_texts(output):
    opener = Encyclopedia(ANT, page("Café", "Ein Café.\n", 13))
    assert fetched({"ant": "Ant", "cafe": "Café"}, output, opener) == {}
    assert kept(output) == {
        "ant": {"requested": "Ant", "title": "Ant", "revision": 11, "text": "Ants are insects."},
        "cafe": {"requested": "Café", "title": "Café", "revision": 13, "text": "Ein Café."},
    }
    texts = read_class_texts(output, ["Ant", "cafe", "emu"])
    assert texts == {"Ant": "Ants are insects.", "cafe": "Ein Café."}
    assert [path.name for path in output.parent.iterdir()] == ["pages.json"]


def test_requests_say_who_asks_what(output):
    opener = Encyclopedia(ANT)
    fetched({"ant": "Ant"}, output, opener)
    (request, timeout), (question,) = opener.requests[0], opener.questions
    assert request.get_header("User-agent").startswith("output-fisher-regression/")
    assert timeout == TIMEOUT
    assert request.full_url.startswith("https://en.wikipedia.org/w/api.php?")
    asked = {"action": "query", "exintro": "1", "explaintext": "1", "redirects": "1"}
    assert asked.items() <= question.items()


def test_redirects_and_other_writings_of_a_title_lead_to_its_page(output):
    opener = Encyclopedia(page("Seahorse", "It swims.", 5), redirects={"Sea horse": "Seahorse"})
    assert fetched({"sea_horse": "Sea_horse"}, output, opener) == {}
    assert kept(output)["sea_horse"]["title"] == "Seahorse"
    assert kept(output)["sea_horse"]["requested"] == "Sea_horse"


def test_titles_are_asked_for_in_batches_and_once_for_several_classes(output, sleeps):
    pages = [page(f"P{row:02}", f"Text {row}.", row + 1) for row in range(MAX_TITLES + 3)]
    opener = Encyclopedia(*pages)
    titles = {f"class {row}": content["title"] for row, content in enumerate(pages)}
    titles["twin"] = "P00"
    fetched(titles, output, opener)
    assert [len(batch) for batch in opener.requested] == [MAX_TITLES, 3]
    assert sleeps == [1.0]
    assert kept(output)["twin"] == kept(output)["class 0"]
    assert len(kept(output)) == MAX_TITLES + 4


def test_an_answer_in_parts_is_put_together(output):
    pages = [page(f"P{row}", f"Text {row}.", row + 1) for row in range(5)]
    opener = Encyclopedia(*pages, parts=3)
    titles = {f"class {row}": f"P{row}" for row in range(5)}
    assert fetched(titles, output, opener) == {}
    assert [kept(output)[name]["text"] for name in titles] == [f"Text {row}." for row in range(5)]
    assert len(opener.questions) == 3


def test_pages_that_are_no_description_are_listed_with_the_reason(output):
    opener = Encyclopedia(
        ANT,
        page("Bass", "Bass may refer to:", pageprops={"disambiguation": ""}),
        page("Blank", " "),
        {"title": "a:", "invalidreason": "empty", "invalid": True},
    )
    titles = {"bass": "Bass", "none": "None", "ant": "Ant", "blank": "Blank", "a": "a:"}
    assert fetched(titles, output, opener) == {
        "bass": DISAMBIGUATION,
        "none": NO_PAGE,
        "blank": NO_INTRODUCTION,
        "a": NO_PAGE,
    }
    assert list(kept(output)) == ["ant"]


def test_a_server_is_asked_through_urllib_and_asked_again_when_it_is_overloaded(
    output, sleeps, monkeypatch
):
    api, agents = Encyclopedia(ANT, BEE), []

    class Answers(Handler):
        def do_GET(self):
            agents.append(self.headers["User-Agent"])
            if len(agents) == 1:
                self.send_error(503)
                return
            question = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
            content = json.dumps(api.answer(question)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with served(Answers, monkeypatch) as server:
        monkeypatch.setattr(wikipedia, "ADDRESS", f"{server.address}/api")
        assert fetch_introductions(TITLES, output) == {}
    assert list(kept(output)) == ["ant", "bee"]
    assert agents == [wikipedia.USER_AGENT] * 2


class TestResuming:
    def test_pages_that_are_kept_are_not_fetched_again(self, output):
        fetched({"ant": "Ant"}, output, Encyclopedia(ANT))
        opener = Encyclopedia(BEE)
        fetched({**TITLES, "emmet": "Ant"}, output, opener)
        assert opener.requested == [["Bee"]]
        assert kept(output)["emmet"] == kept(output)["ant"]
        before = output.stat().st_mtime_ns
        assert fetched(TITLES, output, opener) == {}
        assert output.stat().st_mtime_ns == before
        assert len(opener.requested) == 1

    def test_another_title_replaces_the_page_and_other_classes_stay(self, output):
        fetched(TITLES, output, Encyclopedia(ANT, BEE))
        titles = {"ant": "Emmet"}
        fetched(titles, output, Encyclopedia(page("Emmet", "An ant.", 20)))
        assert kept(output)["ant"]["text"] == "An ant."
        assert kept(output)["bee"]["text"] == "Bees fly."
        assert fetched({"ant": "Gone"}, output, Encyclopedia()) == {"ant": NO_PAGE}
        assert list(kept(output)) == ["bee"]

    def test_what_arrived_before_a_failure_is_kept(self, output, sleeps):
        pages = [page(f"P{row:02}", f"Text {row}.", row + 1) for row in range(MAX_TITLES + 3)]
        titles = {content["title"]: content["title"] for content in pages}
        opener = Encyclopedia(*pages)
        sound = json.dumps(
            opener.answer({"titles": "|".join(sorted(titles)[:MAX_TITLES]), "exlimit": "20"})
        )
        opener.faults = [sound.encode(), refused(404)]
        message_of(titles, output, opener)
        assert len(kept(output)) == MAX_TITLES
        fetched(titles, output, opener)
        assert len(kept(output)) == MAX_TITLES + 3
        assert opener.requested[-1] == sorted(titles)[MAX_TITLES:]

    @pytest.mark.parametrize(
        ("content", "words"),
        [('{"ant":', "line 1"), ("[]", "not hold an object"), ('{"ant": {}}', "'ant' has no text")],
    )
    def test_a_damaged_file_is_named_and_left_alone(self, output, content, words):
        output.parent.mkdir()
        output.write_text(content)
        message = message_of(TITLES, output, Encyclopedia(ANT, BEE))
        assert words in message
        assert f"rm {output}" in message
        assert output.read_text() == content


class TestFailures:
    @pytest.mark.parametrize(
        "fault",
        [
            refused(503),
            refused(429),
            urllib.error.URLError("unreachable"),
            TimeoutError("timed out"),
            http.client.IncompleteRead(b""),
            b"<html>sign in</html>",
            b'{"error": {"code": "maxlag", "info": "waiting"}}',
        ],
        ids=repr,
    )
    def test_temporary_failures_are_retried_after_longer_and_longer_pauses(
        self, output, sleeps, fault
    ):
        opener = Encyclopedia(ANT, faults=[fault, TimeoutError(), TimeoutError()])
        assert fetched({"ant": "Ant"}, output, opener) == {}
        assert sleeps == [1.0, 2.0, 4.0]
        assert list(kept(output)) == ["ant"]

    def test_pauses_are_as_long_as_the_server_asks_but_not_without_end(self, output, sleeps):
        asked = ["9", "100000", "Sat, 21 Nov 2026", "\xb2"]
        faults = [refused(503, seconds) for seconds in asked]
        fetched({"ant": "Ant"}, output, Encyclopedia(ANT, faults=faults))
        assert sleeps == [9.0, 60.0, 4.0, 8.0]

    @pytest.mark.parametrize(
        ("fault", "words"),
        [
            (refused(403), "403 reason"),
            (b'{"error": {"code": "badvalue", "info": "no such prop"}}', "no such prop"),
            (b"[]", "not an object"),
            (b"{}", "lacks the page 'Ant'"),
            (b'{"query": {"pages": [{"title": "Ant", "extract": "x"}]}}', "lacks the revision"),
        ],
    )
    def test_permanent_failures_are_not_retried(self, output, sleeps, fault, words):
        opener = Encyclopedia(ANT, faults=[fault])
        assert words in message_of({"ant": "Ant"}, output, opener)
        assert len(opener.questions) == 1

    def test_without_network_the_message_names_the_alternative(self, output, sleeps):
        opener = Encyclopedia(faults=[urllib.error.URLError("Name or service not known")] * 9)
        message = message_of(TITLES, output, opener)
        assert len(opener.questions) == 5
        assert "Name or service not known" in message
        assert "supply a folder with a text file CLASS.txt for each class" in message
        assert not output.exists()

    def test_an_answer_without_end_is_given_up(self, output):
        endless = Encyclopedia(ANT, parts=1000)
        assert "more than 100 parts" in message_of({"ant": "Ant"}, output, endless)

    @pytest.mark.parametrize(
        "answer",
        [
            b"[]",
            b"7",
            b'{"query": []}',
            b'{"query": {"pages": [7]}}',
            b'{"query": {"pages": 7}}',
            b'{"query": {"redirects": [{}]}}',
            b'{"query": {"pages": [{"title": "Ant", "extract": 7}]}}',
            b'{"query": {"pages": [{"title": "Ant", "extract": "a", "revisions": [7]}]}}',
            b'{"query": {"pages": [{"title": ["Ant"]}]}}',
            json.dumps({"query": {"pages": [page("Ant", "half a character: \ud83d")]}}).encode(),
            b'{"error": "no object"}',
            b'{"continue": "on", "query": 7}',
            b"[" * 100_000,
            b"9" * 5000,
            b'"\xff"',
        ],
    )
    def test_an_answer_of_another_form_is_refused(self, output, sleeps, answer):
        message = message_of({"ant": "Ant"}, output, Encyclopedia(ANT, faults=[answer] * 9))
        assert "the pages could not be fetched" in message
        assert not output.exists()

    def test_an_answer_that_is_too_large_is_given_up(self, output, monkeypatch):
        monkeypatch.setattr(wikipedia, "MAX_ANSWER", 1000)
        large = Encyclopedia(page("Ant", "x" * 2000))
        assert "more than 1000 bytes" in message_of({"ant": "Ant"}, output, large)

    @pytest.mark.parametrize("title", ["", " ", "Ant|Bee", "Ant#Body"])
    def test_titles_that_no_page_can_have_are_refused(self, output, title):
        opener = Encyclopedia()
        assert "class 'ant'" in message_of({"ant": title}, output, opener)
        assert opener.questions == []


def test_what_was_fetched_stays_when_the_output_removed(tmp_path, capsys, monkeypatch):
    pages = Encyclopedia(page("Ant", "Ants are insects.", 7))
    cache, output = tmp_path / "part.json", tmp_path / "introductions.json"
    titles = {"ant": "Ant", "unicorn": "No such page"}
    monkeypatch.setattr(wikipedia, "open_address", pages)
    write_introductions(titles, cache, output)
    printed = capsys.readouterr().out
    assert f"unicorn: {NO_PAGE}" in printed and "1 of 2 introductions" in printed
    first = output.read_bytes()
    output.unlink()
    n_asked = len(pages.questions)
    write_introductions({"ant": "Ant"}, cache, output)
    assert output.read_bytes() == first
    assert len(pages.questions) == n_asked
