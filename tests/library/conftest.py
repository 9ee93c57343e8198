"""The fixtures of tests of the library."""

from library_fixtures import mirror, one_thread, own_modules, score  # noqa: F401
