"""The command ``ofer``: a table of your own, from any folder, without Snakemake.

ofer check table.csv --outputs y1,y2
ofer run table.csv --outputs y1,y2
ofer learn table.parquet --outputs y1,y2
ofer predict table-model.h5 new_rows.csv
ofer explain table-model.h5 new_rows.csv
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from workflow_lib.core.errors import UserError
from workflow_lib.table.table_request import REQUEST_KEYS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 1 after a fault, which is told in one line."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
        sys.stdout.flush()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; nothing was written", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of the output, such as head, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def check(options: argparse.Namespace) -> None:
    """Print how a table is read, and which methods would be compared."""
    from workflow_lib.table.comparison import proposed, settings_folder
    from workflow_lib.table.proposal_text import summary_lines

    with tempfile.TemporaryDirectory() as folder:
        settings = settings_folder(Path(folder), options.config)
        request = {"name": _name(options), "data": str(Path(options.table).resolve())}
        proposal = proposed(request | _request(options), settings)
    print("\n".join(summary_lines(proposal, with_commands=False)))


def run(options: argparse.Namespace) -> None:
    """Compare methods, and write the model and the page of the answer."""
    from workflow_lib.table.comparison import compare
    from workflow_lib.table.terminal_summary import HOLDS_ROWS

    name = _name(options)
    model, page = (Path(options.to, f"{name}-{ending}") for ending in ("model.h5", "answer.html"))
    answer = compare(
        options.table,
        name=name,
        seed=options.seed,
        n_jobs=options.jobs,
        config=options.config,
        **_request(options),
    )
    model.parent.mkdir(parents=True, exist_ok=True)
    answer.save(model)
    answer.report(page)
    print(answer)
    print(f"\nReport: {page}\nModel: {model}\n{HOLDS_ROWS}")
    print(f"To predict new rows:\n  ofer predict {model} new_rows.csv")


def learn(options: argparse.Namespace) -> None:
    """Fit to a table with more rows than memory holds, and write the model."""
    from workflow_lib.table import many_rows

    keys = ("outputs", "inputs", "exclude", "components", "landmarks")
    request = {key: getattr(options, key) for key in keys if getattr(options, key) is not None}
    model = Path(options.to or f"{Path(options.table).stem}-model.h5")
    model.parent.mkdir(parents=True, exist_ok=True)
    summary = many_rows.learn(options.table, request, model, options.seed)
    print("\n".join(many_rows.summary_lines(summary, model)))


def predict(options: argparse.Namespace) -> None:
    """Write the predictions for new rows."""
    from workflow_lib.table import table_predictions_stage

    target = Path(options.to or f"{Path(options.rows).stem}-predictions.csv")
    target.parent.mkdir(parents=True, exist_ok=True)
    table_predictions_stage.run(
        options.model, options.rows, target, options.trust, options.joint, options.keep
    )


def explain(options: argparse.Namespace) -> None:
    """Print which inputs matter, or which move the predictions for new rows; write all as CSV."""
    from workflow_lib.core.result_cells import frame_as_csv
    from workflow_lib.core.whole_files import write_text
    from workflow_lib.table.explanation import explanation_lines, importance_lines
    from workflow_lib.table.saved_model import load_model

    model = load_model(options.model, options.trust)
    if options.rows is None:
        frame = model.importance()
        lines, name = importance_lines(frame), f"{Path(options.model).stem}-importance.csv"
    else:
        frame = model.explain(options.rows)
        lines, name = explanation_lines(frame), f"{Path(options.rows).stem}-explained.csv"
    target = Path(options.to or name)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, frame_as_csv(frame))
    print("\n".join([*lines, f"All: {target}"]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ofer", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    checking = commands.add_parser("check", help="say how a table is read, and what is noticed")
    running = commands.add_parser("run", help="compare methods; write a page and a model")
    for command, function in ((checking, check), (running, run)):
        command.set_defaults(command=function)
        command.add_argument("table", help="text, Excel, Parquet or HDF5, a row for each example")
        command.add_argument("--name", help="of the files and random draws (default: the table's)")
        command.add_argument("--config", help="folder of settings with methods of your own")
        keys = command.add_argument_group("keys of the table", "as for `snakemake new`")
        for key in REQUEST_KEYS:
            if key not in ("name", "data"):
                keys.add_argument(f"--{key.replace('_', '-')}", dest=key, metavar="TEXT")
    running.add_argument("--seed", type=int, default=1, help="of random draws (default: 1)")
    running.add_argument("--jobs", type=int, default=-1, help="processes (default: processors)")
    running.add_argument("--to", default=".", help="folder of both files (default: this one)")

    learning = commands.add_parser("learn", help="fit to a table of more rows than memory holds")
    learning.set_defaults(command=learn)
    learning.add_argument("table", help="Parquet or HDF5, of columns of numbers")
    learning.add_argument("--outputs", required=True, help="columns to predict, or patterns")
    learning.add_argument("--inputs", help="columns to predict from (default: all others)")
    learning.add_argument("--exclude", help="columns that are not used")
    learning.add_argument("--components", help="of a mixture of the outputs (default: none)")
    learning.add_argument("--landmarks", help="of the kernel (default: 1000)")
    learning.add_argument("--seed", type=int, default=1, help="of random draws (default: 1)")
    learning.add_argument("--to", help="the model (default: TABLE-model.h5)")

    predicting = commands.add_parser("predict", help="predict the outputs of new rows")
    predicting.set_defaults(command=predict)
    predicting.add_argument("model", help="the file that `ofer run` wrote")
    predicting.add_argument("rows", help="a table with the same input columns")
    predicting.add_argument("--to", help="the CSV or .xlsx (default: ROWS-predictions.csv)")
    predicting.add_argument("--keep", default="", help="columns of ROWS to write, too; '*' for all")
    predicting.add_argument("--joint", action="store_true", help="add boxes of all outputs")

    explaining = commands.add_parser("explain", help="say which inputs matter, to a row or to all")
    explaining.set_defaults(command=explain)
    explaining.add_argument("model", help="the file that `ofer run` wrote")
    explaining.add_argument("rows", nargs="?", help="new rows; left out: to the errors in general")
    explaining.add_argument("--to", help="the CSV to write (default: named as the rows or model)")

    for command in (predicting, explaining):
        command.add_argument(
            "--trust", action="append", default=[], metavar="CLASS", help="a class that it may hold"
        )
    return parser


def _request(options: argparse.Namespace) -> dict[str, str]:
    """Return the keys of the request that were typed."""
    typed = {key: getattr(options, key, None) for key in REQUEST_KEYS if key != "name"}
    return {key: value for key, value in typed.items() if value is not None}


def _name(options: argparse.Namespace) -> str:
    """Return the name that was typed, or one made of that of the table."""
    if options.name:
        return options.name
    words = re.findall(r"[a-z0-9]+", Path(options.table).stem.lower())
    return "-".join(words) or "table"


if __name__ == "__main__":
    sys.exit(main())
