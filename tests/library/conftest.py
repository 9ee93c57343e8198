"""The fixtures of tests of the library."""

from library_fixtures import (  # noqa: F401
    mirror,
    own_modules,
    score,
    without_waiting_for_the_disk,
)
