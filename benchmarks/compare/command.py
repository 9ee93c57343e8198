"""Runs the comparison of our methods with those of other libraries, and writes its page.

    python -m benchmarks compare [options]

Run from the top of the checkout. Existing results that are not out of date are kept.
"""

import argparse
import os
import sys
from pathlib import Path

import pandas

from benchmarks.compare import cells, own, page, summary
from benchmarks.compare.peers import PEERS
from benchmarks.compare.tables import study_tables
from benchmarks.machine import read_description, write_description
from benchmarks.measuring import ROOT
from workflow_lib.core.errors import UserError
from workflow_lib.core.whole_files import write_text

SEED = 1
N_SPLITS = 3

COLUMNS = ("table", "size", "split", "method", "source", "error", "seconds", "settings")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 1 where something failed."""
    options = _parser().parse_args(arguments)
    try:
        compare(options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def compare(options: argparse.Namespace) -> None:
    """Compute what is missing, and write the scores and the page from all results."""
    tables, left_out = study_tables(ROOT / "config")
    names = options.tables or list(tables)
    unknown = [name for name in names if name not in tables]
    if unknown:
        raise UserError(
            location="--tables",
            found=", ".join(f"{name} ({left_out.get(name, 'no dataset')})" for name in unknown),
            expected=f"tables of numbers: {', '.join(tables)}",
            remedy="leave them out",
        )
    chosen = {name: tables[name] for name in names}
    folder = options.folder.resolve()
    workflow = folder / "workflow"
    methods = options.methods or "default"
    if not options.page:
        own.write_workflow(workflow, chosen, methods, options.splits, SEED)
        own.make_splits(workflow, names, options.splits, options.cores)
    all_cells = cells.cells_of(workflow, chosen.values(), options.splits, folder / "peers", SEED)
    # One of our methods replaces the peer of the same name.
    peers = [name for name in options.peers or PEERS if name not in methods]
    if not options.page and options.only != "own":
        for name in peers:
            if not PEERS[name].is_installed:
                print(f"{name} is left out: {PEERS[name].package} is not installed")
        cells.run_peers(all_cells, peers, options.cores)
    if not options.page and options.only != "peers":
        own.learn_methods(workflow, names, options.cores)
    rows = own.own_scores(workflow, names) + cells.peer_scores(all_cells, peers)
    scores = pandas.DataFrame(rows, columns=COLUMNS).sort_values(list(COLUMNS[:4]))
    every, known = summary.cell_errors(scores), own.method_settings(workflow)
    found = summary.method_summary(summary.of_enough_rows(every), summary.stacks_of(known))
    write_text(folder / "scores.csv", scores.to_csv(index=False, lineterminator="\n"))
    write_text(folder / "cells.csv", every.to_csv(lineterminator="\n"))
    write_text(folder / "summary.csv", found.to_csv(index_label="method", lineterminator="\n"))
    if not options.page:
        write_description(folder)
    for location in (folder, *([ROOT / "docs"] if options.docs else [])):
        page.write_page(location, scores, chosen, left_out, known, read_description(folder))
        print(f"The page: {location / page.PAGE_NAME}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks compare", description=__doc__.split("\n")[0]
    )
    add = parser.add_argument
    add("--tables", nargs="+", metavar="NAME", help="datasets; all tables of numbers by default")
    add("--methods", nargs="+", metavar="NAME", help="of config/methods (default: the default set)")
    add("--peers", nargs="+", metavar="NAME", choices=PEERS, help=f"of {', '.join(PEERS)}")
    add("--splits", type=int, default=N_SPLITS, help="training/test splits (default: %(default)s)")
    add("--cores", type=int, default=min(os.cpu_count() or 1, 2), help="processes at a time")
    add("--only", choices=("own", "peers"), help="compute only our methods, or only the peers")
    add("--page", action="store_true", help="compute nothing: the page from existing results")
    add("--docs", action="store_true", help="write the page to docs/ as well")
    add("--folder", type=Path, default=Path("results/compare"), help="folder of the results")
    return parser
