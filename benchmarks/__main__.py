"""Runs the benchmarks and writes their tables and the page.

    python -m benchmarks [NAME ...] [--quick] [--folder results/benchmarks]
    python -m benchmarks compare [options]

Run from the top of the checkout. Without names all benchmarks run.
"""

import argparse
import importlib
import sys
from pathlib import Path

import pandas

from benchmarks import TITLES
from benchmarks.machine import write_description
from benchmarks.measuring import run
from benchmarks.page import PAGE_NAME, write_page


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 1 where a measurement failed."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["compare"]:
        # A study with its own options; `make bench` does not run it.
        return importlib.import_module("benchmarks.compare.command").main(arguments[1:])
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.split("\n")[0]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(TITLES)}")
    parser.add_argument("--quick", action="store_true", help="only the small sizes, for trying")
    parser.add_argument("--page", action="store_true", help="only the page, from the tables")
    parser.add_argument("--folder", type=Path, default=Path("results/benchmarks"))
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(TITLES))
    if unknown:
        parser.error(f"no benchmark is named {', '.join(unknown)}; there are {', '.join(TITLES)}")
    failed: list[str] = []
    if not options.page:
        write_description(options.folder)
        for name in options.names or TITLES:
            failed += run(name, options.quick, options.folder)
            _print_ratios(options.folder / f"{name}.csv")
    write_page(options.folder)
    print(f"The page: {options.folder / PAGE_NAME}")
    if failed:
        print(f"failed: {'; '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _print_ratios(path: Path) -> None:
    table = pandas.read_csv(path) if path.exists() else pandas.DataFrame()
    if "ratio" in table:
        print(f"\n{path}")
        shown = table.dropna(subset="ratio")[["n", "ratio", "goal", "met", "method", "peer"]]
        print(shown.to_string(index=False, na_rep=""), "\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
