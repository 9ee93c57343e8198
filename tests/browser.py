"""A headless browser, for the tests of pages.

Where no browser is installed, these tests are skipped, or fail if BROWSER_TESTS is "required".
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "chrome")
CHROMIUM = next((path for path in map(shutil.which, NAMES) if path), None)

REQUIRED = os.environ.get("BROWSER_TESTS") == "required"

needs_browser = pytest.mark.skipif(
    CHROMIUM is None and not REQUIRED, reason="no Chromium is installed"
)


def page_in_browser(path: Path, folder: Path, *options: str) -> tuple[str, list[str]]:
    """Return the final state of the page in the browser, and the lines of its console.

    The profile of the browser is kept in `folder`.
    """
    assert CHROMIUM, f"no Chromium is installed; its program is looked for as {', '.join(NAMES)}"
    done = subprocess.run(
        [
            CHROMIUM,
            *("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"),
            *("--window-size=1280,900", f"--user-data-dir={folder / 'browser'}", *options),
            *("--dump-dom", path.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
