"""Pages and files from the web only: a redirect cannot lead to a file on this machine.

A server can redirect to any address. Redirects to other schemes than http and https (``file:``,
``ftp:`` and the like) are refused at every step of a chain of redirects.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from typing import Any

SCHEMES = ("http://", "https://")


class _WebRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, request, answer, code, message, headers, address):
        if not address.startswith(SCHEMES):
            answer.close()
            raise urllib.error.HTTPError(
                request.full_url, code, f"redirect to {address!r}, not on the web", headers, None
            )
        return super().redirect_request(request, answer, code, message, headers, address)


FAILURES = (OSError, http.client.HTTPException, ValueError, OverflowError)
"""Errors of a request. The last two concern invalid addresses, for example of a redirect."""


def failure(error: Exception) -> tuple[str, bool]:
    """Return in words why a request failed (FAILURES), and whether another may succeed."""
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        is_temporary = error.code >= 500 or error.code in (408, 425, 429)
        return f"the server answered {error.code} {error.reason}", is_temporary
    return str(getattr(error, "reason", None) or error) or type(error).__name__, True


def open_address(request: urllib.request.Request, timeout: float) -> Any:
    """Return the answer to `request`, as `urllib.request.urlopen` does.

    Raises OSError as `urllib.request.urlopen`; an `urllib.error.HTTPError` for a redirect to
    another scheme. Raises ValueError when the address of `request` has another scheme.
    """
    if not request.full_url.startswith(SCHEMES):
        raise ValueError(f"'{request.full_url}' is not a web address")
    return urllib.request.build_opener(_WebRedirects).open(request, timeout=timeout)
