"""A web server on this machine, for the time of a test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROXIES = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")


class Handler(BaseHTTPRequestHandler):
    """Answers without a line on the terminal."""

    def log_message(self, *arguments) -> None:
        pass


@contextmanager
def served(handler: type[Handler], monkeypatch=None) -> Iterator[ThreadingHTTPServer]:
    """Run a server; its `address` is reached without a proxy where there is a `monkeypatch`."""
    for name in PROXIES if monkeypatch else ():
        monkeypatch.delenv(name, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
