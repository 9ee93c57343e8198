"""Redirects are followed within the web only."""

import urllib.error
import urllib.request

import pytest
from web_server import Handler, served

from workflow_lib.core.web import open_address


@pytest.fixture
def address(monkeypatch):
    """Return the address of a server that redirects to the address after ``?``."""

    class Redirects(Handler):
        def do_GET(self):
            _, _, target = self.path.partition("?")
            self.send_response(302 if target else 200)
            if target:
                self.send_header("Location", target)
            self.end_headers()
            self.wfile.write(b"" if target else b"found")

    with served(Redirects, monkeypatch) as server:
        yield server.address


def opened(address: str):
    return open_address(urllib.request.Request(address), timeout=5)


def test_redirects_within_the_web_are_followed(address):
    for target in ("/there", f"{address}/there", "/again?/there"):
        with opened(f"{address}/here?{target}") as answer:
            assert answer.read() == b"found"


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://127.0.0.1:9/a", "data:,a", "FILE:/etc/passwd"]
)
def test_redirects_out_of_the_web_are_refused(address, target):
    for path in (f"{address}/here?{target}", f"{address}/here?/again?{target}"):
        with pytest.raises(urllib.error.HTTPError) as caught:
            opened(path)
        assert target.partition(":")[0].lower() in str(caught.value).lower()


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/a", "data:,a"])
def test_other_addresses_are_refused(address):
    with pytest.raises(ValueError, match="is not a web address"):
        opened(address)
