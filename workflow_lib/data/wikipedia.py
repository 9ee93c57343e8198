"""Introductions of Wikipedia pages: texts that describe classes (Djerrab et al. 2018, section 6.5).

The introduction is the plain text of the section before the first heading, fetched through the
public API of MediaWiki. All are kept in a JSON file
``{CLASS: {requested, title, revision, text}}``, which
`workflow_lib.data.class_texts.read_class_texts` reads. Pages change from day to day, so the
file is the data; the title and the revision name the source, as the licence (CC BY-SA) requires.
"""

import time
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workflow_lib.core.errors import UserError
from workflow_lib.core.json_text import JsonFault, parsed_json, write_json
from workflow_lib.core.web import FAILURES, failure, open_address
from workflow_lib.core.whole_files import write_bytes
from workflow_lib.tabular.tables import read_text

ADDRESS = "https://en.wikipedia.org/w/api.php"
"""The API of the English Wikipedia: the word vectors are of English words."""

USER_AGENT = "output-fisher-regression/0.1 (research workflow; Python urllib)"
"""Name of this program: Wikimedia refuses programs without a name."""

MAX_TITLES = 20
"""Pages of a request: the largest number of introductions that the API sends at once."""

NO_PAGE = "there is no page with this title"
DISAMBIGUATION = "the page only lists the meanings of its title"
NO_INTRODUCTION = "the page has no text before its first heading"

MAX_ANSWER = 1 << 24
"""Largest size of an answer in bytes; the introductions of a request have some thousand."""

TIMEOUT = 30.0
"""Seconds without an answer after which an attempt is stopped."""

RETRIES = 4
"""Number of further attempts after one that failed for a temporary reason: no answer, a broken
connection, an overloaded server."""

PAUSE, MAX_PAUSE = 1.0, 60.0
"""Seconds before the first retry, and between two requests; doubled for each further retry, up to
the second number, and at least as long as the server requests (but no longer than that)."""

_MAX_ANSWERS = 100
_PASSING_ERRORS = ("maxlag", "ratelimited", "readonly")


def write_introductions(titles: Mapping[str, str], cache: str | Path, output: str | Path) -> None:
    """Fetch the introductions into `cache`, copy them to `output`, and log the missing ones.

    Fetched pages stay in `cache` even if `output` is lost, and are not fetched again. The
    parameters are those of `fetch_introductions`.
    """
    missing = fetch_introductions(titles, cache)
    for name, reason in missing.items():
        print(f"{name}: {reason}")
    print(f"{len(titles) - len(missing)} of {len(titles)} introductions")
    write_bytes(output, Path(cache).read_bytes())


def fetch_introductions(titles: Mapping[str, str], output: str | Path) -> dict[str, str]:
    """Fetch the introduction of the page of every class into the JSON file `output`.

    Returns a dict of str to str: the classes without an introduction, and why: `NO_PAGE`,
    `DISAMBIGUATION` or `NO_INTRODUCTION`. Empty when all have an introduction.

    Raises UserError when there is no network or no valid answer, for invalid titles, and for a
    damaged `output`.

    Parameters
    ----------
    titles : mapping of str to str
        The title of the page of each class; several classes may share one. Redirects are followed.
    output : path
        Written whole after every answer with a page. Pages that it already holds are not fetched
        again; the page of a class with another title than before is replaced. Other classes are not
        changed.
    """
    output = Path(output)
    for name, title in titles.items():
        _check_title(name, title)
    kept = _kept_pages(output)
    pages = {page["requested"]: page for page in kept.values() if "requested" in page}
    reasons: dict[str, str] = {}
    open_titles = sorted(set(titles.values()) - pages.keys())
    _keep(output, kept, titles, pages)
    for start in range(0, len(open_titles), MAX_TITLES):
        if start:
            time.sleep(PAUSE)
        batch = open_titles[start : start + MAX_TITLES]
        answers = _answers(batch)
        try:
            found = _pages_by_title(batch, answers)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            reason = f"its answer is not in the form of the API ({type(error).__name__})"
            raise _no_sound_answer(reason) from error
        for title, page in found.items():
            if isinstance(page, str):
                reasons[title] = page
            else:
                pages[title] = page
        _keep(output, kept, titles, pages)
    return {name: reasons[title] for name, title in titles.items() if title in reasons}


# The file


def _kept_pages(output: Path) -> dict[str, dict[str, Any]]:
    if not output.exists():
        return {}
    try:
        kept = parsed_json(read_text(output))
    except JsonFault as error:
        raise _damaged(output, str(error)) from error
    if not isinstance(kept, dict):
        raise _damaged(output, "the file does not hold an object with pages by class")
    for name, page in kept.items():
        if not isinstance(page, dict) or not isinstance(page.get("text"), str):
            raise _damaged(output, f"the entry '{name}' has no text")
    return kept


def _damaged(output: Path, found: str) -> UserError:
    return UserError(
        location=str(output),
        found=found,
        expected="the pages of an earlier run",
        remedy=f"rm {output} and fetch the pages again, or choose another file",
    )


def _keep(
    output: Path,
    kept: Mapping[str, dict[str, Any]],
    titles: Mapping[str, str],
    pages: Mapping[str, dict[str, Any]],
) -> None:
    """Write the pages in `kept`, with those of the classes in `titles` replaced by `pages`."""
    now = {name: page for name, page in kept.items() if name not in titles}
    now |= {name: pages[title] for name, title in titles.items() if title in pages}
    if now == kept:
        return
    write_json(output, now)


# Titles and pages


def _check_title(name: str, title: str) -> None:
    wrong = sorted(set(title) & set("#<>[]|{}"))
    if wrong or not title.strip():
        raise UserError(
            location=f"the title of the page of the class '{name}'",
            found=f"'{title}'" + (f" with {' '.join(wrong)}" if wrong else ""),
            expected="the title of a page as shown above its text",
            remedy="fix the title",
        )


def _pages_by_title(
    titles: Sequence[str], answers: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, Any] | str]:
    """Return, for each of `titles`, its page in the form of the file, or why there is none."""
    renamed: dict[str, str] = {}
    pages: dict[str, dict[str, Any]] = {}
    for answer in answers:
        for kind in ("normalized", "converted", "redirects"):
            renamed |= {change["from"]: change["to"] for change in answer.get(kind, [])}
        for page in answer.get("pages", []):
            pages.setdefault(page["title"], {}).update(page)
    found: dict[str, dict[str, Any] | str] = {}
    for title in titles:
        name, steps = title, 0
        while name in renamed and name not in pages and steps <= len(renamed):
            name, steps = renamed[name], steps + 1
        if name not in pages:
            raise _no_sound_answer(f"its answer lacks the page '{title}'")
        page = pages[name]
        text = page.get("extract", "").strip()
        if page.get("missing") or page.get("invalid"):
            found[title] = NO_PAGE
        elif "disambiguation" in page.get("pageprops", {}):
            found[title] = DISAMBIGUATION
        elif not text:
            found[title] = NO_INTRODUCTION
        else:
            if not page.get("revisions"):
                raise _no_sound_answer(f"its answer lacks the revision of '{title}'")
            # JSON can encode single surrogates, which cannot be written as UTF-8.
            f"{page['title']}{text}".encode()
            found[title] = {
                "requested": title,
                "title": page["title"],
                "revision": page["revisions"][0]["revid"],
                "text": text,
            }
    return found


# The network


def _answers(titles: Sequence[str]) -> list[dict[str, Any]]:
    """Return the answers of the API for `titles`, all parts of them."""
    question = {
        "action": "query",
        "format": "json",
        "formatversion": "2",
        "prop": "extracts|revisions|pageprops",
        "exintro": "1",
        "explaintext": "1",
        "exlimit": str(MAX_TITLES),
        "rvprop": "ids",
        "ppprop": "disambiguation",
        "redirects": "1",
        "titles": "|".join(titles),
    }
    parts: list[dict[str, Any]] = []
    rest: dict[str, str] = {}
    for _ in range(_MAX_ANSWERS):
        query = urllib.parse.urlencode({**question, **rest})
        request = urllib.request.Request(f"{ADDRESS}?{query}", headers={"User-Agent": USER_AGENT})
        answer = _answer(request)
        parts.append(answer.get("query", {}))
        rest = answer.get("continue", {})
        if not rest or not isinstance(rest, dict):
            return parts
    raise _no_sound_answer(f"its answer has more than {_MAX_ANSWERS} parts")


def _answer(request: urllib.request.Request) -> dict[str, Any]:
    """Return the answer to a request; try again after temporary failures."""
    reason = ""
    requested_pause = 0.0
    for attempt in range(RETRIES + 1):
        if attempt:
            time.sleep(min(max(PAUSE * 2 ** (attempt - 1), requested_pause), MAX_PAUSE))
        try:
            with open_address(request, timeout=TIMEOUT) as response:
                content = response.read(MAX_ANSWER + 1)
            if len(content) > MAX_ANSWER:
                reason = f"the answer has more than {MAX_ANSWER} bytes"
                break
            answer = parsed_json(content.decode("utf-8"))
        except (JsonFault, UnicodeDecodeError):
            reason = "the answer is not JSON: perhaps the network first requires a login"
            continue
        except FAILURES as error:
            if headers := getattr(error, "headers", None):
                requested_pause = _seconds(headers.get("Retry-After"))
            reason, is_temporary = failure(error)
            if not is_temporary:
                break
            continue
        fault = answer.get("error") if isinstance(answer, dict) else {"info": "it is not an object"}
        if not fault:
            return answer
        fault = fault if isinstance(fault, dict) else {"info": fault}
        reason = f"the answer is an error: {fault.get('info') or fault.get('code')}"
        if fault.get("code") not in _PASSING_ERRORS:
            break
    raise _no_sound_answer(reason)


def _seconds(text: str | None) -> float:
    """Return the seconds in a Retry-After header; 0 for a date or nothing."""
    return float(text) if text and text.isascii() and text.strip().isdigit() else 0.0


def _no_sound_answer(reason: str) -> UserError:
    return UserError(
        location=ADDRESS,
        found=f"the pages could not be fetched ({reason})",
        expected="an answer of the API of MediaWiki",
        remedy="check the network connection and run the same command again, which continues where "
        "it stopped; without network, supply a folder with a text file CLASS.txt for each class",
    )
